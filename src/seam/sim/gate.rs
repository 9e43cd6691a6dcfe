//! Gates: what the scheduler knows of locks.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::Here;
use super::point::{Source, Stop};
use crate::rt::{Object, WORLD, in_run, meet};
use crate::run::event::ValueKind;
use crate::run::ids::{ObjectId, Place};
use crate::run::op::{Access, Op};

/// What the scheduler knows of a lock.
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
        Enter { gate: self, stop: Stop::new(op, here) }
    }

    /// Takes the lock if it is free. `op` has [`Access::TryLock`].
    pub(crate) fn try_enter(&self, op: &'static Op, here: Here) -> TryEnter<'_> {
        debug_assert_eq!(op.access, Access::TryLock);
        TryEnter { gate: self, stop: Stop::new(op, here) }
    }
}

impl Source for Gate {
    #[inline]
    fn meet(&self, place: Place) -> Option<ObjectId> {
        Some(meet(&self.object, ValueKind::Opaque, place, || 0))
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
    gate: &'a Gate,
    stop: Stop,
}

impl<'a> Future for Enter<'a> {
    type Output = Pass<'a>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Pass<'a>> {
        let Enter { gate, stop } = &mut *self;
        if !in_run() {
            return Poll::Ready(Pass { gate: None });
        }
        if stop.takes_turn(|deed| WORLD.with(|world| world.acquire_in_turn(deed))) {
            return Poll::Ready(Pass { gate: Some(gate) });
        }
        stop.poll_waiting(cx, *gate).map(|()| {
            stop.pass(|deed| WORLD.with(|world| world.acquire(deed)));
            Pass { gate: Some(gate) }
        })
    }
}

/// Takes the lock if it is free.
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub(crate) struct TryEnter<'a> {
    gate: &'a Gate,
    stop: Stop,
}

impl<'a> Future for TryEnter<'a> {
    type Output = Option<Pass<'a>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Pass<'a>>> {
        let TryEnter { gate, stop } = &mut *self;
        if !in_run() {
            return Poll::Ready(Some(Pass { gate: None }));
        }
        stop.poll(cx, *gate).map(|()| {
            let taken = stop.pass(|deed| WORLD.with(|world| world.try_acquire(deed)));
            // Not `then_some`: a pass that is made and dropped gives up a lock that another task holds.
            taken.then(|| Pass { gate: Some(gate) })
        })
    }
}
