//! Calls that are enabled while something is so, such as a message that is there: they are announced with their guard, and
//! are no step before it holds.

use std::sync::Arc;
use std::task::{Context, Poll};

use super::Here;
use super::carrier::Latch;
use super::point::RunObject;
use super::wrapped::Wrapped;
use crate::rt::{PendingOp, WORLD, in_run};
use crate::run::event::Values;
use crate::run::op::Op;

/// Something that guards calls.
pub(crate) trait Guard {
    /// Its object in runs.
    fn mark(&self) -> &Arc<Wrapped>;

    /// Adds the latch of a call that was announced. Returns `true` if it is open.
    fn add(&self, latch: Latch) -> bool;

    /// Forgets the latch of a call that is over.
    fn remove(&self, latch: Latch);
}

/// The way of one call. Its operation has the access `Wait`.
pub(crate) struct GuardedCall {
    op: &'static Op,
    pending: PendingOp,
    latch: Option<Latch>,
}

impl std::fmt::Debug for GuardedCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GuardedCall").finish_non_exhaustive()
    }
}

impl GuardedCall {
    pub(crate) fn new(op: &'static Op, here: Here) -> GuardedCall {
        GuardedCall { op, pending: PendingOp::new(op, here), latch: None }
    }

    /// Does the call by `act` in its turn; outside of runs by `ask`, at once.
    pub(crate) fn poll<R>(
        &mut self,
        guard: &impl Guard,
        cx: &mut Context<'_>,
        ask: impl FnOnce(&mut Context<'_>) -> Poll<R>,
        act: impl FnOnce() -> R,
    ) -> Poll<R> {
        if !in_run() {
            return ask(cx);
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
        self.latch.take().into_iter().for_each(|latch| guard.remove(latch));
        let place = self.pending.place;
        self.pending = PendingOp::new(self.op, place);
        mark.now(place, || (), |()| (self.op, Values::None));
        Poll::Ready(act())
    }

    /// Gives the call up, if it is under way.
    pub(crate) fn leave(&mut self, guard: &impl Guard, here: Here) {
        self.latch.take().into_iter().for_each(|latch| guard.remove(latch));
        self.pending = PendingOp::new(self.op, here);
    }
}
