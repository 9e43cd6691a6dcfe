//! The source of random numbers of strategies: the frozen stream of a seed or, in tests, a source
//! that enumerates all numbers, so that probabilities are computed and not estimated.

use crate::run::ids::Seed;
use crate::run::rng::Rng;

/// The number of bits of a priority. A queue has room for as many keys above the priorities.
pub(super) const PRIORITY_BITS: u32 = super::queue::KEY_BITS - 1;

/// A source of random numbers.
pub trait Dice: Send {
    /// Restarts the source with the numbers of `seed`.
    fn reseed(&mut self, seed: Seed);

    /// A number below `bound`, which is at least 1; each has the same probability.
    fn below(&mut self, bound: u64) -> u64;

    /// Returns a number that is used only for its order among other such numbers: each order of
    /// several has the same probability. Less than 2 to the power of [`PRIORITY_BITS`].
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
