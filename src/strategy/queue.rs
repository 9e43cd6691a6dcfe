//! Tasks by priority: the highest, and a change, in a logarithm of their number to a large base.
//!
//! Keys stand by task, and above every [`WIDTH`] of them the highest, level by level. To go through so many
//! in a row without a branch takes less time than the few comparisons of a heap, which no processor can
//! foresee when keys are random. Tasks that can step no more are taken out when they come up, not when it
//! happens: nobody tells.

use crate::choice::{Status, View};
use crate::ids::TaskId;

/// How many entries have one above them.
const WIDTH: usize = 16;

/// The entry of what is not in. All others are one more than their key.
const OUT: u64 = 0;

/// A queue of tasks, the highest key first; of equal ones the first to be spawned.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// By task.
    entries: Vec<u64>,
    /// If there are more than [`WIDTH`]: the highest of each so many, then of each so many of those, until
    /// it is one. Levels that are not in use are empty.
    above: Vec<Vec<Highest>>,
    /// The highest of all, unless it has to be looked for.
    first: Highest,
    stale: bool,
}

/// The highest entry of several, and whose it is.
type Highest = (u64, TaskId);

impl Queue {
    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.above.iter_mut().for_each(Vec::clear);
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
            self.put(task, OUT);
        }
    }

    #[inline]
    fn highest(&mut self) -> Highest {
        if self.stale {
            self.first = self.highest_below(0, 0);
            self.stale = false;
        }
        self.first
    }

    #[inline]
    fn put(&mut self, task: TaskId, entry: u64) {
        if std::mem::replace(&mut self.entries[task.index()], entry) == entry {
            return;
        }
        match self.entries.len() > WIDTH {
            true => self.put_above(task.index() / WIDTH),
            false => self.stale = true,
        }
    }

    /// An entry of this block has changed.
    fn put_above(&mut self, mut block: usize) {
        let mut levels = 0;
        while self.above.get(levels).is_some_and(|level| !level.is_empty()) {
            self.above[levels][block] = self.highest_below(levels, block);
            block /= WIDTH;
            levels += 1;
        }
        self.first = self.above[levels - 1][0];
    }

    /// The highest of what stands below this block.
    #[inline]
    fn highest_below(&self, level: usize, block: usize) -> Highest {
        if level > 0 {
            let below = &self.above[level - 1];
            return below[highest_of(below, block, |highest| highest.0)];
        }
        let at = highest_of(&self.entries, block, |entry| *entry);
        (self.entries.get(at).copied().unwrap_or(OUT), TaskId(at as u32))
    }

    #[cold]
    fn grow(&mut self, tasks: usize) {
        self.entries.resize(tasks, OUT);
        self.stale = tasks <= WIDTH;
        let mut entries = tasks;
        let mut level = 0;
        while entries > if level == 0 { WIDTH } else { 1 } {
            entries = entries.div_ceil(WIDTH);
            if self.above.len() == level {
                self.above.push(Vec::new());
            }
            // Those that were there have changed in nothing.
            let before = self.above[level].len();
            self.above[level].resize(entries, (OUT, TaskId::MAIN));
            for block in before..entries {
                self.above[level][block] = self.highest_below(level, block);
            }
            self.first = self.above[level][0];
            level += 1;
        }
    }
}

/// The place of the highest entry of this block of [`WIDTH`]; the first of equal ones.
#[inline]
fn highest_of<T>(all: &[T], block: usize, entry: impl Fn(&T) -> u64) -> usize {
    let from = block * WIDTH;
    let (mut at, mut highest) = (0, OUT);
    for (place, each) in all[from..all.len().min(from + WIDTH)].iter().enumerate() {
        let entry = entry(each);
        let higher = entry > highest;
        at = if higher { place } else { at };
        highest = if higher { entry } else { highest };
    }
    from + at
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
