//! Where strategies get their random numbers from: the frozen stream of a seed or, in tests, a source
//! that goes through all of them, so that probabilities are computed and not estimated.

use crate::run::ids::Seed;
use crate::run::rng::Rng;

/// How long a priority is: a queue has room for as many keys above them.
pub(super) const PRIORITY_BITS: u32 = super::queue::KEY_BITS - 1;

/// A source of random numbers.
pub(crate) trait Dice: Send {
    /// From here on the numbers are those of `seed`.
    fn reseed(&mut self, seed: Seed);

    /// A number below `bound`, which is at least 1; every one with the same probability.
    fn below(&mut self, bound: u64) -> u64;

    /// A number of which only the order among other such numbers counts: any order of several has the
    /// same probability. Less than 2 to the power of [`PRIORITY_BITS`].
    fn priority(&mut self) -> u64;
}

impl Dice for Rng {
    fn reseed(&mut self, seed: Seed) {
        *self = Rng::new(seed.0);
    }

    #[inline]
    fn below(&mut self, bound: u64) -> u64 {
        Rng::below(self, bound)
    }

    #[inline]
    fn priority(&mut self) -> u64 {
        Rng::below(self, 1 << PRIORITY_BITS)
    }
}

impl Default for Rng {
    fn default() -> Rng {
        Rng::new(0)
    }
}
