//! The list of settings, one row for each setting. The struct [`Settings`], the variables and their precedence, and the
//! headers of traces and results are generated from this list. Variables in printed commands and notes about real
//! threads are generated from the list, too. Therefore every setting has a row.
//!
//! Each row states the [meaning](super::row::Meaning) of its setting. For every setting on which runs depend, the tests
//! in `runner/walk.rs` find a planted failure under this setting and replay it.

use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use unpause_words::duration;

use super::grammar::{
    flag, flag_text, folder, parse_log, parse_seeds, parse_shard, parse_time, strategy_grammar,
    time_text,
};
use super::row::Meaning::{Machine, Report, Run, Seed};
use super::row::{ProofRuns, SettingRow, Value, WhyRuns};
use super::{JsonFiles, LogMode, Shard, TestKind};
use crate::run::chances::Chances;
use crate::run::clock_mode::ClockMode;
use crate::run::faults::{PATTERN_GRAMMAR, Progress};
use crate::run::isolation::Isolation;
use crate::run::memory_model::MemoryModel;
use crate::run::points::Points;
use crate::strategy::Chosen;

macro_rules! settings {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident: $type:ty {
            variable: $variable:literal, argument: $argument:literal, on_threads: $on_threads:literal,
            meaning: $meaning:expr,
            grammar: $grammar:expr,
            read: $read:expr,
        }
    )*) => {
        /// The settings of one test. A setting is `None` if it is not set.
        #[derive(Clone, Debug, Default)]
        pub(crate) struct Settings {
            $($(#[doc = $doc])* pub(crate) $name: Option<$type>,)*
            /// The properties of the test that are not settings.
            pub(crate) kind: TestKind,
        }

        impl Settings {
            /// Returns these settings, each overridden by its counterpart in `over`, if any.
            pub(super) fn each_overridden_by(self, over: Settings) -> Settings {
                Settings {
                    $($name: over.$name.or(self.$name),)*
                    kind: self.kind.overridden_by(over.kind),
                }
            }
        }

        /// All settings, in the order of the manual.
        pub(crate) static SETTINGS: &[SettingRow] = &[$(
            SettingRow {
                name: stringify!($name),
                variable: $variable,
                argument: $argument,
                meaning: $meaning,
                on_threads: $on_threads,
                grammar: || $grammar.into(),
                read: |settings, text| {
                    let read: fn(&str) -> Option<$type> = $read;
                    let value = read(text);
                    let is_valid = value.is_some();
                    if is_valid {
                        settings.$name = value;
                    }
                    is_valid
                },
                clear: |settings| settings.$name = None,
                requests: |settings| settings.$name.as_ref().is_some_and(Value::requests),
            },
        )*];
    };
}

settings! {
    /// The only seed to run.
    seed: u64 {
        variable: "SIM_SEED", argument: true, on_threads: true,
        meaning: Report,
        grammar: "a number like 17",
        read: |text| text.parse().ok(),
    }
    /// The seeds to run.
    seeds: Range<u64> {
        variable: "SIM_SEEDS", argument: true, on_threads: true,
        meaning: Report,
        grammar: "a number of seeds from 1, like 1000, or a range like 500..1000 that is not empty",
        read: parse_seeds,
    }
    /// The name of the strategy.
    strategy: String {
        variable: "SIM_STRATEGY", argument: true, on_threads: false,
        meaning: Seed(|config| config.strategy.name().to_owned()),
        grammar: strategy_grammar(),
        read: |text| Chosen::parse(text).map(|_| text.to_owned()),
    }
    /// The time limit of the test: no further seed starts after this time.
    time: Duration {
        variable: "SIM_TIME", argument: true, on_threads: true,
        meaning: Report,
        grammar: duration::GRAMMAR,
        read: parse_time,
    }
    /// The step limit of a run.
    max_steps: u32 {
        variable: "SIM_STEPS", argument: true, on_threads: false,
        meaning: Run(|config| config.steps_max.to_string()),
        grammar: "a number of steps like 100000",
        read: |text| text.parse().ok().filter(|steps| *steps > 0),
    }
    /// The trace to replay: a file name or an inline trace.
    replay: String {
        variable: "SIM_REPLAY", argument: true, on_threads: true,
        meaning: Report,
        grammar: "the name of a trace file, or an inline trace sim2:…",
        read: |text| Some(text.to_owned()).filter(|text| !text.is_empty()),
    }
    /// The points of plain threads, by name.
    points: String {
        variable: "SIM_POINTS", argument: true, on_threads: false,
        meaning: Run(|config| config.points.name().to_owned()),
        grammar: Points::GRAMMAR,
        read: |text| Points::parse(text).map(|_| text.to_owned()),
    }
    /// The isolation of the runs of plain threads, by name.
    isolate: String {
        variable: "SIM_ISOLATE", argument: true, on_threads: false,
        meaning: Run(|config| config.isolate.name().to_owned()),
        grammar: Isolation::GRAMMAR,
        read: |text| Isolation::parse(text).map(|_| text.to_owned()),
    }
    /// The memory model, by name.
    memory: String {
        variable: "SIM_MEMORY", argument: true, on_threads: false,
        meaning: Run(|config| config.memory.name().to_owned()),
        grammar: MemoryModel::GRAMMAR,
        read: |text| MemoryModel::parse(text).map(|_| text.to_owned()),
    }
    /// Decides if reference-count operations of `Arc` are points of plain threads: in all runs if true, in no run if
    /// false. If the setting is not set, each run decides.
    arc: bool {
        variable: "SIM_ARC", argument: true, on_threads: false,
        meaning: Run(|config| config.points.arc.map_or(String::new(), flag_text)),
        grammar: "1 or 0",
        read: flag,
    }
    /// The mode of the virtual clock, by name.
    clock: String {
        variable: "SIM_CLOCK", argument: true, on_threads: false,
        meaning: Run(|config| config.clock.to_string()),
        grammar: ClockMode::GRAMMAR,
        read: |text| ClockMode::parse(text).map(|_| text.to_owned()),
    }
    /// A pattern for the names of the tasks that may be aborted.
    cancel: String {
        variable: "SIM_CANCEL", argument: true, on_threads: false,
        meaning: Run(|config| config.faults.cancel.as_deref().unwrap_or_default().to_owned()),
        grammar: PATTERN_GRAMMAR,
        read: |text| Some(text.to_owned()).filter(|text| !text.is_empty()),
    }
    /// True if the deadlines of timeouts, and of timers in `select!` branches, may expire at any moment.
    cancel_selects: bool {
        variable: "SIM_CANCEL_SELECTS", argument: true, on_threads: false,
        meaning: Run(|config| flag_text(config.faults.selects)),
        grammar: "1 or 0",
        read: flag,
    }
    /// True if runs may execute the code marked with `buggify!`.
    buggify: bool {
        variable: "SIM_BUGGIFY", argument: true, on_threads: false,
        meaning: Run(|config| flag_text(config.faults.buggify)),
        grammar: "1 or 0",
        read: flag,
    }
    /// The progress guarantee, by name.
    progress: String {
        variable: "SIM_PROGRESS", argument: true, on_threads: false,
        meaning: Run(|config| config.faults.progress.to_string()),
        grammar: Progress::GRAMMAR,
        read: |text| Progress::parse(text).map(|_| text.to_owned()),
    }
    /// The chances of plain threads, as a text.
    chances: String {
        variable: "SIM_CHANCES", argument: true, on_threads: false,
        meaning: Run(|config| config.chances.to_string()),
        grammar: Chances::GRAMMAR,
        read: |text| Chances::parse(text).map(|_| text.to_owned()),
    }
    /// The number of worker threads.
    jobs: usize {
        variable: "SIM_JOBS", argument: false, on_threads: false,
        meaning: Report,
        grammar: "a number of threads from 1 to 1024",
        read: |text| text.parse().ok().filter(|jobs| (1..=1024).contains(jobs)),
    }
    /// The part of the seeds that this process runs.
    shard: Shard {
        variable: "SIM_SHARD", argument: false, on_threads: true,
        meaning: Report,
        grammar: "k/n with k from 1 to n, like 2/4",
        read: parse_shard,
    }
    /// The time limit of a step.
    hang: Duration {
        variable: "SIM_HANG", argument: true, on_threads: true,
        meaning: Machine(|config| time_text(config.hang)),
        grammar: duration::GRAMMAR,
        read: parse_time,
    }
    /// The time limit of a run on real threads. The limit is not in traces, because real threads have no traces.
    limit: Duration {
        variable: "SIM_LIMIT", argument: true, on_threads: true,
        meaning: Report,
        grammar: duration::GRAMMAR,
        read: parse_time,
    }
    /// The choice of runs whose events `tracing` subscribers receive.
    log: LogMode {
        variable: "SIM_LOG", argument: false, on_threads: true,
        meaning: Report,
        grammar: "off, replay or all",
        read: parse_log,
    }
    /// True if coverage is counted. Coverage also samples additional runs, which have no seed.
    coverage: bool {
        variable: "SIM_COVERAGE", argument: true, on_threads: false,
        meaning: Report,
        grammar: "1 or 0",
        read: flag,
    }
    /// True if the recorded calls of each run are checked in all orders that its steps allow. If an order fails, it
    /// gets its own trace.
    closure: bool {
        variable: "SIM_CLOSURE", argument: true, on_threads: false,
        meaning: Seed(|config| flag_text(config.closure)),
        grammar: "1 or 0",
        read: flag,
    }
    /// The maximum number of runs of a proof about a failing run.
    prove: ProofRuns {
        variable: "SIM_PROVE", argument: true, on_threads: false,
        meaning: Report,
        grammar: "a number of runs like 100000",
        read: |text| text.parse().ok().map(ProofRuns),
    }
    /// The maximum number of runs for the explanation of a failing run.
    why: WhyRuns {
        variable: "SIM_WHY", argument: true, on_threads: false,
        meaning: Report,
        grammar: "a number of runs like 3000",
        read: |text| text.parse().ok().map(WhyRuns),
    }
    /// True if a test fails when it proves nothing.
    must_prove: bool {
        variable: "SIM_MUST_PROVE", argument: true, on_threads: false,
        meaning: Report,
        grammar: "1 or 0",
        read: flag,
    }
    /// True if failing runs are shrunk.
    shrink: bool {
        variable: "SIM_SHRINK", argument: false, on_threads: false,
        meaning: Report,
        grammar: "1 or 0",
        read: flag,
    }
    /// True if the composition of generated programs is counted.
    statistics: bool {
        variable: "SIM_STATISTICS", argument: true, on_threads: true,
        meaning: Report,
        grammar: "1 or 0",
        read: flag,
    }
    /// The folder for traces.
    out: PathBuf {
        variable: "SIM_OUT", argument: false, on_threads: true,
        meaning: Report,
        grammar: "the name of a folder",
        read: folder,
    }
    /// The folder for results.
    results: PathBuf {
        variable: "SIM_RESULTS", argument: false, on_threads: true,
        meaning: Report,
        grammar: "the name of a folder",
        read: folder,
    }
    /// The file or folder for the certificates of searches.
    certify: PathBuf {
        variable: "SIM_CERTIFY", argument: false, on_threads: false,
        meaning: Report,
        grammar: "the name of a file that ends with .certificate, or of a folder",
        read: folder,
    }
    /// A file that lists runs to execute. The effects of their steps are written to a file beside it.
    observe: PathBuf {
        variable: "SIM_OBSERVE", argument: false, on_threads: false,
        meaning: Report,
        grammar: "the name of a file of runs",
        read: folder,
    }
    /// True if a failure that leaves another file behind, for example a trace, is also written as an HTML page beside
    /// that file.
    html: bool {
        variable: "SIM_HTML", argument: false, on_threads: true,
        meaning: Report,
        grammar: "1 or 0",
        read: flag,
    }
    /// The choice of reports to write as JSON.
    json: JsonFiles {
        variable: "SIM_JSON", argument: false, on_threads: true,
        meaning: Report,
        grammar: JsonFiles::GRAMMAR,
        read: JsonFiles::parse,
    }
}
