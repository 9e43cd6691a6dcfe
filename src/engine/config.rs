//! Settings of a test. The precedence, from lowest to highest: defaults, the file of the package, attributes or
//! [`Runner`](crate::Runner) calls, environment variables. [`runner`](crate::runner#environment) lists the variables.
//!
//! An invalid value is an error that names the variable, the value and the grammar. An unknown variable that begins
//! with `SIM_` only causes a note.

use unpause_ordered::sort;
mod file;
mod grammar;
mod idle;
mod invalid;
mod json;
mod list;
mod meaning;
mod row;
mod strategy;
mod unknown;
mod values;

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

pub(crate) use self::idle::idle_text;
pub use self::invalid::InvalidSetting;
pub(crate) use self::json::JsonFiles;
pub(crate) use self::list::{SETTINGS, Settings};
pub(crate) use self::meaning::{EACH_ORDER, SettingTexts, differing};
#[cfg(test)]
pub(crate) use self::row::SettingRow;
pub(crate) use self::row::{ProofRuns, WhyRuns};
use self::unknown::expected;
pub(crate) use self::unknown::unknown;
use crate::native;
use crate::run::chances::Chances;
use crate::run::clock_mode::ClockMode;
use crate::run::faults::Faults;
use crate::run::isolation::Isolation;
use crate::run::memory_model::MemoryModel;
use crate::run::points::Points;
use crate::strategy::{Chosen, Numbered, SEARCHES, STRATEGIES};

/// The default number of seeds.
const SEEDS: u64 = 1000;
/// The default maximum number of runs of a search. A search ends by itself, but possibly after years.
const SEARCH_RUNS: u64 = 1_000_000;
/// The default number of seeds on real threads. The number is small because each run spawns threads.
const SEEDS_REAL: u64 = 100;
/// The default step limit of a run.
const STEPS_MAX: u32 = 1_000_000;
/// The default maximum number of runs of a proof after a search found the failure. These runs take about a second.
const PROOF_RUNS: u64 = 10_000;
/// The default maximum number of runs of an explanation. These runs take a fraction of a second.
const WHY_RUNS: u64 = 3_000;
/// The maximum time limit of a test, about 136 years.
const TIME_MAX: Duration = Duration::from_secs(1 << 32);

/// The default time limit of a step.
const HANG: Duration = Duration::from_secs(10);
/// The default time limit of a run on real threads.
const LIMIT: Duration = Duration::from_secs(60);

/// Returns the number of processors that this process may use. The number is cached, because the system reads it from
/// several files and some tests create a runner for each seed.
fn processors() -> usize {
    static NUMBER: OnceLock<usize> = OnceLock::new();
    *NUMBER.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// The default upper limit on the processes that run one test of plain threads.
const PROCESSES_MAX: usize = 32;

/// Returns the default number of processes for a test of plain threads. Under nextest it is 1, because nextest already
/// runs one test per processor.
fn processes() -> usize {
    static NUMBER: OnceLock<usize> = OnceLock::new();
    *NUMBER.get_or_init(|| match std::env::var_os("NEXTEST") {
        Some(_) => 1,
        None => processors().min(PROCESSES_MAX),
    })
}

/// The properties of a test that are not settings of the user.
#[derive(Clone, Debug, Default)]
pub(crate) struct TestKind {
    /// A strategy of the user, which is used if `strategy` is its name.
    pub(crate) own_strategy: Option<Numbered>,
    /// True for plain threads. Plain threads share the statics of the program, so a process executes one run at a time.
    pub(crate) native: bool,
    /// True if a run that reaches the step limit is reported unchanged: neither repeated nor shrunk.
    pub(crate) long_is_undecided: bool,
    /// The number of the phase, from 2 on, if the test is a further phase of a model.
    pub(crate) phase: Option<u32>,
    /// The behaviour of plain threads at the step limit of a run. `None` if the run continues beyond the limit.
    pub(crate) at_limit: Option<AtLimit>,
    /// True if a search executes each order of steps as a separate run.
    pub(crate) each_order: bool,
    /// True if each run is repeated, to check that a run is a function of its decisions. Otherwise only the first run
    /// is repeated.
    pub(crate) repeats_each: bool,
}

/// The end of a run at its step limit. Each `yield_now` of a plain thread is then a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AtLimit {
    /// The run ends without a failure.
    Ends,
    /// The run fails.
    Fails,
}

