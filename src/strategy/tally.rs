//! Which task of a run is which task of the rehearsals, and what each was counted to do.
//!
//! Tasks are known by their spawn path: the parent, then the n-th child. The look-up is one for each
//! spawn.

use std::collections::BTreeMap;

use super::rehearsal::Rehearsal;
use crate::run::choice::View;
use crate::run::ids::TaskId;

/// A task that no rehearsal had is this.
const UNKNOWN: u32 = u32::MAX;

/// Counts by task.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// By parent and number: a task. The body of the test is the child of [`UNKNOWN`].
    children: BTreeMap<(u32, u32), u32>,
    /// By task: its parent, which comes before it.
    parents: Vec<u32>,
    /// By task of the current run.
    of_run: Vec<u32>,
}

impl Tally {
    /// A run begins.
    pub(super) fn restart(&mut self) {
        self.of_run.clear();
    }

    /// The number of tasks known.
    pub(super) fn len(&self) -> usize {
        self.parents.len()
    }

    /// The parent of a task of the rehearsals, which comes before it; none for the body of the test.
    pub(super) fn parent(&self, task: usize) -> Option<usize> {
        let parent = self.parents[task];
        (parent != UNKNOWN).then_some(parent as usize)
    }

    /// The task of the rehearsals that a task of this run is. While `learning` it is added.
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

    /// Makes the sums over all rehearsals that stand in `counts`, by task, means for the task with
    /// all its descendants.
    pub(super) fn gather(&self, counts: &mut Vec<u64>) {
        counts.resize(self.parents.len(), 0);
        counts.iter_mut().for_each(|count| *count = Rehearsal::mean(*count));
        for task in (0..counts.len()).rev() {
            if let Some(of_parent) = counts.get(self.parents[task] as usize).copied() {
                counts[self.parents[task] as usize] = of_parent + counts[task];
            }
        }
    }
}
