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
use std::collections::btree_map::Entry;

use self::chains::Chains;
use self::contested::{Contested, Counts, MOST};
use super::accesses::Accesses;
use super::dice::Dice;
use super::places::Places;
use super::rehearsal::Rehearsal;
use super::tally::Tally;
use crate::run::board::{Announced, Announcements, Status};
use crate::run::choice::{Draw, Mismatch, Strategy, View};
use crate::run::ids::{Seed, TaskId};
use crate::run::rng::Rng;

/// One object of so many is left to the walk.
const LEFT_OUT: u64 = 6;

/// If there are chains of locks, one run of so many looks for circles.
const CIRCLES: u64 = 5;

/// An object at which a task is expected, itself or by its descendants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Expected {
    /// The object, as a position in [`Orders::contested`].
    object: u32,
    /// The position of the task there.
    taker: u32,
}

/// What a task accesses when it steps, of the objects that have an order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stand {
    Nowhere,
    At(Expected),
    /// Several objects, inside a `join!`.
    AtSeveral,
}

/// Orders. A step costs the logarithm of the number of tasks and that of the number of objects.
#[derive(Debug, Default)]
pub(crate) struct Orders<D = Rng> {
    dice: D,
    rehearsal: Rehearsal,
    tally: Tally,
    accesses: Accesses,
    /// By object: its position in `contested`.
    positions: Vec<Option<u32>>,
    contested: Vec<Contested>,
    /// In the order of the tasks of the rehearsals, for each in that of the objects.
    expected: Vec<Expected>,
    /// By task of the rehearsals: where its part of `expected` begins; at the end where the last one ends.
    parts: Vec<usize>,
    /// The most steps that a rehearsal took, and those of this run.
    steps_max: u64,
    step: u64,
    /// By task of this run: the task of the rehearsals, if one had it.
    known: Vec<Option<usize>>,
    places: Places,
    /// By task of this run: where it stands, as long as it can step.
    stands: Vec<Stand>,
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
        self.stands.clear();
        self.step = 0;
        self.chains.restart();
        !self.rehearsal.is_on()
    }

    /// The rehearsals are over: what do tasks compete for, and how often does each access it?
    fn learnt(&mut self) {
        let accesses = std::mem::take(&mut self.accesses);
        let objects: Vec<_> = accesses.contested().into_iter().map(|(object, _)| object).collect();
        let parts = accesses.parts(&objects, self.tally.len());
        let mut all: BTreeMap<(usize, u32), Counts> = BTreeMap::new();
        for (position, object) in (0..).zip(objects) {
            self.positions.resize(object.index() + 1, None);
            self.positions[object.index()] = Some(position);
            self.contested.push(Contested::default());
            for (task, counts) in accesses.of(object) {
                let own = all.entry((task, position)).or_default();
                own[..MOST].copy_from_slice(counts);
                own[MOST] = counts.iter().copied().max().unwrap_or(0);
                // What a task does is expected of its parent until it is spawned. Who is there already
                // has all its ancestors there.
                let mut child = task;
                while let Some(parent) = self.tally.parent(child) {
                    let Entry::Vacant(entry) = all.entry((parent, position)) else { break };
                    entry.insert(Counts::default());
                    child = parent;
                }
            }
        }
        for ((task, object), counts) in all {
            self.parts.resize(task + 1, self.expected.len());
            let parent = self.tally.parent(task);
            let part = parts[task].filter(|_| counts[MOST] > 0);
            let parent = self.expected_at(parent, object).map(|parent| parent.taker as usize);
            let taker = self.contested[object as usize].add(counts, part, parent) as u32;
            self.expected.push(Expected { object, taker });
        }
        self.parts.resize(self.tally.len() + 1, self.expected.len());
        self.contested.iter_mut().for_each(Contested::count_parts);
    }

    /// The positions of what is expected of a task of the rehearsals.
    fn part(&self, known: Option<usize>) -> std::ops::Range<usize> {
        known.map_or(0..0, |known| self.parts[known]..self.parts[known + 1])
    }

    /// What is expected of a task of the rehearsals at an object, if anything is.
    #[inline(never)]
    fn expected_at(&self, known: Option<usize>, object: u32) -> Option<Expected> {
        let part = &self.expected[self.part(known)];
        let at = part.binary_search_by_key(&object, |expected| expected.object).ok()?;
        Some(part[at])
    }

    /// Takes in tasks that were spawned: the accesses expected of them were expected of their
    /// parents, and so may be the intentions.
    #[cold]
    fn take_in(&mut self, view: &View<'_>) {
        for id in self.known.len()..view.tasks().len() {
            let task = TaskId(id as u32);
            let known = self.tally.known(view, task, false);
            self.known.push(known);
            self.places.arrive();
            self.stands.push(Stand::Nowhere);
            for at in self.part(known) {
                let Expected { object, taker } = self.expected[at];
                // If the parent was intended and is no longer: it has just stepped, and is looked at next.
                let contested = &mut self.contested[object as usize];
                contested.take_in(taker as usize, task, &mut self.dice);
            }
        }
    }

    /// A task that has ended accesses nothing any more, whatever was expected of it.
    #[cold]
    fn dismiss(&mut self, view: &View<'_>, task: TaskId) {
        for at in self.part(self.known[task.index()]) {
            let Expected { object, taker } = self.expected[at];
            if self.contested[object as usize].dismiss(taker as usize, task) {
                self.intend_anew(view, object as usize);
            }
        }
    }

    /// What the task has announced may be another than it was, or can be done now: finds where it stands,
    /// and whether it is to wait there.
    #[inline(never)]
    fn look_at(&mut self, view: &View<'_>, task: TaskId) {
        let stand = self.stand(view, task);
        self.stands[task.index()] = stand;
        let waits = match stand {
            Stand::Nowhere => self.circles && self.chains.is_in_one(view, task),
            Stand::At(access) => self.is_to_wait(view, task, access),
            Stand::AtSeveral => self.is_to_wait_somewhere(view, task),
        };
        match waits {
            true => self.places.hold_one(task),
            false => self.places.free_one(task),
        }
    }

    #[cold]
    fn is_to_wait_somewhere(&mut self, view: &View<'_>, task: TaskId) -> bool {
        // It is asked at all of them: what is expected at one does not depend on the others.
        let mut waits = false;
        for announced in view.task(task).announced.iter() {
            if let Some(access) = self.access(task, announced) {
                waits |= self.is_to_wait(view, task, access);
            }
        }
        waits
    }

    /// Where the task stands. An object at which no rehearsal saw it is left to the walk.
    #[inline]
    fn stand(&self, view: &View<'_>, task: TaskId) -> Stand {
        if self.circles {
            return Stand::Nowhere;
        }
        let Announcements { first, more } = &view.task(task).announced;
        if !more.is_empty() {
            return Stand::AtSeveral;
        }
        let Some(object) = self.object(first) else { return Stand::Nowhere };
        match self.stands[task.index()] {
            // Mostly where it was.
            Stand::At(access) if access.object == object => Stand::At(access),
            _ => {
                let expected = self.expected_at(self.known[task.index()], object);
                expected.map_or(Stand::Nowhere, Stand::At)
            }
        }
    }

    /// The object with an order that is accessed, as a position in `contested`.
    #[inline]
    fn object(&self, announced: &Announced) -> Option<u32> {
        let object = announced.object.filter(|_| announced.enabled)?;
        let object = (*self.positions.get(object.index())?)?;
        (!self.contested[object as usize].is_left_out).then_some(object)
    }

    fn access(&self, task: TaskId, announced: &Announced) -> Option<Expected> {
        self.expected_at(self.known[task.index()], self.object(announced)?)
    }

    /// The task stands at an object: whether another one is intended there.
    #[inline(always)]
    fn is_to_wait(&mut self, view: &View<'_>, task: TaskId, access: Expected) -> bool {
        let Expected { object, taker } = access;
        let object = object as usize;
        let before = self.contested[object].intended();
        if self.contested[object].expect(taker as usize, task, &mut self.dice) {
            self.displace(before, object);
        }
        if before.is_none() {
            self.intend_anew(view, object);
        }
        self.contested[object].intended() != Some(task)
    }

    /// A task that was the intended one at an object may be it no longer: then it waits if it stands there.
    #[cold]
    fn displace(&mut self, before: Option<TaskId>, object: usize) {
        let Some(task) = before.filter(|_| before != self.contested[object].intended()) else {
            return;
        };
        let waits = match self.stands[task.index()] {
            Stand::Nowhere => false,
            Stand::At(access) => access.object as usize == object,
            // If it stands elsewhere it goes on when nobody else can.
            Stand::AtSeveral => true,
        };
        if waits && self.places.is_free(task) {
            self.places.hold(task);
        }
    }

    /// Draws who is intended to access an object next. If it was held there it is free.
    #[inline(always)]
    fn intend(&mut self, view: &View<'_>, object: usize) {
        let drawn = self.contested[object].intend(&mut self.dice);
        if let Some(task) = drawn.filter(|task| self.places.is_held(*task)) {
            let is_free = match self.stands[task.index()] {
                Stand::Nowhere => false,
                Stand::At(access) => access.object as usize == object,
                Stand::AtSeveral => self.is_intended_everywhere(view, task),
            };
            if is_free {
                self.places.free(task);
            }
        }
    }

    #[cold]
    fn intend_anew(&mut self, view: &View<'_>, object: usize) {
        self.intend(view, object);
    }

    #[cold]
    fn is_intended_everywhere(&self, view: &View<'_>, task: TaskId) -> bool {
        let is_intended =
            |access: Expected| self.contested[access.object as usize].intended() == Some(task);
        let announced = view.task(task).announced.iter();
        announced.filter_map(|announced| self.access(task, announced)).all(is_intended)
    }

    /// The task steps: each object that it accesses goes to whoever is intended next.
    #[inline]
    fn pass_on(&mut self, view: &View<'_>, task: TaskId) {
        match self.stands[task.index()] {
            Stand::Nowhere => {}
            Stand::At(access) => self.pass_on_one(view, access),
            Stand::AtSeveral => self.pass_on_several(view, task),
        }
    }

    #[inline(always)]
    fn pass_on_one(&mut self, view: &View<'_>, Expected { object, taker }: Expected) {
        self.contested[object as usize].count(taker as usize);
        self.intend(view, object as usize);
    }

    #[cold]
    fn pass_on_several(&mut self, view: &View<'_>, task: TaskId) {
        for announced in view.task(task).announced.iter() {
            if let Some(access) = self.access(task, announced) {
                self.pass_on_one(view, access);
            }
        }
    }
}

