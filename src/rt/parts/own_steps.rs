//! Wait-freedom: the number of steps that a task needs for an operation, regardless of the steps of other tasks.
//!
//! An operation is a recorded call. The steps of a task before its first call, between two calls and after its last
//! call are operations, too. So a task without calls is one operation. The step that announces the first access of an
//! operation is the last step of the previous operation. So the number of steps equals the number of passed points.
//!
//! The count depends only on the task's own steps, so it is equal in runs that differ only in the order of independent
//! steps. If a search finds no operation beyond the bound, none exists.

use crate::rt::part::Part;
use crate::rt::state::RunState;
use crate::rt::worker::RunLimits;
use crate::run::Failure;
use crate::run::board::CallPoint;
use crate::run::faults::Progress;

/// The steps of the operations of a run, counted only if the test asks for wait-freedom.
#[derive(Debug, Default)]
pub(in crate::rt) struct OwnSteps {
    /// The number of steps within which an operation must end; `None` for no limit.
    bound: Option<u32>,
    /// For each task, the number of steps of its current operation; `None` before its first step.
    counts: Vec<Option<u32>>,
    /// The number of call points that are processed.
    calls: usize,
}

impl Part for OwnSteps {
    fn forget(&mut self) {
        self.bound = None;
        self.counts.clear();
        self.calls = 0;
    }

    fn begin(state: &mut RunState, limits: &RunLimits) {
        if let Progress::WaitFree(bound) = limits.faults.progress {
            state.parts.get_mut::<OwnSteps>().bound = Some(bound);
        }
    }

    fn settle(state: &mut RunState) {
        // A counted step is not a plain step.
        state.needs_work();
        let bound = state.parts.get::<OwnSteps>().bound;
        let failure = bound.filter(|_| !state.over).and_then(|bound| state.count_own_step(bound));
        failure.into_iter().for_each(|failure| state.fail(failure));
    }
}

impl RunState {
    /// Counts the last step. Returns the failure if the operation of its task did not end within `bound` steps.
    #[cold]
    fn count_own_step(&mut self, bound: u32) -> Option<Failure> {
        let task = self.board.current;
        let OwnSteps { counts, calls, .. } = self.parts.get_mut();
        let news = &self.board.calls[*calls..];
        let begins = news.iter().any(|mark| {
            let turns = matches!(mark.point, CallPoint::Announced(_) | CallPoint::Returned(_));
            mark.task == task && turns
        });
        *calls = self.board.calls.len();
        if counts.len() <= task.index() {
            counts.resize(task.index() + 1, None);
        }
        let count = &mut counts[task.index()];
        let steps = count.filter(|_| !begins).map_or(0, |steps| steps + 1);
        *count = Some(steps);
        if steps < bound || self.is_done(task) || !self.is_victim(task) {
            return None;
        }
        let place = self.board.tasks[task.index()].place;
        Some(Failure::Starved { task, steps, place })
    }
}
