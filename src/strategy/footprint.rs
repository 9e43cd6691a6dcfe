//! What a step touched, and which steps may not be swapped.
//!
//! One poll of a task is one step, and its footprint all that it did: the operation it had
//! announced, those of other branches of a `join!`, and effects without a point. What two accesses to
//! one object do to each other is said where accesses are defined, [`Access::conflicts`]; here is
//! what tasks do to each other.

use crate::choice::CallPoint;
use crate::ids::{ObjectId, TaskId};
use crate::op::Access;

/// One thing that a step did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Item {
    /// An access to an object; `takes` tells whether the object is held from then on.
    Object { object: ObjectId, access: Access, takes: bool },
    /// Acted on whether this task had ended.
    Looked(TaskId),
    /// Took the result of this task, which had ended.
    Joined(TaskId),
    /// Created this task.
    Spawned(TaskId),
    /// Asked this task to end before its next step.
    Aborted(TaskId),
    /// Woke this task by something that is not of this library.
    Woke(TaskId),
    /// The task of the step ended.
    Ended,
    /// Something became of this history; `strict` tells whether it matters which of two calls that no
    /// step orders was first, other than to a check.
    Called { history: usize, point: CallPoint, strict: bool },
    /// Might have done this if other steps had come first.
    Maybe(Effect),
    /// The run ended: what was left of other tasks never happened.
    Over,
}

/// What a step may do besides the operation that it had announced, and others can tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Effect {
    /// Gives up a lock.
    Releases,
    /// Is the last of its task.
    Ends,
    /// Aborts tasks.
    Aborts,
}

impl Item {
    /// Whether an item of a step of `task` and one of a step of `other_task`, another task, may not
    /// be swapped. What one has to wait for in any order (a task its creation, a join the end of its
    /// target) is no such thing.
    pub(crate) fn conflicts(self, task: TaskId, other: Item, other_task: TaskId) -> bool {
        match (self, other) {
            (
                Item::Object { object: a, access, .. },
                Item::Object { object: b, access: other, .. },
            ) => a == b && access.conflicts(other),
            (Item::Looked(target), Item::Ended | Item::Maybe(Effect::Ends)) => target == other_task,
            (Item::Ended | Item::Maybe(Effect::Ends), Item::Looked(target)) => target == task,
            (Item::Maybe(Effect::Releases), Item::Object { access, .. })
            | (Item::Object { access, .. }, Item::Maybe(Effect::Releases)) => {
                access == Access::TryLock
            }
            (
                Item::Called { history: a, point, strict },
                Item::Called { history: b, point: other, .. },
            ) => {
                use CallPoint::{Checked, Invoked, Returned, Shown};
                let matter = match (point, other) {
                    (Returned(_), Invoked(_)) | (Invoked(_), Returned(_)) => strict,
                    (Checked | Shown, Invoked(_) | Returned(_)) => true,
                    (Invoked(_) | Returned(_), Checked | Shown) => true,
                    _ => false,
                };
                a == b && matter
            }
            _ => false,
        }
    }

    /// The task whose every step it may not be swapped with.
    pub(crate) fn disturbs(self) -> Option<TaskId> {
        match self {
            Item::Aborted(task) | Item::Woke(task) => Some(task),
            _ => None,
        }
    }
}

/// What a step of a task did.
#[derive(Clone, Debug, Default)]
pub(crate) struct Footprint {
    pub(crate) task: TaskId,
    pub(crate) items: Vec<Item>,
}

impl Footprint {
    /// Whether the order of the two steps can make a difference.
    pub(crate) fn conflicts(&self, other: &Footprint) -> bool {
        self.task == other.task || dependent((self.task, &self.items), (other.task, &other.items))
    }
}

/// Whether what two tasks did may not be swapped.
pub(crate) fn dependent(
    (task, items): (TaskId, &[Item]),
    (other_task, others): (TaskId, &[Item]),
) -> bool {
    disturbs(items, other_task)
        || disturbs(others, task)
        || items.iter().any(|a| others.iter().any(|b| a.conflicts(task, *b, other_task)))
}

fn disturbs(items: &[Item], task: TaskId) -> bool {
    let with_all = |item: &Item| matches!(item, Item::Maybe(Effect::Aborts) | Item::Over);
    items.iter().any(|item| with_all(item) || item.disturbs() == Some(task))
}
