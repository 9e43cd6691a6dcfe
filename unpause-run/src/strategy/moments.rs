//! Moments: in two seeds out of three, each fault occurs at a moment drawn uniformly among the steps of its victims.
//!
//! A fault conflicts with every step of its victims but is not announced. A strategy that draws orders of announced
//! operations therefore treats it like one step of a short task. Such a step occurs after k steps of a victim with a
//! probability of 2^-k in a random walk and k^-2 under POS. Under PCT, it occurs there only if the first change point
//! falls there. Under URW, the moment is uniform if the counts are right.
//!
//! **Rule.** A random draw [decides](PLAIN) if a seed has moments. If so, the seed draws a number of steps for each
//! known [fault](super::fault_steps), from 0 to the maximum that the victims take. The fault is held until its victims
//! have taken that number of steps since the task of the fault was spawned. Then the victims are held until the fault
//! has occurred. The strategy chooses among all other tasks as usual. If only held tasks are left, a held task steps.
//!
//! **Promise.** A fault with n steps of its victims has n + 1 possible moments. The fault occurs at each of these
//! moments with a probability of at least 2 / (3 (n + 1)). The bound holds if the rehearsals count n, and if the task
//! of the fault and its victims do not wait for each other. The tests compute this probability.
//!
//! **Not promised.** A fault that occurred in no rehearsal is unknown, and so are further steps of a victim. In seeds
//! without moments, the strategy alone decides.

use super::dice::Dice;
use super::fault_steps::FaultStep;
use super::tally::TaskCounts;
use crate::run::board::Status;
use crate::run::choice::View;
use crate::run::ids::TaskId;

/// One seed in this many runs without moments.
const PLAIN: u64 = 3;

/// The stage of a fault in a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Stage {
    /// The task of the fault is not spawned yet.
    #[default]
    Away,
    /// The victims must take more steps before the fault occurs. `held` is true if the task of the fault has reached
    /// the fault and waits there.
    Before { held: bool },
    /// The moment of the fault has come: the victims are held.
    Now,
    /// The fault occurred, or can no longer occur at its moment.
    Over,
}

/// A fault of the rehearsals, and its moment in this run.
#[derive(Debug)]
struct Moment {
    nth: u32,
    most: u64,
    /// The number of steps that the victims must still take before the moment.
    left: u64,
    stage: Stage,
    task: Option<TaskId>,
    victims: Vec<TaskId>,
}

/// The roles of a rehearsal task in faults: the positions of the faults that it executes (`has`) or that disturb it
/// (`suffers`).
#[derive(Clone, Debug, Default)]
struct Parts {
    has: Vec<u32>,
    suffers: Vec<u32>,
}

/// The moments of faults.
#[derive(Debug, Default)]
pub(super) struct Moments {
    tally: TaskCounts,
    moments: Vec<Moment>,
    /// For each task of the rehearsals, its roles in faults.
    parts: Vec<Parts>,
    /// The limit of steps without progress of any fault. When it is exceeded, all moments are given up, because a task
    /// may be waiting in a loop.
    patience: u64,
    is_on: bool,
    /// For each task of this run: the matching rehearsal task, the number of its steps (`own`), and the number of
    /// reasons to hold it (`holds`).
    known: Vec<Option<usize>>,
    own: Vec<u32>,
    holds: Vec<u32>,
    /// Tasks that may have been held or freed since the last step.
    changed: Vec<TaskId>,
    idle: u64,
}

impl Moments {
    /// Creates moments from the faults of all rehearsals.
    pub(super) fn new((tally, faults, steps_max): (TaskCounts, Vec<FaultStep>, u64)) -> Moments {
        let mut parts = vec![Parts::default(); tally.len()];
        let mut moments = Vec::new();
        for (at, fault) in (0..).zip(faults) {
            let FaultStep { task, nth, victims, most, .. } = fault;
            parts[task].has.push(at);
            victims.into_iter().for_each(|victim| parts[victim].suffers.push(at));
            let (left, stage, task, victims) = (0, Stage::Away, None, Vec::new());
            moments.push(Moment { nth, most, left, stage, task, victims });
        }
        Moments { tally, moments, parts, patience: 2 * steps_max, ..Moments::default() }
    }

    /// Begins a run. Draws if the run has moments, and the moment of each fault. Draws nothing if there are no faults.
    pub(super) fn begin(&mut self, dice: &mut impl Dice) {
        self.is_on = !self.moments.is_empty() && dice.below(PLAIN) != 0;
        if !self.is_on {
            return;
        }
        self.tally.restart();
        self.known.clear();
        self.own.clear();
        self.holds.clear();
        self.changed.clear();
        self.idle = 0;
        for moment in &mut self.moments {
            moment.left = dice.below(moment.most + 1);
            (moment.stage, moment.task) = (Stage::Away, None);
            moment.victims.clear();
        }
    }

