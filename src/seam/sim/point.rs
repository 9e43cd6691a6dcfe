//! Points: a future announces its operation, waits for its turn and takes effect.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use super::Here;
use crate::rt::{Arrival, Deed, WORLD, in_run, is_turn_of};
use crate::run::ids::{ObjectId, Place};
use crate::run::op::Op;
use crate::seam::SPENT;

/// Where an operation takes effect.
pub(crate) enum At<'a> {
    Run(&'a Deed),
    Real,
}

/// An object that points are at.
pub(crate) trait Source {
    /// The object in the run that is on.
    fn meet(&self, place: Place) -> Option<ObjectId>;
}

/// Points that are at no object.
pub(crate) struct Nowhere;

impl Source for Nowhere {
    #[inline]
    fn meet(&self, _: Place) -> Option<ObjectId> {
        None
    }
}

/// The way of a future through a point: announced when first polled, done when polled in a later
/// step in which it is enabled, taken back when dropped in between.
pub(crate) struct Stop {
    deed: Deed,
}

impl Stop {
    #[inline]
    pub(super) fn new(op: &'static Op, here: Here) -> Stop {
        Stop { deed: Deed::new(op, here) }
    }

    /// Whether the turn of the operation has come, which is then the caller's to do. A run is on, and the
    /// operation waits for nothing: its turn comes when its task is chosen.
    //
    // Not generic, so that a debug build has it compiled in this crate, whose profile may say
    // `opt-level = 3`. Inlined in others: the source is then known, and a point is one function.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn turns(&mut self) -> bool {
        let turns = self.deed.ticket.is_open() && is_turn_of(&self.deed.ticket);
        if turns {
            self.deed.ticket.settle();
        }
        turns
    }

    /// Whether the turn of the operation, which may have to wait, has come, and `effect` did it.
    #[inline]
    pub(super) fn takes_turn(&mut self, effect: impl FnOnce(&Deed) -> bool) -> bool {
        let ticket = &self.deed.ticket;
        let done = ticket.is_open() && is_turn_of(ticket) && effect(&self.deed);
        if done {
            self.deed.ticket.settle();
        }
        done
    }

    /// Ready when the operation is to be [done](Self::pass), though it is not [its turn](Self::turns).
    /// `announce` is how it is announced.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn arrive(
        &mut self,
        cx: &mut Context<'_>,
        source: &dyn Source,
        announce: fn(&mut Deed, &Waker),
    ) -> Poll<()> {
        if self.deed.ticket.is_open() {
            if let Some(polled) = self.look(cx) {
                return polled;
            }
        } else if self.is_spent() {
            spent();
        }
        // One that is nowhere has none from the beginning.
        if let Some(object) = source.meet(self.deed.place) {
            self.deed.object = Some(object);
        }
        announce(&mut self.deed, cx.waker());
        Poll::Pending
    }

    /// Both: ready when the operation is to be [done](Self::pass).
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, source: &dyn Source) -> Poll<()> {
        if self.turns() {
            return Poll::Ready(());
        }
        self.arrive(cx, source, Deed::announce)
    }

    /// As [`poll`](Self::poll), for an operation that may have to wait for others.
    pub(super) fn poll_waiting(&mut self, cx: &mut Context<'_>, source: &dyn Source) -> Poll<()> {
        self.arrive(cx, source, Deed::announce_to_world)
    }

    /// Returns `true` if the operation was done. An operation that is nowhere is never spent.
    #[inline]
    fn is_spent(&self) -> bool {
        !self.deed.ticket.is_open() && self.deed.object.is_some()
    }

    /// Marks the operation as done outside of runs.
    ///
    /// # Panics
    /// If it was done before.
    #[inline]
    fn pass_outside(&mut self) {
        if self.is_spent() {
            spent();
        }
        self.deed.ticket.settle();
        // No run sees the number: a spent operation is not announced.
        self.deed.object = Some(ObjectId::new(0));
    }

    /// Does the operation, which is ready.
    #[cold]
    #[inline(never)]
    pub(super) fn pass<R>(&mut self, effect: impl FnOnce(&Deed) -> R) -> R {
        let result = effect(&self.deed);
        self.deed.ticket.settle();
        result
    }

    /// None if the operation has to be announced anew.
    #[inline(never)]
    fn look(&mut self, cx: &mut Context<'_>) -> Option<Poll<()>> {
        match WORLD.with(|world| world.arrived(&self.deed.ticket, cx.waker())) {
            Arrival::Now => Some(Poll::Ready(())),
            Arrival::Later => Some(Poll::Pending),
            Arrival::Moved => {
                self.retract();
                None
            }
        }
    }

    #[cold]
    fn retract(&mut self) {
        if in_run() {
            WORLD.with(|world| world.retract(&self.deed.ticket));
        }
        self.deed.ticket.settle();
    }
}

impl Drop for Stop {
    #[inline]
    fn drop(&mut self) {
        if self.deed.ticket.is_open() {
            self.retract();
        }
    }
}

#[cold]
#[inline(never)]
fn spent() -> ! {
    panic!("{SPENT}")
}

/// An operation that waits for its turn and then takes effect. Panics if it is polled after it was ready.
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub(crate) struct Point<'a, S, F> {
    source: &'a S,
    stop: Stop,
    effect: F,
}

impl<'a, S, F> Point<'a, S, F> {
    #[inline]
    pub(super) fn new(source: &'a S, op: &'static Op, here: Here, effect: F) -> Self {
        Point { source, stop: Stop::new(op, here), effect }
    }
}

// The effect is called where it is and nothing is pinned.
impl<S, F> Unpin for Point<'_, S, F> {}

impl<S: Source, F, R> Future for Point<'_, S, F>
where
    F: FnMut(&At<'_>) -> R,
{
    type Output = R;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<R> {
        let Point { source, stop, effect } = &mut *self;
        if !in_run() {
            stop.pass_outside();
            return Poll::Ready(effect(&At::Real));
        }
        // Two calls, so that the compiler knows in the first whose turn it is.
        if stop.turns() {
            return Poll::Ready(effect(&At::Run(&stop.deed)));
        }
        stop.arrive(cx, *source, Deed::announce).map(|()| stop.pass(|deed| effect(&At::Run(deed))))
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

    #[cfg_attr(not(debug_assertions), inline)]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if !in_run() {
            if std::mem::replace(&mut self.yielded, true) {
                return Poll::Ready(());
            }
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        if self.stop.turns() {
            self.stop.deed.pass();
            return Poll::Ready(());
        }
        self.stop.arrive(cx, &Nowhere, Deed::announce).map(|()| self.stop.pass(Deed::pass))
    }
}