impl TestKind {
    fn overridden_by(self, over: TestKind) -> TestKind {
        TestKind {
            own_strategy: over.own_strategy.or(self.own_strategy),
            native: over.native || self.native,
            long_is_undecided: over.long_is_undecided || self.long_is_undecided,
            phase: over.phase.or(self.phase),
            at_limit: over.at_limit.or(self.at_limit),
            each_order: over.each_order || self.each_order,
            repeats_each: over.repeats_each || self.repeats_each,
        }
    }
}

/// The resolved settings of one test, with a value for each setting.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// The settings from which this configuration was resolved.
    source: Box<Settings>,
    /// The settings of the test without the environment variables.
    own: Arc<Settings>,
    /// The first seed and the number of consecutive seeds, including the seeds of other shards.
    first: u64,
    count: u64,
    /// True if the user requested a single seed, for inspection.
    pub(crate) one_seed: bool,
    /// The maximum number of runs of a search.
    pub(crate) runs: u64,
    pub(crate) shard: Shard,
    pub(crate) strategy: Chosen,
    pub(crate) time: Option<Duration>,
    pub(crate) steps_max: u32,
    /// The trace to replay: a file name or an inline trace.
    pub(crate) replay: Option<String>,
    pub(crate) jobs: usize,
    /// The operations of plain threads that are points.
    pub(crate) points: Points,
    /// The chances (optional random behaviour) of plain threads.
    pub(crate) chances: Chances,
    /// The mode of the virtual clock: when time advances in a run.
    pub(crate) clock: ClockMode,
    /// The faults that may be injected into runs.
    pub(crate) faults: Faults,
    /// The isolation between runs of plain threads.
    pub(crate) isolate: Isolation,
    /// The memory model of plain threads.
    pub(crate) memory: MemoryModel,
    /// The time limit of a step, or on real threads the time limit without progress of any task. `None` for no limit.
    pub(crate) hang: Option<Duration>,
    /// The time limit of a run on real threads. `None` for no limit. Simulated runs have a step limit instead.
    #[allow(dead_code)]
    pub(crate) limit: Option<Duration>,
    pub(crate) log: LogMode,
    /// True if the panic hook is called for the panic of the last replay, which `SIM_LOG` requests.
    pub(crate) backtrace: bool,
    /// True if the engine counts interleaving classes and blind spots.
    pub(crate) coverage: bool,
    /// True if the recorded calls of each run are checked in all orders that its steps allow.
    pub(crate) closure: bool,
    /// The maximum number of runs for the proof that no failing run has fewer preemptions; 0 for no proof.
    pub(crate) prove: u64,
    /// The maximum number of runs for the explanation of a failing run; 0 for no explanation.
    pub(crate) why: u64,
    /// True if a test fails when it proves nothing.
    pub(crate) must_prove: bool,
    /// True if failing runs are shrunk.
    pub(crate) shrink: bool,
    /// True if a run that reaches the step limit is reported unchanged.
    pub(crate) long_is_undecided: bool,
    /// True if the composition of generated programs is counted.
    pub(crate) statistics: bool,
    pub(crate) out: Option<PathBuf>,
    pub(crate) results: Option<PathBuf>,
    /// The file or folder for the certificates of searches.
    #[allow(dead_code, reason = "the real build has no searches")]
    pub(crate) certify: Option<PathBuf>,
    /// A file that lists runs to execute.
    #[allow(dead_code, reason = "the real build has no searches")]
    pub(crate) observe: Option<PathBuf>,
    /// True if failures are also written as HTML pages.
    pub(crate) html: bool,
    /// The choice of reports to write as JSON.
    pub(crate) json: JsonFiles,
}

