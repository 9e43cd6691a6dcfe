//! The unpause trace: all decisions of a run, with the operations of each step.
//!
//! A [`Trace`] owns all its data and outlives the run and its process. [`mod@format`] writes it to a file and reads it
//! back. A replay needs nothing else: no seed, no strategy, no environment. The settings of the run are in its header.

pub mod format;

use crate::run::Run;
use crate::run::event::{Event, ValueKind, Values};
use crate::run::ids::{ObjectId, Seed, TaskPath};
use crate::run::place::portable;
use crate::run::program::{CommandRecord, Part};

/// All decisions of a run, with the operations of each step.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Trace {
    /// The origin of the trace and the outcome of its run.
    pub header: Header,
    /// The remaining commands of generated programs. The commands are for people: a replay generates the programs again
    /// from the drawn values.
    pub program: Vec<TraceCommand>,
    /// The tasks, in spawn order. The first task is the body of the test; a parent precedes its children.
    pub tasks: Vec<TraceTask>,
    /// The shared objects, in the order of their first use in the run.
    pub objects: Vec<TraceObject>,
    /// One entry for every step, in order.
    pub steps: Vec<TraceStep>,
}

impl Trace {
    /// Creates the trace of a run.
    pub fn of(run: &Run, header: Header) -> Trace {
        let task =
            |t: &crate::run::TaskRecord| TraceTask { path: t.path.clone(), name: t.name.clone() };
        let object = |o: &crate::run::ObjectRecord| TraceObject {
            kind: o.kind.to_owned(),
            place: portable(&o.place.to_string()),
        };
        let step = |s: &crate::run::StepRecord| TraceStep {
            task: s.task.index(),
            operations: Vec::new(),
            draws: Vec::new(),
        };
        let mut steps: Vec<TraceStep> = run.steps.iter().map(step).collect();
        // Operations of the final drop of remaining tasks belong to no step.
        for event in &run.events {
            if let Some(step) = steps.get_mut(event.step as usize) {
                step.operations.push(TraceOp {
                    op: event.op.name.to_owned(),
                    object: event.object.map(ObjectId::index),
                    place: portable(&event.place.to_string()),
                    values: show_values(event, run),
                });
            }
        }
        for draw in &run.draws {
            if let Some(step) = steps.get_mut(draw.step as usize) {
                step.draws.push(TraceDraw { value: draw.value, bound: draw.bound });
            }
        }
        let tasks = run.tasks.iter().map(task).collect();
        let objects = run.objects.iter().map(object).collect();
        let command = |c: &CommandRecord| TraceCommand { part: c.layout.part, text: c.tells() };
        let mut left = Vec::new();
        for program in &run.programs {
            left.extend(program.left().into_iter().map(command));
        }
        Trace { header, program: left, tasks, objects, steps }
    }
}

/// Returns the values of an event as text without white space; an empty text if the event has no values.
pub fn show_values(event: &Event, run: &Run) -> String {
    let object = event.object.and_then(|object| run.objects.get(object.index()));
    let kind = object.map_or(ValueKind::Opaque, |object| object.values);
    let show = |bits| kind.show(bits);
    match event.values {
        Values::None | Values::Messages { saw: None, .. } => String::new(),
        Values::Messages { saw: Some(saw), .. } => format!("={saw}"),
        Values::Read(value) => format!("={}", show(value)),
        Values::Wrote(value) => format!("->{}", show(value)),
        Values::Changed(old, new) => format!("{}->{}", show(old), show(new)),
        Values::Refused(found, wanted) => format!("{}!={}", show(found), show(wanted)),
        Values::Failed => "failed".to_owned(),
        Values::Task(task) => {
            run.tasks.get(task.index()).map_or(String::new(), |task| task.path.to_string())
        }
    }
}

