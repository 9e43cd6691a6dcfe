//! The contract of a strategy: the choices of a run, and the [`View`] on which a strategy bases its answers.
//!
//! A run has two kinds of choices: which task steps next ([`Strategy::pick`]) and which value a draw returns
//! ([`Strategy::draw`]). Nothing else in a run is open, so these answers, called decisions, determine the run. A
//! strategy sees every pending operation of every task, enabled or not. POS, SURW, partial-order reduction and coverage
//! need this.

use crate::run::Failure;
use crate::run::board::{Board, CallMark, ContactMark, Life, TaskRow};
use crate::run::event::Event;
use crate::run::ids::{ObjectId, Seed, TaskId};
use crate::run::watches::Watch;

/// An algorithm that answers the choices of runs. One value serves many runs, one after the other.
///
/// A strategy must use only its arguments: the seed, the views and the draws. If it used time, addresses or global
/// state, a seed would mean different runs. After its first runs of a test it must not allocate, because an allocation
/// costs as much as several steps. Tables that grow with a run are therefore cleared and reused.
///
/// `Runner::strategy_with` runs a test under a strategy of your own. A registered strategy is a file in
/// `unpause-run/src/strategy/` and a row of [`STRATEGIES`](crate::strategy::STRATEGIES).
pub trait Strategy: Send {
    /// Prepares for the run of `seed`, which is the next run apart from
    /// [rehearsals](Strategy::rehearsals).
    ///
    /// Call this method before counting and running the rehearsals for the seed, because the information that a
    /// strategy needs may depend on the seed.
    fn prepare(&mut self, seed: Seed) {
        let _ = seed;
    }

    /// Starts a run. Everything that the strategy draws at random in this run must derive from `seed`.
    fn begin(&mut self, seed: Seed);

    /// Picks the task that takes the next step: returns an index into `view.candidates()`.
    ///
    /// This function is not called if there is just one candidate, unless [`sees_forced_steps`] returns `true`.
    ///
    /// # Errors
    /// A replay returns [`Mismatch`] if the run differs from its trace. The run then ends as diverged.
    ///
    /// [`sees_forced_steps`]: Strategy::sees_forced_steps
    fn pick(&mut self, view: &View<'_>) -> Result<usize, Mismatch>;

    /// Returns the value of a draw, less than `draw.bound`.
    ///
    /// # Errors
    /// [`Mismatch`] in the cases of [`pick`](Strategy::pick).
    fn draw(&mut self, draw: &Draw) -> Result<u64, Mismatch>;

    /// Returns the value of a decision that strategies do not explore: `value`, unless a replay overrides it.
    ///
    /// For example, the size of a generated program is such a decision, and so are the parts that a smaller program
    /// leaves out. A trace must record these decisions, but strategies must not vary them to find bugs.
    ///
    /// # Errors
    /// [`Mismatch`] in the cases of [`pick`](Strategy::pick).
    fn given(&mut self, draw: &Draw, value: u64) -> Result<u64, Mismatch> {
        let _ = draw;
        Ok(value)
    }

    /// Reports that the `nth` value of the current step made no difference to the objects of the run. So a search whose
    /// tasks share nothing else need not try its alternatives. Values are counted from 0, both [drawn](Strategy::draw)
    /// and [given](Strategy::given) values.
    ///
    /// For example, the order in which `select!` polls its branches is drawn before the run knows if any branch
    /// continues.
    fn settle(&mut self, nth: usize) {
        let _ = nth;
    }

    /// Returns `true` if [`pick`](Strategy::pick) must be called even if only one task is enabled.
    fn sees_forced_steps(&self) -> bool {
        false
    }

    /// Returns the number of rehearsals that this strategy still needs before it serves the
    /// [prepared](Strategy::prepare) seed. From rehearsals, a strategy learns the number of steps and the accesses of
    /// each task.
    ///
    /// The owner of the strategy first runs the body this many times and ignores the outcomes. Before each of these
    /// runs, the owner prepares the strategy as usual, with the seeds 0, 1, …. A new strategy learns the same from the
    /// same body for the same seed, so a seed gives the same run alone and among other seeds.
    fn rehearsals(&self) -> u32 {
        0
    }

    /// Ends the run, which completed or failed.
    ///
    /// # Errors
    /// A strict replay returns [`Mismatch`] if it has not used up its trace; see [`pick`](Strategy::pick).
    fn end(&mut self, view: &View<'_>) -> Result<(), Mismatch> {
        let _ = view;
        Ok(())
    }
}

/// A difference between a run and the run of its trace.
//
// The content is behind a pointer, so that the result of a choice fits into two registers. Every step returns such a
// result, but mismatches are rare.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mismatch(Box<Difference>);

#[derive(Clone, PartialEq, Eq, Debug)]
struct Difference {
    step: u32,
    expected: String,
    found: String,
}

impl Mismatch {
    /// Creates a mismatch from its first difference: the step, counted from 0, the operation in the trace, and the
    /// operation in the run.
    #[cold]
    #[must_use]
    pub fn new(step: u32, expected: String, found: String) -> Mismatch {
        Mismatch(Box::new(Difference { step, expected, found }))
    }

