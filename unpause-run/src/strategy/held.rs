//! A search over the runs of one generated program. The search chooses the tasks, and a schedule supplies the drawn
//! values.
//!
//! The commands and arguments of a generated program are drawn values. The search receives them as given values, so it
//! does not branch on them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::roster::Roster;
use crate::run::choice::{Draw, Mismatch, Strategy, View};
use crate::run::ids::Seed;
use crate::run::program::is_of_program;
use crate::run::schedule::{Cursor, Schedule};

/// A strategy that answers draws from a schedule, and leaves all other choices to another strategy.
pub struct Held {
    inner: Box<dyn Strategy>,
    schedule: Arc<Schedule>,
    cursor: Cursor,
    roster: Roster,
    /// The task of the current step, in the numbering of the schedule.
    stepping: Option<usize>,
    /// True if `inner` answers the draws that the commands make, and the schedule answers only the draws that generate
    /// programs.
    programs_only: bool,
    /// True if some draw was not part of a generated program.
    others: Arc<AtomicBool>,
}

impl Held {
    /// Creates a strategy that uses the values of this schedule: all values, or only the values that generate programs.
    /// The strategy ignores the turns of the schedule.
    pub fn new(inner: Box<dyn Strategy>, schedule: &Schedule, programs_only: bool) -> Held {
        let schedule = Arc::new(Schedule { turns: Vec::new(), ..schedule.clone() });
        Held {
            inner,
            cursor: Cursor::new(schedule.clone()),
            roster: Roster::new(&schedule.tasks),
            schedule,
            stepping: None,
            programs_only,
            others: Arc::default(),
        }
    }

    /// Returns a flag that is set once any run draws a value that is not part of a generated program.
    pub fn others(&self) -> Arc<AtomicBool> {
        self.others.clone()
    }

    /// Returns the value of the schedule for the next draw.
    fn value(&mut self, bound: u64) -> u64 {
        self.stepping.map_or(0, |task| self.cursor.draw(task, bound))
    }
}

impl Strategy for Held {
    fn begin(&mut self, seed: Seed) {
        self.inner.begin(seed);
        self.cursor = Cursor::new(self.schedule.clone());
        self.roster.restart();
        self.stepping = None;
    }

    fn sees_forced_steps(&self) -> bool {
        true
    }

    fn pick(&mut self, view: &View<'_>) -> Result<usize, Mismatch> {
        let at = self.inner.pick(view)?;
        self.roster.update(view);
        self.stepping = view.candidates().get(at).and_then(|task| self.roster.of_trace(*task));
        Ok(at)
    }

    fn given(&mut self, draw: &Draw, _: u64) -> Result<u64, Mismatch> {
        let value = self.value(draw.bound);
        self.inner.given(draw, value)
    }

    fn draw(&mut self, draw: &Draw) -> Result<u64, Mismatch> {
        let value = self.value(draw.bound);
        if is_of_program(draw.why) {
            return self.inner.given(draw, value);
        }
        self.others.store(true, Ordering::Relaxed);
        match self.programs_only {
            true => self.inner.draw(draw),
            false => self.inner.given(draw, value),
        }
    }

    fn settle(&mut self, nth: usize) {
        self.inner.settle(nth);
    }

    fn end(&mut self, view: &View<'_>) -> Result<(), Mismatch> {
        self.inner.end(view)
    }
}
