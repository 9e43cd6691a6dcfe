//! Questions with a bounded answer, and who answers them.
//!
//! A run asks two kinds of questions: which task steps next ([`Strategy::pick`]) and which value a
//! draw gives ([`Strategy::draw`]). Nothing else in a run is left open, so its answers, the
//! decisions, are the run. A strategy sees every announced operation of every task, ready or
//! blocked: what POS, SURW, partial-order reduction and coverage need.

use std::panic::Location;
use std::sync::Arc;

use crate::event::Event;
use crate::ids::{ObjectId, Place, Seed, TaskId};
use crate::op::{Access, Op};
use crate::pool::Pool;
use crate::run::Failure;

/// Answers the choices of runs. One value serves many runs, one after the other.
///
/// A strategy must answer from what it is given alone: the seed, the views, the draws. Time,
/// addresses or global state would make a seed mean different runs.
pub trait Strategy: Send {
    /// The next run that is no [rehearsal](Strategy::rehearsals) is that of `seed`.
    ///
    /// To be called before the rehearsals that the seed needs are counted and made: what a strategy has
    /// to learn may depend on the seed.
    fn prepare(&mut self, seed: Seed) {
        let _ = seed;
    }

    /// A run begins. Everything drawn at random in it must come from `seed`.
    fn begin(&mut self, seed: Seed);

    /// Which of `view.candidates()` takes the next step: an index into that slice.
    ///
    /// Not asked when there is just one candidate, unless [`sees_forced_steps`] says otherwise.
    ///
    /// # Errors
    /// A replay that finds the run different from its trace says so with [`Mismatch`], which ends
    /// the run as diverged.
    ///
    /// [`sees_forced_steps`]: Strategy::sees_forced_steps
    fn pick(&mut self, view: &View<'_>) -> Result<usize, Mismatch>;

    /// Which value a draw gives: at least 0, less than `draw.bound`.
    ///
    /// # Errors
    /// As for [`pick`](Strategy::pick).
    fn draw(&mut self, draw: &Draw) -> Result<u64, Mismatch>;

    /// Which value a decision gives that is not to be explored: `value`, unless a replay knows
    /// better.
    ///
    /// How large a generated program is, and what a smaller one leaves out of it, are decisions like
    /// any other, so that a trace has them; but no strategy is to look for bugs by varying them.
    ///
    /// # Errors
    /// As for [`pick`](Strategy::pick).
    fn given(&mut self, draw: &Draw, value: u64) -> Result<u64, Mismatch> {
        let _ = draw;
        Ok(value)
    }

    /// Whether [`pick`](Strategy::pick) is to be called even when one task alone can step.
    fn sees_forced_steps(&self) -> bool {
        false
    }

    /// How many runs this strategy has still to see before it serves the seed that it was
    /// [prepared](Strategy::prepare) for: it learns from them what the program is like (how many steps,
    /// who touches what).
    ///
    /// Whoever made the strategy runs the body so often first, beginning each run as usual with the
    /// seeds 0, 1, …, and forgets how they ended. A strategy made anew learns the same from the same
    /// body for the same seed, so a seed alone is the same run as that seed among others.
    fn rehearsals(&self) -> u32 {
        0
    }

    /// The run ended, by itself or by a failure.
    ///
    /// # Errors
    /// As for [`pick`](Strategy::pick): a strict replay whose trace is not used up.
    fn end(&mut self, view: &View<'_>) -> Result<(), Mismatch> {
        let _ = view;
        Ok(())
    }
}

/// A run is not the one its trace was written from.
//
// Behind a pointer, so that an answer fits into two registers: one is given at every step, and a
// mismatch in hardly any.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mismatch(Box<Difference>);

#[derive(Clone, PartialEq, Eq, Debug)]
struct Difference {
    step: u32,
    expected: String,
    found: String,
}

impl Mismatch {
    /// What differs first: in which step, counted from 0, what the trace says happens there, and
    /// what the run does instead.
    #[cold]
    #[must_use]
    pub fn new(step: u32, expected: String, found: String) -> Mismatch {
        Mismatch(Box::new(Difference { step, expected, found }))
    }

    /// The run ends as diverged.
    pub(crate) fn failure(self) -> Failure {
        let Difference { step, expected, found } = *self.0;
        Failure::Diverged { step, expected, found }
    }
}

/// A request for a value below a bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Draw {
    /// Answers are 0 to `bound - 1`; at least 1.
    pub bound: u64,
    /// What the value is for, such as `rand`.
    pub why: &'static str,
}

/// An operation a task will do when it steps next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Announced {
    /// What it is going to do.
    pub op: &'static Op,
    /// To which object, if any.
    pub object: Option<ObjectId>,
    /// The task whose end it waits for, if `op` is a join.
    pub target: Option<TaskId>,
    /// Where in the user's source.
    pub place: Place,
    /// Whether it can be done now; false while, for instance, the lock it wants is held.
    pub enabled: bool,
    /// Tells apart the announcements of one task. Not 0.
    pub(crate) key: u32,
    /// Its task took a step in which it could be done and its future was not polled. It is not `enabled` then: it
    /// is done when its future is polled again, and the task does not step for its sake.
    pub(crate) passed_over: bool,
}