    /// Returns `true` if this run has moments. Each step must then be [reported](Self::see).
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.is_on
    }

    /// Returns `true` if the task must not step now.
    #[inline]
    pub(super) fn holds(&self, task: TaskId) -> bool {
        self.is_on && self.holds.get(task.index()).is_some_and(|reasons| *reasons > 0)
    }

    /// Returns the next task that may have been held or freed since the last step.
    pub(super) fn changed(&mut self) -> Option<TaskId> {
        self.changed.pop()
    }

    /// Processes the last step and the tasks spawned in it.
    #[cold]
    pub(super) fn see(&mut self, view: &View<'_>) {
        self.idle += 1;
        if let Some(last) = view.last() {
            self.own[last.index()] += 1;
            if let Some(known) = self.known[last.index()] {
                for part in 0..self.parts[known].suffers.len() {
                    self.suffered(self.parts[known].suffers[part] as usize);
                }
                for part in 0..self.parts[known].has.len() {
                    self.stepped(view, self.parts[known].has[part] as usize, last);
                }
            }
        }
        for id in self.known.len()..view.tasks().len() {
            let task = TaskId(id as u32);
            let known = self.tally.known(view, task, false);
            self.known.push(known);
            self.own.push(0);
            self.holds.push(0);
            let Some(known) = known else { continue };
            for part in 0..self.parts[known].suffers.len() {
                self.add_victim(self.parts[known].suffers[part] as usize, task);
            }
            for part in 0..self.parts[known].has.len() {
                self.add_task(self.parts[known].has[part] as usize, task);
            }
        }
        if self.idle > self.patience {
            (0..self.moments.len()).for_each(|at| self.end(at));
        }
    }

    fn add_victim(&mut self, at: usize, task: TaskId) {
        self.moments[at].victims.push(task);
        if self.moments[at].stage == Stage::Now {
            self.hold(task);
        }
    }

    fn add_task(&mut self, at: usize, task: TaskId) {
        let moment = &mut self.moments[at];
        if moment.stage != Stage::Away {
            return;
        }
        moment.task = Some(task);
        match moment.left {
            0 => self.come(at),
            _ => self.wait(at, task),
        }
    }

    /// Holds the task of a fault if it has reached the fault.
    fn wait(&mut self, at: usize, task: TaskId) {
        let held = self.own[task.index()] == self.moments[at].nth;
        self.moments[at].stage = Stage::Before { held };
        if held {
            self.hold(task);
        }
    }

    /// Records a step of a victim.
    fn suffered(&mut self, at: usize) {
        match self.moments[at].stage {
            Stage::Before { held } => {
                self.idle = 0;
                self.moments[at].left -= 1;
                if self.moments[at].left == 0 {
                    if let (true, Some(task)) = (held, self.moments[at].task) {
                        self.free(task);
                    }
                    self.come(at);
                }
            }
            // A held victim steps only if no other task can.
            Stage::Now => self.end(at),
            Stage::Away | Stage::Over => {}
        }
    }

    /// Records a step of the task of a fault.
    fn stepped(&mut self, view: &View<'_>, at: usize, task: TaskId) {
        let Moment { nth, stage, task: of, .. } = self.moments[at];
        if of != Some(task) || matches!(stage, Stage::Away | Stage::Over) {
            return;
        }
        if self.own[task.index()] > nth || view.task(task).status == Status::Done {
            self.end(at);
        } else if matches!(stage, Stage::Before { held: false }) {
            self.wait(at, task);
        }
    }

    /// Holds the victims of a fault until the fault has occurred.
    fn come(&mut self, at: usize) {
        self.idle = 0;
        self.moments[at].stage = Stage::Now;
        for victim in 0..self.moments[at].victims.len() {
            self.hold(self.moments[at].victims[victim]);
        }
    }

    /// Frees all tasks that a fault holds.
    fn end(&mut self, at: usize) {
        match std::mem::replace(&mut self.moments[at].stage, Stage::Over) {
            Stage::Before { held: true } => {
                if let Some(task) = self.moments[at].task {
                    self.free(task);
                }
            }
            Stage::Now => {
                for victim in 0..self.moments[at].victims.len() {
                    self.free(self.moments[at].victims[victim]);
                }
            }
            _ => {}
        }
    }

    fn hold(&mut self, task: TaskId) {
        self.holds[task.index()] += 1;
        self.changed.push(task);
    }

    fn free(&mut self, task: TaskId) {
        self.holds[task.index()] -= 1;
        self.changed.push(task);
    }

    /// Picks one of the held tasks uniformly, for a step at which no other task can step. Returns its index among the
    /// candidates.
    #[cold]
    pub(super) fn pick_held(&self, dice: &mut impl Dice, view: &View<'_>) -> usize {
        let candidates = view.candidates().iter().enumerate();
        let held = || candidates.clone().filter(|(_, task)| self.holds(**task));
        match held().count() as u64 {
            0 => 0,
            count => held().nth(dice.below(count) as usize).map_or(0, |(at, _)| at),
        }
    }
}

#[cfg(test)]
mod tests;
