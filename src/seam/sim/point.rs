//! Points: a future announces its operation, waits for its turn and takes effect.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::Here;
use crate::ids::{ObjectId, Place};
use crate::op::{Access, Op};
use crate::rt::{Arrival, Deed, WORLD, World};

/// Where an operation takes effect.
pub(crate) enum At<'a> {
    Run(&'a World, &'a Stop),
    Real,
}

/// An object that points are at.
pub(crate) trait Source {
    /// The object in the run that is on.
    fn meet(&self, world: &World, place: Place) -> Option<ObjectId>;
}

/// Points that are at no object.
pub(crate) struct Nowhere;

impl Source for Nowhere {
    fn meet(&self, _: &World, _: Place) -> Option<ObjectId> {
        None
    }
}

/// The way of a future through a point: announced when first polled, done when polled in a later
/// step in which it is enabled, taken back when dropped in between.
pub(crate) struct Stop {
    pub(super) deed: Deed,
    announced: bool,
}

impl Stop {
    #[inline]
    pub(super) fn new(op: &'static Op, here: Here) -> Stop {
        Stop { deed: Deed::new(op, here), announced: false }
    }

    /// Ready when the operation is to be done, which is the caller's to do.
    #[inline]
    pub(super) fn poll(
        &mut self,
        world: &World,
        cx: &mut Context<'_>,
        source: &(impl Source + ?Sized),
    ) -> Poll<()> {
        if self.announced {
            match world.arrived(&self.deed, cx.waker()) {
                Arrival::Now => {
                    self.announced = false;
                    return Poll::Ready(());
                }
                Arrival::Later => return Poll::Pending,
                Arrival::Moved => world.retract(&self.deed.ticket),
            }
        }
        self.deed.object = source.meet(world, self.deed.place);
        match self.deed.op.access {
            Access::Lock => world.announce_slowly(&mut self.deed, None, cx.waker()),
            _ => world.announce(&mut self.deed, cx.waker()),
        }
        self.announced = true;
        Poll::Pending
    }
}

impl Drop for Stop {
    #[inline]
    fn drop(&mut self) {
        if self.announced && WORLD.is_set() {
            WORLD.with(|world| world.retract(&self.deed.ticket));
        }
    }
}

/// An operation that waits for its turn and then takes effect.
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub(crate) struct Point<'a, S, F> {
    source: &'a S,
    stop: Stop,
    effect: Option<F>,
}

impl<'a, S, F> Point<'a, S, F> {
    #[inline]
    pub(super) fn new(source: &'a S, op: &'static Op, here: Here, effect: F) -> Self {
        Point { source, stop: Stop::new(op, here), effect: Some(effect) }
    }
}

// The effect is taken out by value and nothing is pinned.
impl<S, F> Unpin for Point<'_, S, F> {}

impl<S: Source, F, R> Future for Point<'_, S, F>
where
    F: FnOnce(&At<'_>) -> R,
{
    type Output = R;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<R> {
        let Point { source, stop, effect } = &mut *self;
        let take = |effect: &mut Option<F>| effect.take().expect("polled after it was ready");
        if !WORLD.is_set() {
            return Poll::Ready(take(effect)(&At::Real));
        }
        WORLD.with(|world| match stop.poll(world, cx, *source) {
            Poll::Ready(()) => Poll::Ready(take(effect)(&At::Run(world, stop))),
            Poll::Pending => Poll::Pending,
        })
    }
}

/// Lets other tasks go first, once.
pub(crate) struct Turn {
    stop: Stop,
    yielded: bool,
}

impl Turn {
    #[inline]
    pub(crate) fn new(op: &'static Op, here: Here) -> Turn {
        Turn { stop: Stop::new(op, here), yielded: false }
    }
}

impl Future for Turn {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if !WORLD.is_set() {
            if std::mem::replace(&mut self.yielded, true) {
                return Poll::Ready(());
            }
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.poll_in_run(cx)
    }
}

impl Turn {
    fn poll_in_run(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        WORLD.with(|world| match self.stop.poll(world, cx, &Nowhere) {
            Poll::Ready(()) => {
                world.pass(&self.stop.deed);
                Poll::Ready(())
            }
            Poll::Pending => Poll::Pending,
        })
    }
}
