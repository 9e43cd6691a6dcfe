//! The footprint of a step: what one poll of a task did, and which two steps may not be swapped.
//!
//! An item of a footprint is an operation on an object, and a task is an object too. It was *done*, with or
//! without a point, or *asked*: announced by the task, not done in the step although the task was polled, so
//! that the step acted on its guard. How the operations on one object relate is declared in
//! [`op`](crate::run::op); here are the objects, the calls of histories and the end of the run.

use crate::run::board::CallPoint;
use crate::run::ids::{ObjectId, TaskId};
use crate::run::op::kind::Kind;
use crate::run::op::task::LIVE;

/// One thing that a step did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Item {
    /// An operation on an object. `key` is its [key](crate::run::choice::View::key_of), the same in every run,
    /// which `object` need not be.
    Object { object: ObjectId, key: u64, kind: Kind, done: bool },
    /// An operation on a task.
    Task { target: TaskId, kind: Kind, done: bool },
    /// The creation of a task. Whatever it does comes later, so there is nothing to swap.
    Spawned(TaskId),
    /// Something became of this history; `strict` tells whether it matters which of two calls that no
    /// step orders was first, other than to a check.
    Called { history: usize, point: CallPoint, strict: bool },
    /// The end of the run: what was left of other tasks never happened.
    Over,
}

impl Item {
    /// Whether an item of a step and one of a step of another task in the same run may not be swapped.
    #[inline]
    pub(crate) fn conflicts(&self, other: &Item) -> bool {
        match (*self, *other) {
            (
                Item::Object { object: a, kind, done, .. },
                Item::Object { object: b, kind: other, done: other_done, .. },
            ) => a == b && relate((kind, done), (other, other_done)),
            (
                Item::Task { target: a, kind, done },
                Item::Task { target: b, kind: other, done: other_done },
            ) => a == b && relate((kind, done), (other, other_done)),
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

    /// Whether this item may turn the guard of an operation that is asked for to true.
    pub(crate) fn may_enable(&self, asked: &Item) -> bool {
        self.turns(asked, Kind::may_enable)
    }

    /// Whether this item may turn the guard of an operation that is asked for to false.
    pub(crate) fn may_disable(&self, asked: &Item) -> bool {
        self.turns(asked, Kind::may_disable)
    }

    fn turns(&self, asked: &Item, may: impl Fn(Kind, Kind) -> bool) -> bool {
        match (*self, *asked) {
            (
                Item::Object { object: a, kind, done: true, .. },
                Item::Object { object: b, kind: asked, .. },
            ) => a == b && may(kind, asked),
            (
                Item::Task { target: a, kind, done: true },
                Item::Task { target: b, kind: asked, .. },
            ) => a == b && may(kind, asked),
            _ => false,
        }
    }

    /// The item of every step of a task.
    pub(crate) fn lives(task: TaskId) -> Item {
        Item::Task { target: task, kind: LIVE, done: true }
    }
}

/// Whether two operations on one object may not be swapped; each was done, or else asked.
#[inline]
fn relate((a, a_done): (Kind, bool), (b, b_done): (Kind, bool)) -> bool {
    match (a_done, b_done) {
        (true, true) => a.conflicts(b),
        (true, false) => a.may_enable(b) || a.may_disable(b),
        (false, true) => b.may_enable(a) || b.may_disable(a),
        (false, false) => false,
    }
}

/// The footprint of a step, for runs that begin as the one in which it was taken, up to the step.
#[derive(Clone, Debug, Default)]
pub(crate) struct Footprint {
    pub(crate) task: TaskId,
    pub(crate) items: Vec<Item>,
    /// How many objects there were before the step: these are the same in all such runs.
    pub(crate) objects: usize,
}

impl Footprint {
    /// Whether the order of this step and of one of another such run can make a difference.
    pub(crate) fn conflicts(&self, task: TaskId, items: &[Item]) -> bool {
        self.task == task
            || disturbs(&self.items, task)
            || disturbs(items, self.task)
            || self.items.iter().any(|a| items.iter().any(|b| self.may_conflict(a, b)))
    }

    fn may_conflict(&self, own: &Item, other: &Item) -> bool {
        match (*own, *other) {
            (
                Item::Object { object: a, key: own_key, kind, done },
                Item::Object { object: b, key, kind: other, done: other_done },
            ) => {
                let is_known = a.index().min(b.index()) < self.objects;
                let is_same = if is_known { a == b } else { own_key == key };
                is_same && relate((kind, done), (other, other_done))
            }
            _ => own.conflicts(other),
        }
    }
}

/// Whether steps of two tasks in one run may not be swapped. Every step has [`Item::lives`], which is not
/// among the items.
#[cfg(test)]
pub(crate) fn dependent(
    (task, items): (TaskId, &[Item]),
    (other_task, others): (TaskId, &[Item]),
) -> bool {
    disturbs(items, other_task)
        || disturbs(others, task)
        || items.iter().any(|a| others.iter().any(|b| a.conflicts(b)))
}

/// Whether one of the items conflicts with every step of `task`.
fn disturbs(items: &[Item], task: TaskId) -> bool {
    let lives = Item::lives(task);
    items.iter().any(|item| *item == Item::Over || item.conflicts(&lives))
}
