//! The error of a task that returned no result. The error is the same in both builds.

use std::any::Any;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use super::Id;
use crate::run::place::in_text;

/// The error of a task that returned no result.
///
/// In a run, this error only reports aborts, because a panic of any task ends the run as failed. Tasks that a program
/// spawns through `unpause-tokio` are an exception.
pub struct JoinError {
    id: Id,
    /// The payload of the panic; `None` if the task was aborted. The mutex makes it `Sync`.
    panic: Option<Mutex<Box<dyn Any + Send>>>,
    /// The place of a panic that no hook printed; otherwise empty.
    place: String,
}

impl JoinError {
    pub(crate) fn cancelled(id: Id) -> JoinError {
        JoinError { id, panic: None, place: String::new() }
    }

    pub(crate) fn panicked(id: Id, payload: Box<dyn Any + Send>, place: String) -> JoinError {
        JoinError { id, panic: Some(Mutex::new(payload)), place }
    }

    /// Returns the identity of the task.
    pub fn id(&self) -> Id {
        self.id
    }

    /// Returns `true` if the task was aborted.
    pub fn is_cancelled(&self) -> bool {
        self.panic.is_none()
    }

    /// Returns `true` if the task panicked.
    pub fn is_panic(&self) -> bool {
        self.panic.is_some()
    }

    /// Returns the payload of the panic.
    ///
    /// # Errors
    /// Returns this error again if the task was aborted.
    pub fn try_into_panic(self) -> Result<Box<dyn Any + Send>, JoinError> {
        match self.panic {
            Some(payload) => Ok(payload.into_inner().unwrap_or_else(PoisonError::into_inner)),
            None => Err(JoinError::cancelled(self.id)),
        }
    }

    /// Returns the payload of the panic.
    ///
    /// # Panics
    /// Panics if the task was aborted.
    #[track_caller]
    pub fn into_panic(self) -> Box<dyn Any + Send> {
        match self.try_into_panic() {
            Ok(payload) => payload,
            Err(_) => panic!("the task did not panic: it was aborted"),
        }
    }

    fn text(&self) -> String {
        match &self.panic {
            None => "task was aborted".to_owned(),
            Some(payload) => {
                let payload = payload.lock().unwrap_or_else(PoisonError::into_inner);
                let text = crate::run::panic_text(&**payload);
                match &*self.place {
                    "" => format!("task panicked: {text}"),
                    place => format!("task panicked at {}: {text}", in_text(place)),
                }
            }
        }
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JoinError({:?})", self.text())
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl std::error::Error for JoinError {}
