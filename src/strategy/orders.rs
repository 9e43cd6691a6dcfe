//! Orders: for every object that tasks compete for, each order of the accesses to it has the same
//! probability; all else is walked at random.
//!
//! Two schedules differ, for the tasks, in no more than the order of the accesses to each object. A
//! random walk draws far more than that, and favours orders that many schedules have. Here each object
//! draws its own: one task is *intended* to access it next, in proportion to the accesses that it and its
//! descendants not yet spawned have left, and a task that would access the object and is not intended is
//! held until it is. So it is SURW (see there for the paper) with an intention for each object in the
//! place of one for all; what follows from that is ours.
//!
//! **Promise.** If the numbers of accesses are what is expected and no task waits for another, a run in
//! which no object is left out and nobody is favoured has any one choice of an order for each object, as
//! far as the program allows it, with a probability of at least the product, over the objects, of 1 /
//! (number of orders of its accesses): a choice of intentions that does not contradict the program is
//! always carried out. It is exactly that if the program allows all choices. Whatever the counts, every
//! interleaving is possible. The tests compute all of it.
//!
//! **Some objects are left out.** A seed leaves each object to the walk with a probability of
//! [1/6](LEFT_OUT). Rules for all are a burden to bugs in which one object matters and has others around
//! it: much of what was drawn for those is then not what the bug needs.
//!
//! **Few among many.** That one reader is there before forty writers is one order of forty-one classes of
//! orders that differ for nobody but the reader. So where few of the tasks at an object have a *part* of
//! their own, which is what they do to all the objects, each of two thirds of the seeds puts one part before
//! all others there, or all others before it: [`contested`] has how.
//!
//! **Circles.** If a task takes a lock while it holds another, one run of [5](CIRCLES) has no order for
//! any object and looks for tasks that wait for each other: [`chains`] has how.
//!
//! **What is learnt.** As in SURW: in a few rehearsals, which objects several tasks access, not all of
//! them to read, and how often each task does. Half of the seeds expect the most of each; the others
//! what one rehearsal had, which was possible as a whole: the most are the accesses of both branches of
//! an `if`.
//!
//! **What is not promised.** If all that can step are held, because the intentions contradict each other
//! or because of counts that are wrong, any of them goes on; it is then the order of another choice. A run of
//! more than twice the steps of any rehearsal goes on as a random walk. Where tasks go through the same
//! objects in different orders, drawing for each object by itself draws much that is not possible: URW is
//! better there.

mod chains;
mod contested;

use std::collections::BTreeMap;

use self::chains::Chains;
use self::contested::{Contested, Counts, MOST};
use super::accesses::Accesses;
use super::dice::Dice;
use super::places::Places;
use super::rehearsal::Rehearsal;
use super::tally::Tally;
use crate::choice::{Announcements, Draw, Mismatch, Status, Strategy, View};
use crate::ids::{ObjectId, Seed, TaskId};
use crate::rng::Rng;

/// One object of so many is left to the walk.
const LEFT_OUT: u64 = 6;

/// If there are chains of locks, one run of so many looks for circles.
const CIRCLES: u64 = 5;

/// What a task of the rehearsals accesses, itself or by its descendants.
#[derive(Clone, Copy, Debug)]
struct Expected {
    /// The object, as a position in [`Orders::contested`].
    object: usize,
    /// The position of the task there.
    taker: usize,
}

/// Orders. A step costs the logarithm of the number of tasks and that of the number of objects.
#[derive(Debug, Default)]
pub(crate) struct Orders<D = Rng> {
    dice: D,
    rehearsal: Rehearsal,
    tally: Tally,
    accesses: Accesses,
    /// By object: its position in `contested`.
    positions: Vec<Option<usize>>,
    contested: Vec<Contested>,
    /// In the order of the tasks of the rehearsals, for each in that of the objects.
    expected: Vec<Expected>,
    /// By task of the rehearsals: where its part of `expected` begins; at the end where the last one ends.
    parts: Vec<usize>,
    /// The most steps that a rehearsal took, and those of this run.
    steps_max: u64,
    step: u64,
    /// Which of the counts are expected in this run.
    which: usize,
    /// By task of this run: the task of the rehearsals, if one had it.
    known: Vec<Option<usize>>,
    places: Places,
    /// Of the task looked at last: the objects that it accesses, each with its position there.
    accessed: Vec<(usize, usize)>,
    chains: Chains,
    /// Whether this run looks for circles of locks, and nothing else.
    circles: bool,
}

