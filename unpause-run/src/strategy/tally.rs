//! Counts by task over the rehearsals. Matches the tasks of a run with the tasks of the rehearsals.
//!
//! A task is identified by its spawn path: the parent, then the n-th child. A task that is a fault is a child of its
//! own kind, because the values that a run draws decide if it has it: its siblings keep their numbers. Each spawn costs
//! one look-up.

use crate::run::board::TaskRow;
use crate::run::choice::View;
use crate::run::ids::TaskId;
use unpause_ordered::Map;

/// A task that was in no rehearsal.
const UNKNOWN: u32 = u32::MAX;

/// The numbers of children that are faults have this bit.
const FAULT: u32 = 1 << 31;

/// Counts by task.
#[derive(Debug, Default)]
pub(super) struct TaskCounts {
    /// Tasks by parent and number. The body of the test is the child of [`UNKNOWN`].
    children: Map<(u32, u32), u32>,
    /// By task: its parent, which comes before it.
    parents: Vec<u32>,
    /// By task of the current run: the task of the rehearsals.
    of_run: Vec<u32>,
    /// By task of the current run: the number of its children that are faults, and the number of
    /// faults after its last other child.
    faults: Vec<(u32, u32)>,
}

impl TaskCounts {
    /// Begins a run.
    pub(super) fn restart(&mut self) {
        self.of_run.clear();
        self.faults.clear();
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
            let nth = self.number(row);
            let known = self.children.get(&(parent, nth)).copied();
            let known = match known {
                Some(known) if !strange => known,
                None if learning => {
                    self.parents.push(parent);
                    let new = self.parents.len() as u32 - 1;
                    self.children.insert((parent, nth), new);
                    new
                }
                _ => UNKNOWN,
            };
            self.of_run.push(known);
        }
        let known = self.of_run[task.index()];
        (known != UNKNOWN).then_some(known as usize)
    }

    /// The number of the next task of the run among the children of its parent. A fault has the
    /// number of the last other child before it, because it mostly is a fault of this child, and
    /// its number among the faults since.
    fn number(&mut self, row: &TaskRow) -> u32 {
        self.faults.push((0, 0));
        let Some(parent) = row.parent else { return row.nth };
        let (faults, since) = &mut self.faults[parent.index()];
        let nth = row.nth - *faults;
        if row.fault_of.is_none() {
            *since = 0;
            return nth;
        }
        let number = FAULT | nth << 8 | (*since).min(0xff);
        (*faults, *since) = (*faults + 1, *since + 1);
        number
    }

    /// Adds to the count of each task, in `counts`, the counts of all its descendants.
    pub(super) fn gather(&self, counts: &mut Vec<u64>) {
        counts.resize(self.parents.len(), 0);
        for task in (0..counts.len()).rev() {
            if let Some(of_parent) = counts.get(self.parents[task] as usize).copied() {
                counts[self.parents[task] as usize] = of_parent + counts[task];
            }
        }
    }
}
