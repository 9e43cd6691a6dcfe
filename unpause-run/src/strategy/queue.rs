//! A priority queue of tasks: maximum and update in O(log n).
//!
//! An entry is one number, with the key in the high bits and the task in the low bits. The maximum of two entries is
//! therefore one comparison without a branch. A small queue is an array, and the maximum is computed on demand. A
//! larger queue is a tournament tree: each node is the maximum of its two children, and an update recomputes the path
//! to the root. Tasks that can no longer step are removed when they reach the top, because the queue is not notified
//! earlier.

use crate::run::board::Status;
use crate::run::choice::View;
use crate::run::ids::TaskId;

/// The number of bits of a key: keys are less than 2^`KEY_BITS`.
pub(super) const KEY_BITS: u32 = 64 - TASK_BITS;

/// The number of bits of an entry for the task. Tasks with larger numbers, from about sixteen million on, are never in
/// the queue.
const TASK_BITS: u32 = 24;
const TASK_MAX: u64 = (1 << TASK_BITS) - 1;

/// The maximum number of entries for which the queue is an array without a tree.
const ROW: usize = 16;

/// The entry of a task that is not in the queue. The entry is lower than all other entries.
const OUT: u64 = 0;

/// A queue of tasks, highest key first. Among equal keys, the task that was spawned first comes first.
#[derive(Debug, Default)]
pub(super) struct TaskQueue {
    /// The entry of each task; the length is a multiple of four.
    entries: Vec<u64>,
    /// The tournament tree, used for more than [`ROW`] entries. Node `i` is the higher of nodes `2i` and `2i + 1`, and
    /// the second half contains the entries.
    winners: Vec<u64>,
    /// The highest entry, unless it is `stale`.
    first: u64,
    stale: bool,
}

impl TaskQueue {
    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.winners.clear();
        self.stale = true;
    }

    /// Returns `true` if the task is in the queue.
    #[inline]
    pub(super) fn has(&self, task: TaskId) -> bool {
        self.entries.get(task.index()).is_some_and(|entry| *entry != OUT)
    }

    /// Adds the task with this key, or changes its key.
    #[inline]
    pub(super) fn set(&mut self, task: TaskId, key: u64) {
        if self.entries.len() <= task.index() {
            self.grow(task.index() + 1);
        }
        self.put(task, entry_of(task, key));
    }

    /// Changes the key of the task, if it is in the queue.
    #[inline]
    pub(super) fn renew(&mut self, task: TaskId, key: impl FnOnce() -> u64) {
        if self.has(task) {
            self.put(task, entry_of(task, key()));
        }
    }

    /// Removes the task, if it is in the queue.
    #[inline]
    pub(super) fn remove(&mut self, task: TaskId) {
        if self.has(task) {
            self.put(task, OUT);
        }
    }

    /// Returns the enabled task with the highest key, together with that key.
    #[inline]
    pub(super) fn top(&mut self, view: &View<'_>) -> Option<(u64, TaskId)> {
        loop {
            let entry = self.highest();
            if entry == OUT {
                return None;
            }
            let task = task_of(entry);
            if view.task(task).status == Status::Ready {
                return Some((entry >> TASK_BITS, task));
            }
            self.take_out(task);
        }
    }

    #[inline]
    fn highest(&mut self) -> u64 {
        if self.stale {
            self.find_first();
        }
        self.first
    }

    // Compares four entries at a time: the compiler would vectorize a plain loop, but vectors cannot compare such
    // numbers.
    #[inline]
    fn find_first(&mut self) {
        let mut highest = OUT;
        for four in self.entries.chunks_exact(4) {
            if let &[a, b, c, d] = four {
                highest = highest.max(a.max(b).max(c.max(d)));
            }
        }
        self.first = highest;
        self.stale = false;
    }

    #[cold]
    fn take_out(&mut self, task: TaskId) {
        self.put(task, OUT);
    }

    #[inline(always)]
    fn put(&mut self, task: TaskId, entry: u64) {
        let Some(known) = self.entries.get_mut(task.index()) else { return };
        if std::mem::replace(known, entry) == entry {
            return;
        }
        match self.winners.is_empty() {
            true => self.stale = true,
            false => self.play(task, entry),
        }
    }

    /// Recomputes the path from a changed entry to the root.
    #[inline(never)]
    fn play(&mut self, task: TaskId, entry: u64) {
        let mut at = self.winners.len() / 2 + task.index();
        let mut winner = entry;
        self.winners[at] = entry;
        while at > 1 {
            winner = winner.max(self.winners[at ^ 1]);
            at /= 2;
            self.winners[at] = winner;
        }
        self.first = winner;
    }

    /// Grows the queue to this number of tasks, unless entries cannot represent so many tasks.
    #[cold]
    fn grow(&mut self, tasks: usize) {
        if tasks > TASK_MAX as usize {
            return;
        }
        self.entries.resize(tasks.next_multiple_of(4), OUT);
        self.stale = tasks <= ROW;
        if tasks <= ROW || self.winners.len() >= 2 * tasks {
            return;
        }
        let leaves = self.entries.len().next_power_of_two();
        self.winners.clear();
        self.winners.resize(leaves, OUT);
        self.winners.extend(&self.entries);
        self.winners.resize(2 * leaves, OUT);
        for at in (1..leaves).rev() {
            self.winners[at] = self.winners[2 * at].max(self.winners[2 * at + 1]);
        }
        self.first = self.winners[1];
    }
}

#[inline]
fn entry_of(task: TaskId, key: u64) -> u64 {
    debug_assert!(key >> KEY_BITS == 0, "{key}");
    // Among equal keys, the lower task number has the higher entry.
    (key << TASK_BITS) | (TASK_MAX - u64::from(task.0))
}

#[inline]
fn task_of(entry: u64) -> TaskId {
    TaskId((TASK_MAX - (entry & TASK_MAX)) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::rng::Rng;

    #[test]
    fn the_highest_is_the_one_that_a_look_at_all_finds() {
        let mut rng = Rng::new(1);
        let mut queue = TaskQueue::default();
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
                let entry = queue.highest();
                let found = (entry != OUT).then(|| (task_of(entry).index(), entry >> TASK_BITS));
                assert_eq!(found, best, "{tasks} {turn}");
                assert_eq!(queue.has(TaskId(task as u32)), keys[task].is_some());
            }
        }
    }
}
