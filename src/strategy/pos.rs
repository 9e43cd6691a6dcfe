//! POS: each announced operation has a random priority and the highest goes first; what conflicts with
//! it gets a new one.
//!
//! After Yuan, Yang, Gu, *Partial Order Aware Concurrency Sampling* (CAV 2018). When an
//! operation was done, the task's next one gets a priority, and so does every announced operation that
//! conflicts with it: their order is then decided anew, while the order of what does not conflict,
//! which makes no difference, is not drawn twice.
//!
//! **Promise.** Every partial order of a program has a probability above zero, with a lower bound that
//! the paper gives; the tests compute that of all partial orders of small programs. Almost surely
//! fair. It needs no count of steps or tasks.
//!
//! **Private operations go first.** What touches an object that only one task was seen to touch in a
//! few rehearsals, a yield, the first step of a task and a join that can be done run before all else:
//! deciding on their order only dilutes what is left (a lost update behind twenty private operations
//! falls from one run in three to one in forty otherwise). Two things would get lost: what a step does
//! beside its operation (drop a guard) would never come late, and an object might be shared in other
//! runs only. So one seed in [four](PLAIN) has no private operations; nor has the
//! rest of a run in which there were more of them than a rehearsal had steps: somebody waits in a loop.
//!
//! **What is not promised.** Probability shrinks with the number of conflicting operations, and bugs
//! of few orderings far apart are better left to PCT. A step costs the logarithm of the number of
//! tasks, and as much for each announced operation that conflicts with the one done.

use super::dice::{Dice, PRIORITY_BITS};
use super::queue::Queue;
use super::rehearsal::Rehearsal;
use super::stands::Stands;
use crate::run::board::{Announced, Status, TaskRow};
use crate::run::choice::{Draw, Mismatch, Strategy, View};
use crate::run::ids::{Seed, TaskId};
use crate::run::rng::Rng;

/// One seed of so many has no private operations.
const PLAIN: u64 = 4;

/// Keys of private operations are at least this.
const FIRST: u64 = 1 << PRIORITY_BITS;

/// Who was seen to touch an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Touched {
    Nobody,
    By(TaskId),
    Shared,
}

/// POS.
#[derive(Debug, Default)]
pub(crate) struct Pos<D = Rng> {
    dice: D,
    rehearsal: Rehearsal,
    /// By object: whether several tasks touched it in a rehearsal. Others are shared, too.
    shared: Vec<bool>,
    /// By object, for the rehearsal that ends.
    touched: Vec<Touched>,
    /// Whether this run has no private operations.
    plain: bool,
    /// The most steps that a rehearsal took, and the private ones of this run.
    steps_max: u64,
    private_steps: u64,
    queue: Queue,
    stands: Stands,
    /// Tasks that may get another priority after the last step, and may be private.
    again: Vec<TaskId>,
    /// By task: whether it has stepped.
    started: Vec<bool>,
    /// The task that was chosen last.
    last: Option<TaskId>,
}

impl<D: Dice> Pos<D> {
    fn is_private(&self, announced: &Announced) -> bool {
        match announced.object {
            Some(object) => self.shared.get(object.index()) == Some(&false),
            None => true,
        }
    }

    /// The key of what the task does next.
    #[inline(always)]
    fn deal(&mut self, row: &TaskRow, task: TaskId) -> u64 {
        // Of one that something else woke it is not known what it is going to do.
        let private = match row.announced.is_empty() {
            true => self.started.get(task.index()) != Some(&true),
            false => !row.announced.any(|announced| !self.is_private(announced)),
        };
        match private && !self.plain && !row.aborted {
            true => FIRST,
            false => self.dice.priority(),
        }
    }

    /// The task stepped: what conflicts with what it did gets new priorities.
    #[inline]
    fn redeal(&mut self, view: &View<'_>, task: TaskId) {
        let Pos { stands, shared, plain, queue, dice, .. } = self;
        match stands.few_rivals(task) {
            Some(few) if *plain || shared.get(few.object.index()) != Some(&false) => {
                few.tasks().for_each(|other| queue.renew(other, || dice.priority()));
            }
            _ => self.redeal_some(view, task),
        }
    }

