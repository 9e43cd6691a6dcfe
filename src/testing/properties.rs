//! Properties of one run: that something holds whenever a line is reached, and that something comes to hold in time.

use std::future::Future;
use std::panic::Location;
use std::time::Duration;

use crate::time::{Instant, sleep};

/// Requires that a condition holds whenever a run reaches it: the property of a system, by its name, inside its code.
///
/// As `assert!`, in all builds, but the failure is the property's: reports name it by `name`. Not a point.
///
/// ```
/// use sim::run::{Failure, Outcome};
/// use sim::Runner;
///
/// let report = Runner::new().hermetic().seeds(0..50).run(async || {
///     let leaders = sim::rand::below(3);
///     sim::always!("one leader per term", leaders <= 1);
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
    ($name:expr, $condition:expr $(,)?) => {
        $crate::__private::always($condition, $name, ::core::stringify!($condition))
    };
}

/// Requires that a condition comes to hold within so much time: after the last fault, say, when a
/// [nemesis](mod@crate::nemesis) has run. A future that must be awaited.
///
/// The condition may await, and reads what it likes. It is evaluated at once, and then 64 times in equal intervals of
/// the run's time, the last time when the time is over. The time of a run passes only when no task can step, so a
/// system with something to do is not late.
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
/// If the condition does not hold when the time is over.
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
        while !condition().await {
            assert!(nth < TIMES, "`{text}` did not come to hold within {within:?} ({place})");
            nth += 1;
            let due = within.mul_f64(f64::from(nth) / f64::from(TIMES));
            sleep(due.saturating_sub(begin.elapsed())).await;
        }
    }
}
