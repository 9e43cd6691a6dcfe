//! Per-task counts over the rehearsals. Matches the tasks of a run with the tasks of the rehearsals.
//!
//! The spawn path identifies a task: the parent, then the n-th child. Tasks that are faults are numbered apart from
//! other children. The drawn values decide if a run has such a task, and its siblings must keep their numbers. Each
//! spawn costs one look-up.

use crate::run::board::TaskRow;
use crate::run::choice::View;
use crate::run::ids::TaskId;
use unpause_ordered::Map;

/// The number of a task that was in no rehearsal.
const UNKNOWN: u32 = u32::MAX;

/// The bit that is set in the number of a child that is a fault.
const FAULT: u32 = 1 << 31;

/// Per-task counts.
#[derive(Debug, Default)]
pub(super) struct TaskCounts {
    /// Tasks by parent and number. The body of the test is the child of [`UNKNOWN`].
    children: Map<(u32, u32), u32>,
    /// For each task, its parent, which precedes it in this list.
    parents: Vec<u32>,
    /// For each task of the current run, the matching task of the rehearsals.
    of_run: Vec<u32>,
    /// For each task of the current run, the number of its children that are faults, and the number of faults since its
    /// last child that is not a fault.
    faults: Vec<(u32, u32)>,
}

impl TaskCounts {
    /// Begins a run.
    pub(super) fn restart(&mut self) {
        self.of_run.clear();
        self.faults.clear();
    }

    /// Returns the number of tasks of the rehearsals.
    pub(super) fn len(&self) -> usize {
        self.parents.len()
    }

    /// Returns the parent of a rehearsal task; `None` for the body of the test. The parent has the lower number.
    pub(super) fn parent(&self, task: usize) -> Option<usize> {
        let parent = self.parents[task];
        (parent != UNKNOWN).then_some(parent as usize)
    }

    /// Returns the rehearsal task with the same spawn path as `task`. If the path is new, adds it if `learning` is
    /// true.
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

    /// Returns the number of the next task of the run among the children of its parent. A fault usually belongs to the
    /// last earlier child that is not a fault. The number of a fault therefore combines the number of that child and
    /// the position of the fault among the faults since that child.
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

    /// Adds to each task's count in `counts` the counts of all its descendants.
    pub(super) fn gather(&self, counts: &mut Vec<u64>) {
        counts.resize(self.parents.len(), 0);
        for task in (0..counts.len()).rev() {
            if let Some(of_parent) = counts.get(self.parents[task] as usize).copied() {
                counts[self.parents[task] as usize] = of_parent + counts[task];
            }
        }
    }
}
