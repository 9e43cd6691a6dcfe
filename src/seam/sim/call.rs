//! Calls of [wrapped](super::wrapped) objects: the point, and the wait if the object cannot serve the call.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use pin_project_lite::pin_project;

use super::Here;
use super::wrapped::{CallOps, Came, Owner, Wrapped};
use crate::rt::{Ear, Hold, PendingOp, WORLD, World, in_run, is_by_hand};
use crate::run::event::Values;
use crate::run::op::Op;
use crate::run::op::kind::Kind;
use crate::seam::wakes_nobody;

/// The state of a call during its point and its waits.
pub(crate) struct Turn {
    ops: &'static CallOps,
    pending: PendingOp,
    /// The ear and its waker, created at the first request to the object.
    ear: Option<(Arc<Ear>, Waker)>,
    /// True from the point until the object has answered.
    waits: bool,
    /// True while the call waits after a poll by hand: the object has the waker of that poll.
    by_hand: bool,
    /// True if the object has queued the call.
    is_queued: bool,
    /// The event that created the future of the call, if the turn of the call may create the future again.
    created: Option<usize>,
}

impl std::fmt::Debug for Turn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Turn").finish_non_exhaustive()
    }
}

impl Turn {
    pub(crate) fn new(ops: &'static CallOps, here: Here) -> Turn {
        let pending = PendingOp::new(&ops.begin, here);
        Turn {
            ops,
            pending,
            ear: None,
            waits: false,
            by_hand: false,
            is_queued: false,
            created: None,
        }
    }

    /// Resets the state for the next call.
    pub(crate) fn renew(&mut self, here: Here) {
        self.pending = PendingOp::new(&self.ops.begin, here);
        (self.waits, self.by_hand, self.is_queued) = (false, false, false);
    }

    /// Returns `true` from the first poll until the call is done.
    pub(crate) fn is_under_way(&self) -> bool {
        self.waits || self.is_announced()
    }

    /// Returns `true` from the first poll until the turn of the call.
    fn is_announced(&self) -> bool {
        self.pending.announcement.is_open()
    }

    /// Records that the object has queued the call before its point.
    pub(crate) fn enqueue(&mut self) {
        self.is_queued = true;
    }

