//! POS: each pending operation has a random priority, and the operation with the highest priority runs first.
//! Operations that conflict with it get new priorities.
//!
//! After Yuan, Yang, Gu, *Partial Order Aware Concurrency Sampling* (CAV 2018). After an operation, the next operation
//! of its task gets a priority, and each pending operation that conflicts with the finished operation gets a new
//! priority. POS thus redraws the order of conflicting operations. POS does not redraw the order of other operations,
//! because that order makes no difference.
//!
//! **Promise.** Every partial order of a program has a probability above zero; the paper gives a lower bound. The tests
//! compute the probabilities of all partial orders of small programs. POS is fair with probability 1. POS needs no
//! count of steps or tasks.
//!
//! **Private operations go first.** An operation is private if only one task accessed its object in a few rehearsals. A
//! yield, the first step of a task and an enabled join are also private. Private operations run before all others,
//! because drawing their order at random only dilutes the other orders. For example, without this rule the probability
//! of a lost update behind twenty private operations falls from one run in three to one in forty. The rule would
//! exclude two cases: a late side effect of a private step (such as the drop of a guard), and an object shared only in
//! other runs. Therefore one seed in [four](PLAIN) has no private operations. If a run takes more private steps than
//! any rehearsal took steps, a task probably waits in a loop, so the rest of the run has no private operations.
//!
//! **Not promised.** The probability of a partial order shrinks with the number of conflicting operations. PCT is
//! better at bugs that need few, widely separated orderings. A step costs the logarithm of the number of tasks, plus
//! the same for each pending operation that conflicts with the finished operation.

use super::dice::{Dice, PRIORITY_BITS};
use super::moments::Moments;
use super::pending_by_object::PendingByObject;
use super::queue::TaskQueue;
use super::rehearsal::Rehearsal;
use super::{StrategyRow, lessons};
use crate::run::board::{Announced, Status, TaskRow};
use crate::run::choice::{Draw, Mismatch, Strategy, View};
use crate::run::ids::{Seed, TaskId};
use crate::run::rng::Rng;

/// The row of this strategy in [`STRATEGIES`](super::STRATEGIES).
pub(super) const ROW: StrategyRow = StrategyRow {
    name: "pos",
    summary: "the announced operation of highest priority; conflicts deal priorities anew",
    good_at: "conflicts among much that is private",
    promise: "every partial order is possible",
    weak: "bugs of few orderings far apart",
    reaches_all: true,
    create: || lessons(<Pos>::default),
    numbered: &[],
};

/// One seed in this many has no private operations.
const PLAIN: u64 = 4;

/// The key of private operations, which is higher than all random priorities.
const FIRST: u64 = 1 << PRIORITY_BITS;

/// The tasks that accessed an object in a rehearsal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Touched {
    Nobody,
    By(TaskId),
    Shared,
}

/// The POS strategy.
#[derive(Debug, Default)]
pub struct Pos<D = Rng> {
    pub(super) dice: D,
    rehearsal: Rehearsal,
    moments: Moments,
    /// For each object, true if several tasks accessed it in a rehearsal. Unknown objects count as shared.
    shared: Vec<bool>,
    /// For each object, the tasks that accessed it in the rehearsal that is ending.
    touched: Vec<Touched>,
    /// True if this run has no private operations.
    plain: bool,
    /// The maximum number of steps of a rehearsal, and the number of private steps of this run.
    steps_max: u64,
    private_steps: u64,
    queue: TaskQueue,
    stands: PendingByObject,
    /// Tasks that may need a new priority after the last step, and may be private.
    again: Vec<TaskId>,
    /// For each task, true if it has stepped.
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

    /// Draws the key of the task's next step.
    #[inline(always)]
    fn deal(&mut self, row: &TaskRow, task: TaskId) -> u64 {
        // The next operation of a task that was woken without an announcement is unknown.
        let private = match row.announced.is_empty() {
            true => self.started.get(task.index()) != Some(&true),
            false => !row.announced.any(|announced| !self.is_private(announced)),
        };
        match private && !self.plain && !row.aborted {
            true => FIRST,
            false => self.dice.priority(),
        }
    }

    /// Draws new priorities for the pending operations that conflict with the last step, taken by `task`.
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

    /// Like [`redeal`](Self::redeal), but also handles lists of tasks, and several tasks at an object that counted as
    /// private.
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

    /// Draws new keys for tasks at an object that counted as private.
    #[cold]
    fn deal_again(&mut self, view: &View<'_>) {
        while let Some(task) = self.again.pop() {
            if self.queue.has(task) {
                let key = self.deal(view.task(task), task);
                self.queue.set(task, key);
            }
        }
    }

    /// Records that the task takes the next step.
    #[inline]
    fn step_of(&mut self, task: TaskId) {
        self.last = Some(task);
        if self.started.get(task.index()) != Some(&true) {
            self.start(task);
        }
    }

    /// Records the first step of the task.
    #[cold]
    fn start(&mut self, task: TaskId) {
        if self.started.len() <= task.index() {
            self.started.resize(task.index() + 1, false);
        }
        self.started[task.index()] = true;
    }

    /// Clears the state of the last run.
    fn restart(&mut self) {
        self.private_steps = 0;
        self.queue.clear();
        self.stands.clear();
        self.started.clear();
        self.last = None;
    }

    /// Learns from a rehearsal.
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
            // An object without accesses may be shared in other runs.
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
        if self.rehearsal.begin() {
            self.moments = self.rehearsal.moments();
        }
        self.dice.reseed(seed);
        self.plain = !self.rehearsal.is_on() && self.dice.below(PLAIN) == 0;
        if !self.rehearsal.is_on() {
            self.moments.begin(&mut self.dice);
        }
        self.restart();
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
        if self.moments.is_on() {
            self.moments.see(view);
        }
        if let Some(task) = self.last {
            self.redeal(view, task);
            let row = view.task(task);
            self.stands.update(task, &row.announced);
            if row.status == Status::Ready && !self.moments.holds(task) {
                let key = self.deal(row, task);
                self.queue.set(task, key);
            } else {
                self.queue.remove(task);
            }
        }
        for task in view.arrived() {
            let row = view.task(*task);
            if row.status == Status::Ready && !self.queue.has(*task) && !self.moments.holds(*task) {
                let key = self.deal(row, *task);
                self.queue.set(*task, key);
            }
        }
        while let Some(task) = self.moments.changed() {
            let row = view.task(task);
            if self.moments.holds(task) {
                self.queue.remove(task);
            } else if row.status == Status::Ready && !self.queue.has(task) {
                let key = self.deal(row, task);
                self.queue.set(task, key);
            }
        }
        let Some((key, task)) = self.queue.top(view) else {
            // Each task that can step has arrived, unless it is held.
            let at = self.moments.pick_held(&mut self.dice, view);
            self.step_of(view.candidates()[at]);
            return Ok(at);
        };
        if key == FIRST {
            // A task may wait in a loop for something outside this library.
            self.private_steps += 1;
            self.plain |= self.private_steps > self.steps_max;
        }
        self.step_of(task);
        Ok(view.task(task).candidate())
    }

    fn draw(&mut self, draw: &Draw) -> Result<u64, Mismatch> {
        Ok(self.dice.below(draw.bound))
    }

    fn end(&mut self, view: &View<'_>) -> Result<(), Mismatch> {
        if self.rehearsal.is_on() {
            self.steps_max = self.steps_max.max(view.step().into());
            self.learn(view);
            self.rehearsal.end(view);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
