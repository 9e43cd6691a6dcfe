//! Marks in the code under test that make rare cases common, in tests that request it.

use crate::seam::{self, on_carrier};

/// Returns `true` now and then in the runs of a test that requests it, and `false` everywhere else. Use it to guard
/// code that makes a rare case common, for example a buffer of one entry, a delay, or an error that an interface
/// allows.
///
/// These marks are in the code under test, because only its author, not a simulator, knows the rare cases. The marks
/// remain in the code: in the real build the macro is the constant `false`. A test requests them with
/// `#[sim::test(buggify)]`, [`Runner::buggify`](crate::Runner::buggify) or `SIM_BUGGIFY=1`. Each run switches on a
/// quarter of the places, and at these places a quarter of the evaluations return `true`. FoundationDB's `BUGGIFY` uses
/// the same scheme (Zhou et al. 2021). So each run has its own mixture, and no place hides the effect of another place
/// in all runs.
///
/// A place is identified by its file and line, or by a literal name. All uses of one name are switched on together.
/// Each evaluation is a decision with 0 for `false`, so it is replayed, and shrinking removes unneeded `true` results.
/// Screens show each `true` result by name, for example `buggify: small batch`. A search tries both values, but for
/// each task at most two `true` results; if more are possible, the report says so. Reports count the evaluations, and
/// warn about a place that never returned `true`. This call is not a point.
///
/// The guarded code must be legal behaviour. Then a failing test has found a bug, not an impossible fault.
///
/// ```
/// use sim::Runner;
///
/// /// Adds up the numbers, in batches. The bug: it skips a number between two of them.
/// fn sum(numbers: &[u64]) -> u64 {
///     let size = if sim::buggify!("small batch") { 2 } else { 100 };
///     let (mut sum, mut from) = (0, 0);
///     while from < numbers.len() {
///         let to = numbers.len().min(from + size);
///         sum += numbers[from..to].iter().sum::<u64>();
///         from = to + 1;
///     }
///     sum
/// }
///
/// let test = async || assert_eq!(sum(&[1, 2, 3]), 6);
/// assert!(Runner::new().hermetic().run(test).passed());
/// # if !sim::SIMULATED { return }
/// # let out = std::env::temp_dir().join("sim-docs");
/// assert!(!Runner::new().hermetic().out(out).buggify(true).run(test).passed());
/// ```
#[macro_export]
macro_rules! buggify {
    () => {
        $crate::__private::buggify(::core::concat!(
            "buggify: ",
            ::core::file!(),
            ":",
            ::core::line!()
        ))
    };
    ($name:literal $(,)?) => {
        $crate::__private::buggify(::core::concat!("buggify: ", $name))
    };
}

/// Called by the macro, with the name of the decision.
#[doc(hidden)]
#[inline(always)]
pub fn buggify(name: &'static str) -> bool {
    seam::SIMULATED && on_carrier(|| seam::buggify(name))
}
