//! Lenient replay: follows a schedule as far as it fits and fills in the rest by the rules of
//! [`Cursor`]. Used for shrinking, which removes pieces of schedules.

use std::sync::Arc;

use super::roster::{Roster, path_of};
use crate::run::choice::{Draw, Mismatch, Strategy, View};
use crate::run::ids::{Seed, TaskId};
use crate::run::schedule::{Cursor, Schedule};

/// A strategy that replays a schedule leniently.
#[derive(Debug)]
pub struct LenientReplay {
    schedule: Arc<Schedule>,
    cursor: Cursor,
    roster: Roster,
    /// The task of the current step, in the numbering of the schedule.
    stepping: Option<usize>,
}

impl LenientReplay {
    /// Creates a strategy that follows `schedule`.
    pub fn new(schedule: impl Into<Arc<Schedule>>) -> LenientReplay {
        let schedule = schedule.into();
        let (cursor, roster) = (Cursor::new(schedule.clone()), Roster::new(&schedule.tasks));
        LenientReplay { schedule, cursor, roster, stepping: None }
    }
}

impl Strategy for LenientReplay {
    fn begin(&mut self, _: Seed) {
        self.cursor = Cursor::new(self.schedule.clone());
        self.roster.restart();
        self.stepping = None;
    }

    fn sees_forced_steps(&self) -> bool {
        true
    }

    fn pick(&mut self, view: &View<'_>) -> Result<usize, Mismatch> {
        self.roster.update(view);
        let candidates = view.candidates();
        let position = |task: Option<TaskId>| {
            task.and_then(|task| candidates.iter().position(|other| *other == task))
        };
        let LenientReplay { cursor, roster, .. } = self;
        let chosen = cursor.pick(|task| position(roster.task(task)).is_some());
        let lowest = || (0..candidates.len()).min_by_key(|i| path_of(view, candidates[*i]));
        let at = match chosen {
            Some(task) => position(roster.task(task)),
            None => position(view.last()).or_else(lowest),
        };
        let at = at.expect("there is a candidate");
        self.stepping = self.roster.of_trace(candidates[at]);
        Ok(at)
    }

    fn given(&mut self, draw: &Draw, _: u64) -> Result<u64, Mismatch> {
        self.draw(draw)
    }

    fn draw(&mut self, draw: &Draw) -> Result<u64, Mismatch> {
        Ok(self.stepping.map_or(0, |task| self.cursor.draw(task, draw.bound)))
    }
}
