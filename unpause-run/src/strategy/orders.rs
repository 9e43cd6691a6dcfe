//! Orders: gives every order of the accesses to each contended object the same probability. All other choices are a
//! random walk.
//!
//! For the tasks, two schedules differ only in the order of the accesses to each object. A random walk also draws the
//! order of other steps, and favours access orders that many schedules have. This strategy draws an order for each
//! object. One task is *intended* to access the object next, with a probability in proportion to its remaining
//! accesses, including descendants that are not yet spawned. Any other task is held before an access to the object
//! until it is the intended task. The strategy is SURW (the file of SURW names the paper) with a separate intention for
//! each object. The conclusions below are ours, not from the paper.
//!
//! **Promise.** Assume that the numbers of accesses are as expected, no task waits for another, and the run has no
//! left-out objects and no favours. Let a combination contain one order of accesses for each object. Each possible
//! combination has a probability of at least the product, over the objects, of 1 / (number of orders of its accesses).
//! The reason is that the strategy always carries out a combination of intentions that does not contradict the program.
//! If the program allows all combinations, this bound is the exact probability. With any counts, every interleaving is
//! possible. The tests verify these promises.
//!
//! **Some objects are left out.** A seed leaves each object to the random walk with a probability of [1/6](LEFT_OUT).
//! Drawing orders for all objects is bad for bugs in which only one object matters, because the orders of the other
//! objects often exclude the bug.
//!
//! **Few among many.** Among one reader and forty writers, the reader has forty-one possible positions, and only one of
//! them is before all writers. The *part* of a task is the set of its accesses to all objects. If only few of the tasks
//! at an object have a certain part, two thirds of the seeds favour or disfavour such a part. These seeds put the tasks
//! with such a part either before or after all other tasks at the object; see [`contested`].
//!
//! **Circles.** If a task acquires a lock while it holds another lock, one run in [5](CIRCLES) draws no orders. Such a
//! run looks for tasks that wait for each other in a circle; see [`chains`].
//!
//! **Learning.** As in SURW, a few rehearsals count the accesses of each task to each object that several tasks access,
//! unless all tasks only read it. Half of the seeds expect the maximum of each count over the rehearsals. The other
//! seeds expect the counts of one rehearsal, because maxima may combine counts that exclude each other, for example
//! from both branches of an `if`.
//!
//! **Not promised.** If all enabled tasks are held, because intentions contradict each other or counts are wrong, a
//! random held task continues. The run then has the orders of a different combination. A run with more than twice the
//! steps of any rehearsal continues as a random walk. If tasks access the same objects in different orders, independent
//! draws for each object give many impossible combinations; URW is better for such programs.

use unpause_ordered::Map;
mod chains;
mod contested;

use self::chains::Chains;
use self::contested::{Contested, ContestedCounts, MOST};
use super::accesses::Accesses;
use super::candidates::Candidates;
use super::dice::Dice;
use super::known_objects::KnownObjects;
use super::moments::Moments;
use super::rehearsal::Rehearsal;
use super::tally::TaskCounts;
use super::{StrategyRow, lessons};
use crate::run::board::{Announced, Announcements, Status};
use crate::run::choice::{Draw, Mismatch, Strategy, View};
use crate::run::ids::{Seed, TaskId};
use crate::run::rng::Rng;

/// The row of this strategy in [`STRATEGIES`](super::STRATEGIES).
pub(super) const ROW: StrategyRow = StrategyRow {
    name: "orders",
    summary: "every order of the accesses to each object with the same probability",
    good_at: "several contended objects, one task among many, locks taken in a circle",
    promise: "each possible choice of an order of the accesses for every object has at least the probability of drawing it, if nothing waits, in a run that leaves no object out and favours nobody",
    weak: "tasks that go through the same objects in different orders",
    reaches_all: true,
    create: || lessons(<Orders>::default),
    numbered: &[],
};

/// A seed leaves one in this many objects to the random walk.
const LEFT_OUT: u64 = 6;

/// If there are chains of locks, one in this many runs looks for circles.
const CIRCLES: u64 = 5;

/// An object that a task or one of its descendants is expected to access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Expected {
    /// The object, as a position in [`Orders::contested`].
    object: u32,
    /// The position of the task among the accessors of the object.
    accessor: u32,
}

/// The accesses of a task's next step to objects with an order in this run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum NextAccess {
    Unordered,
    One(Expected),
    /// Several objects, for example inside a `join!`.
    Several,
}

