//! Time, with the names of tokio: sleeps, timeouts, intervals, and instants.
//!
//! In a run, time is virtual. The time begins with the run, and work takes no time. Time advances only when no task can
//! step, and then jumps to the earliest deadline. So a virtual hour costs only the steps that happen in it, and a
//! timeout never ends a wait that another task could still end. Tasks that are due at the same time step in any order.
//!
//! Outside of runs, and in the real build, time is real time. No runtime is needed, because one thread of the process
//! wakes the tasks of any executor. [`set_timer()`] replaces this thread by the timers of a runtime.
//!
//! | item | in a run |
//! |---|---|
//! | [`sleep()`], [`sleep_until`] | a point, which waits until the deadline |
//! | [`timeout()`], [`timeout_at`] | the points of the inner future; if it is ready in the same step, its result wins |
//! | [`Interval::tick`] | a point, like a sleep |
//! | [`Instant::now`], [`SystemTime::now`], [`truth()`] | not a point |
//! | [`advance`] | a point; then time advances |
//!
//! With `#[sim::test(clock = "any")]`, [`Runner::clock`](crate::Runner::clock) or `SIM_CLOCK=any`, time may advance at
//! any moment. A task may then take any time between two of its points, so timeouts race with the operations that they
//! guard. The clock is then a task of the run, and its steps advance time to the next deadline. With `late:K` in place
//! of `any`, a run has at most `K` such early advances. [`Runner::cancel_selects`](crate::Runner::cancel_selects)
//! affects single deadlines: the deadline of a timeout, or of a timer in a branch of `select!`, may pass at any point
//! of the work that it can end.
//!
//! Tasks of a node have the [clock of the node](crate::Node::clock): timers and [`Instant`]s follow its rate, and
//! [`SystemTime`] is its wall clock. The clock shows true time unless the test changes it. The test, outside of nodes,
//! uses the true clock.
//!
//! Timers do not prevent proofs by a search. An advance of time comes after all steps before it and before all steps
//! after it, so no other order exists.
//!
//! ```
//! use sim::time::{Duration, Instant, sleep, timeout};
//!
//! let report = sim::Runner::new().run(async || {
//! #   if !sim::SIMULATED { return }
//!     let begin = Instant::now();
//!     let slow = timeout(Duration::from_secs(5), sleep(Duration::from_secs(3600)));
//!     assert!(slow.await.is_err());
//!     assert_eq!(begin.elapsed(), Duration::from_secs(5));
//! });
//! assert!(report.passed());
//! ```
//!
//! # Limits
//!
//! - `std::time::Instant::now()` and `std::time::SystemTime::now()` read the system clock, even in a run. Use
//!   [`Instant::now`] and [`SystemTime::now`] instead.
//! - An instant created outside of a run has no meaning in the run.
//! - tokio rounds deadlines up to milliseconds; the deadlines of this library are exact.

pub mod error;
mod instant;
mod interval;
mod set_timer;
mod sleep;
mod system;
mod timeout;

pub use std::time::Duration;

pub use self::instant::Instant;
pub use self::interval::{Interval, MissedTickBehavior, interval, interval_at};
pub use self::set_timer::{TimerSet, set_timer};
pub use self::sleep::{Sleep, sleep, sleep_until};
pub use self::system::SystemTime;
pub use self::timeout::{Timeout, timeout, timeout_at};

use std::future::Future;

use crate::run::op::{Access, Op, clock};
use crate::seam::{self, here};

const ADVANCE: Op = Op::of_kind("advance", Access::Act, clock::ADVANCE);
const TRUTH: Op = Op::of_kind("truth", Access::Peek, clock::READ);
const YIELD: Op = Op::new("yield_now", Access::Yield);

/// Returns the true time of the run, in any node: the value that [`Instant::now`] returns outside of nodes. Use it in
/// tests, for example to compare moments of several nodes.
///
/// ```
/// use sim::time::{Duration, sleep, truth};
///
/// # if !sim::SIMULATED { return }
/// # let report = sim::Runner::new().hermetic().run(async || {
/// let db = sim::node("db-1");
/// db.clock().set_drift(0.25);
/// let task = db.spawn(async {
///     let begin = truth();
///     sleep(Duration::from_secs(10)).await;
///     assert!(!sim::SIMULATED || truth() - begin == Duration::from_secs(8), "its clock is fast");
/// });
/// # if sim::SIMULATED { task.await.unwrap() }
/// # });
/// # assert!(report.passed());
/// ```
#[track_caller]
pub fn truth() -> Instant {
    Instant::read_truth(&TRUTH, here())
}

/// Does nothing, because the clock of a run never advances while a task can step. Exists for code that calls tokio's
/// `pause`.
///
/// Outside of runs, and in the real build, the clock does not stop. Sleeps and [`advance`] take their real time, so a
/// test has the same meaning in both builds.
///
/// ```
/// use sim::time::{Duration, Instant, pause, resume, sleep};
///
/// # sim::block_on(async {
/// pause();
/// let begin = Instant::now();
/// sleep(Duration::from_millis(2)).await;
/// assert!(begin.elapsed() >= Duration::from_millis(2));
/// resume();
/// # });
/// ```
pub fn pause() {}

/// Does nothing, like [`pause`], because real time does not affect a run.
pub fn resume() {}

/// Advances the time of the run. Tasks that are due at the new time may step before this call returns.
///
/// Passes a point, advances time, and passes another point. Tasks that are due step in any order. Outside of runs, and
/// in the real build, it waits for this time, so a test has the same meaning in both builds.
///
/// ```
/// use sim::time::{Duration, Instant, advance};
///
/// # sim::block_on(async {
/// let begin = Instant::now();
/// advance(Duration::from_millis(2)).await;
/// assert!(begin.elapsed() >= Duration::from_millis(2));
/// # });
/// ```
#[track_caller]
pub fn advance(duration: Duration) -> impl Future<Output = ()> + Send {
    let here = here();
    async move {
        seam::Advance::new(&ADVANCE, duration, here).await;
        seam::YieldPoint::new(&YIELD, here).await;
    }
}
