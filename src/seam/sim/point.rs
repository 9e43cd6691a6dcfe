//! Points: a future announces its operation, waits for its turn and takes effect.
//!
//! The terms, in the order in which the await of one `Atomic::load` uses them:
//!
//! | word | meaning |
//! |---|---|
//! | [`Point`] | the future that the caller awaits: an object, a [`PendingOp`] and an effect |
//! | [`RunObject`] | the object, which has an `ObjectId` in each run |
//! | [`PendingOp`] | the operation, its object and place, and its announcement, which its drop retracts |
//! | `Announcement` | a run and an `AnnouncementId`; open until the operation is done or retracted |
//! | `AnnouncementId` | a task and a key |
//! | key | the number that distinguishes the announcements of a task |
//! | `Announced` | the row that a strategy reads: the pending operation on the board of the run |
//! | turn | the state of an announcement whose task was chosen for the current step; the thread keeps its key |
//! | `Readiness` | the result of the slow check by the world: can an announced operation be done? |
//! | [`Backend`] | the memory in which the effect happens: the memory of the run or, outside of runs, the real object |
//!
//! A future that is polled by hand (`now_or_never`, a mock waker within [`by_hand`](crate::rt::by_hand)) cannot wait
//! for a later step. The operation of such a future takes effect in the poll, as a part of the current step, like an
//! operation without an await. If the operation must wait, it is announced with the waker of the poll, unless this is a
//! no-op waker.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use super::Here;
use crate::rt::{Ear, PendingOp, Readiness, WORLD, in_run, is_by_hand, is_turn_of};
use crate::run::ids::{ObjectId, Place};
use crate::run::op::Op;
use crate::seam::{SPENT, wakes_nobody};

/// The memory in which an operation takes effect.
pub(crate) enum Backend<'a> {
    Run(&'a PendingOp),
    Real,
}

/// An object on which operations act.
pub(crate) trait RunObject {
    /// Returns the object's id in the current run.
    fn id_in_run(&self, place: Place) -> Option<ObjectId>;
}

/// The object of operations that act on no object.
pub(crate) struct NoObject;

impl RunObject for NoObject {
    #[inline]
    fn id_in_run(&self, _: Place) -> Option<ObjectId> {
        None
    }
}

/// The life of an operation at a point: the first poll announces it. A poll in a later step performs the operation, if
/// it is enabled then. A drop in between retracts the announcement.
impl PendingOp {
    /// Returns `true` if it is the turn of the operation; the caller must then perform it. Requires a current run and
    /// an operation that never has to wait: its turn is the next step of its task.
    //
    // Not generic, so that a debug build compiles this function in this crate, with this crate's `opt-level`. Inlined
    // in other builds, where the object is then known and a point is one function.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn is_its_turn(&mut self) -> bool {
        let turns = self.announcement.is_open() && is_turn_of(&self.announcement);
        if turns {
            self.announcement.close();
        }
        turns
    }

    /// Returns `true` if it is the turn of the operation, which may have to wait, and `effect` has performed it.
    #[inline]
    pub(super) fn try_in_turn(&mut self, effect: impl FnOnce(&PendingOp) -> bool) -> bool {
        let announcement = &self.announcement;
        let done = announcement.is_open() && is_turn_of(announcement) && effect(self);
        if done {
            self.announcement.close();
        }
        done
    }

    /// Announces the operation with `announce`, or checks it if it is already announced. Returns `Ready` if the
    /// operation can be [performed](Self::perform_out_of_turn) although it is not [its turn](Self::is_its_turn).
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn poll_out_of_turn(
        &mut self,
        cx: &mut Context<'_>,
        object: &dyn RunObject,
        announce: fn(&mut PendingOp, &Waker) -> Poll<()>,
    ) -> Poll<()> {
        if self.announcement.is_open() {
            if let Some(polled) = self.poll_announced(cx) {
                return polled;
            }
        } else if self.is_spent() {
            spent();
        }
        // An operation without an object keeps its initial `None`.
        if let Some(object) = object.id_in_run(self.place) {
            self.object = Some(object);
        }
        announce(self, cx.waker())
    }

    /// Announces the operation. Performs it by calling `effect`, either in its turn or out of its turn.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn poll_once<R>(
        &mut self,
        cx: &mut Context<'_>,
        object: &dyn RunObject,
        effect: impl FnOnce(&PendingOp) -> R,
    ) -> Poll<R> {
        // `effect` is called in two places. At the first place, the compiler then knows that it is the operation's
        // turn.
        if self.is_its_turn() {
            return Poll::Ready(effect(self));
        }
        self.poll_out_of_turn(cx, object, PendingOp::announce)
            .map(|()| self.perform_out_of_turn(effect))
    }

    /// Returns `Ready` if the operation can be [performed](Self::perform_out_of_turn), in its turn or out of it.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, object: &dyn RunObject) -> Poll<()> {
        if self.is_its_turn() {
            return Poll::Ready(());
        }
        self.poll_out_of_turn(cx, object, PendingOp::announce)
    }

    /// Like [`poll`](Self::poll), but for an operation that may have to wait for other tasks.
    pub(super) fn poll_waiting(
        &mut self,
        cx: &mut Context<'_>,
        object: &dyn RunObject,
    ) -> Poll<()> {
        self.poll_out_of_turn(cx, object, |pending, waker| {
            pending.announce_to_world(waker);
            Poll::Pending
        })
    }

    /// Returns `Ready` when it is the turn of the operation; the caller then performs it. With an `ear`, the operation
    /// waits until the ear is called, even if it is polled by hand.
    pub(super) fn poll_turn(
        &mut self,
        cx: &mut Context<'_>,
        object: &dyn RunObject,
        ear: Option<&Ear>,
    ) -> Poll<()> {
        if self.try_in_turn(|pending| WORLD.with(|world| world.take_turn(pending))) {
            return Poll::Ready(());
        }
        let polled = match ear {
            None => self.poll(cx, object),
            Some(ear) if is_by_hand(cx.waker()) && ear.is_called() => {
                self.begin_by_hand();
                Poll::Ready(())
            }
            Some(_) if wakes_nobody(cx.waker()) => Poll::Pending,
            Some(ear) => {
                let polled = self.poll_waiting(cx, object);
                // Another task may have announced the operation again.
                if polled.is_pending() {
                    ear.listen(self);
                }
                polled
            }
        };
        polled.map(|()| {
            self.perform_out_of_turn(|pending| {
                WORLD.with(|world| world.take_turn_out_of_turn(pending));
            });
        })
    }

    /// Returns `true` if the operation was performed. An operation without an object is never spent.
    #[inline]
    fn is_spent(&self) -> bool {
        !self.announcement.is_open() && self.object.is_some()
    }

    /// Marks the operation as done outside of runs.
    ///
    /// # Panics
    /// Panics if the operation was performed before.
    #[inline]
    fn mark_done_outside(&mut self) {
        if self.is_spent() {
            spent();
        }
        self.announcement.close();
        // No run reads this number, because the operation is spent and not announced.
        self.object = Some(ObjectId::new(0));
    }

    /// Performs the operation after a poll that returned `Ready`.
    #[cold]
    #[inline(never)]
    pub(super) fn perform_out_of_turn<R>(&mut self, effect: impl FnOnce(&PendingOp) -> R) -> R {
        let result = effect(self);
        self.announcement.close();
        result
    }

    /// Checks an announced operation. Returns `None` if the operation must be announced again.
    #[inline(never)]
    fn poll_announced(&mut self, cx: &mut Context<'_>) -> Option<Poll<()>> {
        if is_by_hand(cx.waker()) && !self.op.access.is_guarded() {
            self.begin_by_hand();
            return Some(Poll::Ready(()));
        }
        match WORLD.with(|world| world.readiness(&self.announcement, cx.waker())) {
            Readiness::Ready => Some(Poll::Ready(())),
            Readiness::Waiting => Some(Poll::Pending),
            Readiness::Stale => {
                self.retract();
                None
            }
        }
    }

    #[cold]
    fn retract(&mut self) {
        if in_run() {
            WORLD.with(|world| world.retract(&self.announcement));
        }
        self.announcement.close();
    }
}

