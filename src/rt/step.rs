//! The transition between two steps. The transition processes the effect and the announcement of the polled task,
//! updates the ready set, and records the next chosen task.

use unpause_ordered::sort_by_key;

use super::Parts;
use super::now;
use super::ready::{NOT_READY, can_step};
use super::record::PackedStep;
use super::state::RunState;
use crate::run::board::{Announced, TaskRow};
use crate::run::event::Event;
use crate::run::ids::TaskId;
use crate::run::op::Access;

impl RunState {
    /// Ends a plain step: the polled task performed its one announced operation, if any, announced another one, and can
    /// continue. Almost all steps are plain. Returns `false`, with nothing changed, if the step needs more work, or if
    /// the next step is `stop` or later.
    #[inline(always)]
    pub(crate) fn leave_plain_step(&mut self, stop: u32) -> bool {
        let step = self.record.steps.len() as u32;
        if self.has_work() || step >= stop || !now::announces_in(self.board.step) {
            return false;
        }
        let task = self.board.current;
        let row = self.board.tasks.at_mut(task.index());
        let done = now::is_done();
        if !row.announced.more.is_empty() || (!done && row.announced.first.is_something()) {
            return false;
        }
        debug_assert!(self.inbox.is_empty() && self.dirty.is_empty() && self.foreign.is_empty());
        debug_assert!(self.board.watches.is_empty() && self.aborts == 0 && !self.over);
        let first = &mut row.announced.first;
        if done {
            let (events, step) = (&mut self.board.events, self.board.step);
            let Announced { op, object, place, .. } = *first;
            now::with_done(|values| {
                push(events, || Event { step, task, object, op, place, values });
            });
            // The other fields already have these values.
            debug_assert!(row.enabled == 1 && first.enabled && first.target.is_none());
            let next = now::announced();
            (first.op, first.object) = (next.op, next.object);
            (first.place, first.key) = (next.place, next.key);
        } else {
            *first = now::announced();
            row.enabled = 1;
        }
        self.goes_on = first.op.access != Access::Yield;
        self.board.step = step;
        true
    }

    /// Like [`leave_plain_step`](Self::leave_plain_step), but for a step after which its task waits or has ended, while
    /// other tasks can step.
    #[inline(never)]
    pub(crate) fn leave_waiting_step(&mut self, stop: u32) -> bool {
        let step = self.record.steps.len() as u32;
        if self.has_work() || step >= stop || now::announces_in(self.board.step) {
            return false;
        }
        if now::is_done() {
            self.take_in_done();
        }
        debug_assert!(self.inbox.is_empty() && self.dirty.is_empty() && self.heard.is_empty());
        let task = self.board.current;
        let row = self.board.tasks.at(task.index());
        let is_ready = row.ready_at != NOT_READY;
        if row.enabled > 0 || row.woken || self.board.ready.len() <= usize::from(is_ready) {
            return false;
        }
        if is_ready {
            self.remove_ready(task);
        }
        self.goes_on = false;
        self.board.step = step;
        true
    }

    /// Processes the operation that the current task performed in its turn.
    #[cold]
    pub(super) fn take_in_done(&mut self) {
        debug_assert_eq!(now::run(), self.run);
        now::forget_done();
        now::with_done(|values| {
            let row = self.board.tasks.at_mut(self.board.current.index());
            // This is the first event of the step, because any other operation of the step calls the world, which calls
            // this.
            let Announced { op, object, place, key, .. } = row.announced.first;
            row.announced.remove(key);
            row.enabled -= 1;
            self.happened(op, object, place, values);
        });
    }

