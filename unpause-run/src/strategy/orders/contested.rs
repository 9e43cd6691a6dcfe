//! A contended object, with the expected accesses of each task and the task that is intended to access the object next.

use super::super::dice::Dice;
use super::super::rehearsal::REHEARSALS;
use super::super::weights::Weights;
use crate::run::ids::TaskId;
use unpause_ordered::Map;

/// The index in `ContestedCounts` of the maximum over the rehearsals. The lower indices are the counts of each
/// rehearsal.
pub(super) const MOST: usize = REHEARSALS as usize;

/// The weight of an access by a favoured task. An access by another task has weight 1.
const FAVOUR: u64 = 64;

/// A part is rare if at most one task in this many has it.
const FEW: usize = 3;

/// The number of accesses of a task to an object in each rehearsal, and their maximum.
pub(super) type ContestedCounts = [u64; MOST + 1];

/// The favoured tasks, which are put before the other tasks at an object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Favour {
    Nobody,
    /// The tasks with this part.
    First(u32),
    /// All tasks except the tasks with this part.
    Last(u32),
}

/// A task that accesses the object, or has a descendant that accesses it.
#[derive(Debug)]
struct Accessor {
    /// The accesses of the task itself.
    counts: ContestedCounts,
    /// The part of the task; `None` if the task itself has no accesses, or if a descendant has accesses.
    part: Option<u32>,
    /// The position of its parent.
    parent: Option<usize>,
    /// The task of this run, once it is spawned.
    task: Option<TaskId>,
    /// The weight of one access by the task in this run.
    unit: u64,
    /// The total weight of all accesses by the task and its descendants in this run.
    weight: u64,
}

/// A contended object.
#[derive(Debug, Default)]
pub(super) struct Contested {
    /// True if this run leaves the object to the random walk.
    pub(super) is_left_out: bool,
    /// All accessors; parents precede their children.
    accessors: Vec<Accessor>,
    /// The parts of the accessors, and the number of accessors with each part.
    parts: Vec<(u32, usize)>,
    /// For each accessor, the weight of its remaining accesses, including descendants that are not yet spawned.
    left: Weights,
    intended: Option<TaskId>,
}

impl Contested {
    /// Adds an accessor and returns its position. The parent must have been added before.
    pub(super) fn add(
        &mut self,
        counts: ContestedCounts,
        part: Option<u32>,
        parent: Option<usize>,
    ) -> usize {
        // A task that waits for its children cannot access the object before them.
        if let Some(parent) = parent {
            self.accessors[parent].part = None;
        }
        self.accessors.push(Accessor { counts, part, parent, task: None, unit: 1, weight: 0 });
        self.accessors.len() - 1
    }

    /// Counts the accessors with each part. Must be called after all accessors were added.
    pub(super) fn count_parts(&mut self) {
        let mut parts = Map::new();
        for part in self.accessors.iter().filter_map(|accessor| accessor.part) {
            *parts.entry(part).or_insert(0) += 1;
        }
        self.parts = parts.into_iter().collect();
    }

    /// Resets the counts of this accessor.
    #[cfg(test)]
    pub(super) fn forget(&mut self, at: usize) {
        self.accessors[at].counts = ContestedCounts::default();
    }

    /// Begins a run with this favour. The run expects the counts at index `which`.
    pub(super) fn restart(&mut self, which: usize, favour: Favour) {
        self.left.clear();
        self.intended = None;
        for accessor in &mut self.accessors {
            let is_favoured = match favour {
                Favour::Nobody => false,
                Favour::First(part) => accessor.part == Some(part),
                Favour::Last(part) => accessor.part != Some(part),
            };
            accessor.task = None;
            accessor.unit = if is_favoured { FAVOUR } else { 1 };
            accessor.weight = accessor.counts[which] * accessor.unit;
        }
        for at in (0..self.accessors.len()).rev() {
            let Accessor { weight, parent, .. } = self.accessors[at];
            if let Some(parent) = parent {
                self.accessors[parent].weight += weight;
            }
        }
    }

    /// Draws the tasks that this run favours: the tasks with one rare part, all other tasks, or no task. Always
    /// returns `Nobody` if most tasks have a unique part.
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

