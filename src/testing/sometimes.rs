//! Conditions that must hold in at least one run, or in a share of the runs. A test shows nothing if the interesting
//! case never occurs.

use std::panic::Location;

use crate::run::Condition;
use crate::seam::{self, on_carrier};

/// Requires that a condition holds sometimes. The test fails if the condition holds in no run, even if every run
/// passed.
///
/// Reports name the condition by `name`; uses with the same name are the same condition. The condition is evaluated and
/// recorded whenever a run reaches it. A line that no run reaches is unknown to the test, so it causes no failure. The
/// requirement is ignored if a single seed is run or a trace is replayed. A shard only warns; `cargo unpause merge`
/// checks all shards together. This call is not a point. Outside of runs, the macro only evaluates the condition.
///
/// ```
/// use sim::run::{Failure, Outcome};
/// use sim::Runner;
///
/// let report = Runner::new().hermetic().seeds(0..20).run(async || {
///     sim::sometimes!(sim::rand::below(10) < 10, "a small number");
///     sim::sometimes!(sim::rand::below(10) > 10, "a large number");
/// });
/// let Outcome::Failed(Failure::TooSeldom { conditions, .. }) = &report.finding.unwrap().run.outcome else {
///     panic!("the second one cannot hold");
/// };
/// assert_eq!(conditions[0].name, "a large number");
/// ```
#[macro_export]
macro_rules! sometimes {
    ($condition:expr, $name:expr $(,)?) => {
        $crate::__private::note($condition, 0, $name)
    };
}

/// Requires that a condition holds in at least this percentage of the runs, 1 to 100. The test fails if the condition
/// holds in fewer runs, even if every run passed.
///
/// Use it in tests whose runs differ by drawn values, such as [generated programs](fn@crate::parallel). Unlike
/// [`sometimes!`](macro@crate::sometimes), it counts runs. The condition counts as false in a run if it was never true,
/// or never evaluated. In a search, the runs of the search are counted, and each of them is a different interleaving.
///
/// ```
/// use sim::run::{Failure, Outcome};
/// use sim::Runner;
///
/// let report = Runner::new().hermetic().seeds(0..200).run(async || {
///     let number = sim::rand::below(10);
///     sim::cover!(number < 5, 30, "a small number");
///     sim::cover!(number == 7, 30, "seven");
/// });
/// let finding = report.finding.unwrap();
/// let Outcome::Failed(Failure::TooSeldom { conditions, runs, .. }) = &finding.run.outcome else {
///     panic!("a number of ten is not drawn in 30 % of all runs");
/// };
/// assert_eq!(conditions[0].name, "seven");
/// assert!(conditions[0].runs > 0 && conditions[0].runs * 100 < 30 * runs);
/// ```
///
/// # Panics
/// If the percentage is not an integer from 1 to 100.
#[macro_export]
macro_rules! cover {
    ($condition:expr, $percent:expr, $name:expr $(,)?) => {
        $crate::__private::cover($condition, $percent, $name)
    };
}

/// Records that the condition `name` was evaluated to `held`. Called by the macros.
#[track_caller]
#[doc(hidden)]
pub fn note(held: bool, percent: u32, name: &'static str) {
    let (place, runs) = (Location::caller().into(), u64::from(held));
    on_carrier(|| seam::note_condition(Condition { name, place, percent, runs }));
}

#[track_caller]
#[doc(hidden)]
pub fn cover(held: bool, percent: u32, name: &'static str) {
    assert!(
        (1..=100).contains(&percent),
        "{name:?} must hold in {percent} % of the runs: give a number from 1 to 100"
    );
    note(held, percent, name);
}