    /// Ends a step: processes the announcement of the polled task, if any, and updates the ready set. `kept` is the
    /// announcement, if it was taken out before.
    pub(crate) fn leave_step(&mut self, kept: Option<Announced>) {
        let steps = self.record.steps.len() as u32;
        let is_first = steps == self.board.step;
        if !is_first {
            let announced = || now::announces_in(self.board.step).then(now::announced);
            let announced = kept.or_else(announced);
            self.pass_over();
            Parts::leave(self);
            self.board.step = steps;
            self.take_in_announced(announced);
        }
        let more = !self.foreign.is_empty() || self.aborts > 0 || self.memory.is_on();
        self.did_work(more);
        Parts::settle(self);
        if !is_first {
            self.update_current();
        }
    }

    /// Processes the announcement of the step, and enables and disables the operations that wait for effects of the
    /// step.
    fn take_in_announced(&mut self, announced: Option<Announced>) {
        let row = self.board.tasks.at_mut(self.board.current.index());
        if let Some(announced) = announced {
            row.announced.push(announced);
            row.enabled += 1;
        }
        // A waiter may be the task itself, which can still step if it has announced another operation.
        while let Some(object) = self.dirty.pop() {
            self.tell_waiters(object);
        }
        // The wakers are called in a fixed order, because tokio wakes the receivers of a `watch` in an order that
        // differs between processes.
        if self.heard.len() > 1 {
            sort_by_key(&mut self.heard, |id| *id);
        }
        while let Some(id) = self.heard.pop() {
            self.set_enabled(id, true);
        }
    }

    /// Removes the current task from the ready set if it cannot step.
    #[inline]
    pub(super) fn remove_current(&mut self) {
        let task = self.board.current;
        let row = self.board.tasks.at_mut(task.index());
        if row.ready_at != NOT_READY && !can_step(row) {
            self.remove_ready(task);
        }
    }

    /// Updates the ready set for the task of the step, after all other tasks.
    fn update_current(&mut self) {
        self.remove_current();
        let row = self.board.tasks.at_mut(self.board.current.index());
        let does_more = |row: &TaskRow| row.announced.any(|a| a.op.access != Access::Yield);
        self.goes_on = row.ready_at != NOT_READY && does_more(row);
    }

    /// Begins the step of the chosen task. Returns the key of the announcement whose turn it is. The key is valid only
    /// if the state has no work; otherwise see [`turn`](Self::turn).
    #[inline]
    pub(crate) fn enter_step(&mut self, task: TaskId) -> u32 {
        let candidates = self.board.ready.len() as u32;
        let preempts = self.goes_on && self.board.current != task;
        push(&mut self.record.steps, || PackedStep::new(task, candidates, preempts));
        self.board.current = task;
        // A check costs less than a store.
        if !self.board.arrived.is_empty() {
            self.board.arrived.clear();
        }
        let row = self.board.tasks.at_mut(task.index());
        let key = row.announced.first.key;
        if row.woken {
            row.woken = false;
            self.polls.woken(self.board.step);
        }
        key
    }

    /// Returns the key of the announcement whose turn it is in the step of the current task. Returns [`now::NO_KEY`] if
    /// the world must check each announcement when it is polled.
    pub(super) fn turn(&self) -> u32 {
        let first = &self.board.tasks.at(self.board.current.index()).announced.first;
        let is_plain = first.enabled && self.foreign.is_empty() && !self.memory.is_on();
        if is_plain { first.key } else { now::NO_KEY }
    }

    /// Returns `true` if the current task, which was just chosen, was aborted. Such a task must be dropped, not polled.
    pub(crate) fn takes_abort(&mut self) -> bool {
        let row = self.board.tasks.at_mut(self.board.current.index());
        let aborted = std::mem::take(&mut row.aborted);
        self.aborts -= u32::from(aborted);
        aborted
    }
}

/// Adds an item. Inlined for the common case of sufficient capacity, which then needs no call and saves no registers.
#[inline(always)]
fn push<T>(list: &mut Vec<T>, make: impl Fn() -> T) {
    match list.len() < list.capacity() {
        true => list.push(make()),
        false => push_slowly(list, make()),
    }
}

#[cold]
#[inline(never)]
fn push_slowly<T>(list: &mut Vec<T>, item: T) {
    list.push(item);
}
