//! Memory that is not of this library: operations on it are announced here, and the caller does the effect.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::Here;
use super::point::{Backend, Point, RunObject};
use crate::rt::{Object, PendingOp, object_id};
use crate::run::event::{ValueKind, Values};
use crate::run::ids::{ObjectId, Place};
use crate::run::op::Op;

/// A place in memory that tasks share.
#[derive(Debug)]
#[cfg_attr(not(unpause_native), allow(dead_code))]
pub(crate) struct ForeignWord {
    object: Object,
    values: ValueKind,
}

#[cfg_attr(not(unpause_native), allow(dead_code))]
impl ForeignWord {
    /// Memory that was first accessed at `here`. Its key is the same in all runs.
    pub(crate) fn new(kind: &'static str, here: Here, key: u64) -> ForeignWord {
        ForeignWord { object: Object::foreign(kind, here, key), values: ValueKind::Unsigned }
    }

    /// As [`new`](Self::new), of an object whose operations have no values to show.
    pub(crate) fn without_values(kind: &'static str, here: Here, key: u64) -> ForeignWord {
        ForeignWord { object: Object::foreign(kind, here, key), values: ValueKind::default() }
    }

    /// Announces `op`; in its turn calls `effect`, which does it and returns the values that it saw and left.
    pub(crate) fn point<'a, R>(
        &'a self,
        op: &'static Op,
        here: Here,
        mut effect: impl FnMut() -> (R, Values) + Send + 'a,
    ) -> impl Future<Output = R> + Send + 'a
    where
        R: Send + 'a,
    {
        Point::new(self, op, here, move |backend: &Backend<'_>| {
            let (result, values) = effect();
            if let Backend::Run(pending) = backend {
                pending.record_foreign(values);
            }
            result
        })
    }

    /// Announces `op`, with [`Access::Resume`](crate::run::op::Access::Resume), and waits for its turn.
    pub(crate) fn resume(&self, op: &'static Op, here: Here) -> Resume<'_> {
        Resume { word: self, pending: PendingOp::new(op, here) }
    }
}

/// Goes on when another task lets it: [`World::resume`](crate::rt::World::resume).
#[must_use = "futures do nothing unless you `.await` or poll them"]
#[cfg_attr(not(unpause_native), allow(dead_code))]
pub(crate) struct Resume<'a> {
    word: &'a ForeignWord,
    pending: PendingOp,
}

impl Future for Resume<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Resume { word, pending } = &mut *self;
        pending.poll_waiting(cx, *word).map(|()| pending.perform_out_of_turn(PendingOp::finish))
    }
}

impl RunObject for ForeignWord {
    fn id_in_run(&self, place: Place) -> Option<ObjectId> {
        Some(object_id(&self.object, self.values, place, || 0))
    }
}
