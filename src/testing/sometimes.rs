//! Conditions that must hold in some run, or in a share of the runs: if the interesting case never
//! occurs, a test has shown nothing.

use std::panic::Location;

use crate::run::Condition;
use crate::seam::{self, on_carrier};

/// Requires that a condition holds sometimes: the test fails if the condition holds in no run,
/// although every run of it passed.
///
/// Reports name the condition by `name`; uses with the same name are the same condition. The condition is
/// evaluated and recorded whenever a run reaches it; a line that no run reaches is not known and fails nothing.
/// Ignored when a single seed is run or a trace is replayed. A shard only warns; `cargo unpause merge` checks all
/// shards together. It is not a point, and outside a run it only evaluates its condition.
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

/// Requires that a condition holds in at least this many of a hundred runs, 1 to 100: the test
/// fails if the condition holds in fewer, although every run of it passed.
///
/// For tests whose runs differ by drawn values, such as [generated programs](fn@crate::parallel).
/// Like [`sometimes!`](macro@crate::sometimes), but it counts runs: the condition counts as false
/// in a run in which it was never true, or never evaluated. In a search its runs are counted, and
/// each of them is another interleaving.
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
/// If the number is not one from 1 to 100.
#[macro_export]
macro_rules! cover {
    ($condition:expr, $percent:expr, $name:expr $(,)?) => {
        $crate::__private::cover($condition, $percent, $name)
    };
}

/// Called by the macros: the condition `name` was evaluated to `held`.
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
