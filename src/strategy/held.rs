//! A search with values of a schedule: its tasks step as the search says and draw what the schedule says.
//!
//! For searches among the runs of one generated program, whose commands and arguments are values drawn. What
//! the search itself knows of these values is that they are given, so it has no other branches for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::roster::Roster;
use crate::run::choice::{Draw, Mismatch, Strategy, View};
use crate::run::ids::Seed;
use crate::run::program::is_of_program;
use crate::run::schedule::{Cursor, Schedule};

/// Holds draws fast for another strategy.
pub(crate) struct Held {
    inner: Box<dyn Strategy>,
    schedule: Arc<Schedule>,
    cursor: Cursor,
    roster: Roster,
    /// The task of the step being taken, as the schedule numbers it.
    stepping: Option<usize>,
    /// Whether only programs are held, and the values that commands draw themselves are left to `inner`.
    programs_only: bool,
    /// Whether a value was drawn that is not part of a program.
    others: Arc<AtomicBool>,
}

impl Held {
    /// Will draw as in this schedule: all values, or those only that programs are generated from. What the
    /// schedule says of turns does not matter.
    pub(crate) fn new(inner: Box<dyn Strategy>, schedule: &Schedule, programs_only: bool) -> Held {
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

    /// Whether a value was drawn, in any of the runs, that is not part of a program. Set as runs are made.
    pub(crate) fn others(&self) -> Arc<AtomicBool> {
        self.others.clone()
    }

    /// The value that the schedule has for the next draw.
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

    fn end(&mut self, view: &View<'_>) -> Result<(), Mismatch> {
        self.inner.end(view)
    }
}
