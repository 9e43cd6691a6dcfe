//! Tasks without a future. The only step of such a task is a call: the arrival of a message.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::executor::Executor;
use super::now;
use super::state::RunState;
use crate::run::board::{Announced, Status};
use crate::run::event::Values;
use crate::run::ids::TaskId;
use crate::run::in_flight::InFlight;

impl RunState {
    /// Begins the arrival of a message in the turn of its carrier, which is the current task. The arrival was
    /// announced.
    fn begin_arrival(&mut self) {
        let row = self.board.tasks.at_mut(self.board.current.index());
        let Announced { op, object, place, enabled, .. } = row.announced.first;
        debug_assert!(row.announced.only().is_some() && enabled, "it has its turn");
        row.announced.take_first();
        row.enabled -= 1;
        self.happened(op, object, place, Values::None);
    }
}

impl Executor<'_> {
    /// Delivers the message of a task. Returns `false` if the task is not a carrier without a future.
    #[inline(never)]
    pub(super) fn arrive(&mut self, step: u32, task: TaskId) -> bool {
        let mut state = self.world.unsettled();
        let in_flight = state.slots.at_mut(task.index()).in_flight.take();
        let Some(InFlight { over, number }) = in_flight else { return false };
        now::enter_step_unpolled(step, task);
        state.begin_arrival();
        drop(state);
        // The destructor of a lost message is user code.
        match catch_unwind(AssertUnwindSafe(|| over.arrive(number))) {
            Ok(()) => self.end_carrier(task),
            Err(payload) => self.panicked(task, payload),
        }
        true
    }

    /// Ends a task that has no body, no handle and, in almost all cases, no announcement.
    fn end_carrier(&mut self, task: TaskId) {
        let mut state = self.world.state();
        let row = state.board.tasks.at(task.index());
        if !row.announced.is_empty() || row.aborted || state.parts.has_ends() {
            drop(state);
            return self.end(task, false);
        }
        now::end();
        state.remove_ready(task);
        state.board.tasks.at_mut(task.index()).status = Status::Done;
    }
}
