//! Drawing a task with a probability in proportion to its weight, and changing a weight, each in the
//! logarithm of the number of tasks: a tree whose leaves are weights and whose nodes are sums.

use super::dice::Dice;
use crate::ids::TaskId;

/// A weight for each task; those never set weigh nothing.
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

    pub(super) fn get(&self, task: TaskId) -> u64 {
        match task.index() < self.leaves() {
            true => self.sums[self.leaves() + task.index()],
            false => 0,
        }
    }

    /// The sum of all.
    pub(super) fn sum(&self) -> u64 {
        self.sums.get(1).copied().unwrap_or(0)
    }

    pub(super) fn set(&mut self, task: TaskId, weight: u64) {
        if task.index() >= self.leaves() {
            self.grow(task.index() + 1);
        }
        let mut at = self.leaves() + task.index();
        self.sums[at] = weight;
        while at > 1 {
            at /= 2;
            self.sums[at] = self.sums[2 * at] + self.sums[2 * at + 1];
        }
    }

    #[cold]
    fn grow(&mut self, tasks: usize) {
        let (old, new) = (self.leaves(), tasks.next_power_of_two());
        let leaves = self.sums.split_off(old);
        self.sums.clear();
        self.sums.resize(2 * new, 0);
        self.sums[new..new + leaves.len()].copy_from_slice(&leaves);
        for at in (1..new).rev() {
            self.sums[at] = self.sums[2 * at] + self.sums[2 * at + 1];
        }
    }

    /// A task in proportion to its weight; none if nothing weighs anything.
    #[inline]
    pub(super) fn draw(&self, dice: &mut impl Dice) -> Option<TaskId> {
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
        Some(TaskId((at - self.leaves()) as u32))
    }
}
