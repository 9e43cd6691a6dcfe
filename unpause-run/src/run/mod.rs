//! Run record: one execution of a test body, with its decisions, its events and its outcome.

#[doc(hidden)]
pub mod board;
mod calls;
#[doc(hidden)]
pub mod chances;
#[doc(hidden)]
pub mod choice;
#[doc(hidden)]
pub mod clock_mode;
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
pub mod in_flight;
#[doc(hidden)]
pub mod isolation;
mod memory;
#[doc(hidden)]
pub mod memory_model;
#[doc(hidden)]
pub mod met;
#[doc(hidden)]
pub mod node_clock;
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

/// Record of one execution of the test body.
#[derive(Clone, Debug)]
pub struct Run {
    /// The seed of the random decisions; for a replay, the seed of the trace.
    pub seed: Seed,
    /// The name of the strategy that answered the choices.
    pub strategy: String,
    /// The outcome of the run.
    pub outcome: Outcome,
    /// The tasks of the run, indexed by [`TaskId`].
    pub tasks: Vec<TaskRecord>,
    /// The shared objects of the run, indexed by [`ObjectId`](ids::ObjectId).
    pub objects: Vec<ObjectRecord>,
    /// The steps, in order.
    pub steps: Vec<StepRecord>,
    /// The drawn values, in order.
    pub draws: Vec<DrawRecord>,
    /// The events, in order.
    pub events: Vec<Event>,
    /// The calls in which plain threads did their operations, in the order of the first operation. Empty in all other
    /// runs, and in runs that are not recorded for a report.
    pub calls: Vec<CallRecord>,
    /// Facts about the plain threads of the run. Empty whenever [`calls`](Run::calls) is empty.
    pub threads: ThreadFacts,
    /// The histories recorded in the run.
    pub histories: Vec<HistoryRecord>,
    /// The programs that were generated and executed in the run.
    pub programs: Vec<ProgramRecord>,
    /// Tasks that had not ended when the body ended, although the program kept their handles until then.
    pub leaked: Vec<TaskId>,
    /// Detached tasks that were blocked after the body had ended, when no remaining task could wake them. The text is
    /// the pending operation and its place.
    pub stuck: Vec<(TaskId, String)>,
    /// Tasks that waited for each other in a cycle at the end of the run, while other tasks could step.
    pub circle: Vec<Wait>,
    /// True if a task woke another task through something outside this library. Accesses to it are invisible.
    pub foreign: bool,
    /// The time advances of the run. Time advances when no task can step.
    pub time_moves: Vec<TimeMove>,
    /// The memory orders of the operations, in event order, if the memory model is `c11`.
    #[doc(hidden)]
    pub orders: Vec<memory_model::OrderMark>,
    /// The text that plain threads wrote to the standard output and error, up to 16 KiB. Empty in all other runs,
    /// because their output is not captured.
    pub output: String,
    /// The last panics of each plain thread, and the panics of tasks that their handles received.
    pub panics: Vec<panics::TaskPanic>,
    /// The conditions of `sometimes!` and `cover!`, in the order of their first evaluation.
    pub conditions: Vec<Condition>,
    /// The faults of a nemesis, by kind.
    pub faults: Vec<FaultCount>,
}

impl Run {
    /// The strategy of runs on real threads.
    #[doc(hidden)]
    pub const JITTER: &'static str = "seeded jitter";

    /// Returns `true` for a run on real threads.
    #[doc(hidden)]
    pub fn is_on_threads(&self) -> bool {
        self.strategy == Run::JITTER
    }

    /// Returns the panics that the failure of the run does not contain. For example, the program has caught them, or
    /// received them from `join`.
    #[doc(hidden)]
    pub fn other_panics(&self) -> impl Iterator<Item = &panics::TaskPanic> {
        let (text, at) = match &self.outcome {
            Outcome::Failed(
                Failure::Panic { message, place, .. } | Failure::Crash { message, place, .. },
            ) => (&**message, &**place),
            _ => ("", ""),
        };
        self.panics.iter().filter(move |panic| {
            let is_there = panic.place == at || text.contains(&panic.place);
            !(is_there && text.contains(&panic.message))
        })
    }

    /// Creates the record of a run that failed before its first step.
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
            panics: Vec::new(),
            conditions: Vec::new(),
            faults: Vec::new(),
        }
    }
}

/// A task of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TaskRecord {
    /// The structural name of the task.
    pub path: TaskPath,
    /// The name that the user gave to the task.
    pub name: Option<String>,
    /// The place that spawned the task.
    pub place: Place,
    /// The node that the task is in; for a message, the node where it arrives.
    pub node: Option<String>,
    /// The node that sent the message, if the task is a message in transit.
    pub from: Option<String>,
    /// The message as text, if the task is a message in transit and the run is shown.
    pub message: Option<String>,
}

impl fmt::Display for TaskRecord {
    /// Writes the name for people: `0.1 writer`, `0.1`, or `main` for the body of the test.
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
    /// The kind of the object, such as `atomic`.
    pub kind: &'static str,
    /// The name given by the user; several objects may have the same name.
    pub name: Option<&'static str>,
    /// The interpretation of the object's values.
    pub values: ValueKind,
    /// The place that created the object.
    pub place: Place,
    /// The task that created the object, and the number of the object among the objects created by that task. `None`
    /// for an atomic or a cell, because `const` constructors have no access to the run; `ordinal` identifies such
    /// objects.
    pub creator: Option<(TaskId, u32)>,
    /// The node that owns the object, if each node has its own object for a static. The text includes the life of the
    /// node from the second life on.
    pub node: Option<&'static str>,
    /// The index of the object, from 0, among the objects created at `place`, in the order of their first use.
    pub ordinal: u32,
}

/// A step of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StepRecord {
    /// The task that stepped.
    pub task: TaskId,
    /// The number of enabled tasks.
    pub candidates: u32,
    /// True if the step is a preemption: a different task took the previous step, was still enabled and did not yield.
    pub preempts: bool,
}

/// A drawn value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DrawRecord {
    /// The step that drew the value.
    pub step: u32,
    /// The drawn value, below `bound`.
    pub value: u64,
    /// The exclusive upper bound of the value.
    pub bound: u64,
    /// True for a setting of the run, such as the heap of plain threads. Also true for an order of branches that made
    /// no difference to the objects of the run. An exhaustive search does not vary such values.
    pub given: bool,
    /// The name of the decision; empty if unknown.
    pub why: &'static str,
}

impl DrawRecord {
    /// Returns `true` if screens show the value. Settings are not shown. An order of branches other than the source
    /// order is always shown, because it may have made a difference to memory that the run does not see.
    #[doc(hidden)]
    pub fn is_shown(&self) -> bool {
        !self.given || self.is_turn_of_branches()
    }

    /// Returns `true` if a `select!` polled its branches in another order than the source order, without a difference
    /// to the objects of the run.
    #[doc(hidden)]
    pub fn is_turn_of_branches(&self) -> bool {
        self.given && self.value > 0 && self.why == choice::Draw::BRANCH
    }
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
    /// The body returned, and the run found no failure.
    Passed,
    /// The run found a failure.
    Failed(Failure),
}

/// Returns the text of a panic payload.
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
