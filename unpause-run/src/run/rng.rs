//! The frozen stream of random numbers behind a seed.
//!
//! A seed must mean the same run forever, so everything between a seed and a bounded number is
//! fixed here and checked by a golden test. SplitMix64 (Steele, Lea, Flood, *Fast Splittable
//! Pseudorandom Number Generators*, OOPSLA 2014) spreads the seed over the state of xoshiro256++
//! (Blackman, Vigna, *Scrambled Linear Pseudorandom Number Generators*, TOMS 2021). A bounded
//! number is the high half of a widening multiplication, with rejection to avoid bias (Lemire,
//! *Fast Random Integer Generation in an Interval*, TOMACS 2019). A change here gives all seeds
//! another meaning, and the changelog must say so.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng};

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// Creates the stream of `seed`.
    pub fn new(seed: u64) -> Rng {
        let mut state = [0; 32];
        let mut mixed = seed;
        for word in state.chunks_exact_mut(8) {
            mixed = mixed.wrapping_add(0x9e37_79b9_7f4a_7c15);
            word.copy_from_slice(&finalized(mixed).to_le_bytes());
        }
        Rng(Xoshiro256PlusPlus::from_seed(state))
    }

    /// Returns a number below `bound`, which is at least 1. All numbers have the same probability.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        debug_assert!(bound > 0);
        let wide = u128::from(self.0.next_u64()) * u128::from(bound);
        if (wide as u64) < bound { self.unless_favoured(bound, wide) } else { (wide >> 64) as u64 }
    }

    /// Returns the number from `wide`, or from the next draws if this number would be biased.
    #[cold]
    #[inline(never)]
    fn unless_favoured(&mut self, bound: u64, mut wide: u128) -> u64 {
        let reject_below = bound.wrapping_neg() % bound;
        while (wide as u64) < reject_below {
            wide = u128::from(self.0.next_u64()) * u128::from(bound);
        }
        (wide >> 64) as u64
    }
}

/// The finalizer of SplitMix64 (Steele, Lea, Flood 2014).
pub fn finalized(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// Returns a hash of two numbers, which depends on their order.
pub fn mix(a: u64, b: u64) -> u64 {
    finalized(a.rotate_left(23).wrapping_add(b).wrapping_add(0x9e37_79b9_7f4a_7c15))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_of_a_seed_is_frozen() {
        let take = |seed: u64, bound: u64| {
            let mut rng = Rng::new(seed);
            (0..8).map(|_| rng.below(bound)).collect::<Vec<_>>()
        };
        // These numbers are from an implementation in another language that follows the papers.
        assert_eq!(take(0, u64::MAX)[..2], [5987356902031041502, 7051070477665621254]);
        assert_eq!(take(1, 10), [8, 7, 1, 7, 1, 5, 9, 5]);
        assert_eq!(take(17, 3), [2, 2, 0, 1, 1, 2, 1, 0]);
    }

    #[test]
    fn every_number_below_the_bound_comes_up_about_as_often() {
        let mut rng = Rng::new(7);
        let mut counts = [0u32; 6];
        for _ in 0..60_000 {
            counts[rng.below(6) as usize] += 1;
        }
        assert!(counts.iter().all(|c| (9_500..10_500).contains(c)), "{counts:?}");
    }
}
