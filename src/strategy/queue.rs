//! Tasks by priority: the highest at once, a change in the logarithm of their number.
//!
//! A binary heap in which each task knows its place. Tasks that can step no more are taken out when
//! they come up, not when it happens: nobody tells.

use crate::choice::{Status, View};
use crate::ids::TaskId;

/// Not in the heap.
const OUT: u32 = u32::MAX;

/// A queue of tasks, the highest key first; of equal ones any.
#[derive(Debug, Default)]
pub(super) struct Queue {
    heap: Vec<(u64, TaskId)>,
    /// By task: its place in the heap.
    at: Vec<u32>,
}

impl Queue {
    pub(super) fn clear(&mut self) {
        self.heap.clear();
        self.at.clear();
    }

    /// Whether the task is in.
    pub(super) fn has(&self, task: TaskId) -> bool {
        self.at.get(task.index()).is_some_and(|at| *at != OUT)
    }

    /// Puts the task in with this key, or gives it this key.
    pub(super) fn set(&mut self, task: TaskId, key: u64) {
        if self.at.len() <= task.index() {
            self.at.resize(task.index() + 1, OUT);
        }
        let at = self.at[task.index()];
        if at == OUT {
            self.heap.push((key, task));
            self.rise(self.heap.len() - 1, (key, task));
        } else if key > self.heap[at as usize].0 {
            self.rise(at as usize, (key, task));
        } else {
            self.sink(at as usize, (key, task));
        }
    }

    /// Takes the task out, if it is in.
    pub(super) fn remove(&mut self, task: TaskId) {
        if !self.has(task) {
            return;
        }
        let at = self.at[task.index()] as usize;
        self.at[task.index()] = OUT;
        let Some(last) = self.heap.pop() else { return };
        if at < self.heap.len() {
            self.at[last.1.index()] = at as u32;
            self.heap[at] = last;
            self.set(last.1, last.0);
            self.rise(self.at[last.1.index()] as usize, last);
        }
    }

    /// The task of highest key that can step, with that key.
    #[inline]
    pub(super) fn top(&mut self, view: &View<'_>) -> Option<(u64, TaskId)> {
        loop {
            let (key, task) = *self.heap.first()?;
            if view.task(task).status == Status::Ready {
                return Some((key, task));
            }
            self.remove(task);
        }
    }

    /// Moves an entry up from `at` to where it belongs.
    fn rise(&mut self, mut at: usize, entry: (u64, TaskId)) {
        while at > 0 {
            let parent = (at - 1) / 2;
            if self.heap[parent].0 >= entry.0 {
                break;
            }
            self.put(at, self.heap[parent]);
            at = parent;
        }
        self.put(at, entry);
    }

    /// Moves an entry down from `at` to where it belongs.
    fn sink(&mut self, mut at: usize, entry: (u64, TaskId)) {
        loop {
            let (left, right) = (2 * at + 1, 2 * at + 2);
            if left >= self.heap.len() {
                break;
            }
            let is_right = right < self.heap.len() && self.heap[right].0 > self.heap[left].0;
            let child = if is_right { right } else { left };
            if self.heap[child].0 <= entry.0 {
                break;
            }
            self.put(at, self.heap[child]);
            at = child;
        }
        self.put(at, entry);
    }

    #[inline]
    fn put(&mut self, at: usize, entry: (u64, TaskId)) {
        self.heap[at] = entry;
        self.at[entry.1.index()] = at as u32;
    }
}
