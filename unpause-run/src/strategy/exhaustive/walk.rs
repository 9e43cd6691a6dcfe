//! The two interfaces of the search: [`Search`] for its driver, and [`Strategy`] for its worker.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{ClosureVerdict, Course, Explorer};
use crate::run::choice::{Draw, Mismatch, Strategy, View};
use crate::run::ids::{Seed, TaskId};
use crate::run::recording::Timed;
use crate::run::{DrawRecord, StepRecord};
use crate::strategy::divided::{Look, Part, SearchTree, Sizes, Slice};
use crate::strategy::happens_before::HappensBefore;
use crate::strategy::search::{Apart, Search, SearchProgress};

/// A search, shared by its driver and the strategy of its worker.
#[derive(Clone, Debug, Default)]
pub struct Exhaustive {
    explorer: Arc<Mutex<Explorer>>,
}

impl Exhaustive {
    /// Creates a search of all runs in which these tasks take the first steps.
    pub fn after(prefix: &[TaskId]) -> Exhaustive {
        let explorer = Explorer { prefix: prefix.to_vec(), ..Explorer::default() };
        Exhaustive { explorer: Arc::new(Mutex::new(explorer)) }
    }

    pub fn explorer(&self) -> MutexGuard<'_, Explorer> {
        self.explorer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the differences that distinguish runs.
    pub fn apart(&self) -> Apart {
        self.explorer().observer.apart()
    }

    /// Like [`advance`](Search::advance), but also calls `look` with the happens-before order of
    /// the ended run.
    pub fn advance_and(&self, cut: bool, look: impl FnOnce(&HappensBefore)) -> bool {
        let mut explorer = self.explorer();
        explorer.finish_run(cut);
        look(&explorer.order);
        explorer.next_run()
    }
}

impl Search for Exhaustive {
    fn strategy(&self) -> Box<dyn Strategy> {
        Box::new(ExhaustiveStrategy { search: self.clone(), step: 0 })
    }

    fn advance(&self, cut: bool) -> bool {
        self.advance_and(cut, |_| {})
    }

    fn is_blocked(&self) -> bool {
        self.explorer().course == Course::Blocked
    }

    fn look_at_orders(&self, holds: &mut dyn FnMut(usize, &[Timed]) -> bool) -> ClosureVerdict {
        self.explorer().look_at_orders(holds)
    }

    fn tell_apart(&self, differences: Apart) {
        self.explorer().tell_apart(differences);
    }

    fn has_classes(&self) -> bool {
        true
    }

    fn another(&self) -> Arc<dyn Search> {
        let rules = self.explorer().rules;
        let explorer = Explorer { rules, ..Explorer::default() };
        Arc::new(Exhaustive { explorer: Arc::new(Mutex::new(explorer)) })
    }

    fn tree(&self) -> SearchTree {
        SearchTree::new(Sizes::USUAL, self.apart())
    }

    fn adopt(&self, part: Part) {
        self.explorer().adopt(part);
    }

    fn next_probe(&self) -> bool {
        self.explorer().next_probe()
    }

    fn probed(&self, cut: bool) {
        self.explorer().probed(cut);
    }

    fn begin_look(&self) {
        self.explorer().begin_look();
    }

    fn end_look(&self, cut: bool) -> Look {
        self.explorer().end_look(cut)
    }

    fn has_learnt(&self) -> bool {
        self.explorer().course == Course::Restarted
    }

    fn leave(&self) -> Slice {
        self.explorer().leave()
    }

    fn progress(&self) -> SearchProgress {
        self.explorer().progress()
    }

    fn decisions(&self) -> (Vec<StepRecord>, Vec<DrawRecord>) {
        self.explorer().decisions()
    }
}

/// The strategy of the search, which answers the choices of one run after the other.
#[derive(Debug)]
struct ExhaustiveStrategy {
    search: Exhaustive,
    /// The current step.
    step: usize,
}

impl Strategy for ExhaustiveStrategy {
    fn begin(&mut self, _: Seed) {
        self.search.explorer().begin();
    }

    fn sees_forced_steps(&self) -> bool {
        true
    }

    fn pick(&mut self, view: &View<'_>) -> Result<usize, Mismatch> {
        self.step = view.step() as usize;
        let task = self.search.explorer().pick(view)?;
        Ok(view.task(task).candidate())
    }

    fn draw(&mut self, draw: &Draw) -> Result<u64, Mismatch> {
        self.search.explorer().draw(draw, self.step, None)
    }

    fn given(&mut self, draw: &Draw, value: u64) -> Result<u64, Mismatch> {
        self.search.explorer().draw(draw, self.step, Some(value))
    }

    fn settle(&mut self, nth: usize) {
        self.search.explorer().settle(self.step, nth);
    }

    fn end(&mut self, view: &View<'_>) -> Result<(), Mismatch> {
        self.search.explorer().end(view);
        Ok(())
    }
}
