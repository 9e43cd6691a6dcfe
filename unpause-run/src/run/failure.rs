//! The ways in which a run fails, and the identity of a failure.

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
        /// The panic message.
        message: String,
        /// The place of the panic, as `file:line:column`; empty if the program replaced the panic hook.
        place: String,
    },
    /// A plain thread misused memory, or two accesses to a `RaceCell` raced.
    Memory(MemoryError),
    /// The body returned an error.
    Error {
        /// The `Debug` text of the error.
        message: String,
    },
    /// Tasks remain, but no task can step.
    Deadlock {
        /// The waiting tasks.
        waits: Vec<Wait>,
    },
    /// A condition that must hold after every step does not hold.
    Invariant {
        /// The name of the condition.
        name: String,
        /// The task that took the violating step.
        task: TaskId,
        /// The place of the condition, as `file:line:column`.
        place: String,
    },
    /// The run took more steps than allowed.
    StepLimit {
        /// The limit.
        steps: u32,
        /// The shortest sequence of steps that repeats at the end of the run, at least four times; empty if there is no
        /// such sequence.
        cycle: Vec<StepRecord>,
    },
    /// An operation of a task took the maximum number of its own steps that wait-freedom allows, and had not ended.
    Starved {
        /// The task.
        task: TaskId,
        /// The number of steps that the task took.
        steps: u32,
        /// The place that spawned the task.
        place: Place,
    },
    /// The model does not explain a history.
    History {
        /// The index of the history in [`Run::histories`](super::Run::histories). The history contains the verdict.
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
        /// The index of the first step that differs, starting at 0.
        step: u32,
        /// The operation at that step in the trace.
        expected: String,
        /// The operation in the run.
        found: String,
    },
    /// The same decisions led to two different runs.
    NonDeterminism {
        /// The index of the first step that differs, starting at 0.
        step: u32,
        /// The operation of the first run at this step.
        first: String,
        /// The operation of the second run at this step.
        second: String,
    },
    /// Code of the test would have ended the process. A plain thread does this by a signal such as a segmentation
    /// fault, by a stack overflow, or by a call such as `abort` or `exit`. A task does this by an access to mapped
    /// memory beyond the end of its file.
    Crash {
        /// The task, or the task of the thread.
        task: TaskId,
        /// A short description of the cause, such as `segmentation fault`.
        cause: String,
        /// The circumstances, such as the address.
        message: String,
        /// The place, as `file:line:column`.
        place: String,
    },
    /// A task did not return to the scheduler; on real threads, no task of the run made progress.
    Hang {
        /// The task; on real threads, the body of the test.
        task: TaskId,
        /// The task's last or pending operation; on real threads, the tasks that had not ended.
        last: String,
        /// The place at which a plain thread was interrupted, as `file:line:column`. Empty for other tasks, because
        /// they cannot be interrupted.
        place: String,
        /// The waiting time, in seconds.
        seconds: u64,
        /// Uninstrumented functions that plain threads had entered. These functions synchronize threads or call the
        /// operating system.
        unseen: Vec<String>,
    },
    /// A run on real threads did not end within its time limit, although its tasks made progress.
    TimeLimit {
        /// The tasks that had not ended.
        running: String,
        /// The time limit, in seconds.
        seconds: u64,
    },
    /// Conditions of `sometimes!` held in no run, or conditions of `cover!` held in too few runs.
    TooSeldom {
        /// The violated conditions, sorted by name.
        conditions: Vec<Condition>,
        /// The number of runs.
        runs: u64,
        /// True if any of the conditions belongs to a generated program.
        generated: bool,
    },
    /// The test requires a proof that no run of it fails, and there is no proof.
    Unproven {
        /// The reason, such as the progress of the search.
        why: String,
    },
    /// The trace to replay cannot be read, so nothing was run.
    Unreadable {
        /// The reason, with the file and the line.
        message: String,
    },
    /// The library was used in a way that cannot work; the message includes the remedy.
    Misuse {
        /// The problem and the remedy.
        message: String,
        /// The place in the user's source, as `file:line:column`.
        place: String,
    },
}

/// Defines [`Failure::VARIANTS`] and [`Failure::variant`] by one list. A variant that is not listed is a compile error.
macro_rules! variants {
    ($($variant:ident: $name:literal,)*) => {
        impl Failure {
            /// The names of all variants in JSON reports.
            #[doc(hidden)]
            pub const VARIANTS: &'static [&'static str] = &[$($name),*];

            /// Returns the name of the variant in JSON reports.
            #[doc(hidden)]
            pub fn variant(&self) -> &'static str {
                match self {
                    $(Failure::$variant { .. } => $name,)*
                }
            }
        }
    };
}

variants! {
    Panic: "panic",
    Memory: "memory",
    Error: "error",
    Deadlock: "deadlock",
    Invariant: "invariant",
    StepLimit: "step_limit",
    Starved: "starved",
    History: "history",
    Diverged: "diverged",
    NonDeterminism: "non_determinism",
    Crash: "crash",
    Hang: "hang",
    TimeLimit: "time_limit",
    TooSeldom: "too_seldom",
    Unproven: "unproven",
    Unreadable: "unreadable",
    Misuse: "misuse",
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
    /// Returns a failure with the conditions, sorted by name, that held in too few of `runs` runs; `None` if all were
    /// met.
    #[doc(hidden)]
    pub fn too_seldom(mut conditions: Vec<Condition>, runs: u64) -> Option<Failure> {
        let generated = conditions.iter().any(|condition| condition.name == SOMETHING_ASKED);
        conditions.retain(|condition| !condition.is_met(runs));
        sort_by_key(&mut conditions, |condition| condition.name);
        (!conditions.is_empty()).then_some(Failure::TooSeldom { conditions, runs, generated })
    }

    /// All values of [`kind`](Self::kind). The last seven are [problems](MemoryError::problem) of memory.
    #[doc(hidden)]
    pub const KINDS: &'static [&'static str] = &[
        "panic",
        "error",
        "deadlock",
        "invariant",
        "step limit",
        "starved",
        "history",
        "undecided",
        "diverged",
        "non-determinism",
        "crash",
        "hang",
        "time limit",
        "too seldom",
        "unproven",
        "unreadable",
        "misuse",
        "double free",
        "invalid free",
        "use after free",
        "use after return",
        "out of bounds",
        "leak",
        "data race",
    ];

    /// Returns the kind of failure in one or two words, such as `panic` or `deadlock`.
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

    /// Returns the place of the failure, as `file:line:column`; empty if the failure has no place or several.
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
                // A plain thread may wait for the same lock inside a recorded call or in the code within it. The two
                // cases get the same name here.
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
