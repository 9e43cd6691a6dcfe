//! PCT: at each step, the task with the highest priority runs. At a few random steps, this task loses its priority.
//!
//! After Burckhardt, Kothari, Musuvathi, Nagarakatte, *A Randomized Scheduler with Probabilistic Guarantees of Finding
//! Bugs* (ASPLOS 2010). Tasks get random priorities; d - 1 change points are drawn among the k steps of a run, with
//! replacement. At a change point, the task that is *about to* step gets the lowest priority *before* it steps. The
//! demotion happens once for each change point at that step.
//!
//! **Promise.** A run finds a bug that needs d orderings between steps of different tasks with a probability of at
//! least 1 / (n k^(d-1)). This bound holds for every program with n tasks and at most k steps. The tests compute the
//! probability for all bugs of small programs. Other implementations demote the task that has *just* stepped, or draw
//! distinct change points. The two variants leave some bugs with a probability of zero.
//!
//! **Learning.** k is the largest number of steps in a few rehearsals; n is not needed. Only steps with several enabled
//! tasks count towards a change point. The bound holds nevertheless. If no depth is given, each seed draws a depth: 2
//! with probability 1/2, 3 with 1/4, 4 and 5 with 1/8 each.
//!
//! **Not promised.** Interleavings with more than d - 1 enforced switches have a probability of zero. A task that
//! announces a yield gets the lowest priority. After 2 k steps with several enabled tasks, a task probably waits in a
//! loop, so the run continues as a random walk, which is fair. The bound does not hold in these two cases.

use super::dice::{Dice, PRIORITY_BITS};
use super::moments::Moments;
use super::queue::TaskQueue;
use super::rehearsal::Rehearsal;
use super::{Numbered, StrategyRow, lessons};
use crate::run::choice::{Draw, Mismatch, Strategy, View};
use crate::run::ids::{Seed, TaskId};
use crate::run::op::Access;
use crate::run::rng::Rng;

/// The row of this strategy in [`STRATEGIES`](super::STRATEGIES).
pub(super) const ROW: StrategyRow = StrategyRow {
    name: "pct",
    summary: "the task of highest priority, which loses it at a few random steps",
    good_at: "few orderings far apart",
    promise: "`pct:d` meets a bug of d orderings with a probability of at least 1 / (n k^(d-1)), for n tasks and k steps",
    weak: "many switches: at most d - 1 are enforced; `pct` draws d from the seed, 2 to 5",
    reaches_all: false,
    create: || lessons(|| <Pct>::with_depth(None)),
    numbered: &[
        Numbered { name: "pct:1", create: || lessons(|| <Pct>::with_depth(Some(1))) },
        Numbered { name: "pct:2", create: || lessons(|| <Pct>::with_depth(Some(2))) },
        Numbered { name: "pct:3", create: || lessons(|| <Pct>::with_depth(Some(3))) },
        Numbered { name: "pct:4", create: || lessons(|| <Pct>::with_depth(Some(4))) },
        Numbered { name: "pct:5", create: || lessons(|| <Pct>::with_depth(Some(5))) },
        Numbered { name: "pct:6", create: || lessons(|| <Pct>::with_depth(Some(6))) },
        Numbered { name: "pct:7", create: || lessons(|| <Pct>::with_depth(Some(7))) },
        Numbered { name: "pct:8", create: || lessons(|| <Pct>::with_depth(Some(8))) },
    ],
};

/// The lowest priority of a task that was not demoted. Demoted tasks have lower priorities.
const HIGH: u64 = 1 << PRIORITY_BITS;

/// The PCT strategy. A step costs the logarithm of the number of tasks.
#[derive(Debug)]
pub struct Pct<D = Rng> {
    pub(super) dice: D,
    /// The depth; if `None`, each seed draws a depth.
    depth: Option<u32>,
    rehearsal: Rehearsal,
    moments: Moments,
    /// The largest number of steps of a rehearsal, at least 1.
    steps_max: u64,
    /// The sorted change points of this run, and the number of change points passed so far.
    points: Vec<u64>,
    passed: usize,
    /// The number of steps so far at which several tasks were enabled.
    step: u64,
    queue: TaskQueue,
    /// For each task, its priority, or 0 before it is drawn.
    priorities: Vec<u64>,
    /// For each task, true if it was demoted for its announced yield.
    has_yielded: Vec<bool>,
    /// The lowest priority so far.
    lowest: u64,
}

