//! The current task.

use std::thread;

pub use std::thread::ThreadId as TaskId;

/// The current thread or task.
pub fn me() -> TaskId {
    thread::current().id()
}

/// The current thread or task.
pub fn get_current_task() -> Option<TaskId> {
    Some(me())
}
