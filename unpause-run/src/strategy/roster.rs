//! The roster: matches the tasks of a run with the tasks of a trace.
//!
//! A run numbers its tasks in spawn order, which depends on the interleaving. A trace identifies
//! tasks by path. The roster matches tasks when they appear, with one look-up for each spawn.

use crate::run::choice::View;
use crate::run::ids::{TaskId, TaskPath};
use unpause_ordered::Map;

/// A two-way table between the tasks of a run and the tasks of a trace.
#[derive(Debug, Default)]
pub struct Roster {
    /// The tasks of the trace, by parent and child number: `(parent, nth)`.
    children: Map<(usize, u32), usize>,
    /// For each task of the run, the matching task of the trace, if any.
    of_run: Vec<Option<usize>>,
    /// For each task of the trace, the matching task of the run, once it is spawned.
    of_trace: Vec<Option<TaskId>>,
    main: Option<usize>,
}

impl Roster {
    /// Creates a roster for a trace with these tasks.
    pub fn new<'a>(paths: impl IntoIterator<Item = &'a TaskPath>) -> Roster {
        let mut index = Map::new();
        let mut roster = Roster::default();
        for (i, path) in paths.into_iter().enumerate() {
            index.insert(path.clone(), i);
            roster.of_trace.push(None);
        }
        for (path, i) in &index {
            match path.parent() {
                None => roster.main = Some(*i),
                Some(parent) => {
                    let nth = path.segments()[path.segments().len() - 1];
                    if let Some(parent) = index.get(&parent) {
                        roster.children.insert((*parent, nth), *i);
                    }
                }
            }
        }
        roster
    }

    /// Begins a new run.
    pub fn restart(&mut self) {
        self.of_run.clear();
        self.of_trace.fill(None);
    }

    /// Adds the tasks that were spawned since the last call.
    pub fn update(&mut self, view: &View<'_>) {
        for id in self.of_run.len()..view.tasks().len() {
            let row = &view.tasks()[id];
            let found = match row.parent {
                None => self.main,
                Some(parent) => self.of_run[parent.index()]
                    .and_then(|parent| self.children.get(&(parent, row.nth)).copied()),
            };
            self.of_run.push(found);
            if let Some(found) = found {
                self.of_trace[found] = Some(TaskId(id as u32));
            }
        }
    }

    /// Returns the task of the trace that matches a task of the run, if any.
    pub fn of_trace(&self, task: TaskId) -> Option<usize> {
        self.of_run.get(task.index()).copied().flatten()
    }

    /// Returns the task of the run that matches a task of the trace, if it has been spawned.
    pub fn task(&self, of_trace: usize) -> Option<TaskId> {
        self.of_trace.get(of_trace).copied().flatten()
    }
}

/// Returns the spawn path of a task of a run in progress.
pub fn path_of(view: &View<'_>, task: TaskId) -> TaskPath {
    // A loop instead of recursion, because spawn chains may have any length.
    let (mut nths, mut row) = (Vec::new(), view.task(task));
    while let Some(parent) = row.parent {
        nths.push(row.nth);
        row = view.task(parent);
    }
    nths.reverse();
    TaskPath::main().descendant(&nths)
}
