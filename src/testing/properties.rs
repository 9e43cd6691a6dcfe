//! Properties of one run: conditions that must hold whenever a line is reached, after every step, or within some time.

use std::future::Future;
use std::panic::Location;
use std::time::Duration;

use crate::run::place::in_text;
use crate::seam::{self, HeldInvariant, here};
use crate::time::{Instant, sleep};

/// Requires that a condition holds whenever a run reaches this line. Use it for named system properties, inside the
/// code of the system.
///
/// Works like `assert!`, in all builds, but reports show the failure as a violation of the property `name`. This call
/// is not a point. The name is the last argument, like in [`sometimes!`](macro@crate::sometimes); the order
/// `always!("name", condition)` is deprecated.
///
/// ```
/// use sim::run::{Failure, Outcome};
/// use sim::Runner;
///
/// let report = Runner::new().hermetic().seeds(0..50).run(async || {
///     let leaders = sim::rand::below(3);
///     sim::always!(leaders <= 1, "one leader per term");
/// });
/// let finding = report.finding.unwrap();
/// let Outcome::Failed(Failure::Panic { message, .. }) = &finding.run.outcome else { panic!() };
/// assert_eq!(message, "one leader per term: `leaders <= 1` does not hold");
/// ```
///
/// # Panics
/// If the condition does not hold.
#[macro_export]
macro_rules! always {
    // These literals are conditions, not names.
    (true, $name:expr $(,)?) => {
        $crate::__private::always(true, $name, "true")
    };
    (false, $name:expr $(,)?) => {
        $crate::__private::always(false, $name, "false")
    };
    ($name:literal, $condition:expr $(,)?) => {{
        #[deprecated(note = "the condition comes first: always!(condition, \"name\")")]
        const fn the_name_comes_last() {}
        the_name_comes_last();
        $crate::__private::always($condition, $name, ::core::stringify!($condition))
    }};
    ($condition:expr, $name:expr $(,)?) => {
        $crate::__private::always($condition, $name, ::core::stringify!($condition))
    };
}

/// Requires that a condition holds after every step of the run. Use it for properties of a whole system, over all its
/// nodes.
///
/// The condition reads objects without points, by [`Atomic::peek`](crate::Atomic::peek),
/// [`Cell::peek`](crate::Cell::peek) or methods such as [`Node::is_up`](crate::Node::is_up). The condition is evaluated
/// at the end of this step, and again after each step that has changed an object that the condition has read. If it
/// reads the time or a count of messages ([`net::met`](crate::net::met)), it is evaluated after each step. The same
/// applies if it reads only memory that the run does not track. If it reads objects and untracked memory, it must not
/// depend on the untracked memory alone. The requirement ends when the returned value is dropped; the condition must
/// hold at this moment too.
///
/// In a search, two steps that change objects of the same invariant do not commute, so the search explores each state
/// between them. The condition must be a function of the objects. With a condition that reads no objects, a search
/// gives no proof. Outside of runs and in the real build there are no steps, so the condition is never evaluated: use
/// [`always!`](macro@crate::always) there.
///
/// The run fails at the step that breaks it, as [`Failure::Invariant`](crate::run::Failure::Invariant). A condition
/// that does more than read, for example an operation with a point, a draw or a write, is a
/// [`Misuse`](crate::run::Failure::Misuse).
///
/// ```
/// use sim::run::{Failure, Outcome};
/// use sim::{Atomic, Ordering::SeqCst, Runner};
/// use std::sync::Arc;
///
/// let report = Runner::new().hermetic().run(async || {
///     let accounts = Arc::new([Atomic::new(5), Atomic::new(0)]);
///     let own = accounts.clone();
///     let _sum = sim::invariant("nothing is lost", move || own[0].peek() + own[1].peek() == 5);
///     accounts[0].fetch_sub(1, SeqCst).await;
///     accounts[1].fetch_add(1, SeqCst).await;
/// });
/// # if sim::SIMULATED {
/// let found = report.finding.unwrap();
/// let Outcome::Failed(Failure::Invariant { name, .. }) = &found.run.outcome else { panic!() };
/// assert_eq!(name, "nothing is lost");
/// # }
/// ```
#[track_caller]
pub fn invariant(
    name: impl Into<String>,
    condition: impl FnMut() -> bool + Send + 'static,
) -> Invariant {
    Invariant { _held: HeldInvariant::new(name.into(), here(), condition) }
}

/// A condition that holds after every step, until this value is dropped; see [`invariant()`].
///
/// ```
/// let up = sim::invariant("one is one", || 1 == 1);
/// drop(up);
/// ```
#[must_use = "an invariant ends when it is dropped"]
#[derive(Debug)]
pub struct Invariant {
    _held: HeldInvariant,
}

/// Requires that a condition becomes true within a given time, for example after the last fault of a
/// [nemesis](mod@crate::nemesis). Returns a future that must be awaited.
///
/// The condition may await, and may read anything. The condition is evaluated immediately, and then 64 times at equal
/// intervals of the run's time, the last time at the end of the given time. The time of a run advances only when no
/// task can step, so a busy system is not late.
///
/// ```
/// use sim::{Atomic, Ordering::SeqCst, time::Duration};
/// use std::sync::Arc;
///
/// # let report = sim::Runner::new().hermetic().run(async || {
/// let elected = Arc::new(Atomic::new(false));
/// let election = sim::spawn({
///     let elected = elected.clone();
///     async move {
///         sim::time::sleep(Duration::from_millis(3)).await;
///         elected.store(true, SeqCst).await;
///     }
/// });
/// sim::eventually!(elected.load(SeqCst).await, within = Duration::from_millis(50)).await;
/// election.await.unwrap();
/// # });
/// # assert!(report.passed());
/// ```
///
/// # Panics
/// If the condition does not hold at the end of the given time. In a run, the message shows the values that the
/// condition read last, the pending operation of each task, and the messages in flight.
#[macro_export]
macro_rules! eventually {
    ($condition:expr, within = $time:expr $(,)?) => {
        $crate::__private::eventually($time, ::core::stringify!($condition), async || $condition)
    };
}

/// Called by [`always!`](macro@crate::always).
#[track_caller]
#[doc(hidden)]
pub fn always(holds: bool, name: &str, condition: &str) {
    assert!(holds, "{name}: `{condition}` does not hold");
}

/// The number of times that a condition is evaluated again.
const TIMES: u32 = 64;

/// Called by [`eventually!`](macro@crate::eventually).
#[track_caller]
#[doc(hidden)]
pub fn eventually(
    within: Duration,
    text: &'static str,
    mut condition: impl AsyncFnMut() -> bool,
) -> impl Future<Output = ()> {
    let place = Location::caller();
    async move {
        let begin = Instant::now();
        let mut nth = 0;
        loop {
            let before = seam::clock();
            if condition().await {
                return;
            }
            let standing = || seam::standing(before);
            assert!(
                nth < TIMES,
                "`{text}` did not come to hold within {within:?} ({}){}",
                in_text(place),
                standing()
            );
            nth += 1;
            let due = within.mul_f64(f64::from(nth) / f64::from(TIMES));
            sleep(due.saturating_sub(begin.elapsed())).await;
        }
    }
}
