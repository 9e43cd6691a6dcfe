//! The numbers of tasks.

use std::fmt;

use sim::__private::{current_task, in_run};

/// The number of a task: tokio's [`Id`](real::task::Id). In a run, the tasks have numbers of that run.
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
pub struct Id(Number);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Number {
    Run(u64),
    Runtime(real::task::Id),
}

impl Id {
    pub(super) fn of_run(number: u64) -> Id {
        Id(Number::Run(number))
    }

    pub(super) fn of_runtime(id: real::task::Id) -> Id {
        Id(Number::Runtime(id))
    }
}

/// The number of the current task.
///
/// # Panics
/// Outside of tasks. The body of a test is a task of its run.
#[track_caller]
pub fn id() -> Id {
    match in_run() {
        true => Id::of_run(current_task()),
        false => Id::of_runtime(real::task::id()),
    }
}

/// The number of the current task; none outside of tasks.
pub fn try_id() -> Option<Id> {
    match in_run() {
        true => Some(Id::of_run(current_task())),
        false => real::task::try_id().map(Id::of_runtime),
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Number::Run(number) => number.fmt(f),
            Number::Runtime(id) => id.fmt(f),
        }
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Number::Run(number) => f.debug_tuple("Id").field(number).finish(),
            Number::Runtime(id) => id.fmt(f),
        }
    }
}