    /// Returns the failure that ends the run as diverged.
    #[doc(hidden)]
    pub fn failure(self) -> Failure {
        let Difference { step, expected, found } = *self.0;
        Failure::Diverged { step, expected, found }
    }
}

/// A request for a value below a bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Draw {
    /// The number of possible answers, which are 0 to `bound - 1`; at least 1.
    pub bound: u64,
    /// The purpose of the value, such as `rand`.
    pub why: &'static str,
}

impl Draw {
    /// The purpose of a draw of the branch that a `select!` or `join!` polls first.
    #[doc(hidden)]
    pub const BRANCH: &'static str = "the branch that is polled first";
}

/// The state of a run between two steps, for a [`Strategy`].
#[derive(Clone, Copy)]
pub struct View<'a> {
    board: &'a Board,
}

impl<'a> View<'a> {
    #[inline]
    #[doc(hidden)]
    pub fn of(board: &'a Board) -> View<'a> {
        View { board }
    }

    /// Returns the number of the step to choose, from 0.
    pub fn step(&self) -> u32 {
        self.board.step
    }

    /// Returns the task that took the last step; `None` before the first step.
    pub fn last(&self) -> Option<TaskId> {
        (self.board.step > 0).then_some(self.board.current)
    }

    /// Returns the tasks that can step, in no meaningful order. Never empty during a call of a strategy.
    #[inline]
    pub fn candidates(&self) -> &'a [TaskId] {
        &self.board.ready
    }

    /// Returns the tasks that have become able to step since the last step was chosen, in this order. The result does
    /// not contain tasks that could step before. A task may occur twice, or be blocked again.
    ///
    /// These are the changes of the candidates, for a strategy that keeps its own table of candidates. Changes in steps
    /// without a `pick` are missing, unless the strategy [sees forced steps](Strategy::sees_forced_steps).
    #[inline]
    pub fn arrived(&self) -> &'a [TaskId] {
        &self.board.arrived
    }

    /// Returns all tasks of the run so far, including ended tasks, indexed by [`TaskId`].
    pub fn tasks(&self) -> &'a [TaskRow] {
        &self.board.tasks
    }

    /// Returns the row of a task.
    pub fn task(&self, id: TaskId) -> &'a TaskRow {
        self.board.tasks.at(id.index())
    }

    /// Returns all events so far.
    pub fn events(&self) -> &'a [Event] {
        &self.board.events
    }

    /// Returns the number of objects of the run so far.
    #[doc(hidden)]
    pub fn objects(&self) -> usize {
        self.board.object_keys.len()
    }

    /// Returns a number for an object that is the same in every run. An [`ObjectId`] is less stable: it is the same in
    /// two runs only if the runs are equal up to a step and use the object before this step. Objects that the run did
    /// not create, for example statics, share their number if they were created at the same place.
    #[doc(hidden)]
    pub fn key_of(&self, object: ObjectId) -> u64 {
        self.board.object_keys[object.index()]
    }

    /// Returns the life of the node that has this object in its memory.
    #[doc(hidden)]
    pub fn life_of(&self, object: ObjectId) -> Life {
        self.board.object_lives.get(object.index()).copied().unwrap_or_default()
    }

    /// Returns the effects of tasks on each other so far that leave no event.
    #[doc(hidden)]
    pub fn contacts(&self) -> &'a [ContactMark] {
        &self.board.contacts
    }

    /// Returns `true` if time advanced after the last step, because no task could step.
    #[doc(hidden)]
    pub fn time_moved(&self) -> bool {
        self.board.time_moves.last().is_some_and(|moved| moved.step == self.board.step)
    }

    /// Returns `true` if the run ended because all remaining tasks have stalled, or wait for a
    /// stalled task.
    #[doc(hidden)]
    pub fn ends_stalled(&self) -> bool {
        self.board.ends_stalled
    }

    /// Returns the conditions that this task waits for or is about to evaluate again.
    #[doc(hidden)]
    pub fn watches_of(&self, task: TaskId) -> impl Iterator<Item = &'a Watch> {
        self.board.watches.of(task)
    }

    /// Returns the changes of recorded calls so far.
    #[doc(hidden)]
    pub fn calls(&self) -> &'a [CallMark] {
        &self.board.calls
    }

    /// Returns `true` if an invariant caused the event at this index.
    #[doc(hidden)]
    pub fn is_of_invariant(&self, event: usize) -> bool {
        self.board.is_of_invariant(event)
    }

    /// Returns the events of the last step.
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