impl<D: Dice> Strategy for Orders<D> {
    fn begin(&mut self, seed: Seed) {
        if !self.restart(seed) {
            return;
        }
        let most = MOST as u64;
        let which = self.dice.below(2 * most).min(most) as usize;
        self.circles = self.chains.are_there() && self.dice.below(CIRCLES) == 0;
        for contested in &mut self.contested {
            contested.is_left_out = self.dice.below(LEFT_OUT) == 0;
            let favour = contested.draw_favour(&mut self.dice);
            contested.restart(which, favour);
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
        if self.known.len() < view.tasks().len() {
            self.take_in(view);
        }
        if self.circles {
            self.chains.watch(view);
        }
        if let Some(last) = view.last() {
            match view.task(last).status {
                Status::Ready => self.look_at(view, last),
                Status::Blocked => {}
                Status::Done => self.dismiss(view, last),
            }
        }
        self.places.let_in(view);
        for task in view.arrived() {
            if view.task(*task).status == Status::Ready {
                self.look_at(view, *task);
            }
        }
        let free = self.places.draw_free(&mut self.dice, view);
        let Some(task) = free.or_else(|| self.places.draw_held(&mut self.dice, view)) else {
            // Cannot be: whoever can step has arrived.
            return Ok(0);
        };
        self.pass_on(view, task);
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
