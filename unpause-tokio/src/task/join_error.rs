//! The error of a task that returned no result.

use std::any::Any;
use std::fmt;
use std::io;

use super::Id;
use crate::kinds::{Of, each};

/// The error of a task that returned no result: tokio's [`JoinError`](real::task::JoinError).
///
/// If no handle receives a panic as a `JoinError`, the run fails.
///
/// ```
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let error = tokio::spawn(async { panic!("a reason") }).await.unwrap_err();
/// assert_eq!(error.into_panic().downcast_ref::<&str>(), Some(&"a reason"));
/// # });
/// ```
pub struct JoinError(Of<sim::JoinError, real::task::JoinError>);

impl JoinError {
    pub(crate) fn of_run(error: sim::JoinError) -> JoinError {
        JoinError(Of::Run(error))
    }

    pub(crate) fn of_runtime(error: real::task::JoinError) -> JoinError {
        JoinError(Of::Real(error))
    }

    /// Returns `true` if the task was aborted.
    pub fn is_cancelled(&self) -> bool {
        each!(&self.0, error => error.is_cancelled())
    }

    /// Returns `true` if the task panicked.
    pub fn is_panic(&self) -> bool {
        each!(&self.0, error => error.is_panic())
    }

    /// Returns the id of the task.
    pub fn id(&self) -> Id {
        match &self.0 {
            Of::Run(error) => Id::of_run(error.id()),
            Of::Real(error) => Id::of_runtime(error.id()),
        }
    }

    /// Returns the payload of the panic.
    ///
    /// # Panics
    /// If the task was aborted.
    #[track_caller]
    pub fn into_panic(self) -> Box<dyn Any + Send + 'static> {
        each!(self.0, error => error.into_panic())
    }

    /// Returns the payload of the panic.
    ///
    /// # Errors
    /// Returns the error itself if the task was aborted.
    pub fn try_into_panic(self) -> Result<Box<dyn Any + Send + 'static>, JoinError> {
        match self.0 {
            Of::Run(error) => error.try_into_panic().map_err(JoinError::of_run),
            Of::Real(error) => error.try_into_panic().map_err(JoinError::of_runtime),
        }
    }
}

// The texts of aborted tasks are tokio's. The text of a panic in a run has the place of the panic.
impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Of::Run(error) if error.is_cancelled() => {
                write!(f, "task {} was cancelled", error.id())
            }
            Of::Run(error) => error.fmt(f),
            Of::Real(error) => error.fmt(f),
        }
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Of::Run(error) if error.is_cancelled() => {
                write!(f, "JoinError::Cancelled({:?})", error.id())
            }
            Of::Run(error) => error.fmt(f),
            Of::Real(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for JoinError {}

impl From<JoinError> for io::Error {
    fn from(error: JoinError) -> io::Error {
        match error.0 {
            Of::Real(error) => error.into(),
            Of::Run(error) if error.is_cancelled() => io::Error::other("task was cancelled"),
            Of::Run(error) => io::Error::other(error.to_string()),
        }
    }
}
