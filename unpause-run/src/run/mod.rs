//! One execution of a test body: what was decided, what happened, how it ended.

#[doc(hidden)]
pub mod board;
mod calls;
#[doc(hidden)]
pub mod chances;
#[doc(hidden)]
pub mod choice;
#[doc(hidden)]
pub mod clock;
mod condition;
pub mod coverage;
pub mod event;
mod failure;
#[doc(hidden)]
pub mod faults;
#[doc(hidden)]
pub mod functions;
pub mod ids;
#[doc(hidden)]
pub mod isolation;
mod memory;
#[doc(hidden)]
pub mod memory_model;
#[doc(hidden)]
pub mod met;
#[doc(hidden)]
pub mod note;
pub mod op;
#[doc(hidden)]
pub mod panics;
#[doc(hidden)]
pub mod place;
#[doc(hidden)]
pub mod points;
#[doc(hidden)]
pub mod pool;
pub mod program;
#[doc(hidden)]
pub mod recording;
#[doc(hidden)]
pub mod rng;
pub mod schedule;
#[doc(hidden)]
pub mod signals;
mod spin;
pub mod statistics;
#[doc(hidden)]
pub mod store_choice;
pub mod threads;
pub mod trace;
#[doc(hidden)]
pub mod untried;
mod waits;
pub mod watches;
#[doc(hidden)]
pub mod what_if;
#[cfg(unpause_native)]
mod written;

pub use self::met::FaultCount;

use std::any::Any;
use std::fmt;

use crate::run::event::{Event, ValueKind};
use crate::run::ids::{Place, Seed, TaskId, TaskPath};
use crate::run::program::ProgramRecord;
use crate::run::threads::ThreadFacts;
use unpause_check::history::HistoryRecord;

pub use self::board::TimeMove;
pub use self::calls::CallRecord;
#[cfg_attr(not(unpause_native), allow(unused_imports))]
#[doc(hidden)]
pub use self::calls::{Requested, Within, calls};
pub use self::condition::Condition;
pub use self::failure::{Failure, Signature};
pub use self::memory::{MemoryError, MemoryStep};
pub use self::spin::Spin;
#[doc(hidden)]
pub use self::waits::circle_of;
pub use self::waits::{Holder, Wait};
#[doc(inline)]
pub use self::what_if::Site;

/// One execution of the test body.
#[derive(Clone, Debug)]
pub struct Run {
    /// The seed its random decisions were drawn from; for a replay, the seed of the trace.
    pub seed: Seed,
    /// The name of the strategy that answered its choices.
    pub strategy: String,
    /// Its outcome.
    pub outcome: Outcome,
    /// Its tasks by [`TaskId`].
    pub tasks: Vec<TaskRecord>,
    /// Its shared objects by [`ObjectId`](ids::ObjectId).
    pub objects: Vec<ObjectRecord>,
    /// The steps, in order.
    pub steps: Vec<StepRecord>,
    /// The values drawn, in order.
    pub draws: Vec<DrawRecord>,
    /// The events, in order.
    pub events: Vec<Event>,
    /// The calls in which plain threads of it did their operations, in the order of their first
    /// one. Empty in all other runs, and in runs that are not made to be shown.
    pub calls: Vec<CallRecord>,
    /// Facts about its plain threads. Empty whenever [`calls`](Run::calls) is.
    pub threads: ThreadFacts,
    /// The histories recorded in it.
    pub histories: Vec<HistoryRecord>,
    /// The programs that were generated and run in it.
    pub programs: Vec<ProgramRecord>,
    /// Tasks that had not ended when the body did, although their handle was kept until then.
    pub leaked: Vec<TaskId>,
    /// Detached tasks that were blocked when the body had ended, with no task left to wake them; with the operation
    /// and its place.
    pub stuck: Vec<(TaskId, String)>,
    /// Tasks that waited for each other in a circle at the end of the run, while others could step.
    pub circle: Vec<Wait>,
    /// True if a task woke another one through something outside this library, whose accesses are invisible.
    pub foreign: bool,
    /// The moves of its time, each made when no task could step.
    pub time_moves: Vec<TimeMove>,
    /// The memory orders of its operations, if its memory is `c11`. In the order of the events.
    #[doc(hidden)]
    pub orders: Vec<memory_model::OrderMark>,
    /// The text that its plain threads wrote to the standard output and error, up to 16 KiB. Empty in all other runs,
    /// whose output is not taken.
    pub output: String,
    /// The conditions of `sometimes!` and `cover!`, in the order of
    /// their first evaluation.
    pub conditions: Vec<Condition>,
    /// The faults of a nemesis, by kind.
    pub faults: Vec<FaultCount>,
}

