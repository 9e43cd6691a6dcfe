//! Weighted random draws: draws a number with a probability in proportion to its weight. A draw or a change of a weight
//! takes logarithmic time.
//!
//! The level above contains the sum of each block of [`WIDTH`] weights. A change adds to one sum on each level, and
//! these additions are independent of each other. A draw searches one block on each level without a branch.

use super::dice::Dice;

/// The number of entries in a block, which has one sum in the level above.
const WIDTH: usize = 4;

/// A weight for each number from 0, for example a task number. Weights that were never set are 0.
#[derive(Debug, Default)]
pub(super) struct Weights {
    /// The weights, then the sums of blocks of [`WIDTH`] weights, then the sums of blocks of these sums, until a level
    /// has at most [`WIDTH`] entries. There is at least one level once a weight is set, and each level consists of
    /// whole blocks.
    levels: Vec<Vec<u64>>,
    /// The sum of all weights.
    sum: u64,
}

impl Weights {
    pub(super) fn clear(&mut self) {
        self.levels.iter_mut().for_each(|level| level.fill(0));
        self.sum = 0;
    }

    pub(super) fn get(&self, number: usize) -> u64 {
        self.levels.first().and_then(|weights| weights.get(number)).copied().unwrap_or(0)
    }

    /// Returns the sum of all weights.
    pub(super) fn sum(&self) -> u64 {
        self.sum
    }

    #[inline]
    pub(super) fn set(&mut self, number: usize, weight: u64) {
        if self.levels.first().is_none_or(|weights| weights.len() <= number) {
            self.grow(number + 1);
        }
        let change = weight.wrapping_sub(self.levels[0][number]);
        let mut at = number;
        for level in &mut self.levels {
            level[at] = level[at].wrapping_add(change);
            at /= WIDTH;
        }
        self.sum = self.sum.wrapping_add(change);
    }

    #[cold]
    fn grow(&mut self, numbers: usize) {
        let mut entries = numbers;
        for depth in 0.. {
            if self.levels.len() == depth {
                let sums = self.levels.last().map_or(Vec::new(), |below| {
                    below.chunks(WIDTH).map(|block| block.iter().sum()).collect()
                });
                self.levels.push(sums);
            }
            self.levels[depth].resize(entries.next_multiple_of(WIDTH), 0);
            if entries <= WIDTH {
                break;
            }
            entries = entries.div_ceil(WIDTH);
        }
    }

    /// Draws a number in proportion to its weight; `None` if all weights are 0.
    #[inline]
    pub(super) fn draw(&self, dice: &mut impl Dice) -> Option<usize> {
        if self.sum == 0 {
            return None;
        }
        let (mut left, mut at) = (dice.below(self.sum), 0);
        for level in self.levels.iter().rev() {
            let block: &[u64; WIDTH] = level[at * WIDTH..].first_chunk()?;
            let (mut past, mut sum, mut sum_past) = (0, 0, 0);
            for entry in block {
                sum += entry;
                let is_past = left >= sum;
                past += usize::from(is_past);
                sum_past = if is_past { sum } else { sum_past };
            }
            left -= sum_past;
            at = at * WIDTH + past;
        }
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::rng::Rng;

    /// Dice that always return the same result.
    #[derive(Debug, Default)]
    struct Shown(u64);

    impl Dice for Shown {
        fn reseed(&mut self, _: crate::run::ids::Seed) {}

        fn below(&mut self, bound: u64) -> u64 {
            assert!(self.0 < bound);
            self.0
        }

        fn priority(&mut self) -> u64 {
            self.0
        }
    }

    #[test]
    fn each_number_is_drawn_by_as_many_as_it_weighs() {
        let mut rng = Rng::new(1);
        let mut weights = Weights::default();
        for numbers in [1, 3, 8, 9, 40, 64, 65, 600, 20] {
            weights.clear();
            let mut known = vec![0; numbers as usize];
            for _ in 0..300 {
                let (number, weight) = (rng.below(numbers) as usize, rng.below(4) * rng.below(3));
                weights.set(number, weight);
                known[number] = weight;
                assert_eq!(weights.get(number), weight);
            }
            let each = known.iter().enumerate();
            let all: Vec<usize> =
                each.flat_map(|(number, weight)| vec![number; *weight as usize]).collect();
            assert_eq!(weights.sum(), all.len() as u64);
            for (shown, number) in all.iter().enumerate() {
                assert_eq!(weights.draw(&mut Shown(shown as u64)), Some(*number));
            }
        }
        weights.clear();
        assert_eq!(weights.draw(&mut rng), None);
    }
}
