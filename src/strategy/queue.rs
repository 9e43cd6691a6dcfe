//! Tasks by priority: the highest, and a change, in the logarithm of their number.
//!
//! A few keys stand in a row, and the highest is looked for when it is asked for. More are the leaves of a
//! tree of winners: each node is the higher one of the two below it, and a change plays the games on its
//! way up again: one comparison a level, where a heap has two and moves what it compares. Tasks that can
//! step no more are taken out when they come up, not when it happens: nobody tells.

use crate::choice::{Status, View};
use crate::ids::TaskId;

/// Up to so many stand in a row.
const ROW: usize = 16;

/// The entry of what is not in. All others are one more than their key.
const OUT: u64 = 0;

/// A queue of tasks, the highest key first; of equal ones the first to be spawned.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// By task, an even number of them.
    entries: Vec<u64>,
    /// If there are more than [`ROW`]: node `i` is the higher of `2i` and `2i + 1`, and the second half
    /// are the tasks.
    winners: Vec<Entry>,
    /// The highest of all, unless it has to be looked for.
    first: Entry,
    stale: bool,
}

/// An entry, and whose it is.
type Entry = (u64, TaskId);

impl Queue {
    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.winners.clear();
        self.stale = true;
    }

    /// Whether the task is in.
    #[inline]
    pub(super) fn has(&self, task: TaskId) -> bool {
        self.entries.get(task.index()).is_some_and(|entry| *entry != OUT)
    }

    /// Puts the task in with this key, less than `u64::MAX`, or gives it this key.
    #[inline]
    pub(super) fn set(&mut self, task: TaskId, key: u64) {
        if self.entries.len() <= task.index() {
            self.grow(task.index() + 1);
        }
        self.put(task, key + 1);
    }

    /// Gives the task another key, if it is in.
    #[inline]
    pub(super) fn renew(&mut self, task: TaskId, key: impl FnOnce() -> u64) {
        if self.has(task) {
            self.put(task, key() + 1);
        }
    }

    /// Takes the task out, if it is in.
    #[inline]
    pub(super) fn remove(&mut self, task: TaskId) {
        if self.has(task) {
            self.put(task, OUT);
        }
    }

    /// The task of highest key that can step, with that key.
    #[inline]
    pub(super) fn top(&mut self, view: &View<'_>) -> Option<(u64, TaskId)> {
        loop {
            let (entry, task) = self.highest();
            if entry == OUT {
                return None;
            }
            if view.task(task).status == Status::Ready {
                return Some((entry - 1, task));
            }
            self.take_out(task);
        }
    }

    #[inline]
    fn highest(&mut self) -> Entry {
        if self.stale {
            self.look();
        }
        self.first
    }

    #[inline(never)]
    fn look(&mut self) {
        self.first = highest_of(&self.entries);
        self.stale = false;
    }

    #[cold]
    fn take_out(&mut self, task: TaskId) {
        self.put(task, OUT);
    }

    #[inline(always)]
    fn put(&mut self, task: TaskId, entry: u64) {
        if std::mem::replace(&mut self.entries[task.index()], entry) == entry {
            return;
        }
        match self.winners.is_empty() {
            true => self.stale = true,
            false => self.play((entry, task)),
        }
    }

    /// An entry has changed: plays the games on its way up again.
    #[inline(never)]
    fn play(&mut self, changed: Entry) {
        let mut at = self.winners.len() / 2 + changed.1.index();
        let mut winner = changed;
        self.winners[at] = winner;
        while at > 1 {
            let other = self.winners[at ^ 1];
            winner = if at & 1 == 0 { higher(winner, other) } else { higher(other, winner) };
            at /= 2;
            self.winners[at] = winner;
        }
        self.first = winner;
    }

    #[cold]
    fn grow(&mut self, tasks: usize) {
        self.entries.resize(tasks.next_multiple_of(2), OUT);
        self.stale = tasks <= ROW;
        if tasks <= ROW || self.winners.len() >= 2 * tasks {
            return;
        }
        let leaves = tasks.next_power_of_two();
        self.winners.clear();
        self.winners.resize(2 * leaves, (OUT, TaskId::MAIN));
        for task in 0..leaves {
            let entry = self.entries.get(task).copied().unwrap_or(OUT);
            self.winners[leaves + task] = (entry, TaskId(task as u32));
        }
        for at in (1..leaves).rev() {
            self.winners[at] = higher(self.winners[2 * at], self.winners[2 * at + 1]);
        }
        self.first = self.winners[1];
    }
}

/// The higher one; of equal ones the left.
#[inline]
fn higher(left: Entry, right: Entry) -> Entry {
    if right.0 > left.0 { right } else { left }
}

/// The highest of an even number of entries; the first of equal ones.
//
// Two at a time: one by one, the compiler takes several turns of the loop in one, with branches.
#[inline]
fn highest_of(row: &[u64]) -> Entry {
    let (mut highest, mut at) = (Entry::default(), 0);
    for pair in row.chunks_exact(2) {
        highest = higher(highest, higher((pair[0], TaskId(at)), (pair[1], TaskId(at + 1))));
        at += 2;
    }
    highest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn the_highest_is_the_one_that_a_look_at_all_finds() {
        let mut rng = Rng::new(1);
        let mut queue = Queue::default();
        for tasks in [1, 3, 16, 17, 40, 256, 257, 700, 5000, 20] {
            queue.clear();
            let mut keys: Vec<Option<u64>> = Vec::new();
            for turn in 0..2000 {
                let task = rng.below(tasks) as usize;
                if keys.len() <= task {
                    keys.resize(task + 1, None);
                }
                keys[task] = (rng.below(4) > 0).then(|| rng.below(1 + turn % 50));
                match keys[task] {
                    Some(key) => queue.set(TaskId(task as u32), key),
                    None => queue.remove(TaskId(task as u32)),
                }
                let best = keys.iter().enumerate().filter_map(|(at, key)| Some((at, (*key)?)));
                let best = best.max_by_key(|(at, key)| (*key, usize::MAX - at));
                let (entry, task_at) = queue.highest();
                let found = (entry != OUT).then(|| (task_at.index(), entry - 1));
                assert_eq!(found, best, "{tasks} {turn}");
                assert_eq!(queue.has(TaskId(task as u32)), keys[task].is_some());
            }
        }
    }
}
