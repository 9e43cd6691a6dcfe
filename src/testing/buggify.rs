//! Code that makes rare cases common, in the runs of tests that ask for it.

use crate::seam::{self, on_carrier};

/// Returns `true` now and then in the runs of a test that asks for it, and `false` everywhere else.
/// It guards code that makes a rare case common: a buffer of one entry, a delay, an error allowed
/// by an interface.
///
/// The code under test has these marks where only its author knows what is rare; a simulator cannot. They stay there:
/// the real build has the constant `false` in their place. A test asks for them with `#[sim::test(buggify)]`,
/// [`Runner::buggify`](crate::Runner::buggify) or `SIM_BUGGIFY=1`. Each of its runs switches a quarter of the places
/// on; there a quarter of the passes are true, as for the `BUGGIFY` of FoundationDB (Zhou et al. 2021). So each run
/// has a mixture of its own, and no place hides the effect of another one in all of them.
///
/// A place is named by its file and line, or by a literal: uses of one name are switched on
/// together. Each pass is a decision, 0 for false: it is replayed, shrinking removes unneeded ones,
/// and screens show the true ones by name, as `buggify: small batch`. A search tries both values,
/// for at most two passes of each task that are true, and says so if there are more. Reports count
/// the passes, and warn of a place that was true in none. It is not a point.
///
/// The guarded code must be legal: a failing test has then found a bug, not an impossible fault.
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
