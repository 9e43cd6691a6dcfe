//! Tasks that wait forever, and wait cycles: tasks that wait for each other.

use std::panic::Location;

use crate::run::ids::{ObjectId, Place, TaskId};
use crate::run::op::Op;

/// A task that waits forever.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wait {
    /// The task.
    pub task: TaskId,
    /// The pending operation of the task; `None` if the task waits for something outside this library.
    pub op: Option<&'static Op>,
    /// The object that the task waits for.
    pub object: Option<ObjectId>,
    /// The task that a join waits for.
    pub target: Option<TaskId>,
    /// The place in the user's source where the task waits. If the task waits for something outside this library: the
    /// place of its last operation, or the place of its spawn if it has done no operation.
    pub place: Place,
    /// The holder of the object, with the step and the place of the acquisition.
    pub holder: Option<Holder>,
    /// True if the operation is possible, but the task polls another future instead of the operation's future.
    pub unpolled: bool,
}

/// The holder of a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Holder {
    /// The task.
    pub task: TaskId,
    /// The step that acquired the lock.
    pub step: u32,
    /// The place of the acquisition.
    pub place: &'static Location<'static>,
}

/// Returns the waits of a cycle, or all waits if there is no cycle.
pub(super) fn core_of(waits: &[Wait]) -> impl Iterator<Item = &Wait> {
    let circle = circle_of(waits);
    waits.iter().filter(move |w| circle.is_empty() || circle.contains(&w.task))
}

/// Returns the tasks of a wait cycle, in which each task waits for the next and the last task waits for the first.
/// Empty if there is no cycle.
pub fn circle_of(waits: &[Wait]) -> Vec<TaskId> {
    // A task may wait in several branches. The minimum selects the same wait regardless of the order in which they
    // began.
    let next = |task: TaskId| -> Option<TaskId> {
        let own = waits.iter().filter(|wait| wait.task == task);
        own.filter_map(|wait| wait.holder.map(|h| h.task).or(wait.target)).min()
    };
    for wait in waits {
        let mut path = vec![wait.task];
        while let Some(task) = next(path[path.len() - 1]) {
            if let Some(at) = path.iter().position(|t| *t == task) {
                return path.split_off(at);
            }
            path.push(task);
        }
    }
    Vec::new()
}