    /// As [`redeal`](Self::redeal), where there are lists of tasks or several are at an object that only
    /// one was seen to touch.
    #[inline(never)]
    fn redeal_some(&mut self, view: &View<'_>, task: TaskId) {
        let Pos { stands, shared, plain, queue, dice, again, .. } = self;
        stands.rivals(task, |object, other| {
            if !*plain && shared.get(object.index()) == Some(&false) {
                again.push(other);
            } else {
                queue.renew(other, || dice.priority());
            }
        });
        if !self.again.is_empty() {
            self.deal_again(view);
        }
    }

    /// Several tasks are at an object that only one was seen to touch.
    #[cold]
    fn deal_again(&mut self, view: &View<'_>) {
        while let Some(task) = self.again.pop() {
            if self.queue.has(task) {
                let key = self.deal(view.task(task), task);
                self.queue.set(task, key);
            }
        }
    }

    /// The task takes its first step.
    #[cold]
    fn start(&mut self, task: TaskId) {
        if self.started.len() <= task.index() {
            self.started.resize(task.index() + 1, false);
        }
        self.started[task.index()] = true;
    }

    /// Forgets the last run.
    fn restart(&mut self) {
        self.private_steps = 0;
        self.queue.clear();
        self.stands.clear();
        self.started.clear();
        self.last = None;
    }

    /// Takes in a rehearsal.
    fn learn(&mut self, view: &View<'_>) {
        self.touched.clear();
        for event in view.events() {
            let Some(object) = event.object else { continue };
            if self.touched.len() <= object.index() {
                self.touched.resize(object.index() + 1, Touched::Nobody);
            }
            let touched = &mut self.touched[object.index()];
            *touched = match *touched {
                Touched::Nobody => Touched::By(event.task),
                Touched::By(task) if task == event.task => Touched::By(task),
                _ => Touched::Shared,
            };
        }
        for (object, touched) in self.touched.iter().enumerate() {
            // What nobody touched may be anything.
            let shared = !matches!(touched, Touched::By(_));
            match self.shared.get_mut(object) {
                Some(known) => *known |= shared,
                None => self.shared.push(shared),
            }
        }
    }
}

impl<D: Dice> Strategy for Pos<D> {
    fn begin(&mut self, seed: Seed) {
        self.rehearsal.begin();
        self.dice.reseed(seed);
        self.plain = !self.rehearsal.is_on() && self.dice.below(PLAIN) == 0;
        self.restart();
    }

    fn rehearsals(&self) -> u32 {
        self.rehearsal.left()
    }

    fn sees_forced_steps(&self) -> bool {
        true
    }

    fn pick(&mut self, view: &View<'_>) -> Result<usize, Mismatch> {
        if self.rehearsal.is_on() {
            return Ok(self.rehearsal.pick(&mut self.dice, view));
        }
        if let Some(task) = self.last {
            self.redeal(view, task);
            let row = view.task(task);
            self.stands.note(task, &row.announced);
            if row.status == Status::Ready {
                let key = self.deal(row, task);
                self.queue.set(task, key);
            } else {
                self.queue.remove(task);
            }
        }
        for task in view.arrived() {
            let row = view.task(*task);
            if row.status == Status::Ready && !self.queue.has(*task) {
                let key = self.deal(row, *task);
                self.queue.set(*task, key);
            }
        }
        let Some((key, task)) = self.queue.top(view) else {
            // Cannot be: whoever can step has arrived.
            return Ok(0);
        };
        if key == FIRST {
            // Somebody may wait in a loop for something that is not of this library.
            self.private_steps += 1;
            self.plain |= self.private_steps > self.steps_max;
        }
        self.last = Some(task);
        if self.started.get(task.index()) != Some(&true) {
            self.start(task);
        }
        Ok(view.task(task).candidate())
    }

    fn draw(&mut self, draw: &Draw) -> Result<u64, Mismatch> {
        Ok(self.dice.below(draw.bound))
    }

    fn end(&mut self, view: &View<'_>) -> Result<(), Mismatch> {
        if self.rehearsal.is_on() {
            self.steps_max = self.steps_max.max(view.step().into());
            self.learn(view);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
