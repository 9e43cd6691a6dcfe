//! Continuations of a run: the strategy follows its first steps, then chooses tasks at random.
//!
//! The continuations of the prefixes of a failing run explain the failure. These runs belong to no seed of a test, so
//! the strategy has no row in the registry. The n-th run of the strategy is a function of n alone.

use std::sync::{Arc, Mutex, PoisonError};

use crate::run::board::{Announced, Status};
use crate::run::choice::{Draw, Mismatch, Strategy, View};
use crate::run::ids::{ObjectId, Seed, TaskId};
use crate::run::op::Access;
use crate::run::rng::Rng;
use crate::run::what_if::Site;

/// Under [`Then::Sticky`], one in this many steps is a switch.
pub const ONE_SWITCH_IN: u64 = 8;

/// Under [`Then::Any`], one in this many steps redraws the priority of its task.
const ONE_CHANGE_IN: u64 = 12;

/// The choice of tasks after the prefix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Then {
    /// The task of the previous step continues with a probability of 7/8, unless it yields. In the other cases, each
    /// other task is equally likely. A schedule of this kind switches rarely, so a switch that matters is easy to see.
    Sticky,
    /// A random walk in even runs, random priorities in odd runs.
    Any,
}

/// The strategy. Another strategy, such as [`Held`](super::held::Held), must answer the draws.
#[derive(Clone, Debug)]
pub struct After {
    /// The tasks of the steps of the run.
    steps: Arc<[TaskId]>,
    /// The number of first steps that the strategy follows.
    kept: usize,
    /// The number of first steps that the current run has followed or omitted.
    at: usize,
    /// True if the strategy omits a first step whose task cannot step.
    is_lenient: bool,
    then: Then,
    /// The number of the next run.
    next: u64,
    rng: Rng,
    walks: bool,
    /// For each task, its priority, in runs with priorities.
    priorities: Vec<u64>,
    /// The list that receives the operations pending at the end of a run, if wanted.
    pending: Option<Pending>,
}

/// Operations that tasks had announced but not done when a run ended.
pub type Pending = Arc<Mutex<Vec<PendingOperation>>>;

/// An operation that a task had announced but not done when a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PendingOperation {
    pub task: TaskId,
    pub site: Site,
    /// The object of the operation, if any.
    pub object: Option<ObjectId>,
    pub access: Access,
}

impl After {
    /// Creates a strategy that follows the first `kept` steps of a run with these tasks. The next run has the number
    /// `first`.
    pub fn new(steps: Arc<[TaskId]>, kept: usize, then: Then, first: u64) -> After {
        let (rng, priorities) = (Rng::new(0), Vec::new());
        let (at, is_lenient, walks, pending) = (0, false, false, None);
        After { steps, kept, at, is_lenient, then, next: first, rng, walks, priorities, pending }
    }

    /// Returns the same strategy, which omits a first step if its task cannot step. Without this change, such a run
    /// ends as diverged.
    #[must_use]
    pub fn leniently(self) -> After {
        After { is_lenient: true, ..self }
    }

    /// Returns the same strategy, which also writes the operations pending at the end of each run to `pending`.
    #[must_use]
    pub fn noting(self, pending: Pending) -> After {
        After { pending: Some(pending), ..self }
    }

    /// Returns the position of the task that a sticky schedule chooses.
    fn stick(&mut self, view: &View<'_>) -> usize {
        let candidates = view.candidates();
        let bound = candidates.len() as u64;
        let Some(last) = continues(view) else { return self.rng.below(bound) as usize };
        if bound == 1 || self.rng.below(ONE_SWITCH_IN) != 0 {
            return last;
        }
        let other = self.rng.below(bound - 1) as usize;
        if other < last { other } else { other + 1 }
    }

    /// Returns the position of the task with the highest priority.
    fn by_priority(&mut self, view: &View<'_>) -> usize {
        let candidates = view.candidates();
        while self.priorities.len() < view.tasks().len() {
            let priority = self.rng.below(1 << 40);
            self.priorities.push(priority);
        }
        let first = |priorities: &[u64]| {
            let of = |at: &usize| priorities[candidates[*at].index()];
            (0..candidates.len()).max_by_key(of).unwrap_or(0)
        };
        let at = first(&self.priorities);
        let task = candidates[at];
        if yields(view, task) || self.rng.below(ONE_CHANGE_IN) == 0 {
            self.priorities[task.index()] = self.rng.below(1 << 40);
            return first(&self.priorities);
        }
        at
    }
}

/// Returns `true` if a task has announced only yields.
fn yields(view: &View<'_>, task: TaskId) -> bool {
    !view.task(task).announced.any(|announced| announced.op.access != Access::Yield)
}

/// Returns the position, among the candidates, of the task of the previous step if it can continue and does not yield.
pub(super) fn continues(view: &View<'_>) -> Option<usize> {
    let last = view.last()?;
    let row = view.task(last);
    (row.status == Status::Ready && !yields(view, last)).then(|| row.candidate())
}

impl Strategy for After {
    fn begin(&mut self, _: Seed) {
        self.rng = Rng::new(self.next);
        self.walks = self.next % 2 == 0;
        self.next += 1;
        self.at = 0;
        self.priorities.clear();
    }

    fn sees_forced_steps(&self) -> bool {
        true
    }

    fn pick(&mut self, view: &View<'_>) -> Result<usize, Mismatch> {
        let candidates = view.candidates();
        while self.at < self.kept {
            let task = self.steps[self.at];
            self.at += 1;
            match candidates.iter().position(|candidate| *candidate == task) {
                Some(at) => return Ok(at),
                None if self.is_lenient => {}
                None => {
                    let expected = format!("a step of task {}", task.0);
                    return Err(Mismatch::new(view.step(), expected, "it cannot step".to_owned()));
                }
            }
        }
        Ok(match self.then {
            Then::Sticky => self.stick(view),
            Then::Any if self.walks => self.rng.below(candidates.len() as u64) as usize,
            Then::Any => self.by_priority(view),
        })
    }

    fn draw(&mut self, draw: &Draw) -> Result<u64, Mismatch> {
        Ok(self.rng.below(draw.bound))
    }

    fn end(&mut self, view: &View<'_>) -> Result<(), Mismatch> {
        let Some(pending) = &self.pending else { return Ok(()) };
        let mut pending = pending.lock().unwrap_or_else(PoisonError::into_inner);
        pending.clear();
        for (task, row) in (0..).map(TaskId).zip(view.tasks()) {
            if row.status != Status::Done {
                let operation = |a: &Announced| PendingOperation {
                    task,
                    site: Site { op: a.op.name, place: a.place },
                    object: a.object,
                    access: a.op.access,
                };
                pending.extend(row.announced.iter().map(operation));
            }
        }
        Ok(())
    }
}
