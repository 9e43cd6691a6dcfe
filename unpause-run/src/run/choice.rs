//! The contract of a strategy: the choices of a run, and the [`View`] that they are answered from.
//!
//! A run has two kinds of choices: which task steps next ([`Strategy::pick`]) and which value a draw
//! returns ([`Strategy::draw`]). Nothing else in a run is open, so the answers, its decisions, determine
//! the run. A strategy sees every pending operation of every task, enabled or not, as POS, SURW,
//! partial-order reduction and coverage need.

use crate::run::Failure;
use crate::run::board::{Board, CallMark, ContactMark, Life, TaskRow};
use crate::run::event::Event;
use crate::run::ids::{ObjectId, Seed, TaskId};
use crate::run::watches::Watch;

/// Answers the choices of runs. One value serves many runs, one after the other.
///
/// A strategy must answer from its arguments alone: the seed, the views, the draws. Time, addresses or global
/// state would make a seed mean different runs. After its first runs of a test it must not allocate, because an
/// allocation costs as much as several steps: tables that grow with the run are kept from run to run and cleared.
///
/// `Runner::strategy_with` runs a test under a strategy of your own. A registered
/// one is a file in `src/strategy/` and a row of [`STRATEGIES`](crate::strategy::STRATEGIES).
pub trait Strategy: Send {
    /// Prepares for the run of `seed`, which is the next run apart from
    /// [rehearsals](Strategy::rehearsals).
    ///
    /// To be called before the rehearsals that the seed needs are counted and made: what a strategy has
    /// to learn may depend on the seed.
    fn prepare(&mut self, seed: Seed) {
        let _ = seed;
    }

    /// A run begins. Everything drawn at random in it must come from `seed`.
    fn begin(&mut self, seed: Seed);

    /// Picks the task that takes the next step: returns an index into `view.candidates()`.
    ///
    /// Not called if there is just one candidate, unless [`sees_forced_steps`] returns `true`.
    ///
    /// # Errors
    /// A replay that finds the run different from its trace says so with [`Mismatch`], which ends
    /// the run as diverged.
    ///
    /// [`sees_forced_steps`]: Strategy::sees_forced_steps
    fn pick(&mut self, view: &View<'_>) -> Result<usize, Mismatch>;

    /// Returns the value of a draw, less than `draw.bound`.
    ///
    /// # Errors
    /// As for [`pick`](Strategy::pick).
    fn draw(&mut self, draw: &Draw) -> Result<u64, Mismatch>;

    /// Returns the value of a decision that strategies do not explore: `value`, unless a replay overrides it.
    ///
    /// The size of a generated program, and the parts left out of a smaller one, are decisions so that a trace has
    /// them; but strategies must not vary them to find bugs.
    ///
    /// # Errors
    /// As for [`pick`](Strategy::pick).
    fn given(&mut self, draw: &Draw, value: u64) -> Result<u64, Mismatch> {
        let _ = draw;
        Ok(value)
    }

    /// The `nth` value of the current step, counted from 0 over [drawn](Strategy::draw) and
    /// [given](Strategy::given) ones, made no difference: a search need not try the others.
    ///
    /// The order in which `select!` polls its branches is drawn before it is known whether any of
    /// them continues.
    fn settle(&mut self, nth: usize) {
        let _ = nth;
    }

    /// Returns `true` if [`pick`](Strategy::pick) must be called even if only one task is enabled.
    fn sees_forced_steps(&self) -> bool {
        false
    }

    /// Returns the number of rehearsals that this strategy still needs before it serves the seed that it was
    /// [prepared](Strategy::prepare) for. It learns from them the number of steps and the accesses of each task.
    ///
    /// The owner of the strategy first runs the body that many times, each run prepared as usual with the seeds 0, 1,
    /// …, and ignores the outcomes. A new strategy learns the same from the same body for the same seed, so a seed
    /// run alone is the same run as that seed among others.
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

/// The run differs from the run of its trace.
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
    /// A mismatch from its first difference: the step, counted from 0, the operation in the trace, and the operation
    /// in the run.
    #[cold]
    #[must_use]
    pub fn new(step: u32, expected: String, found: String) -> Mismatch {
        Mismatch(Box::new(Difference { step, expected, found }))
    }

    /// The run ends as diverged.
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

/// A run between two steps, as a [`Strategy`] sees it.
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

    /// The number of the step to be chosen, from 0.
    pub fn step(&self) -> u32 {
        self.board.step
    }

    /// The task that took the last step; none before the first.
    pub fn last(&self) -> Option<TaskId> {
        (self.board.step > 0).then_some(self.board.current)
    }

    /// The tasks that can step, in no meaningful order. Never empty when a strategy is called.
    #[inline]
    pub fn candidates(&self) -> &'a [TaskId] {
        &self.board.ready
    }

    /// The tasks that became able to step since the last step was chosen, in this order; not the
    /// tasks that could step all the time. Some may be in it twice, or be blocked again.
    ///
    /// Returns the changes of the candidates, for a strategy that keeps its own table of them. Changes in steps
    /// without a `pick` are missing, unless the strategy [sees forced steps](Strategy::sees_forced_steps).
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

    /// Returns the number of objects of the run so far.
    #[doc(hidden)]
    pub fn objects(&self) -> usize {
        self.board.object_keys.len()
    }

    /// A number for an object, the same in every run. In two runs that are equal up to a step, an
    /// object met before the step has the same [`ObjectId`]; a later object may not, and is
    /// identified by this number. Objects that were not made by the run, such as statics, share it
    /// if they were made in one place.
    #[doc(hidden)]
    pub fn key_of(&self, object: ObjectId) -> u64 {
        self.board.object_keys[object.index()]
    }

    /// The life of a node whose memory an object is.
    #[doc(hidden)]
    pub fn life_of(&self, object: ObjectId) -> Life {
        self.board.object_lives.get(object.index()).copied().unwrap_or_default()
    }

    /// The effects of tasks on each other so far that leave no event.
    #[doc(hidden)]
    pub fn contacts(&self) -> &'a [ContactMark] {
        &self.board.contacts
    }

    /// Returns `true` if the time moved after the last step, because no task could step.
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

    /// The conditions that tasks wait for or are about to evaluate again.
    #[doc(hidden)]
    pub fn watches_of(&self, task: TaskId) -> impl Iterator<Item = &'a Watch> {
        self.board.watches.of(task)
    }

    /// Returns the changes of recorded calls so far.
    #[doc(hidden)]
    pub fn calls(&self) -> &'a [CallMark] {
        &self.board.calls
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
