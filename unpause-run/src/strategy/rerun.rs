//! Repeats a [`Run`] in the same process with its recorded decisions. The first decision that does
//! not fit is an error.
//!
//! Two runs of one program with the same decisions give each task the same number, so tasks need no
//! matching. The caller compares the operations of each step.

use crate::run::choice::{Draw, Mismatch, Strategy, View};
use crate::run::ids::Seed;
use crate::run::{DrawRecord, Run, StepRecord};

/// The beginning of the text about a step in which only one task can step. The pending operation of the task follows.
#[doc(hidden)]
pub const ONE_TASK: &str = "one task that can step: ";

/// A strategy that repeats a run.
#[derive(Debug)]
pub struct Rerun {
    steps: Vec<StepRecord>,
    draws: Vec<DrawRecord>,
    step: usize,
    drawn: usize,
}

impl Rerun {
    /// Creates a strategy that repeats `run`.
    pub fn new(run: &Run) -> Rerun {
        Rerun::of_decisions(run.steps.clone(), run.draws.clone())
    }

    /// Creates a strategy that repeats the run with these decisions.
    #[doc(hidden)]
    pub fn of_decisions(steps: Vec<StepRecord>, draws: Vec<DrawRecord>) -> Rerun {
        Rerun { steps, draws, step: 0, drawn: 0 }
    }
}

impl Strategy for Rerun {
    fn begin(&mut self, _: Seed) {
        self.step = 0;
        self.drawn = 0;
    }

    fn sees_forced_steps(&self) -> bool {
        true
    }

    fn pick(&mut self, view: &View<'_>) -> Result<usize, Mismatch> {
        let step = self.step as u32;
        let candidates = view.candidates();
        let found = || match candidates {
            [only] => {
                let next = &view.task(*only).announced.first;
                format!("{ONE_TASK}{} at {}", next.op.name, next.place)
            }
            _ => format!("{} tasks that can step", candidates.len()),
        };
        let Some(record) = self.steps.get(self.step) else {
            let expected = "the end of the run".to_owned();
            return Err(Mismatch::new(step, expected, found()));
        };
        self.step += 1;
        let at = candidates.iter().position(|task| *task == record.task);
        match at {
            Some(at) if candidates.len() == record.candidates as usize => Ok(at),
            _ => Err(Mismatch::new(
                step,
                format!("{} tasks that can step", record.candidates),
                found(),
            )),
        }
    }

    fn given(&mut self, draw: &Draw, _: u64) -> Result<u64, Mismatch> {
        self.draw(draw)
    }

    fn draw(&mut self, draw: &Draw) -> Result<u64, Mismatch> {
        let recorded = self.draws.get(self.drawn);
        self.drawn += 1;
        let step = self.step.saturating_sub(1) as u32;
        match recorded {
            Some(record) if record.bound == draw.bound && record.step == step => Ok(record.value),
            other => Err(Mismatch::new(
                step,
                other.map_or_else(
                    || "no further draw".to_owned(),
                    |record| format!("a draw below {} in step {}", record.bound, record.step),
                ),
                format!("a draw below {}", draw.bound),
            )),
        }
    }

    fn end(&mut self, _: &View<'_>) -> Result<(), Mismatch> {
        if self.step == self.steps.len() {
            return Ok(());
        }
        Err(Mismatch::new(
            self.step as u32,
            format!("{} steps", self.steps.len()),
            format!("{} steps", self.step),
        ))
    }
}
