//! Watches runs that another strategy makes, to know what happened before what in them.
//!
//! A run stands for all that differ from it in the order of steps that do not conflict, whoever made
//! it; what the calls of its histories could have looked like is found without running anything
//! ([`closure`](super::exhaustive::closure)). Each run is looked at for itself, so that what is found
//! in it does not depend on those before.
//!
//! Costs, for each step, a clock as long as there are tasks, and what conflicts with it before.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::exhaustive::{Observer, Orders, closure};
use super::happens_before::HappensBefore;
use crate::run::choice::{Draw, Mismatch, Strategy, View};
use crate::run::ids::Seed;
use crate::run::recording::Timed;

/// What was seen of the last run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Witness(Arc<Mutex<Seen>>);

#[derive(Debug, Default)]
struct Seen {
    /// Whether each order of recorded calls is a class of its own.
    strict: bool,
    order: HappensBefore,
    observer: Observer,
    /// The run has ended, and its last step is not in the order yet.
    ends: bool,
}

impl Witness {
    /// A strategy that does what `strategy` does, and is watched.
    pub(crate) fn watch(&self, strategy: Box<dyn Strategy>) -> Box<dyn Strategy> {
        Box::new(Watched { sees_all: strategy.sees_forced_steps(), strategy, seen: self.clone() })
    }

    /// Asks `holds` about the strongest orders of the calls of each history of the last run, which
    /// passed: about so many at most.
    pub(crate) fn look_at_orders(
        &self,
        orders_max: u32,
        holds: &mut dyn FnMut(usize, &[Timed]) -> bool,
    ) -> Orders {
        let mut seen = self.seen();
        seen.finish(true);
        match seen.observer.tells_orders_apart() {
            // The body was shown a history: in another order it may have gone on in another way.
            true => Orders::Hold,
            false => closure::look(&seen.order, orders_max, holds),
        }
    }

    /// From the next run on, each order of recorded calls is a class of its own.
    pub(crate) fn tell_orders_apart(&self) {
        self.seen().strict = true;
    }

    /// Shows what happened before what in the last run. `cut` tells whether its last step ended it, although
    /// tasks may have been left that could go on.
    pub(crate) fn look<T>(&self, cut: bool, look: impl FnOnce(&HappensBefore) -> T) -> T {
        look(self.seen().finish(cut))
    }

    /// Whether tasks of the last run shared what is not of this library, as far as was seen.
    pub(crate) fn is_blind(&self) -> bool {
        self.seen().observer.is_blind()
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seen {
    fn begin(&mut self) {
        self.order.truncate(0);
        self.ends = false;
        self.observer.begin_anew();
        if self.strict {
            self.observer.tell_orders_apart();
        }
    }

    /// Takes in the last step of the run, once.
    fn finish(&mut self, cut: bool) -> &HappensBefore {
        if std::mem::take(&mut self.ends) {
            if cut {
                self.observer.over();
            }
            self.add_step();
        }
        &self.order
    }

    /// Takes in the step that is over, the last of those so far.
    fn add_step(&mut self) {
        self.observer.add_to(&mut self.order);
    }
}

/// A strategy that is watched.
struct Watched {
    strategy: Box<dyn Strategy>,
    /// Whether it wants to be asked of steps that one task alone can take.
    sees_all: bool,
    seen: Witness,
}

impl Strategy for Watched {
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
        let candidates = view.candidates();
        let at = match candidates.len() {
            1 if !self.sees_all => 0,
            _ => self.strategy.pick(view)?,
        };
        let mut seen = self.seen.seen();
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
        self.seen.seen().observer.drew(value, draw.bound);
        Ok(value)
    }

    fn given(&mut self, draw: &Draw, value: u64) -> Result<u64, Mismatch> {
        self.strategy.given(draw, value)
    }

    fn end(&mut self, view: &View<'_>) -> Result<(), Mismatch> {
        let mut seen = self.seen.seen();
        seen.observer.after_last(view);
        seen.ends = true;
        drop(seen);
        self.strategy.end(view)
    }
}
