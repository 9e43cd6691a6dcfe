//! Runs of a search that are not cut, for a body that has captured memory.
//!
//! A search cuts a run as soon as all its continuations were explored before. The threads of a cut run do not end, so
//! they keep their references to captured values. Therefore such a run continues to its end, with decisions that the
//! search does not see. The run does not count.

use std::sync::Arc;

use crate::run::choice::{Draw, Mismatch, Strategy, View};
use crate::run::ids::Seed;
use crate::strategy::Search;

/// The strategy of a search whose runs are not cut.
pub(super) struct WholeRuns {
    search: Arc<dyn Search>,
    strategy: Box<dyn Strategy>,
    /// True if the search has cut the current run.
    is_cut: bool,
}

impl WholeRuns {
    /// Creates the strategy of `search`.
    pub(super) fn of(search: Arc<dyn Search>) -> Box<dyn Strategy> {
        Box::new(WholeRuns { strategy: search.strategy(), search, is_cut: false })
    }

    /// Returns `true` if the search has cut the run now.
    fn cuts(&self) -> bool {
        self.search.has_classes() && self.search.is_blocked()
    }
}

/// Picks the tasks in turn, so that a loop does not keep the other tasks waiting.
fn turn(view: &View<'_>) -> usize {
    view.step() as usize % view.candidates().len()
}

impl Strategy for WholeRuns {
    fn prepare(&mut self, seed: Seed) {
        self.strategy.prepare(seed);
    }

    fn begin(&mut self, seed: Seed) {
        self.is_cut = false;
        self.strategy.begin(seed);
    }

    fn pick(&mut self, view: &View<'_>) -> Result<usize, Mismatch> {
        if self.is_cut {
            return Ok(turn(view));
        }
        let picked = self.strategy.pick(view);
        if picked.is_err() && self.cuts() {
            self.is_cut = true;
            return Ok(turn(view));
        }
        picked
    }

    fn draw(&mut self, draw: &Draw) -> Result<u64, Mismatch> {
        if self.is_cut { Ok(0) } else { self.strategy.draw(draw) }
    }

    fn given(&mut self, draw: &Draw, value: u64) -> Result<u64, Mismatch> {
        if self.is_cut { Ok(value) } else { self.strategy.given(draw, value) }
    }

    fn settle(&mut self, nth: usize) {
        if !self.is_cut {
            self.strategy.settle(nth);
        }
    }

    fn sees_forced_steps(&self) -> bool {
        self.strategy.sees_forced_steps()
    }

    fn rehearsals(&self) -> u32 {
        self.strategy.rehearsals()
    }

    fn end(&mut self, view: &View<'_>) -> Result<(), Mismatch> {
        if self.is_cut { Ok(()) } else { self.strategy.end(view) }
    }
}
