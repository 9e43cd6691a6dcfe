//! The source of random numbers for strategies. The source is the frozen stream of a seed or, in tests, a source that
//! enumerates all numbers, so that tests compute exact probabilities.

use crate::run::ids::Seed;
use crate::run::rng::Rng;

/// The number of bits of a priority. The keys of a queue have one more bit, so half of the keys are
/// above all priorities.
pub(super) const PRIORITY_BITS: u32 = super::queue::KEY_BITS - 1;

/// A source of random numbers.
pub trait Dice: Send {
    /// Restarts the source with the numbers of `seed`.
    fn reseed(&mut self, seed: Seed);

    /// Returns a uniformly distributed number below `bound`, which must be at least 1.
    fn below(&mut self, bound: u64) -> u64;

    /// Returns a priority below 2^[`PRIORITY_BITS`]. Only the order of priorities matters: all
    /// orders of several priorities have the same probability.
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