/// One of `of` equal parts of the seeds: every `of`-th seed, beginning with the seed at position `number`, counted from
/// 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shard {
    pub(crate) number: u64,
    pub(crate) of: u64,
}

/// The choice of runs whose events `tracing` subscribers receive.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum LogMode {
    /// No run is logged.
    Off,
    /// The last run before a report, and replays.
    #[default]
    Replay,
    /// Every run.
    All,
}

impl Settings {
    /// Reads the settings from environment variables. Also returns warnings about unknown variables that begin with
    /// `SIM_`.
    pub(crate) fn from_environment(
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<(Settings, Vec<String>), InvalidSetting> {
        let mut settings = Settings::default();
        let mut warnings = Vec::new();
        for (name, value) in variables {
            warnings.extend(settings.read_variable(&name, &value)?);
        }
        sort(&mut warnings);
        Ok((settings, warnings))
    }

    /// Reads an environment variable. Returns a warning, if it looks like a setting.
    fn read_variable(
        &mut self,
        name: &OsStr,
        value: &OsStr,
    ) -> Result<Option<String>, InvalidSetting> {
        let Some(name) = name.to_str().filter(|name| name.starts_with("SIM_")) else {
            return Ok(None);
        };
        let Some(row) = SETTINGS.iter().find(|row| row.variable == name) else {
            return Ok(Some(unknown(name)));
        };
        let value = value.to_string_lossy();
        if !(row.read)(self, &value) {
            let grammar = expected(row, &value);
            let (name, value) = (name.to_owned(), value.into_owned());
            return Err(InvalidSetting { name, value, grammar });
        }
        Ok(None)
    }

    /// Returns these settings, overridden by the settings in `over`.
    pub(crate) fn overridden_by(self, over: Settings) -> Settings {
        // `seed` and `seeds` both choose the seeds to run, so the later setting overrides the earlier. `seeds` keeps
        // its value nevertheless, because a search takes its maximum number of runs from it.
        let seeds_said = over.seed.is_some() || over.seeds.is_some();
        let own = Settings {
            seed: self.seed.filter(|_| !seeds_said),
            // A requested seed overrides the replay of an attribute.
            replay: self.replay.clone().filter(|_| !seeds_said),
            ..self
        };
        own.each_overridden_by(over)
    }

    /// Resolves these settings: sets missing values to their defaults.
    pub(crate) fn resolve(self) -> Result<Config, InvalidSetting> {
        let source = Box::new(self.clone());
        let name = self.strategy.as_deref().unwrap_or(STRATEGIES[0].name);
        let strategy = self.chosen(name)?;
        let searches = strategy.search().is_some();
        self.check_seeds()?;
        if !crate::seam::SIMULATED {
            self.replay_on_threads()?;
        }
        let must_prove = self.must_prove.unwrap_or(false);
        if must_prove && self.replay.is_none() && !searches {
            return Err(proves_nothing(name));
        }
        let points = self.points()?;
        let chances = self.chances()?;
        let clock = self.clock_mode()?;
        let faults = self.faults(chances)?;
        let isolate = self.isolation()?;
        let memory = self.memory_model()?;
        let strategy = match memory {
            MemoryModel::Sc => strategy,
            MemoryModel::C11 => strategy.for_stale_reads(),
        };
        let (first, count, runs) = self.seeds_and_runs(searches);
        Ok(Config {
            source,
            own: Arc::default(),
            first,
            count,
            one_seed: self.seed.is_some(),
            runs,
            shard: self.shard.unwrap_or(Shard { number: 1, of: 1 }),
            strategy,
            // A longer time has no end: the moment could not be represented.
            time: self.time.map(|time| time.min(TIME_MAX)),
            steps_max: self.max_steps.unwrap_or(STEPS_MAX),
            replay: self.replay,
            points,
            chances,
            clock,
            faults,
            isolate,
            memory,
            jobs: match self.kind.native {
                _ if native::is_alone() => 1,
                true => self.jobs.unwrap_or_else(processes),
                false => self.jobs.unwrap_or_else(processors),
            },
            hang: Some(self.hang.unwrap_or(HANG)).filter(|hang| !hang.is_zero()),
            limit: Some(self.limit.unwrap_or(LIMIT)).filter(|limit| !limit.is_zero()),
            log: self.log.unwrap_or_default(),
            backtrace: self.log.is_some_and(|log| log != LogMode::Off),
            coverage: self.coverage.unwrap_or(false),
            closure: self.closure.unwrap_or(false),
            prove: self.prove.map_or(if searches { PROOF_RUNS } else { 0 }, |runs| runs.0),
            why: self.why.map_or(WHY_RUNS, |runs| runs.0),
            must_prove,
            shrink: self.shrink.unwrap_or(true),
            long_is_undecided: self.kind.long_is_undecided,
            statistics: self.statistics.unwrap_or(false),
            out: self.out,
            results: self.results,
            certify: self.certify,
            observe: self.observe,
            html: self.html.unwrap_or(false),
            json: self.json.unwrap_or_default(),
        })
    }

    /// Returns an error for an empty range of seeds.
    fn check_seeds(&self) -> Result<(), InvalidSetting> {
        let Some(seeds) = self.seeds.as_ref().filter(|seeds| seeds.is_empty()) else {
            return Ok(());
        };
        Err(InvalidSetting {
            name: "seeds".to_owned(),
            value: format!("{seeds:?}"),
            grammar: "a range of seeds that is not empty: a test without a run proves nothing"
                .to_owned(),
        })
    }

    /// Returns the first seed, the number of seeds, and the maximum number of runs of a search.
    fn seeds_and_runs(&self, searches: bool) -> (u64, u64, u64) {
        let default = match crate::seam::SIMULATED {
            true if searches => SEARCH_RUNS,
            true => SEEDS,
            false => SEEDS_REAL,
        };
        let runs = self.seeds.as_ref().map_or(default, |seeds| seeds.end);
        let (first, count) = match (self.seed, &self.seeds) {
            (Some(seed), _) => (seed, 1),
            (None, Some(seeds)) => (seeds.start, seeds.end.saturating_sub(seeds.start)),
            (None, None) => (0, default),
        };
        (first, count, runs)
    }
}

/// The error for a test that must prove something although its strategy `name` is not a search.
fn proves_nothing(name: &str) -> InvalidSetting {
    InvalidSetting {
        name: "strategy".to_owned(),
        value: name.to_owned(),
        grammar: format!(
            "a search, because nothing else can prove what the test must (must_prove, \
             Runner::must_prove or SIM_MUST_PROVE=1): {}",
            SEARCHES.iter().map(|row| row.name).collect::<Vec<_>>().join(", ")
        ),
    }
}

impl Config {
    /// Returns this configuration with `own` as the settings of the test without environment variables.
    pub(crate) fn of_test(self, own: Settings) -> Config {
        Config { own: Arc::new(own), ..self }
    }

