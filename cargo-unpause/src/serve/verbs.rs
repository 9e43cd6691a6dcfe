//! The verbs of the server. To add a verb, write its function and add its row.

use serde_json::{Map, Value as Json, json};

use super::arguments::Kind::{Flag, Number, Settings, Text};
use super::arguments::{Argument, Arguments, schema};
use super::{reading, running, stepping};
use crate::Usage;
use crate::rerun::Stop;

/// A verb.
pub(super) struct Verb {
    pub(super) name: &'static str,
    /// The effect of the verb in one line.
    pub(super) summary: &'static str,
    /// More information for the client that chooses a verb.
    details: &'static str,
    arguments: &'static [&'static [Argument]],
    /// `true` if the verb runs no test and writes nothing.
    reads_only: bool,
    run: fn(&Arguments, &Stop) -> Result<Json, Usage>,
}

impl Verb {
    pub(super) fn call(&self, given: Map<String, Json>, stop: &Stop) -> Result<Json, Usage> {
        (self.run)(&Arguments::read(given, self.arguments)?, stop)
    }

    /// Returns the verb in the protocol's form of a tool description.
    pub(super) fn described(&self) -> Json {
        json!({
            "name": self.name,
            "description": format!("{}. {}", self.summary, self.details).trim(),
            "inputSchema": schema(self.arguments),
            "annotations": {"readOnlyHint": self.reads_only, "destructiveHint": false},
        })
    }
}

/// The arguments that name the tests to run.
const TESTS: &[Argument] = &[
    Argument::optional(
        "test",
        Text,
        "the tests with this text in their path, such as `queue::pops`; all without it",
    ),
    Argument::optional("package", Text, "the package, as for `cargo test -p`"),
    Argument::optional(
        "target",
        Text,
        "`lib`, `test:NAME`, `bin:NAME` or `example:NAME`; all tests without it",
    ),
    Argument::optional("features", Text, "features of the package, separated by commas"),
    Argument::optional(
        "plain_threads",
        Flag,
        "for `#[sim::test(native)]`: the program is built by `cargo unpause test`",
    ),
    Argument::optional(
        "any",
        Flag,
        "for the tests of a crate that does not depend on unpause (`--any`)",
    ),
    Argument::optional(
        "races",
        Flag,
        "with plain threads: check each access to memory (`--races`; a slower build)",
    ),
    Argument::optional(
        "settings",
        Settings,
        "settings by their names: {\"seeds\": 1000, \"strategy\": \"pct\"} is SIM_SEEDS and SIM_STRATEGY",
    ),
];

/// The argument that names a failure.
const FILE: &[Argument] = &[Argument::required(
    "file",
    Text,
    "the trace of a failure or the report beside it, as `test` names it in `file`",
)];

/// The argument that names a failure, for verbs that accept either a failure or a test.
const MAYBE_FILE: &[Argument] = &[Argument::optional(
    "file",
    Text,
    "the trace of a failure: its test is run. Without it, name one test by the other arguments",
)];

/// All verbs.
pub(super) const VERBS: &[Verb] = &[
    Verb {
        name: "test",
        summary: "runs tests under many schedules; each failure comes with its cause, a remedy and a file",
        details: "Failing runs are shrunk. `failed` has for each: `failure`, `pattern` (the name of a well-known fault), \
                  `cause` (an interruption between two lines that makes it fail), `remedy` (lines that pass in all \
                  tested runs if they are one step, or have an order), `screen`, `replay` (a command), and `file`, \
                  which other verbs take.",
        arguments: &[TESTS],
        reads_only: false,
        run: running::test,
    },
    Verb {
        name: "replay",
        summary: "runs the test of a failure again, with the decisions of its trace",
        details: "`same_failure` says whether it fails as before. After a fix that changes the steps the run diverges \
                  from its trace, which is no pass: call `test`, too.",
        arguments: &[FILE],
        reads_only: false,
        run: running::replay,
    },
    Verb {
        name: "show",
        summary: "shows a failure from its file: the screen, or some of its steps",
        details: "Without `step`, `task` and `object` it is the screen as text.",
        arguments: &[
            FILE,
            &[
                Argument::optional(
                    "step",
                    Number,
                    "the number of a step: operations, source lines, drawn values",
                ),
                Argument::optional(
                    "task",
                    Text,
                    "the steps of a task: its path, such as 0.1, or its name",
                ),
                Argument::optional(
                    "object",
                    Text,
                    "the operations on an object, as the screen names it: mutex#1",
                ),
            ],
        ],
        reads_only: true,
        run: reading::show,
    },
    Verb {
        name: "state_at",
        summary: "says what each object holds after a step of a failing run, and where each task is",
        details: "Each task has its last operation and the next one that it will take in this run.",
        arguments: &[FILE, &[Argument::required("step", Number, "the number of the step, from 0")]],
        reads_only: true,
        run: reading::state_at,
    },
    Verb {
        name: "why",
        summary: "explains a failure: its cause, a remedy, and when it became certain",
        details: "All of it was tested by other runs of the same program; what was not found is null. `passing` is the \
            passing run with the most first steps in common, from its first step that differs.",
        arguments: &[FILE],
        reads_only: true,
        run: reading::why,
    },
    Verb {
        name: "diverges_from",
        summary: "compares two failing runs: their settings, and the first step that differs",
        details: "",
        arguments: &[FILE, &[Argument::required("other", Text, "the file of the other failure")]],
        reads_only: true,
        run: reading::diverges_from,
    },
    Verb {
        name: "step",
        summary: "runs a test with the tasks that you choose, step by step",
        details: "`choices` are the tasks of the first steps; the answer has the tasks that can step then, each with its \
                  next operations, and `trace`, to which you append your next choice. A run that fails says how.",
        arguments: &[
            MAYBE_FILE,
            TESTS,
            &[Argument::optional(
                "choices",
                Text,
                "a trace in text, such as `0,0.0x2,0.1`: the paths of tasks, with a number of times. Empty: before the first step",
            )],
        ],
        reads_only: false,
        run: stepping::step,
    },
    Verb {
        name: "prove",
        summary: "searches all interleavings of a test, and says whether none fails",
        details: "`proved` is true only if each of them was explored. A test with more interleavings than its seeds (the \
                  setting `seeds`) is not decided. The strategy `preemptions=2` explores those with at most two.",
        arguments: &[
            TESTS,
            &[Argument::optional(
                "strategy",
                Text,
                "`exhaustive` (default), `preemptions=N` or `delays=N`",
            )],
        ],
        reads_only: false,
        run: running::prove,
    },
    Verb {
        name: "keep",
        summary: "keeps the trace of a failure, so that its test replays it from now on",
        details: "Copies it into `sim-regressions` beside the manifest of the package.",
        arguments: &[
            FILE,
            &[Argument::optional(
                "name",
                Text,
                "the name of the file; without it the kind and the seed",
            )],
        ],
        reads_only: false,
        run: reading::keep,
    },
];
