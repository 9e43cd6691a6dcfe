//! An object that tasks compete for: what each of them is expected to do to it, and who is intended to
//! access it next.

use std::collections::BTreeMap;

use super::super::dice::Dice;
use super::super::rehearsal::REHEARSALS;
use super::super::weights::Weights;
use crate::run::ids::TaskId;

/// What of the counts is the most of any rehearsal; before it are their own.
pub(super) const MOST: usize = REHEARSALS as usize;

/// How much more an access weighs by a task that is favoured.
const FAVOUR: u64 = 64;

/// Few have a part if it is at most one task of so many.
const FEW: usize = 3;

/// How often a task accesses an object in each of the rehearsals, and at most.
pub(super) type Counts = [u64; MOST + 1];

/// Who is put before the others at an object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Favour {
    Nobody,
    /// The tasks with this part.
    First(u32),
    /// All but those with this part.
    Last(u32),
}

/// A task that accesses the object, or has descendants that do.
#[derive(Debug)]
struct Taker {
    /// Its own accesses.
    counts: Counts,
    /// Its part; none if it has no accesses itself, or descendants that have.
    part: Option<u32>,
    /// The position of its parent.
    parent: Option<usize>,
    /// The task of this run, once it is there.
    task: Option<TaskId>,
    /// What one access of it weighs in this run.
    unit: u64,
    /// What its accesses and those of its descendants weigh in this run.
    weight: u64,
}

/// An object that tasks compete for.
#[derive(Debug, Default)]
pub(super) struct Contested {
    /// Whether this run leaves it to the walk.
    pub(super) is_left_out: bool,
    /// Parents before their children.
    takers: Vec<Taker>,
    /// The parts that takers have, and how many have each.
    parts: Vec<(u32, usize)>,
    /// By position of the taker: what the accesses that it and its descendants not yet spawned have left
    /// weigh.
    left: Weights,
    intended: Option<TaskId>,
}

impl Contested {
    /// Adds a taker, after its parent, and tells its position.
    pub(super) fn add(
        &mut self,
        counts: Counts,
        part: Option<u32>,
        parent: Option<usize>,
    ) -> usize {
        // Who waits for its children cannot come before them.
        if let Some(parent) = parent {
            self.takers[parent].part = None;
        }
        self.takers.push(Taker { counts, part, parent, task: None, unit: 1, weight: 0 });
        self.takers.len() - 1
    }

    /// All takers are there: counts those that have each part.
    pub(super) fn count_parts(&mut self) {
        let mut parts = BTreeMap::new();
        for part in self.takers.iter().filter_map(|taker| taker.part) {
            *parts.entry(part).or_insert(0) += 1;
        }
        self.parts = parts.into_iter().collect();
    }

    /// As if no rehearsal had seen an access of this taker.
    #[cfg(test)]
    pub(super) fn forget(&mut self, at: usize) {
        self.takers[at].counts = Counts::default();
    }

    /// A run begins that favours some and expects these of the counts.
    pub(super) fn restart(&mut self, which: usize, favour: Favour) {
        self.left.clear();
        self.intended = None;
        for taker in &mut self.takers {
            let is_favoured = match favour {
                Favour::Nobody => false,
                Favour::First(part) => taker.part == Some(part),
                Favour::Last(part) => taker.part != Some(part),
            };
            taker.task = None;
            taker.unit = if is_favoured { FAVOUR } else { 1 };
            taker.weight = taker.counts[which] * taker.unit;
        }
        for at in (0..self.takers.len()).rev() {
            let Taker { weight, parent, .. } = self.takers[at];
            if let Some(parent) = parent {
                self.takers[parent].weight += weight;
            }
        }
    }

    /// Draws whom to favour: one part that few have, or all others. Not where most tasks have a part of
    /// their own.
    pub(super) fn draw_favour(&self, dice: &mut impl Dice) -> Favour {
        let tasks: usize = self.parts.iter().map(|(_, count)| count).sum();
        let few = || self.parts.iter().filter(|(_, count)| FEW * count <= tasks);
        let count = few().count();
        if tasks < 2 * self.parts.len() || count == 0 {
            return Favour::Nobody;
        }
        let part = few().nth(dice.below(count as u64) as usize).map_or(0, |(part, _)| *part);
        match dice.below(3) {
            0 => Favour::First(part),
            1 => Favour::Last(part),
            _ => Favour::Nobody,
        }
    }

