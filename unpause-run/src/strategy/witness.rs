//! Happens-before order of runs that another strategy drives.
//!
//! A run represents the class of all runs that differ from it only in the order of steps without conflicts. The other
//! histories of this class are computed without further runs ([`closure`]). The strategy observes each run separately,
//! so the result does not depend on earlier runs.
//!
//! Each step costs O(tasks + earlier conflicting steps).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::exhaustive::{ClosureVerdict, Observer, closure};
use super::happens_before::HappensBefore;
use super::search::Apart;
use crate::run::choice::{Draw, Mismatch, Strategy, View};
use crate::run::ids::Seed;
use crate::run::recording::Timed;

/// The happens-before order of the last run.
#[derive(Clone, Debug, Default)]
pub struct Witness(Arc<Mutex<Observation>>);

#[derive(Debug, Default)]
struct Observation {
    /// The differences that distinguish classes.
    apart: Apart,
    order: HappensBefore,
    observer: Observer,
    /// True if the run has ended and its last step is not yet in the order.
    ends: bool,
    /// The product of the numbers of answers to all choices of the run.
    ways: u64,
}

impl Witness {
    /// Wraps `strategy`, so that its runs are observed.
    pub fn watch(&self, strategy: Box<dyn Strategy>) -> Box<dyn Strategy> {
        Box::new(WitnessedStrategy {
            sees_all: strategy.sees_forced_steps(),
            strategy,
            seen: self.clone(),
            drawn: Vec::new(),
        })
    }

    /// Calls `holds` with the strongest call orders of each history of the last run, at most `orders_max` per history.
    /// The last run must have passed.
    pub fn look_at_orders(
        &self,
        orders_max: u32,
        holds: &mut dyn FnMut(usize, &[Timed]) -> bool,
    ) -> ClosureVerdict {
        let mut seen = self.seen();
        seen.finish(true);
        match seen.observer.apart().orders {
            // The body read a history, so it might have continued differently in another order.
            true => ClosureVerdict::Consistent,
            false => closure::check_orders(&seen.order, orders_max, holds),
        }
    }

    /// Makes these differences distinguish classes, from the next run on.
    pub fn tell_apart(&self, differences: Apart) {
        self.seen().apart = differences;
    }

    /// Calls `look` with the happens-before order of the last run. `cut` is true if the last step ended the run,
    /// although other tasks may still be enabled.
    pub fn look<T>(&self, cut: bool, look: impl FnOnce(&HappensBefore) -> T) -> T {
        look(self.seen().finish(cut))
    }

    /// Returns the product of the numbers of answers to all choices of the last run. It is 1 for a run without a
    /// choice.
    pub fn ways(&self) -> u64 {
        self.seen().ways
    }

    /// Returns `true` if tasks of the last run shared something outside this library. The class of the run is then
    /// meaningless.
    pub fn is_blind(&self) -> bool {
        let seen = self.seen();
        seen.observer.is_blind() || seen.observer.apart().steps && !seen.apart.steps
    }

    /// Returns `true` if the last run showed that further differences distinguish runs.
    pub fn has_learnt(&self) -> bool {
        let seen = self.seen();
        seen.observer.apart() != seen.apart
    }

    fn seen(&self) -> MutexGuard<'_, Observation> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observation {
    fn begin(&mut self) {
        self.order.truncate(0);
        (self.ends, self.ways) = (false, 1);
        self.observer.begin_anew();
        self.observer.tell_apart(self.apart);
    }

    /// Adds the last step of the run, unless it is already in the order.
    fn finish(&mut self, cut: bool) -> &HappensBefore {
        if std::mem::take(&mut self.ends) {
            self.observer.end(cut);
            self.add_step();
        }
        &self.order
    }

    /// Adds the step that has just ended.
    fn add_step(&mut self) {
        self.observer.add_to(&mut self.order);
    }
}

/// A strategy wrapper that records the happens-before order of each run.
struct WitnessedStrategy {
    strategy: Box<dyn Strategy>,
    /// True if the wrapper also answers choices with only one candidate.
    sees_all: bool,
    seen: Witness,
    /// For each value of the current step, true if it was drawn.
    drawn: Vec<bool>,
}

impl Strategy for WitnessedStrategy {
    fn prepare(&mut self, seed: Seed) {
        self.strategy.prepare(seed);
    }

    fn begin(&mut self, seed: Seed) {
        self.seen.seen().begin();
        self.strategy.begin(seed);
    }

    fn sees_forced_steps(&self) -> bool {
        true
    }

    fn rehearsals(&self) -> u32 {
        self.strategy.rehearsals()
    }

    fn pick(&mut self, view: &View<'_>) -> Result<usize, Mismatch> {
        self.drawn.clear();
        let candidates = view.candidates();
        let at = match candidates.len() {
            1 if !self.sees_all => 0,
            _ => self.strategy.pick(view)?,
        };
        let mut seen = self.seen.seen();
        seen.ways = seen.ways.saturating_mul(candidates.len() as u64);
        if view.step() > 0 {
            seen.observer.after(view);
            seen.add_step();
        }
        if let Some(task) = candidates.get(at) {
            seen.observer.before(view, *task);
        }
        Ok(at)
    }

    fn draw(&mut self, draw: &Draw) -> Result<u64, Mismatch> {
        let value = self.strategy.draw(draw)?;
        let mut seen = self.seen.seen();
        seen.ways = seen.ways.saturating_mul(draw.bound);
        seen.observer.drew(value, draw.bound);
        drop(seen);
        self.drawn.push(true);
        Ok(value)
    }

    fn given(&mut self, draw: &Draw, value: u64) -> Result<u64, Mismatch> {
        self.drawn.push(false);
        self.strategy.given(draw, value)
    }

    fn settle(&mut self, nth: usize) {
        let earlier = self.drawn[..nth].iter().filter(|drawn| **drawn).count();
        if self.drawn[nth] {
            let observer = &mut self.seen.seen().observer;
            // If steps are distinguished, a search explores all values, each as a separate class.
            if !observer.apart().steps {
                observer.settle(earlier);
            }
        }
        self.strategy.settle(nth);
    }

    fn end(&mut self, view: &View<'_>) -> Result<(), Mismatch> {
        let mut seen = self.seen.seen();
        seen.observer.after_last(view);
        seen.ends = true;
        drop(seen);
        self.strategy.end(view)
    }
}
