//! A step, from its end to the next one's beginning: what did the polled task do and announce, who can step
//! now, and what is noted of who was chosen.

use super::state::{NOT_READY, State, can_step};
use crate::choice::Announced;
use crate::ids::TaskId;
use crate::op::Access;
use crate::run::StepRecord;

impl State {
    /// The polled task came back, having announced an operation. Nearly always that is all: it did the one
    /// thing it had announced before, if any (`performed` is the key of what it did, 0 if nothing), and can
    /// go on. False, with nothing changed, if there is more to see to, or the next step is `stop` or later.
    #[inline(always)]
    pub(crate) fn leave_plain_step(
        &mut self,
        performed: u32,
        announced: impl FnOnce() -> Announced,
        stop: u32,
    ) -> bool {
        let step = self.record.steps.len() as u32;
        let row = self.board.tasks.at_mut(self.board.current.index());
        // No key is the key of what is not there.
        let did_all = row.announced.first.key == performed && row.announced.more.is_empty();
        if self.attention || !did_all || step >= stop {
            return false;
        }
        debug_assert!(self.inbox.is_empty() && self.dirty.is_empty() && self.foreign.is_empty());
        debug_assert!(self.board.watches.is_empty() && self.aborts == 0 && !self.over);
        let first = &mut row.announced.first;
        *first = announced();
        row.enabled = 1;
        self.goes_on = first.op.access != Access::Yield;
        self.board.step = step;
        true
    }

    /// The polled task came back: what did it do (the key of the announcement it did, 0 if none), what did
    /// it announce, if anything, and who can step now?
    pub(crate) fn leave_step(&mut self, performed: u32, announced: Option<Announced>) {
        let steps = self.record.steps.len() as u32;
        if steps > self.board.step {
            self.board.step = steps;
            self.settle(self.board.current, performed, announced);
        }
        self.attention =
            !self.board.watches.is_empty() || !self.foreign.is_empty() || self.aborts > 0;
    }

    fn settle(&mut self, task: TaskId, performed: u32, announced: Option<Announced>) {
        let row = self.board.tasks.at_mut(task.index());
        if row.announced.remove(performed).is_some() {
            row.enabled -= 1;
        }
        while let Some(object) = self.dirty.pop() {
            self.tell_waiters(object);
        }
        let row = self.board.tasks.at_mut(task.index());
        if let Some(announced) = announced {
            row.announced.push(announced);
            row.enabled += 1;
        } else if row.ready_at != NOT_READY && !can_step(row) {
            self.remove_ready(task);
        }
        if !self.board.watches.is_empty() {
            self.look_at_watches();
        }
        let row = self.board.tasks.at_mut(task.index());
        let does_more = row.announced.any(|a| a.op.access != Access::Yield);
        self.goes_on = row.ready_at != NOT_READY && does_more;
    }

    /// The chosen task is about to be polled.
    #[inline]
    pub(crate) fn enter_step(&mut self, task: TaskId) {
        let candidates = self.board.ready.len() as u32;
        let preempts = self.goes_on && self.board.current != task;
        self.record.steps.push(StepRecord { task, candidates, preempts });
        self.board.current = task;
        self.board.arrived.clear();
        self.board.tasks.at_mut(task.index()).woken = false;
    }

    /// Whether the current task, which was just chosen, is to be dropped instead of being polled.
    pub(crate) fn takes_abort(&mut self) -> bool {
        let row = self.board.tasks.at_mut(self.board.current.index());
        let aborted = std::mem::take(&mut row.aborted);
        self.aborts -= u32::from(aborted);
        aborted
    }
}
