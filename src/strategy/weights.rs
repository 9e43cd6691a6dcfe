//! Drawing a number with a probability in proportion to its weight, and changing a weight, each in the
//! logarithm of how many there are: a tree whose leaves are weights and whose nodes are sums.

use super::dice::Dice;

/// A weight for each number from 0 on, such as that of a task; those never set weigh nothing.
#[derive(Debug, Default)]
pub(super) struct Weights {
    /// Node `i` is the sum of `2i` and `2i + 1`; the second half are the leaves. Empty at first.
    sums: Vec<u64>,
}

impl Weights {
    pub(super) fn clear(&mut self) {
        self.sums.fill(0);
    }

    fn leaves(&self) -> usize {
        self.sums.len() / 2
    }

    pub(super) fn get(&self, number: usize) -> u64 {
        match number < self.leaves() {
            true => self.sums[self.leaves() + number],
            false => 0,
        }
    }

    /// The sum of all.
    pub(super) fn sum(&self) -> u64 {
        self.sums.get(1).copied().unwrap_or(0)
    }

    pub(super) fn set(&mut self, number: usize, weight: u64) {
        if number >= self.leaves() {
            self.grow(number + 1);
        }
        let mut at = self.leaves() + number;
        self.sums[at] = weight;
        while at > 1 {
            at /= 2;
            self.sums[at] = self.sums[2 * at] + self.sums[2 * at + 1];
        }
    }

    #[cold]
    fn grow(&mut self, numbers: usize) {
        let (old, new) = (self.leaves(), numbers.next_power_of_two());
        let leaves = self.sums.split_off(old);
        self.sums.clear();
        self.sums.resize(2 * new, 0);
        self.sums[new..new + leaves.len()].copy_from_slice(&leaves);
        for at in (1..new).rev() {
            self.sums[at] = self.sums[2 * at] + self.sums[2 * at + 1];
        }
    }

    /// A number in proportion to its weight; none if nothing weighs anything.
    #[inline]
    pub(super) fn draw(&self, dice: &mut impl Dice) -> Option<usize> {
        let sum = self.sum();
        if sum == 0 {
            return None;
        }
        let (mut left, mut at) = (dice.below(sum), 1);
        while at < self.leaves() {
            at *= 2;
            if left >= self.sums[at] {
                left -= self.sums[at];
                at += 1;
            }
        }
        Some(at - self.leaves())
    }
}