    /// Adds the task of an accessor when the task is spawned. Moves its weight, and perhaps the intention, from its
    /// parent to it.
    pub(super) fn add_task(&mut self, at: usize, task: TaskId, dice: &mut impl Dice) {
        let Accessor { weight, parent, .. } = self.accessors[at];
        self.accessors[at].task = Some(task);
        self.left.set(at, weight);
        let Some(parent) = parent else { return };
        let left = self.left.get(parent);
        let moved = weight.min(left);
        self.left.set(parent, left - moved);
        let is_intended = self.intended.is_some() && self.intended == self.accessors[parent].task;
        if is_intended && moved > 0 && dice.below(left) < moved {
            self.intended = Some(task);
        }
    }

    /// Removes an accessor that has ended. Returns `true` if its task was the intended task.
    pub(super) fn dismiss(&mut self, at: usize, task: TaskId) -> bool {
        self.left.set(at, 0);
        self.intended == Some(task)
    }

    /// Draws the task that is intended to access the object next, in proportion to the weights.
    #[inline]
    pub(super) fn intend(&mut self, dice: &mut impl Dice) -> Option<TaskId> {
        let drawn = self.left.draw(dice);
        self.intended = drawn.and_then(|at| self.accessors[at].task);
        self.intended
    }

    #[inline]
    pub(super) fn intended(&self) -> Option<TaskId> {
        self.intended
    }

    /// Records that an accessor is about to access the object. An unexpected access makes its task the intended task
    /// with the same probability as if the access had been expected. Returns `true` if the access was unexpected.
    #[inline]
    pub(super) fn expect(&mut self, at: usize, task: TaskId, dice: &mut impl Dice) -> bool {
        let is_surprise = self.left.get(at) == 0;
        if is_surprise {
            self.expect_surprise(at, task, dice);
        }
        is_surprise
    }

    #[cold]
    fn expect_surprise(&mut self, at: usize, task: TaskId, dice: &mut impl Dice) {
        let unit = self.accessors[at].unit;
        self.left.set(at, unit);
        if self.intended.is_some() && dice.below(self.left.sum()) < unit {
            self.intended = Some(task);
        }
    }

    /// Counts an access.
    #[inline]
    pub(super) fn count(&mut self, at: usize) {
        let left = self.left.get(at).saturating_sub(self.accessors[at].unit);
        self.left.set(at, left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::rng::Rng;

    const READER: u32 = 7;
    const WRITER: u32 = 8;

    /// A body without accesses, a reader with two accesses, and writers with one access each.
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

    /// Returns the weights after the first `there` accessors are spawned, starting with the body.
    fn weights(favour: Favour, there: usize) -> Vec<u64> {
        let mut contested = contested(3);
        contested.restart(MOST, favour);
        let mut dice = Rng::new(1);
        (0..there).for_each(|at| contested.add_task(at, TaskId(at as u32), &mut dice));
        (0..5).map(|at| contested.left.get(at)).collect()
    }

    #[test]
    fn an_access_of_who_is_favoured_weighs_more() {
        const N: u64 = FAVOUR;
        assert_eq!(weights(Favour::Nobody, 5), [0, 2, 1, 1, 1]);
        assert_eq!(weights(Favour::First(READER), 5), [0, 2 * N, 1, 1, 1]);
        assert_eq!(weights(Favour::Last(READER), 5), [0, 2, N, N, N]);
        assert_eq!(weights(Favour::First(WRITER), 5), [0, 2, N, N, N]);
        // The accesses of tasks that are not yet spawned are attributed to the body.
        assert_eq!(weights(Favour::Nobody, 2), [3, 2, 0, 0, 0]);
        assert_eq!(weights(Favour::First(READER), 1), [2 * N + 3, 0, 0, 0, 0]);
        assert_eq!(weights(Favour::Last(READER), 2), [3 * N, 2, 0, 0, 0]);
    }

    #[test]
    fn an_access_counts_as_much_as_it_weighs() {
        let mut contested = contested(3);
        contested.restart(MOST, Favour::First(READER));
        let mut dice = Rng::new(1);
        (0..5).for_each(|at| contested.add_task(at, TaskId(at as u32), &mut dice));
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