impl<D: Dice> Orders<D> {
    /// A run begins; false if it is a rehearsal, otherwise what a seed draws is still to be drawn.
    fn restart(&mut self, seed: Seed) -> bool {
        if self.rehearsal.begin() {
            self.learnt();
        }
        self.dice.reseed(seed);
        self.tally.restart();
        self.known.clear();
        self.places.clear();
        self.step = 0;
        self.chains.restart();
        !self.rehearsal.is_on()
    }

    /// The rehearsals are over: what do tasks compete for, and how often does each access it?
    fn learnt(&mut self) {
        let accesses = std::mem::take(&mut self.accesses);
        let objects: Vec<_> = accesses.contested().into_iter().map(|(object, _)| object).collect();
        let parts = accesses.parts(&objects, self.tally.len());
        let mut all: BTreeMap<(usize, usize), Counts> = BTreeMap::new();
        for (position, object) in objects.into_iter().enumerate() {
            self.positions.resize(object.index() + 1, None);
            self.positions[object.index()] = Some(position);
            self.contested.push(Contested::default());
            for (task, counts) in accesses.of(object) {
                let own = all.entry((task, position)).or_default();
                own[..MOST].copy_from_slice(counts);
                own[MOST] = counts.iter().copied().max().unwrap_or(0);
                // What a task does is expected of its parent until it is spawned.
                let mut child = task;
                while let Some(parent) = self.tally.parent(child) {
                    all.entry((parent, position)).or_default();
                    child = parent;
                }
            }
        }
        for ((task, object), counts) in all {
            self.parts.resize(task + 1, self.expected.len());
            let parent = self.tally.parent(task);
            let part = parts[task].filter(|_| counts[MOST] > 0);
            let parent = self.taker(parent, object);
            let taker = self.contested[object].add(counts, part, parent);
            self.expected.push(Expected { object, taker });
        }
        self.parts.resize(self.tally.len() + 1, self.expected.len());
        self.contested.iter_mut().for_each(Contested::count_parts);
    }

    /// The positions of what is expected of a task of the rehearsals.
    fn part(&self, known: Option<usize>) -> std::ops::Range<usize> {
        known.map_or(0..0, |known| self.parts[known]..self.parts[known + 1])
    }

    /// The position of a task of the rehearsals in the tables of an object, if it is expected there.
    fn taker(&self, known: Option<usize>, object: usize) -> Option<usize> {
        let part = &self.expected[self.part(known)];
        let at = part.binary_search_by_key(&object, |expected| expected.object).ok()?;
        Some(part[at].taker)
    }

    /// Takes in tasks that were spawned: the accesses expected of them were expected of their
    /// parents, and so may be the intentions.
    fn take_in(&mut self, view: &View<'_>) {
        for id in self.known.len()..view.tasks().len() {
            let task = TaskId(id as u32);
            let known = self.tally.known(view, task, false);
            self.known.push(known);
            self.places.arrive();
            for at in self.part(known) {
                let Expected { object, taker } = self.expected[at];
                self.contested[object].take_in(taker, task, &mut self.dice);
            }
        }
    }

    /// A task that has ended accesses nothing any more, whatever was expected of it.
    fn dismiss(&mut self, task: TaskId) {
        for at in self.part(self.known[task.index()]) {
            let Expected { object, taker } = self.expected[at];
            if self.contested[object].dismiss(taker, task) {
                self.intend(object);
            }
        }
    }

