//! The tasks that could take each step of a run. A checker of a search within a bound needs them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::run::choice::{Draw, Mismatch, Strategy, View};
use crate::run::ids::{Seed, TaskId};
use crate::run::op::Access;

/// The choice of one step.
#[derive(Debug)]
pub(super) struct Possible {
    pub(super) tasks: Vec<TaskId>,
    /// True if the task of the previous step yields with its next operation.
    pub(super) after_yield: bool,
}

/// The choices of the last run.
#[derive(Clone, Debug, Default)]
pub(super) struct PossibleTasks(Arc<Mutex<Vec<Possible>>>);

impl PossibleTasks {
    /// Wraps a strategy that sees forced steps, so that its choices are recorded.
    pub(super) fn watch(&self, strategy: Box<dyn Strategy>) -> Box<dyn Strategy> {
        Box::new(WatchedStrategy { strategy, seen: self.clone() })
    }

    pub(super) fn steps(&self) -> MutexGuard<'_, Vec<Possible>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct WatchedStrategy {
    strategy: Box<dyn Strategy>,
    seen: PossibleTasks,
}

impl Strategy for WatchedStrategy {
    fn begin(&mut self, seed: Seed) {
        self.seen.steps().clear();
        self.strategy.begin(seed);
    }

    fn sees_forced_steps(&self) -> bool {
        true
    }

    fn pick(&mut self, view: &View<'_>) -> Result<usize, Mismatch> {
        let is_yield = |last: TaskId| {
            let announced = &view.task(last).announced;
            announced.iter().all(|announced| announced.op.access == Access::Yield)
        };
        let after_yield = view.last().is_some_and(is_yield);
        self.seen.steps().push(Possible { tasks: view.candidates().to_vec(), after_yield });
        self.strategy.pick(view)
    }

    fn draw(&mut self, draw: &Draw) -> Result<u64, Mismatch> {
        self.strategy.draw(draw)
    }

    fn given(&mut self, draw: &Draw, value: u64) -> Result<u64, Mismatch> {
        self.strategy.given(draw, value)
    }

    fn settle(&mut self, nth: usize) {
        self.strategy.settle(nth);
    }

    fn end(&mut self, view: &View<'_>) -> Result<(), Mismatch> {
        self.strategy.end(view)
    }
}
