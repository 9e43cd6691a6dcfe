//! Calls that are enabled while a condition holds, for example while a message is available. Such calls are announced
//! with their guard, and cannot step before the guard is open.

use std::task::{Context, Poll};

use super::Here;
use super::carrier::Latch;
use super::point::RunObject;
use crate::rt::{PendingOp, WORLD, World, in_run, is_by_hand};
use crate::run::event::Values;
use crate::run::op::Op;
use crate::seam::transport::Guard;
use crate::seam::wakes_nobody;

/// The state of one call. The operation of the call has the access `Wait`.
pub(crate) struct GuardedCall {
    /// The operation at a point, and the operation of a poll by hand.
    ops: &'static [Op; 2],
    pending: PendingOp,
    latch: Option<Latch>,
}

impl std::fmt::Debug for GuardedCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GuardedCall").finish_non_exhaustive()
    }
}

impl GuardedCall {
    pub(crate) fn new(ops: &'static [Op; 2], here: Here) -> GuardedCall {
        GuardedCall { ops, pending: PendingOp::new(&ops[0], here), latch: None }
    }

    /// Performs the call by `act` in its turn. Outside of runs, performs it by `ask` at once.
    pub(crate) fn poll<R>(
        &mut self,
        guard: &impl Guard,
        cx: &mut Context<'_>,
        ask: impl FnOnce(&mut Context<'_>) -> Poll<R>,
        act: impl FnOnce() -> R,
    ) -> Poll<R> {
        let op = &self.ops[0];
        self.poll_as(guard, cx, ask, || (act(), op))
    }

    /// Like [`poll`](Self::poll), but the result of the call decides which operation is recorded.
    pub(crate) fn poll_as<R>(
        &mut self,
        guard: &impl Guard,
        cx: &mut Context<'_>,
        ask: impl FnOnce(&mut Context<'_>) -> Poll<R>,
        act: impl FnOnce() -> (R, &'static Op),
    ) -> Poll<R> {
        if !in_run() {
            return ask(cx);
        }
        if is_by_hand(cx.waker()) {
            return self.poll_by_hand(guard, cx, act);
        }
        let mark = &**guard.mark();
        let pending = &mut self.pending;
        let in_turn = pending.try_in_turn(|pending| WORLD.with(|world| world.take_turn(pending)));
        if !in_turn {
            let before = pending.announcement.is_open().then_some(pending.announcement.id);
            if pending.poll_waiting(cx, mark as &dyn RunObject).is_pending() {
                let now = pending.announcement.id;
                if before != Some(now) {
                    let old = self.latch.replace(Latch::of(now));
                    old.into_iter().for_each(|old| guard.remove(old));
                    if guard.add(Latch::of(now)) {
                        Latch::of(now).set(true);
                    }
                }
                return Poll::Pending;
            }
            pending.perform_out_of_turn(|pending| {
                WORLD.with(|world| world.take_turn_out_of_turn(pending));
            });
        }
        let place = self.pending.place;
        self.leave(guard, place);
        let (result, _) = mark.now(place, act, |(_, op)| (*op, Values::None));
        Poll::Ready(result)
    }

    /// Performs the call by `act` in the current step, if its guard is open. Otherwise announces the call with the
    /// waker of the poll.
    #[cold]
    fn poll_by_hand<R>(
        &mut self,
        guard: &impl Guard,
        cx: &mut Context<'_>,
        act: impl FnOnce() -> (R, &'static Op),
    ) -> Poll<R> {
        let place = self.pending.place;
        // This retracts the announcement, if any.
        self.leave(guard, place);
        let mark = guard.mark();
        if guard.is_open() {
            let (result, _) = mark.now(place, act, |_| (&self.ops[1], Values::None));
            return Poll::Ready(result);
        }
        mark.now(place, || (), |()| (&Op::LOOK_BY_HAND, Values::None));
        if !wakes_nobody(cx.waker()) {
            let polled = self.pending.poll_waiting(cx, &**mark as &dyn RunObject);
            debug_assert!(polled.is_pending(), "an operation is announced before it is done");
            let latch = Latch::of(self.pending.announcement.id);
            self.latch = Some(latch);
            latch.set(guard.add(latch));
            WORLD.with(World::left_waker);
        }
        Poll::Pending
    }

    /// Cancels the call, if it is pending.
    pub(crate) fn leave(&mut self, guard: &impl Guard, here: Here) {
        self.latch.take().into_iter().for_each(|latch| guard.remove(latch));
        self.pending = PendingOp::new(&self.ops[0], here);
    }
}