/// The orders strategy. A step costs the logarithm of the number of tasks plus the logarithm of the number of objects.
#[derive(Debug, Default)]
pub struct Orders<D = Rng> {
    pub(super) dice: D,
    rehearsal: Rehearsal,
    moments: Moments,
    tally: TaskCounts,
    accesses: Accesses,
    objects: KnownObjects,
    /// For each object of the rehearsals, its position in `contested`, if any.
    positions: Vec<Option<u32>>,
    contested: Vec<Contested>,
    /// Sorted by task of the rehearsals, then by object.
    expected: Vec<Expected>,
    /// For each task of the rehearsals, the start of its range in `expected`. The last entry is the end of the last
    /// range.
    parts: Vec<usize>,
    /// The maximum number of steps of a rehearsal, and the number of steps of this run.
    steps_max: u64,
    step: u64,
    /// For each task of this run, the task of the rehearsals with the same spawn path, if any.
    known: Vec<Option<usize>>,
    places: Candidates,
    /// For each task of this run, the accesses of its next step, as long as it is enabled.
    next_accesses: Vec<NextAccess>,
    chains: Chains,
    /// True if this run only looks for circles of locks.
    circles: bool,
}

impl<D: Dice> Orders<D> {
    /// Begins a run. Returns `false` if the run is a rehearsal. If it returns `true`, the caller must draw the choices
    /// of the seed.
    fn restart(&mut self, seed: Seed) -> bool {
        if self.rehearsal.begin() {
            self.finish_rehearsals();
            self.moments = self.rehearsal.moments();
        }
        self.dice.reseed(seed);
        self.tally.restart();
        self.objects.restart();
        self.known.clear();
        self.places.clear();
        self.next_accesses.clear();
        self.step = 0;
        self.chains.restart();
        !self.rehearsal.is_on()
    }

    /// Computes the contended objects and the expected accesses of each task, at the end of the rehearsals.
    fn finish_rehearsals(&mut self) {
        let accesses = std::mem::take(&mut self.accesses);
        let objects: Vec<_> = accesses.contested().into_iter().map(|(object, _)| object).collect();
        let parts = accesses.parts(&objects, self.tally.len());
        // Sorted by task and then by object, because `parts` and the binary search in `expected` require this order.
        let mut all: Map<(usize, u32), ContestedCounts> = Map::new();
        for (position, object) in (0..).zip(objects) {
            self.positions.resize(object.index() + 1, None);
            self.positions[object.index()] = Some(position);
            self.contested.push(Contested::default());
            for (task, counts) in accesses.by_task(object) {
                let own = all.entry((task, position)).or_default();
                own[..MOST].copy_from_slice(counts);
                own[MOST] = counts.iter().copied().max().unwrap_or(0);
                // Until a task is spawned, its accesses are attributed to its parent. If a task has an entry, all its
                // ancestors have entries.
                let mut child = task;
                while let Some(parent) = self.tally.parent(child) {
                    if all.contains_key(&(parent, position)) {
                        break;
                    }
                    all.insert((parent, position), ContestedCounts::default());
                    child = parent;
                }
            }
        }
        // A parent has a lower number than its children, so the accessor of a parent exists before its children refer
        // to it.
        for ((task, object), counts) in all {
            self.parts.resize(task + 1, self.expected.len());
            let parent = self.tally.parent(task);
            let part = parts[task].filter(|_| counts[MOST] > 0);
            let parent = self.expected_at(parent, object).map(|parent| parent.accessor as usize);
            let accessor = self.contested[object as usize].add(counts, part, parent) as u32;
            self.expected.push(Expected { object, accessor });
        }
        self.parts.resize(self.tally.len() + 1, self.expected.len());
        self.contested.iter_mut().for_each(Contested::count_parts);
    }

    /// Returns the range of `expected` that belongs to a task of the rehearsals.
    fn part(&self, known: Option<usize>) -> std::ops::Range<usize> {
        known.map_or(0..0, |known| self.parts[known]..self.parts[known + 1])
    }

    /// Returns the expectation for a task of the rehearsals at an object, if any.
    #[inline(never)]
    fn expected_at(&self, known: Option<usize>, object: u32) -> Option<Expected> {
        let part = &self.expected[self.part(known)];
        let at = part.binary_search_by_key(&object, |expected| expected.object).ok()?;
        Some(part[at])
    }

