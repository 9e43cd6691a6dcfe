//! Steps beyond the step limit. A run of plain threads continues there with few points, so that it can terminate.
//!
//! A run that does not terminate there either has reached its limit. The record of such a run is cut off at the limit,
//! like the record of a run that must not continue.

use super::executor::Executor;
use super::record::repeated_suffix;
use super::state::RunState;
use super::world::World;
use crate::run::Failure;

/// The position of a run relative to its step limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Beyond {
    /// The run is within its step limit, or at the limit.
    #[default]
    No,
    /// Beyond the limit.
    Continues,
    /// Beyond the limit, and the threads have given up.
    GivenUp,
}

impl World {
    /// Returns `true` if the run has reached its step limit and continues.
    #[inline]
    pub(crate) fn is_beyond(&self) -> bool {
        self.beyond.get() != Beyond::No
    }

    /// Ends the run after this step, if it is beyond its step limit. The run then counts as having reached its limit.
    #[cfg_attr(not(unpause_native), allow(dead_code))]
    pub(crate) fn end_beyond(&self) {
        if self.is_beyond() {
            self.beyond.set(Beyond::GivenUp);
        }
    }
}

impl Executor<'_> {
    /// Returns `true` if the run may take another step after its step limit. If not, the run has failed.
    #[cold]
    pub(super) fn continues(&self, state: &mut RunState) -> bool {
        let (steps, beyond) = (self.limits.steps_max, &self.world.beyond);
        if beyond.get() != Beyond::GivenUp && state.board.step - steps < self.limits.beyond {
            beyond.set(Beyond::Continues);
            return true;
        }
        state.cut_off(steps);
        let cycle = repeated_suffix(&state.record, &state.board.events);
        state.fail(Failure::StepLimit { steps, cycle });
        false
    }
}

impl RunState {
    /// Removes the records of step `end` and of all later steps.
    fn cut_off(&mut self, end: u32) {
        let events = &mut self.board.events;
        events.truncate(events.partition_point(|event| event.step < end));
        self.record.steps.truncate(end as usize);
        let draws = &mut self.record.draws;
        draws.truncate(draws.partition_point(|draw| draw.step < end));
        let kept = events.len();
        self.record.orders.retain(|mark| mark.event < kept);
        self.board.time_moves.retain(|time_move| time_move.step < end);
    }
}