    /// A taker was spawned: what is expected of it was expected of its parent, and so may be the
    /// intention.
    pub(super) fn take_in(&mut self, at: usize, task: TaskId, dice: &mut impl Dice) {
        let Taker { weight, parent, .. } = self.takers[at];
        self.takers[at].task = Some(task);
        self.left.set(at, weight);
        let Some(parent) = parent else { return };
        let left = self.left.get(parent);
        let moved = weight.min(left);
        self.left.set(parent, left - moved);
        let is_intended = self.intended.is_some() && self.intended == self.takers[parent].task;
        if is_intended && moved > 0 && dice.below(left) < moved {
            self.intended = Some(task);
        }
    }

    /// A taker has ended: it accesses nothing any more, whatever was expected of it. Returns whether it
    /// was the intended one.
    pub(super) fn dismiss(&mut self, at: usize, task: TaskId) -> bool {
        self.left.set(at, 0);
        self.intended == Some(task)
    }

    /// Draws who is intended to access it next, in proportion to what they have left.
    #[inline]
    pub(super) fn intend(&mut self, dice: &mut impl Dice) -> Option<TaskId> {
        let drawn = self.left.draw(dice);
        self.intended = drawn.and_then(|at| self.takers[at].task);
        self.intended
    }

    #[inline]
    pub(super) fn intended(&self) -> Option<TaskId> {
        self.intended
    }

    /// A taker is about to access it. One that has an access left although none was expected becomes the
    /// intended one with the probability that it would have if this one had been expected. Returns whether
    /// it was not expected.
    #[inline]
    pub(super) fn expect(&mut self, at: usize, task: TaskId, dice: &mut impl Dice) -> bool {
        let is_surprise = self.left.get(at) == 0;
        if is_surprise {
            self.expect_one(at, task, dice);
        }
        is_surprise
    }

    #[cold]
    fn expect_one(&mut self, at: usize, task: TaskId, dice: &mut impl Dice) {
        let unit = self.takers[at].unit;
        self.left.set(at, unit);
        if self.intended.is_some() && dice.below(self.left.sum()) < unit {
            self.intended = Some(task);
        }
    }

    /// A taker accesses it.
    #[inline]
    pub(super) fn count(&mut self, at: usize) {
        let left = self.left.get(at).saturating_sub(self.takers[at].unit);
        self.left.set(at, left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::rng::Rng;

    const READER: u32 = 7;
    const WRITER: u32 = 8;

    /// A body that does nothing to it, a reader of two accesses, and writers of one.
    fn contested(writers: u32) -> Contested {
        let mut contested = Contested::default();
        contested.add([0; MOST + 1], None, None);
        contested.add([2; MOST + 1], Some(READER), Some(0));
        for _ in 0..writers {
            contested.add([1; MOST + 1], Some(WRITER), Some(0));
        }
        contested.count_parts();
        contested
    }

    /// What each weighs when the body and then the first of the others are there.
    fn weights(favour: Favour, there: usize) -> Vec<u64> {
        let mut contested = contested(3);
        contested.restart(MOST, favour);
        let mut dice = Rng::new(1);
        (0..there).for_each(|at| contested.take_in(at, TaskId(at as u32), &mut dice));
        (0..5).map(|at| contested.left.get(at)).collect()
    }

    #[test]
    fn an_access_of_who_is_favoured_weighs_more() {
        const N: u64 = FAVOUR;
        assert_eq!(weights(Favour::Nobody, 5), [0, 2, 1, 1, 1]);
        assert_eq!(weights(Favour::First(READER), 5), [0, 2 * N, 1, 1, 1]);
        assert_eq!(weights(Favour::Last(READER), 5), [0, 2, N, N, N]);
        assert_eq!(weights(Favour::First(WRITER), 5), [0, 2, N, N, N]);
        // What is expected of those to come is expected of the body.
        assert_eq!(weights(Favour::Nobody, 2), [3, 2, 0, 0, 0]);
        assert_eq!(weights(Favour::First(READER), 1), [2 * N + 3, 0, 0, 0, 0]);
        assert_eq!(weights(Favour::Last(READER), 2), [3 * N, 2, 0, 0, 0]);
    }

    #[test]
    fn an_access_counts_as_much_as_it_weighs() {
        let mut contested = contested(3);
        contested.restart(MOST, Favour::First(READER));
        let mut dice = Rng::new(1);
        (0..5).for_each(|at| contested.take_in(at, TaskId(at as u32), &mut dice));
        let left: Vec<u64> = (0..3)
            .map(|_| {
                contested.count(1);
                contested.left.get(1)
            })
            .collect();
        assert_eq!(left, [FAVOUR, 0, 0]);
        contested.expect(1, TaskId(1), &mut dice);
        assert_eq!(contested.left.get(1), FAVOUR);
    }
}