/// The origin of a trace, the settings and the outcome of its run. A replay reads the settings. `cargo unpause replay`
/// also reads the command that runs the test. The rest is for people.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Header {
    /// The test, as `module::path::name`.
    pub test: String,
    /// The package of the test and its version, as `name version`.
    pub package: String,
    /// The seed of the run.
    pub seed: Seed,
    /// The strategy that answered the choices.
    pub strategy: String,
    /// The settings of the run that differ from the defaults, as pairs of a name and a value. A name is one word of
    /// ASCII letters, digits, `_` and `-`. `None` if an earlier version wrote the trace without settings. Such a trace
    /// is replayed with the settings of the test.
    pub settings: Option<Vec<(String, String)>>,
    /// The arguments with which cargo runs only this test, for example
    /// `unpause test --any -p queue --lib tests::pops -- --exact`. Empty if cargo cannot run the test alone. `None` if
    /// these are the [usual arguments](Self::usual_arguments).
    pub cargo: Option<Vec<String>>,
    /// The outcome of the run, in one line.
    pub verdict: String,
}

impl Header {
    /// Returns the arguments with which cargo runs only this test; `None` if cargo cannot run the test alone.
    ///
    /// ```
    /// use sim::run::trace::Header;
    ///
    /// let header = Header {
    ///     test: "queue::tests::pops (lib)".to_owned(),
    ///     package: "queue 0.1.0".to_owned(),
    ///     ..Header::default()
    /// };
    /// let words = header.cargo_arguments().unwrap().join(" ");
    /// assert_eq!(words, "test -p queue --lib tests::pops -- --exact");
    /// let other = ["test", "--release"].map(str::to_owned).to_vec();
    /// let header = Header { cargo: Some(other.clone()), ..header };
    /// assert_eq!(header.cargo_arguments(), Some(other));
    /// assert_eq!(Header { cargo: Some(Vec::new()), ..header }.cargo_arguments(), None);
    /// ```
    pub fn cargo_arguments(&self) -> Option<Vec<String>> {
        match &self.cargo {
            Some(arguments) => Some(arguments.clone()).filter(|arguments| !arguments.is_empty()),
            None => self.usual_arguments(),
        }
    }

    /// Returns the arguments that follow from the name of the test and its package: `cargo test` in the default profile
    /// and with the default features. Traces do not contain these arguments. `None` if the name has no crate or no
    /// Cargo target.
    pub fn usual_arguments(&self) -> Option<Vec<String>> {
        let (path, target) = self.test.strip_suffix(')')?.rsplit_once(" (")?;
        // A harness omits the crate name. The name of a `Runner` has no crate name.
        let (_, name) = path.split_once("::")?;
        let package = self.package.split(' ').next().filter(|package| !package.is_empty())?;
        let mut arguments = vec!["test".to_owned(), "-p".to_owned(), package.to_owned()];
        match target.split_once(' ') {
            None if target == "lib" => arguments.push("--lib".to_owned()),
            Some((kind @ ("test" | "bin" | "example" | "bench"), target)) => {
                arguments.extend([format!("--{kind}"), target.to_owned()]);
            }
            _ => return None,
        }
        arguments.extend([name, "--", "--exact"].map(str::to_owned));
        Some(arguments)
    }
}

/// A command of a generated program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceCommand {
    /// The position of the command.
    pub part: Part,
    /// The command as text.
    pub text: String,
}

/// A task of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceTask {
    /// The structural name of the task.
    pub path: TaskPath,
    /// The name that the user gave to the task.
    pub name: Option<String>,
}

/// A shared object of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceObject {
    /// The kind of the object, such as `atomic`: one word of ASCII letters, digits and `-`.
    pub kind: String,
    /// The place that created the object, as `file:line:column`. A file of another crate begins with that crate's
    /// folder, a file of this library with `<sim>`.
    pub place: String,
}

/// A step of a trace.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TraceStep {
    /// The task that stepped: an index into [`Trace::tasks`].
    pub task: usize,
    /// The operations of the step, in order.
    pub operations: Vec<TraceOp>,
    /// The values drawn in this step, in order.
    pub draws: Vec<TraceDraw>,
}

/// An operation of a step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceOp {
    /// The name of the operation: one word of ASCII letters, digits, `_` and `-`.
    pub op: String,
    /// The object: an index into [`Trace::objects`].
    pub object: Option<usize>,
    /// The place in the source, as `file:line:column`.
    pub place: String,
    /// The values involved, as text such as `0->1`, without white space; empty if there are none.
    pub values: String,
}

/// A value drawn in a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TraceDraw {
    /// The drawn value.
    pub value: u64,
    /// The exclusive upper bound of the value.
    pub bound: u64,
}
