//! Task ids.

use std::fmt;

use sim::__private::in_run;

use crate::kinds::{Of, each};

/// The id of a task: tokio's [`Id`](real::task::Id). In a run, task ids belong to that run.
///
/// ```
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let task = tokio::spawn(async { tokio::task::id() });
/// let id = task.id();
/// assert_eq!(task.await.unwrap(), id);
/// # });
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(Of<sim::task::Id, real::task::Id>);

impl Id {
    pub(super) fn of_run(id: sim::task::Id) -> Id {
        Id(Of::Run(id))
    }

    pub(super) fn of_runtime(id: real::task::Id) -> Id {
        Id(Of::Real(id))
    }
}

/// Returns the id of the current task.
///
/// # Panics
/// Outside of spawned tasks. For example, the body of a test has no id.
#[track_caller]
pub fn id() -> Id {
    match in_run() {
        true => Id::of_run(sim::task::id()),
        false => Id::of_runtime(real::task::id()),
    }
}

/// Returns the id of the current task, or `None` outside of tasks.
pub fn try_id() -> Option<Id> {
    match in_run() {
        true => sim::task::try_id().map(Id::of_run),
        false => real::task::try_id().map(Id::of_runtime),
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        each!(&self.0, id => id.fmt(f))
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        each!(&self.0, id => id.fmt(f))
    }
}
