//! Follows a schedule strictly to its end, and then continues by a fixed rule.
//!
//! Unlike a replay, it does not expect the run to end with the schedule: the schedule may be the beginning of any run.
//! For example, it can produce a run in which a task steps before a step that originally preceded it.

use std::sync::Arc;

use super::bounded::goes_on;
use super::roster::{Roster, path_of};
use crate::run::choice::{Draw, Mismatch, Strategy, View};
use crate::run::ids::{Seed, TaskId};
use crate::run::schedule::{Schedule, Turn};

/// A strategy that follows a schedule, then continues with the last task as long as this task can step. Drawn values
/// that are not in the schedule are 0. A strategy [at no cost](Guided::at_no_cost) continues like the scheduler of a
/// search within a bound.
#[derive(Debug)]
pub struct Guided {
    schedule: Arc<Schedule>,
    roster: Roster,
    /// The current turn, and the number of its steps so far.
    turn: (usize, u32),
    /// For each task of the schedule, the number of values that it has drawn.
    drawn: Vec<usize>,
    /// The task of the current step, in the numbering of the schedule.
    stepping: Option<usize>,
    step: u32,
    /// True if the run continues without a preemption and without a delay.
    is_free: bool,
}

impl Guided {
    /// Creates a strategy that follows `schedule`.
    pub fn new(schedule: impl Into<Arc<Schedule>>) -> Guided {
        let schedule = schedule.into();
        let (roster, drawn) = (Roster::new(&schedule.tasks), vec![0; schedule.tasks.len()]);
        Guided { schedule, roster, turn: (0, 0), drawn, stepping: None, step: 0, is_free: false }
    }

    /// Makes runs continue without a preemption and without a delay: the last task continues until it yields, and then
    /// the task after it in the order of creation steps.
    #[must_use]
    pub fn at_no_cost(self) -> Guided {
        Guided { is_free: true, ..self }
    }

    /// Returns the position of the candidate that continues the run after the schedule.
    fn next(&self, view: &View<'_>) -> usize {
        let (candidates, last) = (view.candidates(), view.last());
        let all = 0..candidates.len();
        let first = if self.is_free {
            let goes_on = last.is_some_and(|last| goes_on(view, last));
            let is_behind = |task: TaskId| match last {
                Some(last) if goes_on => task < last,
                Some(last) => task <= last,
                None => false,
            };
            all.min_by_key(|i| (is_behind(candidates[*i]), candidates[*i]))
        } else {
            let own = candidates.iter().position(|other| Some(*other) == last);
            own.or_else(|| all.min_by_key(|i| path_of(view, candidates[*i])))
        };
        first.expect("there is a candidate")
    }

    /// Returns the task of the next step of the schedule; `None` after the end of the schedule.
    fn wanted(&mut self) -> Option<usize> {
        let (turn, steps) = &mut self.turn;
        let Turn { task, steps: all, .. } = *self.schedule.turns.get(*turn)?;
        *steps += 1;
        if *steps == all {
            (*turn, *steps) = (*turn + 1, 0);
        }
        Some(task)
    }

    fn value(&mut self, draw: &Draw, given: Option<u64>) -> Result<u64, Mismatch> {
        let task = self.stepping;
        let planned = task.and_then(|task| {
            let nth = self.drawn[task];
            self.drawn[task] += 1;
            self.schedule.draws.get(task)?.get(nth).copied()
        });
        match planned {
            Some(value) if value >= draw.bound => Err(Mismatch::new(
                self.step.saturating_sub(1),
                format!("a draw of the value {value}"),
                format!("a draw of a value below {}", draw.bound),
            )),
            planned => Ok(planned.or(given).unwrap_or(0)),
        }
    }
}

impl Strategy for Guided {
    fn begin(&mut self, _: Seed) {
        self.roster.restart();
        self.turn = (0, 0);
        self.drawn.fill(0);
        self.stepping = None;
        self.step = 0;
    }

    fn sees_forced_steps(&self) -> bool {
        true
    }

    /// # Errors
    /// Returns an error at the first step of the schedule that its task cannot take.
    fn pick(&mut self, view: &View<'_>) -> Result<usize, Mismatch> {
        self.roster.update(view);
        let candidates = view.candidates();
        let position = |task: Option<TaskId>| {
            task.and_then(|task| candidates.iter().position(|other| *other == task))
        };
        let step = self.step;
        self.step += 1;
        let at = match self.wanted() {
            Some(wanted) => position(self.roster.task(wanted)).ok_or_else(|| {
                let expected = format!("task {} can step", self.schedule.tasks[wanted]);
                Mismatch::new(step, expected, format!("{} other tasks", candidates.len()))
            })?,
            None => self.next(view),
        };
        self.stepping = self.roster.of_trace(candidates[at]);
        Ok(at)
    }

    fn draw(&mut self, draw: &Draw) -> Result<u64, Mismatch> {
        self.value(draw, None)
    }

    fn given(&mut self, draw: &Draw, value: u64) -> Result<u64, Mismatch> {
        self.value(draw, Some(value))
    }
}
