//! The search as its driver and its worker see it.
//!
//! Before the first run that counts there are some at random, which do nothing but look: whether tasks
//! share what is not of this library, and which tasks have branches that await others. The one is
//! seen only by a run in which somebody had to wait.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Course, Explorer, Orders};
use crate::choice::{Draw, Mismatch, Strategy, View};
use crate::history::Timed;
use crate::ids::Seed;
use crate::run::{DrawRecord, StepRecord};
use crate::strategy::happens_before::HappensBefore;
use crate::strategy::random::RandomWalk;
use crate::strategy::search::{Progress, Search};

/// How many runs only look.
const LOOKS: u32 = 20;

/// A search that its driver and the strategy of its worker share.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exhaustive {
    explorer: Arc<Mutex<Explorer>>,
}

impl Exhaustive {
    pub(crate) fn explorer(&self) -> MutexGuard<'_, Explorer> {
        self.explorer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As [`advance`](Search::advance); `look` sees what happened before what in the run that ended.
    pub(crate) fn advance_and(&self, cut: bool, look: impl FnOnce(&HappensBefore)) -> bool {
        let mut explorer = self.explorer();
        explorer.take_in(cut);
        look(&explorer.order);
        explorer.turn()
    }
}

impl Search for Exhaustive {
    fn strategy(&self) -> Box<dyn Strategy> {
        let (search, looks) = (self.clone(), LOOKS);
        Box::new(Walk { search, step: 0, looks, looking: false, random: RandomWalk::default() })
    }

    fn advance(&self, cut: bool) -> bool {
        self.advance_and(cut, |_| {})
    }

    fn is_blocked(&self) -> bool {
        self.explorer().course == Course::Blocked
    }

    fn look_at_orders(&self, holds: &mut dyn FnMut(usize, &[Timed]) -> bool) -> Orders {
        self.explorer().look_at_orders(holds)
    }

    fn tell_orders_apart(&self) {
        self.explorer().tell_orders_apart();
    }

    fn progress(&self) -> Progress {
        self.explorer().progress()
    }

    fn decisions(&self) -> (Vec<StepRecord>, Vec<DrawRecord>) {
        self.explorer().decisions()
    }
}

/// Answers the choices of one run after the other.
#[derive(Debug)]
struct Walk {
    search: Exhaustive,
    /// The step being taken.
    step: usize,
    /// How many runs there are still to be that only look.
    looks: u32,
    /// Whether this is one.
    looking: bool,
    random: RandomWalk,
}

impl Strategy for Walk {
    fn begin(&mut self, seed: Seed) {
        self.looking = self.looks > 0;
        self.looks = self.looks.saturating_sub(1);
        match self.looking {
            true => {
                self.search.explorer().observer.begin();
                self.random.begin(seed);
            }
            false => self.search.explorer().begin(),
        }
    }

    fn sees_forced_steps(&self) -> bool {
        true
    }

    fn rehearsals(&self) -> u32 {
        self.looks
    }

    fn pick(&mut self, view: &View<'_>) -> Result<usize, Mismatch> {
        self.step = view.step() as usize;
        let mut explorer = self.search.explorer();
        if !self.looking {
            let task = explorer.pick(view)?;
            return Ok(view.task(task).candidate());
        }
        if self.step > 0 {
            explorer.observer.after(view);
        }
        let at = self.random.pick(view)?;
        explorer.observer.before(view, view.candidates()[at]);
        Ok(at)
    }

    fn draw(&mut self, draw: &Draw) -> Result<u64, Mismatch> {
        match self.looking {
            true => self.random.draw(draw),
            false => self.search.explorer().draw(draw, self.step),
        }
    }

    fn end(&mut self, view: &View<'_>) -> Result<(), Mismatch> {
        let mut explorer = self.search.explorer();
        match self.looking {
            true => {
                // Nothing was thought so far that would have to be thought again.
                explorer.observer.take_learnt();
            }
            false => explorer.end(view),
        }
        Ok(())
    }
}
