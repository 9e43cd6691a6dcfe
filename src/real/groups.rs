//! Groups of real tasks: the tasks of a node, outside of runs and in the real build. A group ends
//! when its tasks are aborted.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures::future::AbortHandle;
use pin_project_lite::pin_project;

/// The number of the group that contains all tasks without another group.
pub(crate) const OUTSIDE: u32 = 0;

thread_local! {
    /// The group of the code that runs on this thread.
    static CURRENT: Cell<u32> = const { Cell::new(OUTSIDE) };
}

/// The tasks of each group, which may have ended; `None` for a group that is over.
static GROUPS: Mutex<Vec<Option<Vec<AbortHandle>>>> = Mutex::new(Vec::new());

fn groups() -> MutexGuard<'static, Vec<Option<Vec<AbortHandle>>>> {
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Begins a group. Returns its number.
pub(crate) fn begin() -> u32 {
    let mut groups = groups();
    groups.push(Some(Vec::new()));
    groups.len() as u32
}

/// Returns the group of the running code.
pub(crate) fn current() -> u32 {
    CURRENT.get()
}

/// Calls `act` as code of the group.
pub(crate) fn within<R>(group: u32, act: impl FnOnce() -> R) -> R {
    struct Leave(u32);

    impl Drop for Leave {
        fn drop(&mut self) {
            CURRENT.set(self.0);
        }
    }

    let _leave = Leave(CURRENT.replace(group));
    act()
}

/// Adds a task to the group of the code that spawns it. The task is aborted with the group.
pub(super) fn join(task: &AbortHandle) -> u32 {
    let group = current();
    if group != OUTSIDE {
        match &mut groups()[group as usize - 1] {
            Some(tasks) => {
                tasks.retain(|task| !task.is_aborted());
                tasks.push(task.clone());
            }
            None => task.abort(),
        }
    }
    group
}

/// Ends a group, and aborts its tasks.
pub(crate) fn end(group: u32) {
    let tasks = groups().get_mut(group as usize - 1).and_then(Option::take);
    tasks.into_iter().flatten().for_each(|task| task.abort());
}

/// Returns `true` if the group is not over.
pub(crate) fn lives(group: u32) -> bool {
    group == OUTSIDE || groups()[group as usize - 1].is_some()
}

pin_project! {
    /// A task of a group.
    pub(super) struct InGroup<F> {
        group: u32,
        #[pin]
        future: F,
    }
}

impl<F> InGroup<F> {
    pub(super) fn new(group: u32, future: F) -> InGroup<F> {
        InGroup { group, future }
    }
}

impl<F: Future> Future for InGroup<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        match *this.group {
            OUTSIDE => this.future.poll(cx),
            group => within(group, || this.future.poll(cx)),
        }
    }
}