impl Drop for PendingOp {
    #[inline]
    fn drop(&mut self) {
        if self.announcement.is_open() {
            self.retract();
        }
    }
}

#[cold]
#[inline(never)]
fn spent() -> ! {
    panic!("{SPENT}")
}

/// An operation that waits for its turn and then takes effect. Panics if it is polled after completion.
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub(crate) struct Point<'a, S, F> {
    object: &'a S,
    pending: PendingOp,
    effect: F,
}

impl<'a, S, F> Point<'a, S, F> {
    #[inline]
    pub(super) fn new(object: &'a S, op: &'static Op, here: Here, effect: F) -> Self {
        Point { object, pending: PendingOp::new(op, here), effect }
    }
}

// The effect is called in place, and no field is pinned.
impl<S, F> Unpin for Point<'_, S, F> {}

impl<S: RunObject, F, R> Future for Point<'_, S, F>
where
    F: FnMut(&Backend<'_>) -> R,
{
    type Output = R;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<R> {
        let Point { object, pending, effect } = &mut *self;
        if !in_run() {
            pending.mark_done_outside();
            return Poll::Ready(effect(&Backend::Real));
        }
        pending.poll_once(cx, *object, |pending| effect(&Backend::Run(pending)))
    }
}

/// The point of a yield, which lets other tasks run first, once.
pub(crate) struct YieldPoint {
    pending: PendingOp,
    /// True after the first poll outside of runs or by hand.
    yielded: bool,
}

impl YieldPoint {
    #[inline]
    pub(crate) fn new(op: &'static Op, here: Here) -> YieldPoint {
        YieldPoint { pending: PendingOp::new(op, here), yielded: false }
    }
}

impl Future for YieldPoint {
    type Output = ();

    #[cfg_attr(not(debug_assertions), inline)]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if !in_run() {
            return self.yield_once(cx);
        }
        if self.pending.is_its_turn() {
            self.pending.finish();
            return Poll::Ready(());
        }
        if self.pending.poll_out_of_turn(cx, &NoObject, PendingOp::announce).is_pending() {
            return Poll::Pending;
        }
        if is_by_hand(cx.waker()) && self.yield_once(cx).is_pending() {
            self.pending.announcement.close();
            return Poll::Pending;
        }
        self.pending.perform_out_of_turn(PendingOp::finish);
        Poll::Ready(())
    }
}

impl YieldPoint {
    /// Returns `Pending` once, and wakes the task at once.
    #[cold]
    fn yield_once(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}