    /// Adds newly spawned tasks. Moves expected accesses, and perhaps intentions, from their parents to them.
    #[cold]
    fn add_tasks(&mut self, view: &View<'_>) {
        for id in self.known.len()..view.tasks().len() {
            let task = TaskId(id as u32);
            let known = self.tally.known(view, task, false);
            self.known.push(known);
            self.places.arrive();
            self.next_accesses.push(NextAccess::Unordered);
            for at in self.part(known) {
                let Expected { object, accessor } = self.expected[at];
                // If the parent is no longer the intended task, it has just stepped, and is updated next.
                let contested = &mut self.contested[object as usize];
                contested.add_task(accessor as usize, task, &mut self.dice);
            }
        }
    }

    /// Removes an ended task from the objects that it was still expected to access.
    #[cold]
    fn dismiss(&mut self, view: &View<'_>, task: TaskId) {
        for at in self.part(self.known[task.index()]) {
            let Expected { object, accessor } = self.expected[at];
            if self.contested[object as usize].dismiss(accessor as usize, task) {
                self.intend_again(view, object as usize);
            }
        }
    }

    /// Updates the next accesses of a task that has stepped or become enabled, and holds or frees it.
    #[inline(never)]
    fn update_task(&mut self, view: &View<'_>, task: TaskId) {
        let next = self.next_access(view, task);
        self.next_accesses[task.index()] = next;
        let waits = match next {
            NextAccess::Unordered => self.circles && self.chains.extends_chain(view, task),
            NextAccess::One(access) => self.must_wait(view, task, access),
            NextAccess::Several => self.must_wait_at_any(view, task),
        };
        match waits {
            true => self.places.hold_if_free(task),
            false => self.places.free_if_held(task),
        }
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
            if !self.moments.holds(task) && view.task(task).status == Status::Ready {
                self.update_task(view, task);
            }
        }
    }

    #[cold]
    fn must_wait_at_any(&mut self, view: &View<'_>, task: TaskId) -> bool {
        // Updates all objects, because the expectation at each object is independent of the other objects.
        let mut waits = false;
        for announced in view.task(task).announced.iter() {
            if let Some(access) = self.access(task, announced) {
                waits |= self.must_wait(view, task, access);
            }
        }
        waits
    }

    /// Returns the accesses of the task's next step. An object that the task accessed in no rehearsal is left to the
    /// random walk.
    #[inline]
    fn next_access(&self, view: &View<'_>, task: TaskId) -> NextAccess {
        if self.circles {
            return NextAccess::Unordered;
        }
        let Announcements { first, more } = &view.task(task).announced;
        if !more.is_empty() {
            return NextAccess::Several;
        }
        let Some(object) = self.object(first) else { return NextAccess::Unordered };
        match self.next_accesses[task.index()] {
            // Usually, the task accesses the same object as before.
            NextAccess::One(access) if access.object == object => NextAccess::One(access),
            _ => {
                let expected = self.expected_at(self.known[task.index()], object);
                expected.map_or(NextAccess::Unordered, NextAccess::One)
            }
        }
    }

    /// Returns the object of the access, as a position in `contested`, if the object has an order in this run.
    #[inline]
    fn object(&self, announced: &Announced) -> Option<u32> {
        let object = announced.object.filter(|_| announced.enabled)?;
        let object = (*self.positions.get(self.objects.of(object)?.index())?)?;
        (!self.contested[object as usize].is_left_out).then_some(object)
    }

    fn access(&self, task: TaskId, announced: &Announced) -> Option<Expected> {
        self.expected_at(self.known[task.index()], self.object(announced)?)
    }

    /// Returns `true` if another task is intended at the object of this next access.
    #[inline(always)]
    fn must_wait(&mut self, view: &View<'_>, task: TaskId, access: Expected) -> bool {
        let Expected { object, accessor } = access;
        let object = object as usize;
        // This access may take the intention from another task, which must then wait.
        let before = self.contested[object].intended();
        if self.contested[object].expect(accessor as usize, task, &mut self.dice) {
            self.displace(before, object);
        }
        if before.is_none() {
            self.intend_again(view, object);
        }
        self.contested[object].intended() != Some(task)
    }

    /// Holds the previously intended task of an object, if it is no longer intended and accesses the object next.
    #[cold]
    fn displace(&mut self, before: Option<TaskId>, object: usize) {
        let Some(task) = before.filter(|_| before != self.contested[object].intended()) else {
            return;
        };
        let waits = match self.next_accesses[task.index()] {
            NextAccess::Unordered => false,
            NextAccess::One(access) => access.object as usize == object,
            // If the task accesses other objects, it continues when no other task can.
            NextAccess::Several => true,
        };
        if waits && self.places.is_free(task) {
            self.places.hold(task);
        }
    }

    /// Draws the task that is intended to access an object next, and frees this task if it was held at the object.
    #[inline(always)]
    fn intend(&mut self, view: &View<'_>, object: usize) {
        let drawn = self.contested[object].intend(&mut self.dice);
        if let Some(task) = drawn.filter(|task| self.places.is_held(*task)) {
            let is_free = match self.next_accesses[task.index()] {
                NextAccess::Unordered => false,
                NextAccess::One(access) => access.object as usize == object,
                NextAccess::Several => self.is_intended_everywhere(view, task),
            };
            if is_free {
                self.places.free(task);
            }
        }
    }

    #[cold]
    fn intend_again(&mut self, view: &View<'_>, object: usize) {
        self.intend(view, object);
    }

    #[cold]
    fn is_intended_everywhere(&self, view: &View<'_>, task: TaskId) -> bool {
        let is_intended =
            |access: Expected| self.contested[access.object as usize].intended() == Some(task);
        let announced = view.task(task).announced.iter();
        announced.filter_map(|announced| self.access(task, announced)).all(is_intended)
    }

    /// Counts the accesses of a step of the task, and draws the next intended task for each object.
    #[inline]
    fn pass_on(&mut self, view: &View<'_>, task: TaskId) {
        match self.next_accesses[task.index()] {
            NextAccess::Unordered => {}
            NextAccess::One(access) => self.pass_on_object(view, access),
            NextAccess::Several => self.pass_on_several(view, task),
        }
    }

    #[inline(always)]
    fn pass_on_object(&mut self, view: &View<'_>, Expected { object, accessor }: Expected) {
        self.contested[object as usize].count(accessor as usize);
        self.intend(view, object as usize);
    }

    #[cold]
    fn pass_on_several(&mut self, view: &View<'_>, task: TaskId) {
        for announced in view.task(task).announced.iter() {
            if let Some(access) = self.access(task, announced) {
                self.pass_on_object(view, access);
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
        // Half of the seeds use the counts of a single rehearsal. The other seeds use the maximum over all rehearsals,
        // because a run may have more accesses than any single rehearsal.
        let which = self.dice.below(2 * most).min(most) as usize;
        // The counts of a rehearsal that a fault cut short are lower bounds.
        let which = if which < MOST && !self.rehearsal.is_whole(which) { MOST } else { which };
        self.moments.begin(&mut self.dice);
        self.circles = self.chains.are_there() && self.dice.below(CIRCLES) == 0;
        for contested in &mut self.contested {
            contested.is_left_out = self.dice.below(LEFT_OUT) == 0;
            let favour = contested.draw_favour(&mut self.dice);
            contested.restart(which, favour);
        }
    }

    fn rehearsals(&self) -> u32 {
        self.rehearsal.remaining()
    }

    fn sees_forced_steps(&self) -> bool {
        true
    }

    fn pick(&mut self, view: &View<'_>) -> Result<usize, Mismatch> {
        self.step += 1;
        if self.rehearsal.is_on() {
            return Ok(self.rehearsal.pick(&mut self.dice, view));
        }
        // The counts do not fit this run, so it is useless to hold tasks by them any longer.
        if self.step > self.steps_max.saturating_mul(2) {
            return Ok(self.dice.below(view.candidates().len() as u64) as usize);
        }
        self.objects.meet(view, false);
        if self.known.len() < view.tasks().len() {
            self.add_tasks(view);
        }
        if self.circles {
            self.chains.watch(view);
        }
        if let Some(last) = view.last() {
            match view.task(last).status {
                Status::Ready => self.update_task(view, last),
                Status::Blocked => {}
                Status::Done => self.dismiss(view, last),
            }
        }
        self.places.let_in(view);
        for task in view.arrived() {
            if view.task(*task).status == Status::Ready {
                self.update_task(view, *task);
            }
        }
        if self.moments.is_on() {
            self.hold_for_moments(view);
        }
        // If every task is held, the intentions contradict each other. A step of any held task resolves the
        // contradiction.
        let free = self.places.draw_free(&mut self.dice, view);
        let Some(task) = free.or_else(|| self.places.draw_held(&mut self.dice, view)) else {
            // Each task that can step has arrived, unless a moment holds it.
            let at = self.moments.pick_held(&mut self.dice, view);
            self.pass_on(view, view.candidates()[at]);
            return Ok(at);
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
        let known = (&mut self.tally, &mut self.objects);
        self.accesses.learn(view, known, &self.rehearsal);
        self.rehearsal.end(view);
        self.chains.watch(view);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
