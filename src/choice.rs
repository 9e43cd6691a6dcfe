//! Questions with a bounded answer, and who answers them.
//!
//! A run asks two kinds of questions: which task steps next ([`Strategy::pick`]) and which value a
//! draw gives ([`Strategy::draw`]). Nothing else in a run is left open, so its answers, the
//! decisions, are the run. A strategy sees every announced operation of every task, ready or
//! blocked: what POS, SURW, partial-order reduction and coverage need.

use std::sync::Arc;

use crate::event::Event;
use crate::ids::{ObjectId, Place, Seed, TaskId};
use crate::op::Op;

/// Answers the choices of runs. One value serves many runs, one after the other.
///
/// A strategy must answer from what it is given alone: the seed, the views, the draws. Time,
/// addresses or global state would make a seed mean different runs.
pub trait Strategy: Send {
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

    /// Whether [`pick`](Strategy::pick) is to be called even when one task alone can step.
    fn sees_forced_steps(&self) -> bool {
        false
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
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mismatch {
    /// The first step that differs, counted from 0.
    pub step: u32,
    /// What the trace says happens there.
    pub expected: String,
    /// What the run does instead.
    pub found: String,
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
    /// Tells apart the announcements of one task.
    pub(crate) key: u32,
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
    /// What it will do next. Empty before its first step, and while it waits for something that
    /// is not of this library. Several inside `join!`: one step does all that are enabled.
    pub announced: Vec<Announced>,
    /// How many tasks it has spawned.
    pub(crate) children: u32,
}

/// A run between two steps, as a [`Strategy`] sees it.
#[derive(Clone, Copy)]
pub struct View<'a> {
    pub(crate) step: u32,
    pub(crate) last: Option<TaskId>,
    pub(crate) candidates: &'a [TaskId],
    pub(crate) tasks: &'a [TaskRow],
    pub(crate) events: &'a [Event],
}

impl<'a> View<'a> {
    /// The number of the step to be chosen, from 0.
    pub fn step(&self) -> u32 {
        self.step
    }

    /// The task that took the last step; none before the first.
    pub fn last(&self) -> Option<TaskId> {
        self.last
    }

    /// The tasks that can step, in no meaningful order. Never empty when a strategy is asked.
    pub fn candidates(&self) -> &'a [TaskId] {
        self.candidates
    }

    /// All tasks of the run so far, ended ones too, by [`TaskId`].
    pub fn tasks(&self) -> &'a [TaskRow] {
        self.tasks
    }

    /// One task.
    pub fn task(&self, id: TaskId) -> &'a TaskRow {
        &self.tasks[id.index()]
    }

    /// All that has happened so far.
    pub fn events(&self) -> &'a [Event] {
        self.events
    }

    /// What happened in the last step.
    pub fn news(&self) -> &'a [Event] {
        let from = self.events.iter().rposition(|e| e.step + 1 != self.step);
        &self.events[from.map_or(0, |i| i + 1)..]
    }
}
