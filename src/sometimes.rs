//! Conditions that are to hold in some run: a test whose interesting case never came up has shown nothing.

use std::panic::Location;

use crate::run::Condition;
use crate::seam;

/// Says that a condition is to hold sometimes: a test in which it holds in no run fails, although every
/// run of it passed.
///
/// The name is what the report says; the same name in several places is the same condition. The
/// condition is evaluated, and noted, wherever a run comes by; the other way round, a line that no run
/// reaches is not known and fails nothing. Not asked for when just one seed is run or a trace is
/// replayed. Is no point, and does nothing outside a run but evaluate its condition.
///
/// ```
/// use sim::run::{Failure, Outcome};
/// use sim::Runner;
///
/// let report = Runner::new().hermetic().seeds(0..20).run(async || {
///     sim::sometimes!(sim::rand::below(10) < 10, "a small number");
///     sim::sometimes!(sim::rand::below(10) > 10, "a large number");
/// });
/// let Outcome::Failed(Failure::NeverHeld { conditions }) = &report.finding.unwrap().run.outcome else {
///     panic!("the second one cannot hold");
/// };
/// assert_eq!(conditions[0].name, "a large number");
/// ```
#[macro_export]
macro_rules! sometimes {
    ($condition:expr, $name:expr $(,)?) => {
        $crate::sometimes::note($condition, $name)
    };
}

/// What the macro calls: the condition `name` was asked about, and `held` or not.
#[track_caller]
#[doc(hidden)]
pub fn note(held: bool, name: &'static str) {
    seam::note_condition(Condition { name, place: Location::caller(), held });
}
