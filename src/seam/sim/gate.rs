//! Gates: the scheduler's side of locks.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::Here;
use super::point::RunObject;
use crate::rt::{Object, PendingOp, WORLD, in_run, object_id};
use crate::run::Failure;
use crate::run::event::ValueKind;
use crate::run::ids::{ObjectId, Place};
use crate::run::op::{Access, Op};

/// The scheduler's side of a lock: the object whose holder and waiters the run records.
#[derive(Debug)]
pub(crate) struct Gate {
    pub(crate) object: Object,
}

/// Leave to use a lock: the lock is taken until this is dropped.
#[derive(Debug)]
pub(crate) struct Pass<'a> {
    /// None outside runs, where the real lock does the work.
    gate: Option<&'a Gate>,
}

impl<'a> Pass<'a> {
    /// Takes the lock again, when this pass has been dropped.
    pub(crate) fn enter_again(&self, op: &'static Op, here: Here) -> Enter<'a> {
        Enter { gate: self.gate, pending: PendingOp::new(op, here) }
    }
}

impl Gate {
    pub(crate) fn new(kind: &'static str, here: Here) -> Gate {
        let object = Object::new(kind, here, false);
        if in_run() {
            WORLD.with(|world| world.created(&object, ValueKind::Opaque, 0));
        }
        Gate { object }
    }

    /// Waits until the lock is free and takes it. `op` has [`Access::Lock`].
    pub(crate) fn enter(&self, op: &'static Op, here: Here) -> Enter<'_> {
        debug_assert_eq!(op.access, Access::Lock);
        Enter { gate: Some(self), pending: PendingOp::new(op, here) }
    }

    /// Takes the lock if it is free. `op` has [`Access::TryLock`].
    pub(crate) fn try_enter(&self, op: &'static Op, here: Here) -> TryEnter<'_> {
        debug_assert_eq!(op.access, Access::TryLock);
        TryEnter { gate: self, pending: PendingOp::new(op, here) }
    }
}

impl RunObject for Gate {
    #[inline]
    fn id_in_run(&self, place: Place) -> Option<ObjectId> {
        Some(object_id(&self.object, ValueKind::Opaque, place, || 0))
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

/// Waits until the lock is free and takes it.
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub(crate) struct Enter<'a> {
    /// None if a lock that was taken outside of runs is taken again.
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
        op.poll_waiting(cx, gate).map(|()| {
            op.perform_out_of_turn(|pending| WORLD.with(|world| world.acquire(pending)));
            Pass { gate: Some(gate) }
        })
    }
}

/// Fails the run: a lock cannot be given up in a run that did not take it.
#[cold]
fn outside(place: Place) -> ! {
    let message =
        "a wait in this run gives up a lock that was taken outside of it: take the lock in the run"
            .to_owned();
    WORLD.with(|world| world.fail(Failure::Misuse { message, place: place.to_string() }))
}

/// Takes the lock if it is free.
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
            // Not `then_some`: a pass that is made and dropped gives up a lock that another task holds.
            taken.then(|| Pass { gate: Some(gate) })
        })
    }
}