impl Announced {
    /// Stands where nothing is announced: its key is 0.
    pub(crate) const NOTHING: Announced = Announced {
        op: &Op::new("nothing", Access::Yield),
        object: None,
        target: None,
        place: Location::caller(),
        enabled: true,
        key: 0,
        passed_over: false,
    };

    #[inline]
    pub(crate) fn is_something(&self) -> bool {
        self.key != 0
    }
}

/// What a task is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// It can step.
    Ready,
    /// It waits.
    Blocked,
    /// It has ended.
    Done,
}

/// A task as strategies and reports see it.
#[derive(Clone, Debug)]
pub struct TaskRow {
    /// The task that spawned it; none for the body of the test.
    pub parent: Option<TaskId>,
    /// Its number among its parent's children, from 0.
    pub nth: u32,
    /// The name the user gave it.
    pub name: Option<Arc<str>>,
    /// Where it was spawned.
    pub place: Place,
    /// What it is doing.
    pub status: Status,
    /// What it will do next.
    pub announced: Announcements,
    /// How many tasks it has spawned.
    pub(crate) children: u32,
    /// Position among the candidates, or `u32::MAX`.
    pub(crate) ready_at: u32,
    /// How many of its announced operations can be done now.
    pub(crate) enabled: u32,
    /// Something that is not of this library called its waker.
    pub(crate) woken: bool,
    /// To be dropped at its next step.
    pub(crate) aborted: bool,
}

impl TaskRow {
    /// Its position among [`View::candidates`], of which it is one.
    #[inline]
    pub(crate) fn candidate(&self) -> usize {
        debug_assert!(self.status == Status::Ready);
        self.ready_at as usize
    }
}

/// What a task will do next: nothing is known before its first step and while it waits for
/// something that is not of this library; one operation usually; several inside `join!`, where
/// one step does all that are enabled.
#[derive(Clone)]
pub struct Announcements {
    // The usual one has a place of its own: no list to go through, nothing to allocate. Not in an
    // `Option`, because copying one of those takes twice as long.
    pub(crate) first: Announced,
    pub(crate) more: Vec<Announced>,
}

impl Default for Announcements {
    fn default() -> Announcements {
        Announcements { first: Announced::NOTHING, more: Vec::new() }
    }
}

impl std::fmt::Debug for Announcements {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl Announcements {
    /// All of them.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = &Announced> {
        self.first.is_something().then_some(&self.first).into_iter().chain(&self.more)
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        !self.first.is_something() && self.more.is_empty()
    }

    /// The one, if there is just one.
    #[inline]
    pub(crate) fn only(&self) -> Option<&Announced> {
        (self.first.is_something() && self.more.is_empty()).then_some(&self.first)
    }

    /// Whether this is so of one of them. As with [`iter`](Self::iter), with the usual one first.
    #[inline]
    pub(crate) fn any(&self, is_so: impl Fn(&Announced) -> bool) -> bool {
        let first = self.first.is_something() && is_so(&self.first);
        first || (!self.more.is_empty() && self.more.iter().any(is_so))
    }

    /// Whether there is one and all are of this kind.
    #[inline]
    pub(crate) fn is_only(&self, access: Access) -> bool {
        self.first.is_something() && !self.any(|announced| announced.op.access != access)
    }

    pub(crate) fn clear(&mut self) {
        self.first = Announced::NOTHING;
        self.more.clear();
    }

    #[inline]
    pub(crate) fn push(&mut self, announced: Announced) {
        match self.first.is_something() {
            false => self.first = announced,
            true => self.more.push(announced),
        }
    }

    pub(crate) fn find_mut(&mut self, key: u32) -> Option<&mut Announced> {
        std::iter::once(&mut self.first).chain(&mut self.more).find(|a| a.key == key)
    }

    /// Takes one back. No key is the key of none.
    #[inline]
    pub(crate) fn remove(&mut self, key: u32) -> Option<Announced> {
        if self.first.key == key {
            let first = std::mem::replace(&mut self.first, Announced::NOTHING);
            return first.is_something().then_some(first);
        }
        let at = self.more.iter().position(|a| a.key == key)?;
        Some(self.more.remove(at))
    }
}

/// What became of a history in a step. Calls are known by their numbers in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CallPoint {
    /// The invocation of this call is stamped here.
    Invoked(usize),
    /// The invocation of this call will be stamped at the next operation of the task.
    Announced(usize),
    /// This call returned.
    Returned(usize),
    /// The history so far was checked for linearizability.
    Checked,
    /// Somebody was given the history so far, and can tell any two orders of its calls apart.
    Shown,
}

/// Something became of a history.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallMark {
    pub(crate) task: TaskId,
    /// The number of the history in the run.
    pub(crate) history: usize,
    pub(crate) point: CallPoint,
    /// How many operations had been done in the run.
    pub(crate) events: usize,
}

/// An effect of a task on another one that leaves no event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Contact {
    /// Acted on whether the other one had ended.
    Looked,
    /// Took an announcement of the other one back, because its future was moved or dropped.
    Disarmed,
}

