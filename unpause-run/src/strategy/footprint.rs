//! The footprint of a step: the effects of one poll of a task, and the conflicts between two steps.
//!
//! An item of a footprint is usually an operation on an object. Tasks are also objects. An operation is *done*, with or
//! without a point, or *guarded*. A guarded operation was announced but not done, although the task was polled, so the
//! step depends on the guard of the operation. [`op`](crate::run::op) declares the conflicts between operations on one
//! object. This file adds the objects, the calls of histories and the end of the run.

use crate::run::board::{CallPoint, Life};
use crate::run::ids::{ObjectId, TaskId};
use crate::run::op::kind::{Kind, Span};
use crate::run::op::task::{KILL, LIVE};

/// One effect of a step, or one guarded operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StepItem {
    /// An operation on an object. The [key](crate::run::choice::View::key_of) of the object is the same in every run;
    /// the number `object` may differ. The span belongs to an operation that was done.
    Object { object: ObjectId, key: u64, kind: Kind, span: Span, done: bool },
    /// An operation on a task.
    Task { target: TaskId, kind: Kind, done: bool },
    /// The creation of a task. All steps of that task come later, so the creation conflicts with no step.
    Spawned(TaskId),
    /// A point that a call of this history reached. `strict` is true if a return and an invocation conflict although no
    /// step orders them.
    Called { history: usize, point: CallPoint, strict: bool },
    /// An effect that outlives this life of the task's node, or, if `ends` is true, the end of this life. All other
    /// effects of the node's tasks are lost at the end of the life.
    Life { life: Life, ends: bool },
    /// A possible increment of the numbers of messages that network cuts and clogs have stopped, or, if `reads` is
    /// true, a read of these numbers.
    Counted { reads: bool },
    /// An operation on something outside this library. The operation conflicts with every other such operation.
    Unseen,
    /// The end of the run, after which no other task takes a step.
    Over,
}

impl StepItem {
    /// Returns `true` if this item conflicts with an item of another task's step in the same run.
    #[inline]
    pub fn conflicts(&self, other: &StepItem) -> bool {
        match (*self, *other) {
            (
                StepItem::Object { object: a, kind, span, done, .. },
                StepItem::Object {
                    object: b, kind: other, span: other_span, done: other_done, ..
                },
            ) => {
                a == b
                    && relate((kind, done), (other, other_done))
                    && !Kind::are_apart((kind, span), (other, other_span))
            }
            (
                StepItem::Task { target: a, kind, done },
                StepItem::Task { target: b, kind: other, done: other_done },
            ) => a == b && relate((kind, done), (other, other_done)),
            (
                StepItem::Called { history: a, point, strict },
                StepItem::Called { history: b, point: other, .. },
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
            (StepItem::Counted { reads }, StepItem::Counted { reads: other }) => reads != other,
            (StepItem::Life { life: a, ends }, StepItem::Life { life: b, ends: other }) => {
                a == b && (ends || other)
            }
            (StepItem::Unseen, StepItem::Unseen) => true,
            _ => false,
        }
    }

    /// Returns `true` if this item may turn the guard of the operation `guarded` to true.
    pub fn may_enable(&self, guarded: &StepItem) -> bool {
        self.turns(guarded, Kind::may_enable)
    }

    /// Returns `true` if this item may turn the guard of the operation `guarded` to false.
    pub fn may_disable(&self, guarded: &StepItem) -> bool {
        self.turns(guarded, Kind::may_disable)
    }

    fn turns(&self, guarded: &StepItem, may: impl Fn(Kind, Kind) -> bool) -> bool {
        match (*self, *guarded) {
            (
                StepItem::Object { object: a, kind, done: true, .. },
                StepItem::Object { object: b, kind: guarded, .. },
            ) => a == b && may(kind, guarded),
            (
                StepItem::Task { target: a, kind, done: true },
                StepItem::Task { target: b, kind: guarded, .. },
            ) => a == b && may(kind, guarded),
            _ => false,
        }
    }

    /// Returns the task that this item killed, if any.
    pub fn killed(&self) -> Option<TaskId> {
        match *self {
            StepItem::Task { target, kind: KILL, .. } => Some(target),
            _ => None,
        }
    }

    /// Returns the item that every step of a task has.
    pub fn lives(task: TaskId) -> StepItem {
        StepItem::Task { target: task, kind: LIVE, done: true }
    }
}

/// Returns `true` if two operations on one object conflict. Each operation is either done or guarded.
#[inline]
fn relate((a, a_done): (Kind, bool), (b, b_done): (Kind, bool)) -> bool {
    match (a_done, b_done) {
        (true, true) => a.conflicts(b),
        (true, false) => a.may_enable(b) || a.may_disable(b),
        (false, true) => b.may_enable(a) || b.may_disable(a),
        (false, false) => false,
    }
}

/// The footprint of a step, valid for all runs with the same earlier steps.
#[derive(Clone, Debug, Default)]
pub struct Footprint {
    pub task: TaskId,
    pub items: Vec<StepItem>,
    /// The number of objects before the step. These objects are the same in all such runs.
    pub objects: usize,
    /// The number of tuples of drawn values from which the items were collected, if known.
    pub ways: u32,
}

impl Footprint {
    /// Returns `true` if this step may conflict with a step of another run that has the same earlier steps.
    pub fn conflicts(&self, task: TaskId, items: &[StepItem]) -> bool {
        self.task == task
            || disturbs(&self.items, task)
            || disturbs(items, self.task)
            || self.items.iter().any(|a| items.iter().any(|b| may_conflict(a, b, self.objects)))
    }

    /// Returns `true` if this step may conflict with this item of a step of another task, in a run with other earlier
    /// steps.
    pub fn conflicts_elsewhere(&self, task: TaskId, item: &StepItem) -> bool {
        disturbs(&self.items, task)
            || disturbs(std::slice::from_ref(item), self.task)
            || self.items.iter().any(|own| may_conflict(own, item, 0))
    }
}

/// Returns `true` if two items of different runs may conflict. The first `objects` objects are the same in both runs.
fn may_conflict(own: &StepItem, other: &StepItem, objects: usize) -> bool {
    match (*own, *other) {
        (
            StepItem::Object { object: a, key: own_key, kind, span, done },
            StepItem::Object { object: b, key, kind: other, span: other_span, done: other_done },
        ) => {
            let is_known = a.index().min(b.index()) < objects;
            let is_same = if is_known { a == b } else { own_key == key };
            is_same
                && relate((kind, done), (other, other_done))
                && !Kind::are_apart((kind, span), (other, other_span))
        }
        _ => own.conflicts(other),
    }
}

/// Returns `true` if steps of two tasks in one run conflict. Every step implicitly has [`StepItem::lives`], which the
/// items do not list.
#[cfg(any(test, feature = "planted"))]
pub fn dependent(
    (task, items): (TaskId, &[StepItem]),
    (other_task, others): (TaskId, &[StepItem]),
) -> bool {
    disturbs(items, other_task)
        || disturbs(others, task)
        || items.iter().any(|a| others.iter().any(|b| a.conflicts(b)))
}

/// Returns `true` if one of the items conflicts with every step of `task`.
fn disturbs(items: &[StepItem], task: TaskId) -> bool {
    let lives = StepItem::lives(task);
    items.iter().any(|item| *item == StepItem::Over || item.conflicts(&lives))
}
