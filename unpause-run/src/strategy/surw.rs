//! SURW: gives every interleaving of the accesses *to one object* the same probability. All other steps are a random
//! walk.
//!
//! After Zhao, Wolff, Mathur, Roychoudhury, *Selectively Uniform Concurrency Testing* (ASPLOS 2025, doi
//! 10.1145/3669940.3707214). Each seed selects an object for which tasks compete. At any time, one task is *intended*
//! to access the object next. The task is drawn in proportion to its remaining accesses, including descendants that are
//! not yet spawned. A random walk chooses the task of each step, but any other task is held before an access to the
//! object until it is the intended task.
//!
//! **Promise.** Assume that the counts of accesses are right and no task waits for another. Under these assumptions,
//! all orders of the accesses to the object have the same probability, for any number of other steps. With any counts,
//! every interleaving is possible. The tests verify both promises.
//!
//! **Learning.** A few rehearsals count the accesses of each task to the objects that several tasks access, unless all
//! tasks only read the object. The count is the mean, rounded up, without rehearsals that a fault cut short. A seed
//! selects an object in proportion to the number of tasks that access it. Tasks are identified by their spawn path, and
//! objects by their [key](super::known_objects).
//!
//! **Not promised.** Within the orders of the selected object, SURW finds a bug between accesses to several objects
//! only like a random walk does. A different task becomes the intended task in two cases. First, all enabled tasks are
//! held because the intended task waits for one of them. Second, the intended task waits in a loop and has not reached
//! its access after twice the steps of a run.

use super::accesses::Accesses;
use super::candidates::Candidates;
use super::dice::Dice;
use super::known_objects::{KnownObject, KnownObjects};
use super::moments::Moments;
use super::rehearsal::Rehearsal;
use super::tally::TaskCounts;
use super::weights::Weights;
use super::{StrategyRow, lessons};
use crate::run::board::{Announced, Status};
use crate::run::choice::{Draw, Mismatch, Strategy, View};
use crate::run::ids::{Seed, TaskId};
use crate::run::rng::Rng;

/// The row of this strategy in [`STRATEGIES`](super::STRATEGIES).
pub(super) const ROW: StrategyRow = StrategyRow {
    name: "surw",
    summary: "every interleaving of the accesses to one object with the same probability",
    good_at: "one contended object",
    promise: "all orders of the accesses to one object, drawn by the seed, have the same probability, if nothing waits",
    weak: "bugs between several objects",
    reaches_all: true,
    create: || lessons(<Surw>::default),
    numbered: &[],
};

/// The SURW strategy. A step costs the logarithm of the number of tasks.
#[derive(Debug, Default)]
pub struct Surw<D = Rng> {
    pub(super) dice: D,
    rehearsal: Rehearsal,
    moments: Moments,
    tally: TaskCounts,
    accesses: Accesses,
    objects: KnownObjects,
    /// The contended objects, each with the number of tasks that access it.
    contested: Vec<(KnownObject, u64)>,
    /// The maximum number of steps of a rehearsal.
    steps_max: u64,
    /// The object of this seed.
    object: Option<KnownObject>,
    /// For each task of the rehearsals, the number of accesses by the task and its descendants.
    counts: Vec<u64>,
    /// For each task of this run, the number of its remaining accesses, including descendants that are not yet spawned.
    weights: Weights,
    /// The number of tasks added so far.
    tasks: usize,
    places: Candidates,
    intended: Option<TaskId>,
    /// The number of steps since a task last became the intended task.
    waited: u64,
}

impl<D: Dice> Surw<D> {
    /// Selects the object of a seed.
    fn select(&mut self) {
        self.object = None;
        let sum = self.contested.iter().map(|(_, n)| n).sum();
        if sum == 0 {
            return;
        }
        let mut left = self.dice.below(sum);
        for (object, n) in &self.contested {
            if left < *n {
                self.object = Some(*object);
                break;
            }
            left -= n;
        }
        self.counts.clear();
        self.counts.resize(self.tally.len(), 0);
        if let Some(object) = self.object {
            for (task, counts) in self.accesses.by_task(object) {
                self.counts[task] = self.rehearsal.typical(counts);
            }
        }
        self.tally.gather(&mut self.counts);
    }

    /// Adds newly spawned tasks. Moves their expected accesses, and perhaps the intention, from their parents to them.
    fn add_tasks(&mut self, view: &View<'_>) {
        for id in self.tasks..view.tasks().len() {
            let task = TaskId(id as u32);
            let known = self.tally.known(view, task, false);
            let count = known.map_or(0, |known| self.counts.get(known).copied().unwrap_or(0));
            self.weights.set(id, count);
            self.places.arrive();
            let Some(parent) = view.tasks()[id].parent else { continue };
            let of_parent = self.weights.get(parent.index());
            let moved = count.min(of_parent);
            self.weights.set(parent.index(), of_parent - moved);
            if self.intended == Some(parent) && moved > 0 && self.dice.below(of_parent) < moved {
                self.intended = Some(task);
            }
        }
        self.tasks = view.tasks().len();
    }

