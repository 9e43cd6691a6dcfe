//! Time, under tokio's names: sleeps, time-outs, intervals, and the instants that they are about.
//!
//! In a run the time is virtual. It begins with the run, work takes none of it, and it moves only when no task can
//! step: to the earliest deadline. So an hour costs as many steps as things happen in it, and a time-out never ends
//! a wait that another task could still end. Tasks that are due at one time step in any order.
//!
//! Outside of runs, and in the real build, time is the time of the system. No runtime is needed:
//! one thread of the process wakes the tasks of any executor. [`set_timer()`] has the timers of a
//! runtime in its place.
//!
//! | item | in a run |
//! |---|---|
//! | [`sleep()`], [`sleep_until`] | a point, which waits until the time has reached the deadline |
//! | [`timeout()`], [`timeout_at`] | the points of the future inside; a future that is ready in the same step wins |
//! | [`Interval::tick`] | a point, as a sleep |
//! | [`Instant::now`], [`SystemTime::now`], [`truth()`] | no point |
//! | [`advance`] | a point, then the time moves on |
//!
//! With `#[sim::test(clock = "any")]`, [`Runner::clock`](crate::Runner::clock) or `SIM_CLOCK=any`, the time may move at
//! any moment: a task may take any time between two of its points, so time-outs race with what they guard. The clock is
//! then a task of the run, whose steps move the time to the next deadline. With `late:K` in place of `any` there are at
//! most `K` such early moves in a run. [`Runner::cancel_selects`](crate::Runner::cancel_selects) is about single
//! deadlines. The deadline of a time-out, or of a timer in a branch of `select!`, may pass at any point of the work
//! that it can end.
//!
//! Tasks of a node have the [clock of the node](crate::Node::clock): timers and [`Instant`]s go at its rate, and
//! [`SystemTime`] is its wall clock. It is true unless the test changes it. The test, outside of nodes, has the true
//! clock.
//!
//! A search over a program with timers is a proof: the time moves after all steps before it and before all steps after
//! it, so there is no other order to explore.
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
//! - `std::time::Instant::now()` and `std::time::SystemTime::now()` in a run are the clock of the system. Read
//!   [`Instant::now`] and [`SystemTime::now`] instead.
//! - An instant that was made outside of a run means nothing in it.
//! - tokio rounds deadlines up to milliseconds; these are exact.

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

/// The true time of the run, in any node: what [`Instant::now`] gives outside of nodes. For tests, which may compare
/// moments of several nodes by it.
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

/// Does nothing: the clock of a run never advances while a task can step. For code that calls
/// tokio's `pause`.
///
/// Outside of runs, and in the real build, the clock does not stop: sleeps last as long as they say, and so does
/// [`advance`], so that a test means the same in both builds.
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

/// Does nothing, like [`pause`]: the time of the system moves no run.
pub fn resume() {}

/// Moves the time of the run on, and lets the tasks that are due then go first.
///
/// A point, the move, and another point. Tasks that are due step in any order. Outside of runs, and in the real
/// build, it waits until so much time has passed, so that a test means the same in both builds.
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