/// A [`Contact`] of the task that took the step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ContactMark {
    pub(crate) target: TaskId,
    pub(crate) contact: Contact,
}

/// A condition that was false, and what it looked at: it is asked again when that has changed.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    pub(crate) task: TaskId,
    /// The announcement that waits: the first operation of the condition when it is asked again.
    pub(crate) key: u32,
    /// Where the task waits.
    pub(crate) place: Place,
    /// What the condition looked at, in order and with no duplicates.
    pub(crate) objects: Vec<ObjectId>,
    /// The steps in which one of these was changed since.
    pub(crate) changes: Vec<u32>,
    /// How many operations of the run were looked through for changes.
    pub(crate) seen: usize,
}

/// The part of a run's state that strategies see.
//
// In this order: an event takes `step` and `current`, which are stored one by one. Side by side they
// would be read as one word, and the processor would wait until both are in the cache.
#[repr(C)]
#[derive(Debug, Default)]
pub(crate) struct Board {
    /// The number of the step to be chosen or being taken.
    pub(crate) step: u32,
    /// The tasks that can step, in no meaningful order.
    pub(crate) ready: Vec<TaskId>,
    /// The task that takes the step or, between two steps, took the last one.
    pub(crate) current: TaskId,
    /// Those that became able to step since the last step was chosen.
    pub(crate) arrived: Vec<TaskId>,
    pub(crate) tasks: Pool<TaskRow>,
    pub(crate) events: Vec<Event>,
    /// For each object, a number that it has in every run: see [`View::key_of`].
    pub(crate) object_keys: Vec<u64>,
    /// Effects of tasks on each other that leave no event.
    pub(crate) contacts: Vec<ContactMark>,
    /// What became of recorded calls.
    pub(crate) calls: Vec<CallMark>,
    /// What tasks wait for that will be so when something has changed.
    pub(crate) watches: Vec<Watch>,
}

/// A run between two steps, as a [`Strategy`] sees it.
#[derive(Clone, Copy)]
pub struct View<'a> {
    board: &'a Board,
}

impl<'a> View<'a> {
    #[inline]
    pub(crate) fn of(board: &'a Board) -> View<'a> {
        View { board }
    }

    /// The number of the step to be chosen, from 0.
    pub fn step(&self) -> u32 {
        self.board.step
    }

    /// The task that took the last step; none before the first.
    pub fn last(&self) -> Option<TaskId> {
        (self.board.step > 0).then_some(self.board.current)
    }

    /// The tasks that can step, in no meaningful order. Never empty when a strategy is asked.
    #[inline]
    pub fn candidates(&self) -> &'a [TaskId] {
        &self.board.ready
    }

    /// The tasks that became able to step since the last step was chosen, in the order in which they
    /// did; not those that could all the time. Some may be in it twice, or be blocked again.
    ///
    /// What a strategy needs that keeps a table of candidates of its own, to pay for changes only.
    /// It misses those of steps it is not asked about, unless it
    /// [sees forced steps](Strategy::sees_forced_steps).
    #[inline]
    pub fn arrived(&self) -> &'a [TaskId] {
        &self.board.arrived
    }

    /// All tasks of the run so far, ended ones too, by [`TaskId`].
    pub fn tasks(&self) -> &'a [TaskRow] {
        &self.board.tasks
    }

    /// One task.
    pub fn task(&self, id: TaskId) -> &'a TaskRow {
        self.board.tasks.at(id.index())
    }

    /// All that has happened so far.
    pub fn events(&self) -> &'a [Event] {
        &self.board.events
    }

    /// How many objects the run has met.
    pub(crate) fn objects(&self) -> usize {
        self.board.object_keys.len()
    }

    /// A number for an object, the same in every run. In two runs that are equal up to a step, an object that was
    /// met before the step has the same [`ObjectId`]; one that is met later may not, and is known by this number.
    /// Objects that were not made by the run, such as statics, share it if they were made in one place.
    pub(crate) fn key_of(&self, object: ObjectId) -> u64 {
        self.board.object_keys[object.index()]
    }

    /// The effects of tasks on each other so far that leave no event.
    pub(crate) fn contacts(&self) -> &'a [ContactMark] {
        &self.board.contacts
    }

    /// The conditions that a task waits for, or was let go on to ask again.
    pub(crate) fn watches_of(&self, task: TaskId) -> impl Iterator<Item = &'a Watch> {
        self.board.watches.iter().filter(move |watch| watch.task == task)
    }

    /// What became of recorded calls so far.
    pub(crate) fn calls(&self) -> &'a [CallMark] {
        &self.board.calls
    }

    /// What happened in the last step.
    pub fn news(&self) -> &'a [Event] {
        let from = self.events().iter().rposition(|e| e.step + 1 != self.step());
        &self.events()[from.map_or(0, |i| i + 1)..]
    }
}

impl std::fmt::Debug for View<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("View")
            .field("step", &self.step())
            .field("last", &self.last())
            .field("candidates", &self.candidates())
            .finish_non_exhaustive()
    }
}