    /// Draws who is intended to access an object next. If it was held it is free.
    fn intend(&mut self, object: usize) {
        let drawn = self.contested[object].intend(&mut self.dice);
        if let Some(task) = drawn.filter(|task| self.places.is_held(*task)) {
            self.places.free(task);
        }
    }

    /// Finds the objects with an order of their own that the task accesses when it steps.
    fn look_up(&mut self, view: &View<'_>, task: TaskId) {
        self.accessed.clear();
        if self.circles {
            return;
        }
        let Announcements { first, more } = &view.task(task).announced;
        for announced in std::slice::from_ref(first).iter().chain(more) {
            if let (true, Some(object)) = (announced.enabled, announced.object) {
                self.look_up_object(task, object);
            }
        }
    }

    /// One at which no rehearsal saw the task is left to the walk.
    #[inline]
    fn look_up_object(&mut self, task: TaskId, object: ObjectId) {
        let Some(Some(object)) = self.positions.get(object.index()).copied() else { return };
        if self.contested[object].is_left_out {
            return;
        }
        if let Some(taker) = self.taker(self.known[task.index()], object) {
            self.accessed.push((object, taker));
        }
    }

    /// Whether the task accesses an object although another one is intended.
    fn is_to_wait(&mut self, task: TaskId) -> bool {
        for at in 0..self.accessed.len() {
            let (object, taker) = self.accessed[at];
            let contested = &mut self.contested[object];
            contested.expect(taker, task, &mut self.dice);
            if contested.intended().is_none() {
                self.intend(object);
            }
            if self.contested[object].intended() != Some(task) {
                return true;
            }
        }
        false
    }

    /// The task steps: each object that it accesses goes to whoever is intended next.
    fn pass_on(&mut self) {
        for at in 0..self.accessed.len() {
            let (object, taker) = self.accessed[at];
            self.contested[object].count(taker);
            self.intend(object);
        }
    }
}

impl<D: Dice> Strategy for Orders<D> {
    fn begin(&mut self, seed: Seed) {
        if !self.restart(seed) {
            return;
        }
        let most = MOST as u64;
        self.which = self.dice.below(2 * most).min(most) as usize;
        self.circles = self.chains.are_there() && self.dice.below(CIRCLES) == 0;
        for contested in &mut self.contested {
            contested.is_left_out = self.dice.below(LEFT_OUT) == 0;
            let favour = contested.draw_favour(&mut self.dice);
            contested.restart(self.which, favour);
        }
    }

    fn rehearsals(&self) -> u32 {
        self.rehearsal.left()
    }

    fn sees_forced_steps(&self) -> bool {
        true
    }

    fn pick(&mut self, view: &View<'_>) -> Result<usize, Mismatch> {
        self.step += 1;
        if self.rehearsal.is_on() {
            return Ok(self.rehearsal.pick(&mut self.dice, view));
        }
        if self.step > self.steps_max.saturating_mul(2) {
            return Ok(self.dice.below(view.candidates().len() as u64) as usize);
        }
        self.take_in(view);
        if let Some(last) = view.last().filter(|last| view.task(*last).status == Status::Done) {
            self.dismiss(last);
        }
        self.places.let_in(view);
        if self.circles {
            self.chains.watch(view);
        }
        let task = loop {
            if let Some(task) = self.places.draw_free(&mut self.dice, view) {
                self.look_up(view, task);
                let waits = match self.circles {
                    true => self.chains.is_in_one(view, task),
                    false => self.is_to_wait(task),
                };
                if !waits {
                    break task;
                }
                self.places.hold(task);
                continue;
            }
            let Some(task) = self.places.draw_held(&mut self.dice, view) else {
                // Cannot be: whoever can step has arrived.
                return Ok(0);
            };
            self.places.free(task);
            self.look_up(view, task);
            break task;
        };
        self.pass_on();
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
        self.accesses.learn(view, &mut self.tally, &self.rehearsal);
        self.chains.watch(view);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
