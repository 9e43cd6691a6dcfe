//! Tasks by priority: the highest, and a change, in the logarithm of their number.
//!
//! An entry is one number, above the key, below it whose it is: so the higher one of two is one
//! comparison, and needs no branch. A few entries stand in a row, and the highest is looked for when
//! it is asked for. More are the leaves of a tree of winners: each node is the higher one of the two
//! below it, and a change plays the games on its way up again. Tasks that can step no more are
//! taken out when they come up, not when it happens: nobody tells.

use crate::run::board::Status;
use crate::run::choice::View;
use crate::run::ids::TaskId;

/// Keys are less than 2 to the power of this.
pub(super) const KEY_BITS: u32 = 64 - TASK_BITS;

/// How much of an entry says whose it is. Tasks that it cannot name, sixteen million on, are never in.
const TASK_BITS: u32 = 24;
const TASK_MAX: u64 = (1 << TASK_BITS) - 1;

/// Up to so many stand in a row.
const ROW: usize = 16;

/// The entry of what is not in: lower than all others.
const OUT: u64 = 0;

/// A queue of tasks, the highest key first; of equal ones the first to be spawned.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// By task, four at a time.
    entries: Vec<u64>,
    /// If there are more than [`ROW`]: node `i` is the higher of `2i` and `2i + 1`, and the second half
    /// are the entries.
    winners: Vec<u64>,
    /// The highest of all, unless it has to be looked for.
    first: u64,
    stale: bool,
}

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

    /// Puts the task in with this key, or gives it this key.
    #[inline]
    pub(super) fn set(&mut self, task: TaskId, key: u64) {
        if self.entries.len() <= task.index() {
            self.grow(task.index() + 1);
        }
        self.put(task, entry_of(task, key));
    }

    /// Gives the task another key, if it is in.
    #[inline]
    pub(super) fn renew(&mut self, task: TaskId, key: impl FnOnce() -> u64) {
        if self.has(task) {
            self.put(task, entry_of(task, key()));
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
            self.look();
        }
        self.first
    }

    // Four at a time: one by one, the compiler takes vectors, which cannot compare such numbers.
    #[inline]
    fn look(&mut self) {
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

    /// An entry has changed: plays the games on its way up again.
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

    /// Makes room for so many tasks, if they can be named.
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
    // Of equal keys that of the lower number is the higher one.
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
                let entry = queue.highest();
                let found = (entry != OUT).then(|| (task_of(entry).index(), entry >> TASK_BITS));
                assert_eq!(found, best, "{tasks} {turn}");
                assert_eq!(queue.has(TaskId(task as u32)), keys[task].is_some());
            }
        }
    }
}
