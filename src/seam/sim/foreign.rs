//! Memory outside of this library: operations on it are announced here, and the caller performs their effects.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::Here;
use super::point::{Backend, Point, RunObject};
use crate::rt::{HeldOp, Object, PendingOp, WORLD, object_id};
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
    /// Returns an object for memory that was first accessed at `here`. The key of the object is the same in all runs.
    pub(crate) fn new(kind: &'static str, here: Here, key: u64) -> ForeignWord {
        ForeignWord { object: Object::foreign(kind, here, key), values: ValueKind::Word }
    }

    /// Like [`new`](Self::new), but for an object whose operations have no values to show.
    pub(crate) fn without_values(kind: &'static str, here: Here, key: u64) -> ForeignWord {
        ForeignWord { object: Object::foreign(kind, here, key), values: ValueKind::default() }
    }

    /// Announces `op`. In its turn, the operation calls `effect`, which performs the operation and returns the old and
    /// the new values.
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

    /// Announces `op`, a read in a loop that saw the same value in its last round. Holds `op` until one of the `looked`
    /// objects changes. If an object has changed since the event count in `looked`, `op` is not held.
    pub(crate) fn held<'a, R>(
        &'a self,
        op: &'static Op,
        here: Here,
        looked: (Vec<ObjectId>, usize),
        effect: impl FnMut() -> (R, Values) + Send + Unpin + 'a,
    ) -> impl Future<Output = R> + Send + 'a
    where
        R: Send + 'a,
    {
        Held {
            word: self,
            pending: PendingOp::new(op, here),
            looked: Some(looked),
            held: None,
            effect,
        }
    }

    /// Records `op` as done, without a point.
    pub(crate) fn note(&self, op: &'static Op, here: Here, values: Values) {
        let object = self.id(here);
        WORLD.with(|world| world.note(op, object, here, values));
    }

    /// Returns the number of the object in the run.
    pub(crate) fn id(&self, here: Here) -> ObjectId {
        object_id(&self.object, self.values, here, || 0)
    }

    /// Announces `op`, with [`Access::Resume`](crate::run::op::Access::Resume), and waits for its turn.
    pub(crate) fn resume(&self, op: &'static Op, here: Here) -> Resume<'_> {
        Resume { word: self, pending: PendingOp::new(op, here) }
    }
}

/// An operation on memory, from its announcement until it is done. This type owns the object of the operation, so that
/// the future of the operation needs no other state.
#[cfg_attr(not(unpause_native), allow(dead_code))]
pub(crate) struct ForeignOp {
    word: Arc<ForeignWord>,
    pending: PendingOp,
}

#[cfg_attr(not(unpause_native), allow(dead_code))]
impl ForeignOp {
    #[inline]
    pub(crate) fn new(word: Arc<ForeignWord>, op: &'static Op, here: Here) -> ForeignOp {
        ForeignOp { word, pending: PendingOp::new(op, here) }
    }

    /// Announces the operation. In its turn, the operation calls `effect`, which performs the operation and returns the
    /// old and the new values. Must be called in a run.
    #[inline]
    pub(crate) fn poll<R>(
        &mut self,
        cx: &mut Context<'_>,
        effect: impl FnOnce() -> (R, Values),
    ) -> Poll<R> {
        self.pending.poll_once(cx, &*self.word, |pending| {
            let (result, values) = effect();
            pending.record_foreign(values);
            result
        })
    }
}

/// A wait until another task calls [`World::resume`](crate::rt::World::resume).
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

/// A read that is held until a change.
struct Held<'a, F> {
    word: &'a ForeignWord,
    pending: PendingOp,
    /// The objects and the number of events; `None` after the announcement.
    looked: Option<(Vec<ObjectId>, usize)>,
    held: Option<HeldOp>,
    effect: F,
}

impl<R, F: FnMut() -> (R, Values) + Unpin> Future for Held<'_, F> {
    type Output = R;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<R> {
        let Held { word, pending, looked, held, effect } = &mut *self;
        if let Some(looked) = looked.take() {
            let polled = pending.poll_waiting(cx, *word);
            debug_assert!(polled.is_pending(), "an operation is announced before it is done");
            let id = pending.announcement.id;
            *held = Some(WORLD.with(|world| world.hold_announced(id, looked, pending.place)));
            return Poll::Pending;
        }
        pending.poll_waiting(cx, *word).map(|()| {
            *held = None;
            pending.perform_out_of_turn(|pending| {
                let (result, values) = effect();
                pending.record_foreign(values);
                result
            })
        })
    }
}

impl RunObject for ForeignWord {
    fn id_in_run(&self, place: Place) -> Option<ObjectId> {
        Some(self.id(place))
    }
}
