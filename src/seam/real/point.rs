//! A point in this build: an operation that takes effect when it is polled.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::Here;
use crate::real::jitter::{jitter, jitter_at_turn};
use crate::run::op::Op;
use crate::seam::SPENT;

/// The object that an operation changes: always the real object.
#[derive(Debug)]
pub(crate) struct Backend<'a>(PhantomData<&'a ()>);

/// An operation that takes effect when it is polled.
#[derive(Debug)]
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub(crate) struct Point<'a, F> {
    effect: Option<F>,
    on: PhantomData<&'a ()>,
}

impl<'a, F> Point<'a, F> {
    #[inline(always)]
    pub(super) fn new(effect: F) -> Point<'a, F> {
        Point { effect: Some(effect), on: PhantomData }
    }
}

/// Returns an operation that takes effect when it is polled.
#[inline(always)]
pub(super) fn point<'a, F, R>(effect: F) -> Point<'a, F>
where
    F: FnOnce(&Backend<'_>) -> R,
{
    Point::new(effect)
}

// The effect is taken by value, and no field is pinned.
impl<F> Unpin for Point<'_, F> {}

impl<F, R> Future for Point<'_, F>
where
    F: FnOnce(&Backend<'_>) -> R,
{
    type Output = R;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<R> {
        if jitter() {
            return give_way(cx);
        }
        let effect = self.effect.take().expect(SPENT);
        Poll::Ready(effect(&Backend(PhantomData)))
    }
}

/// A future that lets other tasks run first, once.
#[derive(Debug, Default)]
pub(crate) struct YieldPoint {
    yielded: bool,
}

impl YieldPoint {
    pub(crate) fn new(_: &'static Op, _: Here) -> YieldPoint {
        YieldPoint { yielded: false }
    }
}

impl Future for YieldPoint {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if jitter_at_turn() {
            return give_way(cx);
        }
        if std::mem::replace(&mut self.yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

/// Returns `Pending`, because the task was aborted, or drops its work here. The operation is not
/// done.
#[cold]
pub(super) fn give_way<R>(cx: &Context<'_>) -> Poll<R> {
    cx.waker().wake_by_ref();
    Poll::Pending
}
