//! Counts by task over the rehearsals, and the match of a run's tasks with those of the rehearsals.
//!
//! A task is identified by its spawn path: the parent, then the n-th child. Each spawn costs one look-up.

use std::collections::BTreeMap;

use super::rehearsal::Rehearsal;
use crate::run::choice::View;
use crate::run::ids::TaskId;

/// A task that was in no rehearsal.
const UNKNOWN: u32 = u32::MAX;

/// Counts by task.
#[derive(Debug, Default)]
pub(super) struct TaskCounts {
    /// Tasks by parent and number. The body of the test is the child of [`UNKNOWN`].
    children: BTreeMap<(u32, u32), u32>,
    /// By task: its parent, which comes before it.
    parents: Vec<u32>,
    /// By task of the current run: the task of the rehearsals.
    of_run: Vec<u32>,
}

impl TaskCounts {
    /// Begins a run.
    pub(super) fn restart(&mut self) {
        self.of_run.clear();
    }

    /// The number of tasks of the rehearsals.
    pub(super) fn len(&self) -> usize {
        self.parents.len()
    }

    /// The parent of a task of the rehearsals, which comes before it; none for the body of the test.
    pub(super) fn parent(&self, task: usize) -> Option<usize> {
        let parent = self.parents[task];
        (parent != UNKNOWN).then_some(parent as usize)
    }

    /// The task of the rehearsals with the spawn path of a task of this run; added if it is new and `learning` is true.
    pub(super) fn known(&mut self, view: &View<'_>, task: TaskId, learning: bool) -> Option<usize> {
        for id in self.of_run.len()..=task.index() {
            let row = &view.tasks()[id];
            let parent = row.parent.map_or(UNKNOWN, |parent| self.of_run[parent.index()]);
            let strange = row.parent.is_some() && parent == UNKNOWN;
            let known = self.children.get(&(parent, row.nth)).copied();
            let known = match known {
                Some(known) if !strange => known,
                None if learning => {
                    self.parents.push(parent);
                    let new = self.parents.len() as u32 - 1;
                    self.children.insert((parent, row.nth), new);
                    new
                }
                _ => UNKNOWN,
            };
            self.of_run.push(known);
        }
        let known = self.of_run[task.index()];
        (known != UNKNOWN).then_some(known as usize)
    }

    /// Replaces the sums over all rehearsals in `counts`, by task, with the means for each task and
    /// all its descendants.
    pub(super) fn gather(&self, counts: &mut Vec<u64>) {
        counts.resize(self.parents.len(), 0);
        counts.iter_mut().for_each(|count| *count = Rehearsal::mean_of_runs(*count));
        for task in (0..counts.len()).rev() {
            if let Some(of_parent) = counts.get(self.parents[task] as usize).copied() {
                counts[self.parents[task] as usize] = of_parent + counts[task];
            }
        }
    }
}
