//! Shares: the reference counts of a value, as an object of the run. std does the counting.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::Here;
use super::point::RunObject;
use crate::rt::{Object, PendingOp, WORLD, in_run, made, object_id};
use crate::run::event::{ValueKind, Values};
use crate::run::ids::{ObjectId, Place};
use crate::run::op::Op;

/// The reference counts of one value. Each reference has a share, which records its operations and
/// its drop.
#[derive(Debug)]
pub(crate) struct Share {
    object: Arc<Object>,
    /// The operation that records the drop of the share; `None` if the end of the share was already
    /// recorded.
    drop: Option<&'static Op>,
    here: Here,
}

impl Share {
    /// Returns the share of the first reference. The drop of the share is recorded as `drop`.
    pub(crate) fn new(kind: &'static str, here: Here, drop: &'static Op) -> Share {
        let object = made(Object::new(kind, here, false), ValueKind::Unsigned, 0);
        Share { object: Arc::new(object), drop: Some(drop), here }
    }

    /// Returns the share of another reference.
    pub(crate) fn another(&self, here: Here, drop: &'static Op) -> Share {
        Share { object: self.object.clone(), drop: Some(drop), here }
    }

    /// Returns the same share with a name.
    pub(crate) fn named(mut self, name: &'static str) -> Share {
        if let Some(object) = Arc::get_mut(&mut self.object) {
            let fresh = Object::new(object.kind(), object.place(), false);
            *object = std::mem::replace(object, fresh).named(name);
        }
        self
    }

    /// Waits for the turn of an operation. In its turn, the caller performs the operation, and records it by
    /// [`did`](Self::did).
    pub(crate) fn turn(&self, op: &'static Op, here: Here) -> Turn<'_> {
        Turn { object: &self.object, pending: PendingOp::new(op, here) }
    }

    /// Records an operation.
    pub(crate) fn did(&self, op: &'static Op, here: Here, values: Option<u64>) {
        if in_run() {
            let object = self.object.id_in_run(here);
            let values = values.map_or(Values::None, Values::Read);
            WORLD.with(|world| world.record(op, object, here, values));
        }
    }

    /// Ends the share by this operation, and not by a drop.
    pub(crate) fn end(mut self, op: &'static Op, here: Here) {
        self.did(op, here, None);
        self.drop = None;
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if let (Some(op), true) = (self.drop, in_run()) {
            WORLD.with(|world| world.record_last(op, &self.object, self.here));
        }
    }
}

impl RunObject for Object {
    #[inline]
    fn id_in_run(&self, place: Place) -> Option<ObjectId> {
        Some(object_id(self, ValueKind::Unsigned, place, || 0))
    }
}

/// The turn of an operation on the counts.
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub(crate) struct Turn<'a> {
    object: &'a Object,
    pending: PendingOp,
}

impl Future for Turn<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Turn { object, pending } = &mut *self;
        match in_run() {
            true => pending.poll_turn(cx, *object, None),
            false => Poll::Ready(()),
        }
    }
}
