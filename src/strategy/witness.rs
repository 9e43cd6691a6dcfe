//! Watches runs that another strategy makes, to know what happened before what in them.
//!
//! A run stands for all that differ from it in the order of steps that do not conflict, whoever made
//! it; what the calls of its histories could have looked like is found without running anything
//! ([`closure`](super::exhaustive::closure)). Each run is looked at for itself, so that what is found
//! in it does not depend on those before. What a search learns from one run about the next (which
//! tasks have branches that await others) is not known here: an order that is found has to be run
//! before anybody hears of it.
//!
//! Costs, for each step, a clock as long as there are tasks, and what conflicts with it before.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::exhaustive::{Observer, Orders, closure};
use super::happens_before::HappensBefore;
use crate::choice::{Draw, Mismatch, Strategy, View};
use crate::history::Timed;
use crate::ids::{Seed, TaskId};

/// What was seen of the last run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Witness(Arc<Mutex<Seen>>);

#[derive(Debug, Default)]
struct Seen {
    order: HappensBefore,
    observer: Observer,
    /// Who could take each step, one after the other, and where the candidates of a step end.
    enabled: Vec<TaskId>,
    ends: Vec<usize>,
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
        let seen = self.seen();
        match seen.observer.tells_orders_apart() {
            // The body was shown a history: in another order it may have gone on in another way.
            true => Orders::Hold,
            false => closure::look(&seen.order, orders_max, holds),
        }
    }

    /// Shows what happened before what in the last run, which passed.
    #[cfg(test)]
    pub(crate) fn look(&self, look: impl FnOnce(&HappensBefore)) {
        look(&self.seen().order);
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seen {
    fn begin(&mut self) {
        self.order.truncate(0);
        self.observer.begin_anew();
        self.enabled.clear();
        self.ends.clear();
    }

    /// Takes in the step that is over, the last of those so far.
    fn add_step(&mut self) {
        let Seen { order, observer, enabled, ends } = self;
        let Some(last) = ends.len().checked_sub(1) else { return };
        let candidates = |step: usize| {
            let from = step.checked_sub(1).map_or(0, |before| ends[before]);
            &enabled[from..ends[step]]
        };
        let could = |step: u32| candidates(step as usize).contains(&observer.task());
        observer.add_to(order, last as u32, could, |_| {});
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
        seen.enabled.extend_from_slice(candidates);
        let end = seen.enabled.len();
        seen.ends.push(end);
        if let Some(task) = candidates.get(at) {
            seen.observer.before(view, *task);
        }
        Ok(at)
    }

    fn draw(&mut self, draw: &Draw) -> Result<u64, Mismatch> {
        self.strategy.draw(draw)
    }

    fn given(&mut self, draw: &Draw, value: u64) -> Result<u64, Mismatch> {
        self.strategy.given(draw, value)
    }

    fn end(&mut self, view: &View<'_>) -> Result<(), Mismatch> {
        let mut seen = self.seen.seen();
        seen.observer.after_last(view);
        // The body returned: what was left of other tasks never happened, in no other order either.
        seen.observer.over();
        seen.add_step();
        drop(seen);
        self.strategy.end(view)
    }
}
