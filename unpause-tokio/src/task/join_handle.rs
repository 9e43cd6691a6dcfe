//! The handle of a task.

use std::fmt;
use std::future::Future;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::task::{Context, Poll};

use super::{AbortHandle, Id, JoinError};

/// Waits for a task and returns its result: tokio's [`JoinHandle`](real::task::JoinHandle).
///
/// In a run the await is a point. Dropping the handle detaches the task.
///
/// ```
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let task = tokio::spawn(std::future::pending::<()>());
/// task.abort();
/// assert!(task.await.unwrap_err().is_cancelled());
/// # });
/// ```
pub struct JoinHandle<T>(Inner<T>);

enum Inner<T> {
    Run { handle: sim::JoinHandle<T>, poll: PollRun<T> },
    Runtime(real::task::JoinHandle<T>),
}

/// The poll function of a run's handle, which requires `T: 'static`. `JoinHandle` is a future for every `T`, like
/// tokio's, so the bound is checked where the task is spawned.
type PollRun<T> =
    fn(Pin<&mut sim::JoinHandle<T>>, &mut Context<'_>) -> Poll<Result<T, sim::JoinError>>;

impl<T: 'static> JoinHandle<T> {
    /// Creates the handle of a newly spawned task. The handle receives the panic of the task.
    pub(crate) fn of_run(handle: sim::JoinHandle<T>) -> JoinHandle<T> {
        sim::__private::give_panic(&handle.abort_handle());
        JoinHandle(Inner::Run { handle, poll: Future::poll })
    }
}

impl<T> JoinHandle<T> {
    pub(crate) fn of_runtime(handle: real::task::JoinHandle<T>) -> JoinHandle<T> {
        JoinHandle(Inner::Runtime(handle))
    }

    /// Aborts the task before its next step, or its next poll. This call is not a point.
    #[track_caller]
    pub fn abort(&self) {
        match &self.0 {
            Inner::Run { handle, .. } => handle.abort(),
            Inner::Runtime(handle) => handle.abort(),
        }
    }

    /// Returns `true` if the task has ended. This call is not a point.
    pub fn is_finished(&self) -> bool {
        match &self.0 {
            Inner::Run { handle, .. } => handle.is_finished(),
            Inner::Runtime(handle) => handle.is_finished(),
        }
    }

    /// Returns the id of the task.
    pub fn id(&self) -> Id {
        match &self.0 {
            Inner::Run { handle, .. } => Id::of_run(handle.id()),
            Inner::Runtime(handle) => Id::of_runtime(handle.id()),
        }
    }

    /// Returns a handle that can only end the task.
    pub fn abort_handle(&self) -> AbortHandle {
        match &self.0 {
            Inner::Run { handle, .. } => AbortHandle::of_run(handle.abort_handle()),
            Inner::Runtime(handle) => AbortHandle::of_runtime(handle.abort_handle()),
        }
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            Inner::Run { handle, poll } => poll(Pin::new(handle), cx).map_err(JoinError::of_run),
            Inner::Runtime(handle) => Pin::new(handle).poll(cx).map_err(JoinError::of_runtime),
        }
    }
}

// Both kinds of inner handles are `Unpin`, so no field is pinned.
impl<T> Unpin for JoinHandle<T> {}

// Like in tokio, a panic of the owner cannot leave a handle half changed, because a handle has no such state.
impl<T> UnwindSafe for JoinHandle<T> {}
impl<T> RefUnwindSafe for JoinHandle<T> {}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").field("id", &self.id()).finish()
    }
}
