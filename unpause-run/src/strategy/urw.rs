//! URW: a random walk in which every interleaving has the same probability.
//!
//! The uniform random walk of Zhao, Wolff, Mathur, Roychoudhury, *Selectively Uniform Concurrency Testing* (ASPLOS
//! 2025, doi 10.1145/3669940.3707214). The probability of choosing a task is proportional to its remaining steps,
//! including the steps of its descendants that are not yet spawned. The plain random walk favours schedules that switch
//! tasks evenly. Under URW, a short task is as likely to run late as early.
//!
//! **Promise.** If the counts of steps are right and no task waits, all interleavings have the same probability. With
//! any counts, every interleaving is possible. The tests verify both promises.
//!
//! **Learning.** URW counts the steps of each task, identified by its spawn path. The count is the mean over a few
//! rehearsals, rounded up, without rehearsals that a fault cut short. A task that has used up its count, or was in no
//! rehearsal, has the weight of one step.
//!
//! **Not promised.** A uniform distribution over the orders of *all* steps gives a low probability to each order of the
//! few steps that matter; SURW is better for this case. Tasks that wait for each other distort the distribution.

use super::dice::Dice;
use super::moments::Moments;
use super::rehearsal::{REHEARSALS, Rehearsal};
use super::tally::TaskCounts;
use super::weights::Weights;
use super::{StrategyRow, lessons};
use crate::run::board::Status;
use crate::run::choice::{Draw, Mismatch, Strategy, View};
use crate::run::ids::{Seed, TaskId};
use crate::run::rng::Rng;

/// The row of this strategy in [`STRATEGIES`](super::STRATEGIES).
pub(super) const ROW: StrategyRow = StrategyRow {
    name: "urw",
    summary: "every interleaving with the same probability, as far as the counts are right",
    good_at: "tasks of unequal length",
    promise: "all interleavings have the same probability, if nothing waits",
    weak: "much that is private",
    reaches_all: true,
    create: || lessons(<Urw>::default),
    numbered: &[],
};

/// The URW strategy. A step costs the logarithm of the number of tasks.
#[derive(Debug, Default)]
pub struct Urw<D = Rng> {
    pub(super) dice: D,
    rehearsal: Rehearsal,
    moments: Moments,
    tally: TaskCounts,
    /// For each task of the rehearsals, its number of steps in each rehearsal.
    seen: Vec<[u64; REHEARSALS as usize]>,
    /// For each task of the rehearsals, the typical number of steps that it and its descendants take.
    counts: Vec<u64>,
    /// For each task of this run, its number of remaining steps, including descendants that are not yet spawned.
    left: Vec<u64>,
    /// The value from `left` for each task that can step; 0 for other tasks.
    weights: Weights,
    last: Option<TaskId>,
}

impl<D: Dice> Urw<D> {
    /// Adds newly spawned tasks and moves their expected steps from their parents to them.
    fn add_tasks(&mut self, view: &View<'_>) {
        for id in self.left.len()..view.tasks().len() {
            let known = self.tally.known(view, TaskId(id as u32), false);
            let count = known.map_or(0, |known| self.counts[known]);
            self.left.push(count.max(1));
            if let Some(parent) = view.tasks()[id].parent {
                let left = &mut self.left[parent.index()];
                *left = left.saturating_sub(count).max(1);
                self.weigh(view, parent);
            }
        }
    }

    /// Sets the weight of the task to its number of remaining steps, or to 0 if it cannot step.
    fn weigh(&mut self, view: &View<'_>, task: TaskId) {
        let ready = view.task(task).status == Status::Ready && !self.moments.holds(task);
        self.weights.set(task.index(), if ready { self.left[task.index()] } else { 0 });
    }

    /// Counts the last step of a rehearsal.
    fn count(&mut self, view: &View<'_>) {
        let Some(last) = view.last() else { return };
        if let Some(task) = self.tally.known(view, last, true) {
            if self.seen.len() <= task {
                self.seen.resize(task + 1, [0; REHEARSALS as usize]);
            }
            self.seen[task][self.rehearsal.remaining() as usize] += 1;
        }
    }
}

impl<D: Dice> Strategy for Urw<D> {
    fn begin(&mut self, seed: Seed) {
        if self.rehearsal.begin() {
            self.moments = self.rehearsal.moments();
            let seen = std::mem::take(&mut self.seen);
            self.counts = seen.iter().map(|counts| self.rehearsal.typical(counts)).collect();
            self.tally.gather(&mut self.counts);
        }
        self.dice.reseed(seed);
        self.moments.begin(&mut self.dice);
        self.tally.restart();
        self.left.clear();
        self.weights.clear();
        self.last = None;
    }

    fn rehearsals(&self) -> u32 {
        self.rehearsal.remaining()
    }

    fn sees_forced_steps(&self) -> bool {
        true
    }

    fn pick(&mut self, view: &View<'_>) -> Result<usize, Mismatch> {
        if self.rehearsal.is_on() {
            self.count(view);
            return Ok(self.rehearsal.pick(&mut self.dice, view));
        }
        if self.moments.is_on() {
            self.moments.see(view);
        }
        self.add_tasks(view);
        if let Some(last) = self.last {
            self.weigh(view, last);
        }
        for task in view.arrived() {
            self.weigh(view, *task);
        }
        while let Some(task) = self.moments.changed() {
            self.weigh(view, task);
        }
        loop {
            let Some(task) = self.weights.draw(&mut self.dice) else {
                // Each task that can step has arrived, and has a weight unless it is held.
                return Ok(self.moments.pick_held(&mut self.dice, view));
            };
            let task = TaskId(task as u32);
            let row = view.task(task);
            if row.status == Status::Ready {
                let left = &mut self.left[task.index()];
                *left = (*left - 1).max(1);
                self.last = Some(task);
                return Ok(row.candidate());
            }
            // Another task has blocked this task.
            self.weights.set(task.index(), 0);
        }
    }

    fn draw(&mut self, draw: &Draw) -> Result<u64, Mismatch> {
        Ok(self.dice.below(draw.bound))
    }

    fn end(&mut self, view: &View<'_>) -> Result<(), Mismatch> {
        if self.rehearsal.is_on() {
            self.count(view);
            self.rehearsal.end(view);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