    /// Returns `true` if the test has plain threads.
    pub(crate) fn is_native(&self) -> bool {
        self.source.kind.native
    }

    /// Returns `true` if a run ends at its step limit without a failure.
    #[allow(dead_code, reason = "runs on real threads have no step limit")]
    pub(crate) fn ends_at_limit(&self) -> bool {
        self.source.kind.at_limit == Some(AtLimit::Ends)
    }

    /// Returns `true` if a search executes each order of steps as a separate run.
    #[allow(dead_code, reason = "real threads have no search")]
    pub(crate) fn searches_each_order(&self) -> bool {
        self.source.kind.each_order
    }

    /// Returns `true` if each run is repeated.
    #[allow(dead_code, reason = "runs on real threads are not repeatable")]
    pub(crate) fn repeats_each(&self) -> bool {
        self.source.kind.repeats_each
    }

    /// Returns `true` if a run of plain threads may continue beyond its step limit.
    #[allow(dead_code, reason = "runs on real threads have no step limit")]
    pub(crate) fn runs_on(&self) -> bool {
        self.is_native() && self.source.kind.at_limit.is_none()
    }

    /// Returns the number of the phase, if the test is a further phase of a model. The results of such a phase have
    /// their own file.
    pub(crate) fn phase(&self) -> Option<u32> {
        self.source.kind.phase
    }

