//! Handles that end a task but do not return its result.

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};

use super::Id;
use crate::kinds::{Of, each};

/// Ends a task: tokio's [`AbortHandle`](real::task::AbortHandle).
///
/// ```
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let task = tokio::spawn(std::future::pending::<()>());
/// let abort = task.abort_handle();
/// abort.abort();
/// assert!(task.await.unwrap_err().is_cancelled());
/// assert!(abort.is_finished());
/// # });
/// ```
#[derive(Clone)]
pub struct AbortHandle(Of<sim::task::AbortHandle, real::task::AbortHandle>);

impl AbortHandle {
    pub(crate) fn of_run(handle: sim::task::AbortHandle) -> AbortHandle {
        AbortHandle(Of::Run(handle))
    }

    pub(crate) fn of_runtime(handle: real::task::AbortHandle) -> AbortHandle {
        AbortHandle(Of::Real(handle))
    }

    /// Aborts the task before its next step, or its next poll. This call is not a point. No effect if the task has
    /// ended.
    #[track_caller]
    pub fn abort(&self) {
        each!(&self.0, handle => handle.abort())
    }

    /// Returns the id of the task.
    pub fn id(&self) -> Id {
        match &self.0 {
            Of::Run(handle) => Id::of_run(handle.id()),
            Of::Real(handle) => Id::of_runtime(handle.id()),
        }
    }

    /// Returns `true` if the task has ended. This call is not a point.
    pub fn is_finished(&self) -> bool {
        each!(&self.0, handle => handle.is_finished())
    }
}

// tokio's handle implements this trait, too.
impl UnwindSafe for AbortHandle {}
impl RefUnwindSafe for AbortHandle {}

impl fmt::Debug for AbortHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AbortHandle").field("id", &self.id()).finish()
    }
}