impl Run {
    /// A run that failed before its first step.
    #[doc(hidden)]
    pub fn empty(seed: Seed, failure: Failure) -> Run {
        Run {
            seed,
            strategy: String::new(),
            outcome: Outcome::Failed(failure),
            tasks: Vec::new(),
            objects: Vec::new(),
            steps: Vec::new(),
            draws: Vec::new(),
            events: Vec::new(),
            calls: Vec::new(),
            threads: ThreadFacts::default(),
            histories: Vec::new(),
            programs: Vec::new(),
            leaked: Vec::new(),
            stuck: Vec::new(),
            circle: Vec::new(),
            foreign: false,
            time_moves: Vec::new(),
            orders: Vec::new(),
            output: String::new(),
            conditions: Vec::new(),
            faults: Vec::new(),
        }
    }
}

/// A task of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TaskRecord {
    /// Its structural name.
    pub path: TaskPath,
    /// The name the user gave it.
    pub name: Option<String>,
    /// The place that spawned it.
    pub place: Place,
    /// The node that it is in or, of a message, arrives at.
    pub node: Option<String>,
    /// The node that sent it, if it is a message on its way.
    pub from: Option<String>,
    /// The message in words, if the task is a message on its way and the run is shown.
    pub message: Option<String>,
}

impl fmt::Display for TaskRecord {
    /// The name a person knows it by: `0.1 writer`, `0.1`, or `main` for the body of the test.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "{} {name}", self.path),
            None if self.path.segments().len() == 1 => f.write_str("main"),
            None => write!(f, "{}", self.path),
        }
    }
}

/// A shared object of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ObjectRecord {
    /// Its kind, such as `atomic`.
    pub kind: &'static str,
    /// The name given by the user; several objects may have the same.
    pub name: Option<&'static str>,
    /// The interpretation of its values.
    pub values: ValueKind,
    /// The place that created it.
    pub place: Place,
    /// The task that created it and its number among the objects created by that task. `None` for
    /// an atomic or a cell: their `const` constructors see no run, so `ordinal` tells them apart.
    pub creator: Option<(TaskId, u32)>,
    /// The node that owns it, with its life from the second life on, if each node has its own
    /// object for a static.
    pub node: Option<&'static str>,
    /// Its number, from 0, among the objects created at `place`, as the run got to know them.
    pub ordinal: u32,
}

/// One step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StepRecord {
    /// The task that stepped.
    pub task: TaskId,
    /// The number of enabled tasks.
    pub candidates: u32,
    /// True if this is a preemption: the task of the previous step is another one, was enabled and did not yield.
    pub preempts: bool,
}

/// One value drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DrawRecord {
    /// The step it was drawn in.
    pub step: u32,
    /// The answer, below `bound`.
    pub value: u64,
    /// The exclusive upper bound of the value.
    pub bound: u64,
    /// True for a setting of the run, such as the heap of plain threads: kept in the trace, not explored, not shown.
    pub given: bool,
    /// The name of the decision; empty if it is not known.
    pub why: &'static str,
}

/// The outcome of a run.
///
/// ```
/// use sim::run::{Failure, Outcome};
///
/// # if !sim::SIMULATED { return }
/// let runner = sim::Runner::new().hermetic();
/// # let runner = runner.out(std::env::temp_dir().join("sim-docs"));
/// let report = runner.run(async || assert_eq!(1 + 1, 3, "wrong sum"));
/// let outcome = report.finding.unwrap().run.outcome;
/// assert!(matches!(outcome, Outcome::Failed(Failure::Panic { message, .. }) if message.contains("wrong sum")));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The body returned and nothing was wrong.
    Passed,
    /// Something was wrong.
    Failed(Failure),
}

/// The text of a panic payload.
#[doc(hidden)]
pub fn panic_text(payload: &(dyn Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        "a panic whose payload is not text".to_owned()
    }
}
