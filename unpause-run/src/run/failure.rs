//! The ways in which a run fails, and what makes two failures the same.

use unpause_check::verdict::Verdict;
use unpause_ordered::{sort, sort_by_key};

use super::ids::{Place, TaskId};
use super::program::SOMETHING_ASKED;
use super::waits::core_of;
use super::{Condition, MemoryError, StepRecord, Wait};

/// The failure of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Failure {
    /// A task panicked.
    Panic {
        /// The task.
        task: TaskId,
        /// The text it panicked with.
        message: String,
        /// The place, as `file:line:column`; empty if the program replaced the panic hook.
        place: String,
    },
    /// A plain thread used memory in a wrong way.
    Memory(MemoryError),
    /// The body returned an error.
    Error {
        /// Its `Debug` text.
        message: String,
    },
    /// Tasks are left and none can step.
    Deadlock {
        /// The waiting tasks.
        waits: Vec<Wait>,
    },
    /// A condition that holds after every step does not hold.
    Invariant {
        /// Its name.
        name: String,
        /// The task that took the step.
        task: TaskId,
        /// The place of the condition, as `file:line:column`.
        place: String,
    },
    /// The run took more steps than allowed.
    StepLimit {
        /// The limit.
        steps: u32,
        /// The shortest sequence of steps that the end of the run repeats, four times or more; empty
        /// if there is none.
        cycle: Vec<StepRecord>,
    },
    /// An operation of a task took as many steps of its own as wait-freedom allows, and had not ended.
    Starved {
        /// The task.
        task: TaskId,
        /// The number of its steps.
        steps: u32,
        /// The place that spawned the task.
        place: Place,
    },
    /// A history is not explained by its model.
    History {
        /// Its index in [`Run::histories`](super::Run::histories); the history has the verdict.
        history: usize,
        /// The requested condition, such as `linearizability`.
        condition: String,
        /// The verdict of the checker: violated or unknown.
        verdict: Verdict,
        /// The place that requested the check.
        place: Place,
    },
    /// The run differs from the run of the trace.
    Diverged {
        /// The first step that differs, from 0.
        step: u32,
        /// The operation at that step in the trace.
        expected: String,
        /// The operation in the run.
        found: String,
    },
    /// The same decisions led to two different runs.
    NonDeterminism {
        /// The first step that differs, from 0.
        step: u32,
        /// The operation of the first run there.
        first: String,
        /// The operation of the second run there.
        second: String,
    },
    /// The process would have ended: a plain thread by a signal such as a segmentation fault, by a stack that is full,
    /// or by a call such as `abort` or `exit`; a task by an access to mapped memory that the file does not have.
    Crash {
        /// The task, or the thread's task.
        task: TaskId,
        /// The cause in a few words, such as `segmentation fault`.
        cause: String,
        /// The circumstances, such as the address.
        message: String,
        /// The place, as `file:line:column`.
        place: String,
    },
    /// A task did not come back to the scheduler; on real threads, no task of a run moved.
    Hang {
        /// The task; on real threads, the body of the test.
        task: TaskId,
        /// Its last or pending operation; on real threads, the tasks that had not ended.
        last: String,
        /// The place at which a plain thread was interrupted, as `file:line:column`; empty for
        /// other tasks: they cannot be interrupted.
        place: String,
        /// The time waited, in seconds.
        seconds: u64,
        /// Uninstrumented functions that plain threads had entered: functions that synchronise threads or call the
        /// system.
        unseen: Vec<String>,
    },
    /// A run on real threads did not end within its time limit, although its tasks continued.
    TimeLimit {
        /// The tasks that had not ended.
        running: String,
        /// The time, in seconds.
        seconds: u64,
    },
    /// Conditions of `sometimes!` that held in no run, or conditions of `cover!` that held in too
    /// few.
    TooSeldom {
        /// These, by name.
        conditions: Vec<Condition>,
        /// The number of runs.
        runs: u64,
        /// True if any of them generated a program.
        generated: bool,
    },
    /// The test must prove that no run of it fails, and proved nothing.
    Unproven {
        /// The reason, such as the progress of the search.
        why: String,
    },
    /// The trace that was to be replayed cannot be read, so nothing was run.
    Unreadable {
        /// The reason, with the file and the line.
        message: String,
    },
    /// The library was used in a way that cannot work; the text says what to do instead.
    Misuse {
        /// The problem and the remedy.
        message: String,
        /// The place in the user's source, as `file:line:column`.
        place: String,
    },
}