    /// Makes a task the intended task, and frees it if it was held. `None` frees all held tasks.
    #[inline]
    fn intend(&mut self, task: Option<TaskId>) {
        self.intended = task;
        self.waited = 0;
        match task {
            Some(task) if self.places.is_held(task) => self.places.free(task),
            Some(_) => {}
            None => self.free_all(),
        }
    }

    /// Frees all held tasks.
    #[cold]
    fn free_all(&mut self) {
        while let Some(task) = self.places.held().last().copied() {
            self.places.free(task);
        }
    }

    /// Makes one of the enabled held tasks the intended task, drawn uniformly.
    fn intend_held(&mut self, view: &View<'_>) {
        let held = self.places.draw_held(&mut self.dice, view);
        match held {
            Some(task) => self.intend(Some(task)),
            None => self.waited = 0,
        }
    }

    /// Returns `true` if the task accesses the object in its next step.
    #[inline]
    fn accesses(&self, view: &View<'_>, task: TaskId) -> bool {
        let mut announced = view.task(task).announced.iter();
        let known = |a: &Announced| self.objects.of(a.object?);
        self.object.is_some() && announced.any(|a| a.enabled && known(a) == self.object)
    }

    /// Returns `true` if the task accesses the object next although another task is intended. An unexpected access
    /// makes the task the intended task with the same probability as if the access had been expected.
    fn must_wait(&mut self, view: &View<'_>, task: TaskId) -> bool {
        if self.intended.is_none_or(|intended| intended == task) || !self.accesses(view, task) {
            return false;
        }
        if self.weights.get(task.index()) == 0 {
            self.weights.set(task.index(), 1);
            if self.dice.below(self.weights.sum()) == 0 {
                self.intend(Some(task));
            }
        }
        self.intended != Some(task)
    }

    /// Draws the intended task among the tasks with remaining accesses.
    fn draw_intended(&mut self, view: &View<'_>) {
        let drawn = loop {
            let drawn = self.weights.draw(&mut self.dice).map(|task| TaskId(task as u32));
            match drawn {
                // The task ended with fewer accesses than expected.
                Some(task) if view.task(task).status == Status::Done => {
                    self.weights.set(task.index(), 0);
                }
                drawn => break drawn,
            }
        };
        self.intend(drawn);
    }

    /// Holds the tasks that the moments of faults hold.
    #[cold]
    fn hold_for_moments(&mut self, view: &View<'_>) {
        self.moments.see(view);
        for task in view.arrived() {
            self.places.change(view, *task, self.moments.holds(*task));
        }
        while let Some(task) = self.moments.changed() {
            self.places.change(view, task, self.moments.holds(task));
        }
    }

    fn pick_free(&mut self, view: &View<'_>) -> Option<TaskId> {
        loop {
            let Some(task) = self.places.draw_free(&mut self.dice, view) else {
                if self.places.held().is_empty() {
                    return None;
                }
                self.intend_held(view);
                continue;
            };
            if self.must_wait(view, task) {
                self.places.hold(task);
            } else {
                return Some(task);
            }
        }
    }
}

impl<D: Dice> Strategy for Surw<D> {
    fn begin(&mut self, seed: Seed) {
        let first = self.rehearsal.begin();
        self.dice.reseed(seed);
        self.tally.restart();
        self.objects.restart();
        if first {
            self.contested = self.accesses.contested();
            self.moments = self.rehearsal.moments();
        }
        if !self.rehearsal.is_on() {
            self.moments.begin(&mut self.dice);
            self.select();
        }
        self.weights.clear();
        self.tasks = 0;
        self.places.clear();
        self.intended = None;
        self.waited = 0;
    }

    fn rehearsals(&self) -> u32 {
        self.rehearsal.remaining()
    }

    fn sees_forced_steps(&self) -> bool {
        true
    }

    fn pick(&mut self, view: &View<'_>) -> Result<usize, Mismatch> {
        if self.rehearsal.is_on() {
            return Ok(self.rehearsal.pick(&mut self.dice, view));
        }
        self.objects.meet(view, false);
        self.add_tasks(view);
        self.places.let_in(view);
        if self.moments.is_on() {
            self.hold_for_moments(view);
        }
        self.waited += 1;
        if self.intended.is_none() {
            self.draw_intended(view);
        } else if self.waited > 2 * self.steps_max && !self.places.held().is_empty() {
            self.intend_held(view);
        }
        let Some(task) = self.pick_free(view) else {
            // Each task that can step has arrived, unless a moment holds it.
            return Ok(self.moments.pick_held(&mut self.dice, view));
        };
        if self.accesses(view, task) {
            self.weights.set(task.index(), self.weights.get(task.index()).saturating_sub(1));
            self.intended = None;
        }
        Ok(view.task(task).candidate())
    }

    fn draw(&mut self, draw: &Draw) -> Result<u64, Mismatch> {
        Ok(self.dice.below(draw.bound))
    }

    fn end(&mut self, view: &View<'_>) -> Result<(), Mismatch> {
        if !self.rehearsal.is_on() {
            return Ok(());
        }
        self.steps_max = self.steps_max.max(view.step().into());
        let known = (&mut self.tally, &mut self.objects);
        self.accesses.learn(view, known, &self.rehearsal);
        self.rehearsal.end(view);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
