//! Handles that end a task but do not return its result.

use std::fmt;

use crate::seam::{self, Id, here};

/// Ends a task before its next step: tokio's `AbortHandle`. Created by
/// [`JoinHandle::abort_handle`](super::JoinHandle::abort_handle).
///
/// ```
/// # sim::block_on(async {
/// let task = sim::spawn(std::future::pending::<()>());
/// let abort = task.abort_handle();
/// abort.abort();
/// assert!(task.await.unwrap_err().is_cancelled());
/// assert!(abort.is_finished());
/// # });
/// ```
#[derive(Clone)]
pub struct AbortHandle(pub(super) seam::Stopper);

impl AbortHandle {
    /// Aborts the task before its next step. This call is not a point. No effect if the task has ended.
    #[track_caller]
    pub fn abort(&self) {
        self.0.abort(here());
    }

    /// Stores the panic of the task in its handle, as tokio does: see
    /// [`__private::give_panic`](crate::__private::give_panic).
    pub(crate) fn give_panic(&self) {
        self.0.give_panic();
    }

    /// Returns the id of the task.
    pub fn id(&self) -> Id {
        self.0.id()
    }

    /// Returns `true` if the task has ended. This call is not a point.
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }
}

impl fmt::Debug for AbortHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AbortHandle").field("id", &self.id()).finish()
    }
}
