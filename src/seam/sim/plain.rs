//! Calls that never wait: a point, and then the effect. The result determines which values are recorded.

use std::task::{Context, Poll, ready};

use super::Here;
use super::wrapped::Wrapped;
use crate::rt::{PendingOp, in_run};
use crate::run::event::Values;
use crate::run::op::Op;

/// The state of one call.
pub(crate) struct PlainCall {
    op: &'static Op,
    pending: PendingOp,
}

impl std::fmt::Debug for PlainCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PlainCall").finish_non_exhaustive()
    }
}

impl PlainCall {
    pub(crate) fn new(op: &'static Op, here: Here) -> PlainCall {
        PlainCall { op, pending: PendingOp::new(op, here) }
    }

    /// Performs the call by `act` in its turn. Outside of runs, performs it at once. `values` returns the values of the
    /// result for reports.
    pub(crate) fn poll<R>(
        &mut self,
        mark: &Wrapped,
        cx: &mut Context<'_>,
        act: impl FnOnce() -> R,
        values: impl FnOnce(&R) -> Values,
    ) -> Poll<R> {
        if !in_run() {
            return Poll::Ready(act());
        }
        ready!(self.pending.poll_turn(cx, mark, None));
        let (op, place) = (self.op, self.pending.place);
        self.pending = PendingOp::new(op, place);
        Poll::Ready(mark.now(place, act, |result| (op, values(result))))
    }
}