impl<D: Dice + Default> Pct<D> {
    /// Creates PCT for bugs of this depth, which must be at least 1. If `None`, each seed draws a depth.
    pub fn with_depth(depth: Option<u32>) -> Pct<D> {
        Pct::new(D::default(), depth)
    }
}

impl<D: Dice> Pct<D> {
    fn new(dice: D, depth: Option<u32>) -> Pct<D> {
        Pct {
            dice,
            depth,
            rehearsal: Rehearsal::default(),
            moments: Moments::default(),
            steps_max: 1,
            points: Vec::new(),
            passed: 0,
            step: 0,
            queue: TaskQueue::default(),
            priorities: Vec::new(),
            has_yielded: Vec::new(),
            lowest: HIGH,
        }
    }

    /// Draws a depth for this seed.
    fn draw_depth(&mut self) -> u32 {
        match self.dice.below(8) {
            0..=3 => 2,
            4..=5 => 3,
            6 => 4,
            _ => 5,
        }
    }

    fn arrive(&mut self, task: TaskId) {
        if self.priorities.len() <= task.index() {
            self.priorities.resize(task.index() + 1, 0);
            self.has_yielded.resize(task.index() + 1, false);
        }
        if self.priorities[task.index()] == 0 {
            self.priorities[task.index()] = HIGH + self.dice.priority();
        }
        if !self.queue.has(task) && !self.moments.holds(task) {
            self.queue.set(task, self.priorities[task.index()]);
        }
    }

    /// Gives a task the lowest priority.
    fn demote(&mut self, task: TaskId) {
        self.lowest -= 1;
        self.priorities[task.index()] = self.lowest;
        self.queue.set(task, self.lowest);
    }
}

impl<D: Dice> Strategy for Pct<D> {
    fn begin(&mut self, seed: Seed) {
        if self.rehearsal.begin() {
            self.moments = self.rehearsal.moments();
        }
        self.dice.reseed(seed);
        self.points.clear();
        self.passed = 0;
        self.step = 0;
        self.queue.clear();
        self.priorities.clear();
        self.has_yielded.clear();
        self.lowest = HIGH;
        if !self.rehearsal.is_on() {
            let depth = self.depth.unwrap_or_else(|| self.draw_depth());
            for _ in 1..depth {
                let point = 1 + self.dice.below(self.steps_max);
                self.points.push(point);
            }
            self.points.sort_unstable();
            self.moments.begin(&mut self.dice);
        }
    }

    fn rehearsals(&self) -> u32 {
        self.rehearsal.remaining()
    }

    // `true`, because PCT reads all arrivals.
    fn sees_forced_steps(&self) -> bool {
        true
    }

    fn pick(&mut self, view: &View<'_>) -> Result<usize, Mismatch> {
        let candidates = view.candidates();
        if self.rehearsal.is_on() {
            return Ok(self.rehearsal.pick(&mut self.dice, view));
        }
        if self.step >= self.steps_max.saturating_mul(2) {
            return Ok(self.dice.below(candidates.len() as u64) as usize);
        }
        if self.moments.is_on() {
            self.moments.see(view);
        }
        for task in view.arrived() {
            self.arrive(*task);
        }
        while let Some(task) = self.moments.changed() {
            match self.moments.holds(task) {
                true => self.queue.remove(task),
                false => self.arrive(task),
            }
        }
        self.step += u64::from(candidates.len() > 1);
        loop {
            let Some((_, task)) = self.queue.top(view) else {
                // Each task that can step has arrived, unless it is held.
                return Ok(self.moments.pick_held(&mut self.dice, view));
            };
            let row = view.task(task);
            let yields = row.announced.is_only(Access::Yield);
            if candidates.len() > 1 {
                if self.points.get(self.passed) == Some(&self.step) {
                    self.passed += 1;
                    self.demote(task);
                    continue;
                }
                if yields && !self.has_yielded[task.index()] {
                    self.has_yielded[task.index()] = true;
                    self.demote(task);
                    continue;
                }
            }
            if yields {
                self.has_yielded[task.index()] = false;
            }
            return Ok(row.candidate());
        }
    }

    fn draw(&mut self, draw: &Draw) -> Result<u64, Mismatch> {
        Ok(self.dice.below(draw.bound))
    }

    fn end(&mut self, view: &View<'_>) -> Result<(), Mismatch> {
        if self.rehearsal.is_on() {
            self.steps_max = self.steps_max.max(view.step().into());
            self.rehearsal.end(view);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
