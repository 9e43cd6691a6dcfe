//! The footprint of a step: the effects of one poll of a task, and the conflicts between two steps.
//!
//! An item of a footprint is an operation on an object, and a task is an object too. It was *done*, with or
//! without a point, or it is *guarded*: announced by the task and not done in the step although the task was polled,
//! so that the step depends on the guard of the operation. [`op`](crate::run::op) declares the conflicts of the
//! operations on one object; this file adds the objects, the calls of histories and the end of the run.

use crate::run::board::{CallPoint, Life};
use crate::run::ids::{ObjectId, TaskId};
use crate::run::op::kind::{Kind, Span};
use crate::run::op::task::{KILL, LIVE};

/// One effect of a step, or one guarded operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StepItem {
    /// An operation on an object. `key` is its [key](crate::run::choice::View::key_of), which is the same in every run;
    /// `object` may differ. The span belongs to an operation that was done.
    Object { object: ObjectId, key: u64, kind: Kind, span: Span, done: bool },
    /// An operation on a task.
    Task { target: TaskId, kind: Kind, done: bool },
    /// The creation of a task. All steps of the task come later, so it conflicts with none.
    Spawned(TaskId),
    /// A call of this history reached a point. `strict` is true if returns and invocations that no step orders
    /// conflict.
    Called { history: usize, point: CallPoint, strict: bool },
    /// Has effects that outlive the life of its task's node, or `ends` that life. The effects of
    /// its other steps are lost with it.
    Life { life: Life, ends: bool },
    /// May have raised the numbers of messages that cuts and clogs of the net have met, or read them.
    Counted { reads: bool },
    /// An operation on anything that is not of this library: conflicts with any other one.
    Unseen,
    /// The end of the run: no other task takes a step after it.
    Over,
}

impl StepItem {
    /// Returns `true` if an item of a step conflicts with an item of a step of another task in the same run.
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

    /// The task that this item killed.
    pub fn killed(&self) -> Option<TaskId> {
        match *self {
            StepItem::Task { target, kind: KILL, .. } => Some(target),
            _ => None,
        }
    }

    /// The item of every step of a task.
    pub fn lives(task: TaskId) -> StepItem {
        StepItem::Task { target: task, kind: LIVE, done: true }
    }
}

/// Returns `true` if two operations on one object conflict; each was done or is guarded.
#[inline]
fn relate((a, a_done): (Kind, bool), (b, b_done): (Kind, bool)) -> bool {
    match (a_done, b_done) {
        (true, true) => a.conflicts(b),
        (true, false) => a.may_enable(b) || a.may_disable(b),
        (false, true) => b.may_enable(a) || b.may_disable(a),
        (false, false) => false,
    }
}

/// The footprint of a step, for all runs with the same steps before it.
#[derive(Clone, Debug, Default)]
pub struct Footprint {
    pub task: TaskId,
    pub items: Vec<StepItem>,
    /// The number of objects before the step: these objects are the same in all such runs.
    pub objects: usize,
    /// The number of tuples of drawn values that the items come from, if it is known.
    pub ways: u32,
}

impl Footprint {
    /// Returns `true` if this step may conflict with a step of another such run.
    pub fn conflicts(&self, task: TaskId, items: &[StepItem]) -> bool {
        self.task == task
            || disturbs(&self.items, task)
            || disturbs(items, self.task)
            || self.items.iter().any(|a| items.iter().any(|b| self.may_conflict(a, b)))
    }

    fn may_conflict(&self, own: &StepItem, other: &StepItem) -> bool {
        match (*own, *other) {
            (
                StepItem::Object { object: a, key: own_key, kind, span, done },
                StepItem::Object {
                    object: b,
                    key,
                    kind: other,
                    span: other_span,
                    done: other_done,
                },
            ) => {
                let is_known = a.index().min(b.index()) < self.objects;
                let is_same = if is_known { a == b } else { own_key == key };
                is_same
                    && relate((kind, done), (other, other_done))
                    && !Kind::are_apart((kind, span), (other, other_span))
            }
            _ => own.conflicts(other),
        }
    }
}

/// Returns `true` if steps of two tasks in one run conflict. Every step has [`StepItem::lives`], which is not
/// among the items.
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