/// The identity of a failure: its kind and its place.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Signature {
    /// The kind of failure, one word.
    pub kind: &'static str,
    /// The place or places, sorted, as text.
    pub place: String,
}

impl Failure {
    /// That some of these conditions held in too few of so many runs, if so, by name.
    #[doc(hidden)]
    pub fn too_seldom(mut conditions: Vec<Condition>, runs: u64) -> Option<Failure> {
        let generated = conditions.iter().any(|condition| condition.name == SOMETHING_ASKED);
        conditions.retain(|condition| !condition.is_met(runs));
        sort_by_key(&mut conditions, |condition| condition.name);
        (!conditions.is_empty()).then_some(Failure::TooSeldom { conditions, runs, generated })
    }

    /// The kind of failure in one word or two, such as `panic` or `deadlock`.
    pub fn kind(&self) -> &'static str {
        match self {
            Failure::Panic { .. } => "panic",
            Failure::Memory(error) => error.problem,
            Failure::Error { .. } => "error",
            Failure::Deadlock { .. } => "deadlock",
            Failure::StepLimit { .. } => "step limit",
            Failure::Starved { .. } => "starved",
            Failure::Invariant { .. } => "invariant",
            Failure::History { verdict: Verdict::Unknown(_), .. } => "undecided",
            Failure::History { .. } => "history",
            Failure::Diverged { .. } => "diverged",
            Failure::NonDeterminism { .. } => "non-determinism",
            Failure::Crash { .. } => "crash",
            Failure::Hang { .. } => "hang",
            Failure::TimeLimit { .. } => "time limit",
            Failure::TooSeldom { .. } => "too seldom",
            Failure::Unproven { .. } => "unproven",
            Failure::Unreadable { .. } => "unreadable",
            Failure::Misuse { .. } => "misuse",
        }
    }

    /// The place of the failure, as `file:line:column`; empty if it has none or several.
    #[doc(hidden)]
    pub fn place(&self) -> &str {
        match self {
            Failure::Panic { place, .. }
            | Failure::Invariant { place, .. }
            | Failure::Crash { place, .. }
            | Failure::Hang { place, .. }
            | Failure::Misuse { place, .. } => place,
            Failure::Memory(error) => error.steps.first().map_or("", |step| &step.place),
            Failure::Error { .. }
            | Failure::Deadlock { .. }
            | Failure::StepLimit { .. }
            | Failure::Starved { .. }
            | Failure::History { .. }
            | Failure::Diverged { .. }
            | Failure::NonDeterminism { .. }
            | Failure::TimeLimit { .. }
            | Failure::TooSeldom { .. }
            | Failure::Unproven { .. }
            | Failure::Unreadable { .. } => "",
        }
    }

    /// Returns the identity that a shrunk run must share with this failure.
    pub fn signature(&self) -> Signature {
        let place = match self {
            Failure::Panic { place, .. } | Failure::Misuse { place, .. } => place.clone(),
            Failure::Memory(error) => error.identity(),
            Failure::Crash { cause, place, .. } => format!("{cause} {place}"),
            Failure::Invariant { name, place, .. } => format!("{name} {place}"),
            Failure::Error { message } | Failure::Unreadable { message } => message.clone(),
            Failure::Deadlock { waits } => {
                // A lock of a plain thread is waited for in one of its calls, or in the code within.
                let name = |name: &'static str| match name {
                    "lock" | "read" | "write" => "resume",
                    name => name,
                };
                let mut places: Vec<String> = core_of(waits)
                    .map(|w| format!("{} {}", w.op.map_or("wait", |op| name(op.name)), w.place))
                    .collect();
                sort(&mut places);
                places.dedup();
                places.join(", ")
            }
            Failure::TooSeldom { conditions, .. } => {
                let names: Vec<&str> = conditions.iter().map(|condition| condition.name).collect();
                names.join(", ")
            }
            Failure::StepLimit { .. } | Failure::Unproven { .. } => String::new(),
            Failure::Starved { place, .. } => place.to_string(),
            Failure::History { place, condition, .. } => format!("{condition} {place}"),
            Failure::Diverged { .. }
            | Failure::NonDeterminism { .. }
            | Failure::Hang { .. }
            | Failure::TimeLimit { .. } => String::new(),
        };
        Signature { kind: self.kind(), place }
    }
}