    /// Calls `ask` on the object in the turn of the call. Outside of runs, calls it at once.
    pub(crate) fn poll<R>(
        &mut self,
        owner: &impl Owner,
        cx: &mut Context<'_>,
        ask: impl FnOnce(&mut Context<'_>) -> Poll<R>,
        judge: impl FnOnce(&R) -> Came,
    ) -> Poll<R> {
        if !in_run() {
            return ask(cx);
        }
        let wrapped = owner.wrapped();
        if is_by_hand(cx.waker()) {
            return self.poll_by_hand(owner, cx, ask, judge);
        }
        if std::mem::take(&mut self.by_hand) {
            self.wait_after_hand(wrapped, cx);
            return Poll::Pending;
        }
        if self.poll_turn(wrapped, cx).is_pending() {
            return Poll::Pending;
        }
        let (ear, waker) = self.ear.get_or_insert_with(new_ear);
        ear.open();
        match ask(&mut Context::from_waker(waker)) {
            Poll::Ready(result) => {
                self.done(judge(&result));
                Poll::Ready(result)
            }
            Poll::Pending => {
                let values = if self.waits { Values::None } else { owner.queued() };
                self.wait(wrapped, cx, values);
                Poll::Pending
            }
        }
    }

    /// Like [`poll`](Self::poll), but for a call that never waits for its object.
    pub(crate) fn poll_at_once<R>(
        &mut self,
        wrapped: &Wrapped,
        cx: &mut Context<'_>,
        act: impl FnOnce() -> R,
        judge: impl FnOnce(&R) -> Came,
    ) -> Poll<R> {
        if !in_run() {
            return Poll::Ready(act());
        }
        if is_by_hand(cx.waker()) {
            return self.poll_by_hand(wrapped, cx, |_| Poll::Ready(act()), judge);
        }
        if self.poll_turn(wrapped, cx).is_pending() {
            return Poll::Pending;
        }
        let result = act();
        self.done(judge(&result));
        Poll::Ready(result)
    }

    /// Calls `ask` on the object in the current step, with the waker of the poll.
    #[cold]
    fn poll_by_hand<R>(
        &mut self,
        owner: &impl Owner,
        cx: &mut Context<'_>,
        ask: impl FnOnce(&mut Context<'_>) -> Poll<R>,
        judge: impl FnOnce(&R) -> Came,
    ) -> Poll<R> {
        let place = self.pending.place;
        // The assignment retracts the announcement, if any.
        self.pending = PendingOp::new(&self.ops.begin, place);
        self.pending.object = Some(owner.wrapped().id(place));
        let [done, refused, queued] = &self.ops.by_hand;
        let polled = ask(cx);
        match &polled {
            Poll::Ready(result) => {
                let (op, values, hold) = match judge(result) {
                    Came::Done | Came::As(_) => (done, Values::None, Hold::Stays),
                    Came::With(values) => (done, values, Hold::Stays),
                    Came::Holds => (done, Values::None, Hold::Begins),
                    Came::ToNothing if !self.waits => (refused, Values::Failed, Hold::Stays),
                    Came::ToNothing | Came::GivesBack(_) => (done, Values::Failed, Hold::Stays),
                };
                (self.waits, self.by_hand, self.is_queued) = (false, false, false);
                self.record(op, values, hold);
            }
            Poll::Pending => {
                let (op, values) = match self.waits {
                    true => (&Op::LOOK_BY_HAND, Values::None),
                    false => (queued, owner.queued()),
                };
                (self.waits, self.by_hand, self.is_queued) = (true, true, true);
                self.record(op, values, Hold::Stays);
                if !wakes_nobody(cx.waker()) {
                    WORLD.with(World::left_waker);
                }
            }
        }
        polled
    }

    /// Announces that a call waits after a poll by hand. The object has another waker, so the turn of this call asks
    /// the object again.
    #[cold]
    fn wait_after_hand(&mut self, wrapped: &Wrapped, cx: &mut Context<'_>) {
        let (ear, _) = self.ear.get_or_insert_with(new_ear);
        ear.open();
        ear.wake_by_ref();
        self.wait(wrapped, cx, Values::None);
    }

    /// Returns `Ready` when the object may be asked: the point was reached, or the object has woken the call.
    fn poll_turn(&mut self, wrapped: &Wrapped, cx: &mut Context<'_>) -> Poll<()> {
        let ear = self.ear.as_ref().map(|(ear, _)| &**ear).filter(|_| self.waits);
        self.pending.poll_turn(cx, wrapped, ear)
    }

    /// Records the end of the call.
    fn done(&mut self, came: Came) {
        let is_vain = matches!(came, Came::ToNothing | Came::GivesBack(_));
        let op = match (self.waits, came) {
            (true, Came::GivesBack(op)) => op,
            (true, _) => &self.ops.hear,
            (false, Came::As(op)) => op,
            (false, _) if is_vain => &self.ops.refuse,
            (false, _) => &self.ops.begin,
        };
        let values = match came {
            Came::With(values) => values,
            _ if is_vain => Values::Failed,
            _ => Values::None,
        };
        let hold = if came == Came::Holds { Hold::Begins } else { Hold::Stays };
        (self.waits, self.is_queued) = (false, false);
        self.record(op, values, hold);
    }

    /// Announces that the call waits. At the begin of the wait, records it with these values.
    fn wait(&mut self, wrapped: &Wrapped, cx: &mut Context<'_>, values: Values) {
        if !self.waits {
            (self.waits, self.is_queued) = (true, true);
            self.record(&self.ops.queue, values, Hold::Stays);
        }
        self.pending = PendingOp::new(&self.ops.hear, self.pending.place);
        let polled = self.pending.poll_waiting(cx, wrapped);
        debug_assert!(polled.is_pending(), "an operation is announced before it is done");
        if let Some((ear, _)) = &self.ear {
            ear.listen(&self.pending);
        }
    }

    fn record(&self, op: &'static Op, values: Values, hold: Hold) {
        let (object, place) = (self.pending.object, self.pending.place);
        let object = object.expect("a wrapped object is one");
        WORLD.with(|world| world.did(op, object, place, (values, hold)));
    }

    /// Cancels the call, in the step in which the object removes it.
    pub(crate) fn leave(&mut self, wrapped: &Wrapped) {
        if self.is_queued {
            wrapped.last(&self.ops.leave, self.pending.place);
        }
        self.renew(self.pending.place);
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let (Some((ear, waker)), true) = (self.ear.take(), in_run()) {
            // Only the copy of the waker in the object then remains.
            drop(waker);
            WORLD.with(|world| world.keep_ear(ear));
        }
    }
}

fn new_ear() -> (Arc<Ear>, Waker) {
    let ear = WORLD.with(World::ear);
    let waker = ear.clone().into();
    (ear, waker)
}

pin_project! {
    /// A call of a wrapped object: a point, and then the effect or a wait.
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub(crate) struct Call<O: Owner, F, J> {
        // This field is before the future, because it is dropped first and records that the call is cancelled.
        turn: OwnedTurn<O>,
        #[pin]
        future: F,
        judge: J,
    }
}

struct OwnedTurn<O: Owner> {
    owner: O,
    turn: Turn,
}

impl<O: Owner> Drop for OwnedTurn<O> {
    fn drop(&mut self) {
        if self.turn.is_queued {
            self.owner.left();
            self.turn.leave(self.owner.wrapped());
        }
    }
}

impl<O: Owner, F, J> Call<O, F, J>
where
    F: Future,
    J: Fn(&F::Output) -> Came,
{
    /// Returns the call that `future` performs at its point, with a wait if necessary.
    pub(crate) fn new(owner: O, ops: &'static CallOps, here: Here, future: F, judge: J) -> Self {
        Call { turn: OwnedTurn { owner, turn: Turn::new(ops, here) }, future, judge }
    }

    /// Lets the turn of the call create the future again: see [`poll_making`](Self::poll_making). The first creation,
    /// recorded as `op`, must be the last operation of the step. The operation is recorded as `quiet` instead.
    pub(crate) fn may_make_again(self: Pin<&mut Self>, op: &'static Op, quiet: &'static Op) {
        let OwnedTurn { owner, turn } = self.project().turn;
        let object = owner.wrapped().id(turn.pending.place);
        turn.created = WORLD.with(|world| world.hide_last(op, object, quiet));
    }

    /// Like [`poll`](Future::poll). In the turn of the call, `make` creates the future again, if
    /// [requested](Self::may_make_again) and if another task has [overtaken](World::is_overtaken) the first creation
    /// with an operation of the kind `tells`. If `make` returns `None`, the first future remains.
    pub(crate) fn poll_making(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        tells: Kind,
        make: impl FnOnce(&O) -> Option<F>,
    ) -> Poll<F::Output> {
        let mut this = self.project();
        if !in_run() {
            return this.future.poll(cx);
        }
        let OwnedTurn { owner, turn } = this.turn;
        let created = turn.created;
        let ask = |cx: &mut Context<'_>| {
            let is_late = |at| WORLD.with(|world| world.is_overtaken(at, tells));
            if created.is_some_and(is_late)
                && let Some(future) = make(owner)
            {
                this.future.set(future);
            }
            this.future.as_mut().poll(cx)
        };
        let polled = turn.poll(owner, cx, ask, &*this.judge);
        turn.created = created.filter(|_| turn.is_announced() && !turn.waits);
        polled
    }

    /// Returns the future that performs the call, its owner, and its turn.
    pub(crate) fn parts(self: Pin<&mut Self>) -> (Pin<&mut F>, &O, &mut Turn) {
        let this = self.project();
        (this.future, &this.turn.owner, &mut this.turn.turn)
    }
}

impl<O: Owner, F, J> Future for Call<O, F, J>
where
    F: Future,
    J: Fn(&F::Output) -> Came,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        if !in_run() {
            return this.future.poll(cx);
        }
        let OwnedTurn { owner, turn } = this.turn;
        turn.poll(owner, cx, |cx| this.future.poll(cx), &*this.judge)
    }
}
