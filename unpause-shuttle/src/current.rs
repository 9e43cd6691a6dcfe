//! The current task and task labels.

use std::fmt;
use std::ops::Deref;
use std::thread;

pub use crate::labels::{ChildLabelFn, Labels, TaskName};
use crate::{labels, thread as threads};

/// The number of a task in its run: 0 for the body of the test, then in the order of their creation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(usize);

impl From<usize> for TaskId {
    fn from(number: usize) -> TaskId {
        TaskId(number)
    }
}

impl From<TaskId> for usize {
    fn from(task: TaskId) -> usize {
        task.0
    }
}

impl fmt::Debug for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TaskId").field(&self.0).finish()
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Returns the current thread or task.
///
/// # Panics
/// Outside of a check.
pub fn me() -> TaskId {
    match try_get_current_task() {
        Some(task) => task,
        // shuttle's words.
        None => panic!(
            "`ExecutionState::with` panicked because `ExecutionState` is not set. Are you accessing a Shuttle \
             primitive outside of a Shuttle test?"
        ),
    }
}

/// Returns the current thread or task.
///
/// # Panics
/// Outside of a check.
pub fn get_current_task() -> Option<TaskId> {
    Some(me())
}

/// Returns the current thread or task; `None` outside of a check.
pub fn try_get_current_task() -> Option<TaskId> {
    threads::is_in_run().then(|| TaskId(threads::number()))
}

/// Calls `act` with the labels of a task.
pub fn with_labels_for_task<F, T>(task: TaskId, act: F) -> T
where
    F: FnOnce(&mut Labels) -> T,
{
    labels::with(task, act)
}

/// Returns the label of a type.
pub fn get_label_for_task<T: Clone + fmt::Debug + 'static>(task: TaskId) -> Option<T> {
    labels::with(task, |labels| labels.get().cloned())
}

/// Sets the label of a type. Returns the previous label.
pub fn set_label_for_task<T: Clone + fmt::Debug + 'static>(task: TaskId, value: T) -> Option<T> {
    labels::with(task, |labels| labels.insert(value))
}

/// Removes the label of a type, and returns it.
pub fn remove_label_for_task<T: Clone + fmt::Debug + 'static>(task: TaskId) -> Option<T> {
    labels::with(task, |labels| labels.remove())
}

/// Returns the name of a task. A thread named by a `Builder` also has that name, but only as seen by the thread itself.
pub fn get_name_for_task(task: TaskId) -> Option<TaskName> {
    let is_own = || task == TaskId(threads::number());
    let own = || thread::current().name().filter(|_| is_own()).map(TaskName::from);
    get_label_for_task(task).or_else(own)
}

/// Sets the name of a task. Returns the previous name.
pub fn set_name_for_task(task: TaskId, name: impl Into<TaskName>) -> Option<TaskName> {
    set_label_for_task::<TaskName>(task, name.into())
}

/// shuttle's vector clock as without the feature `vector-clocks`: it has no entries. unpause's screens show the
/// happens-before order.
#[derive(Clone, PartialEq, Eq, PartialOrd, Debug)]
pub struct VectorClock(());

impl VectorClock {
    /// Returns 0.
    pub fn get(&self, _task: usize) -> u32 {
        0
    }
}

impl From<&[u32]> for VectorClock {
    fn from(_: &[u32]) -> VectorClock {
        VectorClock(())
    }
}

impl<const N: usize> From<&[u32; N]> for VectorClock {
    fn from(_: &[u32; N]) -> VectorClock {
        VectorClock(())
    }
}

impl Deref for VectorClock {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        &[]
    }
}

/// Returns a clock without entries.
pub fn clock() -> VectorClock {
    VectorClock(())
}

/// Returns a clock without entries.
pub fn clock_for(_task: TaskId) -> VectorClock {
    VectorClock(())
}
