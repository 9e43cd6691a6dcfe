//! Gates: the scheduler's side of locks.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use super::Here;
use super::point::RunObject;
use crate::rt::{Object, PendingOp, WORLD, in_run, is_by_hand, made, may_be_at_once, object_id};
use crate::run::Failure;
use crate::run::event::ValueKind;
use crate::run::ids::{ObjectId, Place};
use crate::run::op::{Access, Op};
use crate::seam::wakes_nobody;

/// The scheduler's side of a lock: the object whose holder and waiters the run records.
#[derive(Debug)]
pub(crate) struct Gate {
    pub(crate) object: Object,
}

/// Permission to use a lock: the lock is held until this value is dropped.
#[derive(Debug)]
pub(crate) struct Pass<'a> {
    /// `None` outside of runs, where the real lock does the work.
    gate: Option<&'a Gate>,
}

impl<'a> Pass<'a> {
    /// Acquires the lock again after this pass has been dropped.
    pub(crate) fn enter_again(&self, op: &'static Op, here: Here) -> Enter<'a> {
        Enter { gate: self.gate, pending: PendingOp::new(op, here) }
    }
}

impl Gate {
    pub(crate) fn new(kind: &'static str, here: Here) -> Gate {
        Gate { object: made(Object::new(kind, here, false), ValueKind::Opaque, 0) }
    }

    /// Waits until the lock is free and acquires it. `op` has [`Access::Lock`].
    pub(crate) fn enter(&self, op: &'static Op, here: Here) -> Enter<'_> {
        debug_assert_eq!(op.access, Access::Lock);
        Enter { gate: Some(self), pending: PendingOp::new(op, here) }
    }

    /// Acquires the lock if it is free. `op` has [`Access::TryLock`].
    pub(crate) fn try_enter(&self, op: &'static Op, here: Here) -> TryEnter<'_> {
        debug_assert_eq!(op.access, Access::TryLock);
        TryEnter { gate: self, pending: PendingOp::new(op, here) }
    }
}

impl Gate {
    fn id(&self, place: Place) -> ObjectId {
        object_id(&self.object, ValueKind::Opaque, place, || 0)
    }
}

impl RunObject for Gate {
    #[inline]
    fn id_in_run(&self, place: Place) -> Option<ObjectId> {
        Some(self.id(place))
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        if let Some(gate) = self.gate {
            if in_run() {
                WORLD.with(|world| world.release(&gate.object));
            }
        }
    }
}

/// Waits until the lock is free and acquires it.
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub(crate) struct Enter<'a> {
    /// `None` if the lock was first acquired outside of runs.
    gate: Option<&'a Gate>,
    pending: PendingOp,
}

impl<'a> Future for Enter<'a> {
    type Output = Pass<'a>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Pass<'a>> {
        let Enter { gate, pending: op } = &mut *self;
        if !in_run() {
            return Poll::Ready(Pass { gate: None });
        }
        let Some(gate) = *gate else { outside(op.place) };
        if op.try_in_turn(|pending| WORLD.with(|world| world.acquire_in_turn(pending))) {
            return Poll::Ready(Pass { gate: Some(gate) });
        }
        if may_be_at_once(cx.waker()) && op.try_by_hand(gate, cx.waker()) {
            return Poll::Ready(Pass { gate: Some(gate) });
        }
        if wakes_nobody(cx.waker()) {
            return Poll::Pending;
        }
        op.poll_waiting(cx, gate).map(|()| {
            op.perform_out_of_turn(|pending| WORLD.with(|world| world.acquire(pending)));
            Pass { gate: Some(gate) }
        })
    }
}

/// The operation of a poll by hand, which acquires the lock or fails.
const LOCK_BY_HAND: Op = Op::new("lock", Access::TryLock);

impl PendingOp {
    /// Acquires the lock if it is free. Returns `false` if the lock is not free; an open announcement then remains. If
    /// points are fused, does not try a lock that is announced or that does not belong to the step.
    #[cold]
    fn try_by_hand(&mut self, gate: &Gate, waker: &Waker) -> bool {
        if !is_by_hand(waker) && (self.announcement.is_open() || !self.is_fused()) {
            return false;
        }
        let object = gate.id(self.place);
        let taken = WORLD.with(|world| world.acquire_by_hand(&LOCK_BY_HAND, object, self.place));
        if taken {
            self.object = Some(object);
            self.begin_by_hand();
            self.announcement.close();
        }
        taken
    }
}

/// Fails the run, because a run can only release locks that it has acquired.
#[cold]
fn outside(place: Place) -> ! {
    let message =
        "a wait in this run gives up a lock that was taken outside of it: take the lock in the run"
            .to_owned();
    WORLD.with(|world| world.fail(Failure::Misuse { message, place: place.to_string() }))
}

/// Acquires the lock if it is free.
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub(crate) struct TryEnter<'a> {
    gate: &'a Gate,
    pending: PendingOp,
}

impl<'a> Future for TryEnter<'a> {
    type Output = Option<Pass<'a>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Pass<'a>>> {
        let TryEnter { gate, pending: op } = &mut *self;
        if !in_run() {
            return Poll::Ready(Some(Pass { gate: None }));
        }
        op.poll(cx, *gate).map(|()| {
            let taken =
                op.perform_out_of_turn(|pending| WORLD.with(|world| world.try_acquire(pending)));
            // `then_some` must not be used here. `then_some` would create and drop a pass, and thereby release a lock
            // that another task holds.
            taken.then(|| Pass { gate: Some(gate) })
        })
    }
}
