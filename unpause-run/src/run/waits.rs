//! Tasks that wait for ever. Finds the tasks among them that wait for each other.

use std::panic::Location;

use crate::run::ids::{ObjectId, Place, TaskId};
use crate::run::op::Op;

/// A task that waits for ever.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wait {
    /// The task.
    pub task: TaskId,
    /// Its pending operation; `None` if it waits for something outside this library.
    pub op: Option<&'static Op>,
    /// The object it waits for.
    pub object: Option<ObjectId>,
    /// The task whose end it waits for.
    pub target: Option<TaskId>,
    /// The place in the user's source where it waits. If it waits for something outside this library: the place of
    /// its last operation, or of its spawn if it has done nothing.
    pub place: Place,
    /// The holder of the object, with the step and the place of the acquisition.
    pub holder: Option<Holder>,
    /// True if the operation can be done, but the task does not poll its future: it polls another one.
    pub unpolled: bool,
}

/// The holder of a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Holder {
    /// The task.
    pub task: TaskId,
    /// The step that acquired it.
    pub step: u32,
    /// The place of the acquisition.
    pub place: &'static Location<'static>,
}

/// Returns the waits of a circle, or all waits if there is no circle.
pub(super) fn core_of(waits: &[Wait]) -> impl Iterator<Item = &Wait> {
    let circle = circle_of(waits);
    waits.iter().filter(move |w| circle.is_empty() || circle.contains(&w.task))
}

/// The tasks that wait for each other in a circle, each for the next and the last for the first;
/// empty if there is no circle.
pub fn circle_of(waits: &[Wait]) -> Vec<TaskId> {
    // Of the waits of several branches the same one, whichever began first.
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