    /// Prepares plain threads for the runs of this test, if it has any.
    pub(crate) fn prepare_native(&self) {
        if self.is_native() {
            native::set_points(self.points);
            native::set_chances(self.chances);
            native::set_isolation(self.isolate);
            native::set_memory(self.memory);
            let TestKind { at_limit, each_order, .. } = &self.source.kind;
            native::count_yields(at_limit.is_some() || *each_order);
            native::try_locks_first(*each_order);
        }
    }

    /// Returns this configuration with a separate process for each run. `None` if that makes no difference, if it is
    /// not possible, or if the user has set the isolation.
    pub(crate) fn apart(&self) -> Option<Config> {
        let is_possible = self.is_native() && !self.closure && self.results.is_none();
        let is_open = self.source.isolate.is_none() && self.isolate == Isolation::Run;
        (is_possible && is_open).then(|| {
            let isolate = Some(Isolation::Process.name().to_owned());
            let source = Box::new(Settings { isolate, ..(*self.source).clone() });
            Config { source, isolate: Isolation::Process, ..self.clone() }
        })
    }

    /// Returns this configuration for the seeds after `seed`. `None` if there are no more seeds, or if the seeds are
    /// not run one by one.
    pub(crate) fn after(&self, seed: u64) -> Option<Config> {
        let whole = self.shard.of == 1 && self.replay.is_none() && !self.strategy.is_search();
        let (first, end) = (seed.checked_add(1)?, self.end());
        (whole && !self.one_seed && first < end).then(|| Config {
            first,
            count: end - first,
            ..self.clone()
        })
    }

    /// Returns the `n`-th seed to run, or `None` after the last seed.
    pub(crate) fn seed(&self, n: u64) -> Option<u64> {
        let offset = n.checked_mul(self.shard.of)?.checked_add(self.shard.number - 1)?;
        if self.borrows() {
            return (n == 0).then(|| self.first + offset % self.count);
        }
        (offset < self.count).then(|| self.first + offset)
    }

    /// Returns `true` if this shard has no seed because there are fewer seeds than shards. The shard then runs a seed
    /// of another shard, because a test without a run cannot pass.
    pub(crate) fn borrows(&self) -> bool {
        self.positions() == 0
    }

    /// Returns the first seed and the number of consecutive seeds, including the seeds of other shards.
    pub(crate) fn seeds(&self) -> (u64, u64) {
        (self.first, self.count)
    }

    /// Returns the number of seeds of this shard.
    pub(crate) fn positions(&self) -> u64 {
        let left = self.count.checked_sub(self.shard.number);
        left.map_or(0, |left| left / self.shard.of + 1)
    }

    /// Returns the end of the seed range, exclusive, for all shards.
    pub(crate) fn end(&self) -> u64 {
        self.first.saturating_add(self.count)
    }

    /// Returns the last seed to run.
    pub(crate) fn last_seed(&self) -> Option<u64> {
        self.seed(self.positions().checked_sub(1)?)
    }
}

#[cfg(test)]
mod tests;
