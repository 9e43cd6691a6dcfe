//! The unpause trace: all decisions of a run, with what was done at each.
//!
//! A [`Trace`] owns all it says and outlives the run and the process it came from. It is written
//! to a file and read back by [`format`](crate::trace::format), and a replay needs nothing else:
//! no seed, no strategy, no environment.

pub mod format;

use crate::ids::{Seed, TaskPath};

/// All decisions of a run, with what was done at each.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Trace {
    /// Where the trace comes from and how its run ended.
    pub header: Header,
    /// The tasks, in the order they were spawned. The first is the body of the test; a parent
    /// stands before its children.
    pub tasks: Vec<TraceTask>,
    /// The shared objects, in the order the run got to know them.
    pub objects: Vec<TraceObject>,
    /// One entry for every step, in order.
    pub steps: Vec<TraceStep>,
}

/// Where a trace comes from and how its run ended. For people; a replay does not read it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Header {
    /// The test, as `module::path::name`.
    pub test: String,
    /// The package of the test and its version, as `name version`.
    pub package: String,
    /// The seed it was found with.
    pub seed: Seed,
    /// The strategy that answered the choices.
    pub strategy: String,
    /// How the run ended, in one line.
    pub verdict: String,
}

/// A task of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceTask {
    /// Its structural name.
    pub path: TaskPath,
    /// The name the user gave it.
    pub name: Option<String>,
}

/// A shared object of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceObject {
    /// What it is, such as `atomic`: one word of ASCII letters, digits and `-`.
    pub kind: String,
    /// Where it was created, as `file:line:column`.
    pub place: String,
}

/// One step of a trace.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TraceStep {
    /// The task that stepped: an index into [`Trace::tasks`].
    pub task: usize,
    /// What it did, in order.
    pub deeds: Vec<Deed>,
    /// The values drawn in this step, in order.
    pub draws: Vec<TraceDraw>,
}

/// One operation of a step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Deed {
    /// The name of the operation: one word of ASCII letters, digits, `_` and `-`.
    pub op: String,
    /// The object: an index into [`Trace::objects`].
    pub object: Option<usize>,
    /// Where in the source, as `file:line:column`.
    pub place: String,
    /// The values involved, as text such as `0->1`, without white space; empty if there are none.
    pub values: String,
}

/// A value drawn in a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TraceDraw {
    /// The answer.
    pub value: u64,
    /// The answer was below this.
    pub bound: u64,
}
