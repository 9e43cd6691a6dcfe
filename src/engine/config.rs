//! Settings of a test: defaults, overridden by attributes or [`Runner`](crate::Runner) calls, overridden by the
//! environment, whose variables [`runner`](crate::runner#environment) lists.
//!
//! A bad value is an error that names variable, value and grammar. An unknown variable that begins with `SIM_` is a
//! warning.

mod clock;
mod faults;
mod grammar;
mod idle;
mod invalid;
mod names;

use std::ffi::OsString;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

pub(crate) use self::faults::FaultSettings;
use self::grammar::{flag, folder, parse_seeds, parse_shard, parse_time};
pub(crate) use self::idle::idle_text;
pub use self::invalid::InvalidSetting;
use self::names::unknown;
use crate::run::chances::Chances;
use crate::run::clock::ClockMode;
use crate::run::faults::{Faults, Progress};
use crate::run::isolation::Isolation;
use crate::run::points::Points;
use crate::strategy::{Chosen, Numbered, SEARCHES, STRATEGIES};

/// Seeds run when nothing says how many.
const SEEDS: u64 = 1000;
/// Runs of a search when nothing says how many: it ends by itself, but maybe not in a lifetime.
const SEARCH_RUNS: u64 = 1_000_000;
/// Seeds run on real threads when nothing says how many: each costs threads.
const SEEDS_REAL: u64 = 100;
/// Steps a run may take when nothing says how many.
const STEPS_MAX: u32 = 1_000_000;
/// Runs that a proof may take when nothing says how many and a search found the failure: about a second.
const PROOF_RUNS: u64 = 10_000;
/// The default time limit of a step.
const HANG: Duration = Duration::from_secs(10);
/// The default time limit of a run on real threads.
const LIMIT: Duration = Duration::from_secs(60);

/// The settings of one test, `None` if not set.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    pub(crate) seed: Option<u64>,
    pub(crate) seeds: Option<Range<u64>>,
    pub(crate) strategy: Option<String>,
    /// A strategy of the user, which counts if `strategy` is its name.
    pub(crate) own_strategy: Option<Numbered>,
    pub(crate) time: Option<Duration>,
    pub(crate) steps_max: Option<u32>,
    pub(crate) replay: Option<String>,
    pub(crate) jobs: Option<usize>,
    /// True for plain threads, which share the statics of the program: one run at a time.
    pub(crate) native: bool,
    /// True if a run that comes to the step limit is reported as it is: not repeated, not shrunk.
    pub(crate) long_is_undecided: bool,
    /// The points of plain threads, by name.
    pub(crate) points: Option<String>,
    /// True if the counts of `Arc` are points of plain threads.
    pub(crate) arc: Option<bool>,
    /// The chances of plain threads, as a text.
    pub(crate) chances: Option<String>,
    /// When the time of a run moves, by name.
    pub(crate) clock: Option<String>,
    /// The faults that runs may have.
    pub(crate) faults: FaultSettings,
    /// What the runs of plain threads share, by name.
    pub(crate) isolate: Option<String>,
    pub(crate) shard: Option<Shard>,
    pub(crate) hang: Option<Duration>,
    pub(crate) limit: Option<Duration>,
    pub(crate) log: Option<LogMode>,
    pub(crate) coverage: Option<bool>,
    pub(crate) closure: Option<bool>,
    pub(crate) prove: Option<u64>,
    pub(crate) must_prove: Option<bool>,
    pub(crate) shrink: Option<bool>,
    pub(crate) statistics: Option<bool>,
    pub(crate) out: Option<PathBuf>,
    pub(crate) results: Option<PathBuf>,
}

/// The settings of one test, with nothing left open.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// The first seed and how many follow one another from it, those of other shards included.
    first: u64,
    count: u64,
    /// True if a single seed was named, for inspection.
    pub(crate) one_seed: bool,
    /// The maximum number of runs of a search.
    pub(crate) runs: u64,
    pub(crate) shard: Shard,
    pub(crate) strategy: Chosen,
    pub(crate) time: Option<Duration>,
    pub(crate) steps_max: u32,
    /// A file or an inline trace.
    pub(crate) replay: Option<String>,
    pub(crate) jobs: usize,
    /// The operations of plain threads that are points.
    pub(crate) points: Points,
    /// The chances of plain threads.
    pub(crate) chances: Chances,
    /// When the time of a run moves.
    pub(crate) clock: ClockMode,
    /// The faults that runs may have.
    pub(crate) faults: Faults,
    /// What the runs of plain threads share.
    pub(crate) isolate: Isolation,
    /// The time limit of a step, or of real threads on which no task makes progress. None: no limit.
    pub(crate) hang: Option<Duration>,
    /// The time limit of a run on real threads. None: no limit. Simulated runs have a step limit.
    #[allow(dead_code)]
    pub(crate) limit: Option<Duration>,
    pub(crate) log: LogMode,
    /// True if the panic hook receives the panic of the last replay, as `SIM_LOG` requests.
    pub(crate) backtrace: bool,
    /// True if classes of interleavings and blind spots are counted.
    pub(crate) coverage: bool,
    /// True if the recorded calls of each run are checked in all orders that its steps allow.
    pub(crate) closure: bool,
    /// The maximum number of runs for the proof that a failing run has the fewest preemptions; 0 for no proof.
    pub(crate) prove: u64,
    /// True if a test that proves nothing fails.
    pub(crate) must_prove: bool,
    /// True if failing runs are shrunk.
    pub(crate) shrink: bool,
    /// True if a run that comes to the step limit is reported as it is.
    pub(crate) long_is_undecided: bool,
    /// True if the composition of generated programs is counted.
    pub(crate) statistics: bool,
    pub(crate) out: Option<PathBuf>,
    pub(crate) results: Option<PathBuf>,
}

/// Every `of`-th seed, beginning with number `number`, from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shard {
    pub(crate) number: u64,
    pub(crate) of: u64,
}

/// The runs that `tracing` subscribers receive.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum LogMode {
    /// Never.
    Off,
    /// In the last run before a report, and in replays.
    #[default]
    Replay,
    /// In every run.
    All,
}

impl Settings {
    /// The settings in the environment, and warnings about variables that look like one.
    pub(crate) fn from_environment(
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<(Settings, Vec<String>), InvalidSetting> {
        let mut settings = Settings::default();
        let mut warnings = Vec::new();
        for (name, value) in variables {
            let Some(name) = name.to_str().filter(|name| name.starts_with("SIM_")) else {
                continue;
            };
            let value = value.to_string_lossy();
            match settings.set(name, &value) {
                Recognized::Yes => {}
                Recognized::No => warnings.push(unknown(name)),
                Recognized::Bad(grammar) => {
                    let (name, value) = (name.to_owned(), value.into_owned());
                    return Err(InvalidSetting { name, value, grammar });
                }
            }
        }
        warnings.sort();
        Ok((settings, warnings))
    }

    fn set(&mut self, name: &str, value: &str) -> Recognized {
        fn read<T>(into: &mut Option<T>, value: Option<T>, grammar: &str) -> Recognized {
            match value {
                None => Recognized::Bad(grammar.to_owned()),
                value => {
                    *into = value;
                    Recognized::Yes
                }
            }
        }
        match name {
            "SIM_SEED" => read(&mut self.seed, value.parse().ok(), "a number like 17"),
            "SIM_SEEDS" => read(
                &mut self.seeds,
                parse_seeds(value),
                "a number of seeds like 1000, or a range like 500..1000, and not empty",
            ),
            "SIM_STRATEGY" => {
                let known = Chosen::parse(value).map(|_| value.to_owned());
                read(&mut self.strategy, known, &strategy_grammar())
            }
            "SIM_TIME" => read(&mut self.time, parse_time(value), TIME_GRAMMAR),
            "SIM_STEPS" => {
                let steps = value.parse().ok().filter(|steps| *steps > 0);
                read(&mut self.steps_max, steps, "a number of steps like 100000")
            }
            "SIM_REPLAY" => {
                let source = Some(value.to_owned()).filter(|value| !value.is_empty());
                read(
                    &mut self.replay,
                    source,
                    "the name of a trace file, or an inline trace sim2:…",
                )
            }
            "SIM_JOBS" => {
                let jobs = value.parse().ok().filter(|jobs| (1..=1024).contains(jobs));
                read(&mut self.jobs, jobs, "a number of threads from 1 to 1024")
            }
            "SIM_POINTS" => {
                let known = Points::parse(value).map(|_| value.to_owned());
                read(&mut self.points, known, Points::GRAMMAR)
            }
            "SIM_ISOLATE" => {
                let known = Isolation::parse(value).map(|_| value.to_owned());
                read(&mut self.isolate, known, Isolation::GRAMMAR)
            }
            "SIM_CHANCES" => {
                let known = Chances::parse(value).map(|_| value.to_owned());
                read(&mut self.chances, known, Chances::GRAMMAR)
            }
            "SIM_CLOCK" => read(&mut self.clock, clock::known(value), ClockMode::GRAMMAR),
            "SIM_CANCEL" => {
                read(&mut self.faults.cancel, faults::known_pattern(value), faults::PATTERN_GRAMMAR)
            }
            "SIM_CANCEL_SELECTS" => read(&mut self.faults.cancel_selects, flag(value), "1 or 0"),
            "SIM_BUGGIFY" => read(&mut self.faults.buggify, flag(value), "1 or 0"),
            "SIM_PROGRESS" => {
                read(&mut self.faults.progress, faults::known_progress(value), Progress::GRAMMAR)
            }
            "SIM_ARC" => read(&mut self.arc, flag(value), "1 or 0"),
            "SIM_SHARD" => {
                read(&mut self.shard, parse_shard(value), "k/n with k from 1 to n, like 2/4")
            }
            "SIM_HANG" => read(&mut self.hang, parse_time(value), TIME_GRAMMAR),
            "SIM_LIMIT" => read(&mut self.limit, parse_time(value), TIME_GRAMMAR),
            "SIM_LOG" => {
                let log = match value {
                    "off" => Some(LogMode::Off),
                    "replay" => Some(LogMode::Replay),
                    "all" => Some(LogMode::All),
                    _ => None,
                };
                read(&mut self.log, log, "off, replay or all")
            }
            "SIM_OUT" => read(&mut self.out, folder(value), "the name of a folder"),
            "SIM_RESULTS" => read(&mut self.results, folder(value), "the name of a folder"),
            "SIM_COVERAGE" => read(&mut self.coverage, flag(value), "1 or 0"),
            "SIM_CLOSURE" => read(&mut self.closure, flag(value), "1 or 0"),
            "SIM_PROVE" => {
                read(&mut self.prove, value.parse().ok(), "a number of runs like 100000")
            }
            "SIM_MUST_PROVE" => read(&mut self.must_prove, flag(value), "1 or 0"),
            "SIM_SHRINK" => read(&mut self.shrink, flag(value), "1 or 0"),
            "SIM_STATISTICS" => read(&mut self.statistics, flag(value), "1 or 0"),
            _ => Recognized::No,
        }
    }

    /// These settings, those in `over` having precedence.
    pub(crate) fn overridden_by(self, over: Settings) -> Settings {
        // One seed and many seeds answer the same question, so the later answer counts. How many there
        // were to be still tells what a number means to a search.
        let seeds_said = over.seed.is_some() || over.seeds.is_some();
        let seed = if seeds_said { over.seed } else { self.seed };
        let seeds = over.seeds.or(self.seeds);
        Settings {
            seed,
            seeds,
            strategy: over.strategy.or(self.strategy),
            own_strategy: over.own_strategy.or(self.own_strategy),
            time: over.time.or(self.time),
            steps_max: over.steps_max.or(self.steps_max),
            // A requested seed overrides the replay of an attribute.
            replay: over.replay.or(self.replay.filter(|_| !seeds_said)),
            jobs: over.jobs.or(self.jobs),
            native: over.native || self.native,
            long_is_undecided: over.long_is_undecided || self.long_is_undecided,
            points: over.points.or(self.points),
            arc: over.arc.or(self.arc),
            chances: over.chances.or(self.chances),
            clock: over.clock.or(self.clock),
            faults: self.faults.overridden_by(over.faults),
            isolate: over.isolate.or(self.isolate),
            shard: over.shard.or(self.shard),
            hang: over.hang.or(self.hang),
            limit: over.limit.or(self.limit),
            log: over.log.or(self.log),
            coverage: over.coverage.or(self.coverage),
            closure: over.closure.or(self.closure),
            prove: over.prove.or(self.prove),
            must_prove: over.must_prove.or(self.must_prove),
            shrink: over.shrink.or(self.shrink),
            statistics: over.statistics.or(self.statistics),
            out: over.out.or(self.out),
            results: over.results.or(self.results),
        }
    }

    /// The strategy of this name, registered or of the user.
    fn chosen(&self, name: &str) -> Result<Chosen, InvalidSetting> {
        let invalid = |grammar| InvalidSetting {
            name: "strategy".to_owned(),
            value: name.to_owned(),
            grammar,
        };
        match &self.own_strategy {
            Some(own) if own.name == name => Chosen::own(*own).ok_or_else(|| {
                invalid("a name of your own for your strategy: this one is taken".to_owned())
            }),
            _ => Chosen::parse(name).ok_or_else(|| invalid(strategy_grammar())),
        }
    }

    /// What the runs of plain threads share.
    fn isolation(&self) -> Result<Isolation, InvalidSetting> {
        let name = self.isolate.as_deref().unwrap_or(Isolation::DEFAULT);
        let invalid = |grammar: &str| InvalidSetting {
            name: "isolate".to_owned(),
            value: name.to_owned(),
            grammar: grammar.to_owned(),
        };
        let isolate = Isolation::parse(name).ok_or_else(|| invalid(Isolation::GRAMMAR))?;
        if isolate == Isolation::Process && self.native && self.closure == Some(true) {
            return Err(invalid(
                "run in a test with `closure`, because the model that checks other orders of the calls is in the \
                 process of the run, which has ended then: leave out one of the two",
            ));
        }
        Ok(isolate)
    }

    /// These settings, with defaults for those not set.
    pub(crate) fn resolve(self) -> Result<Config, InvalidSetting> {
        let name = self.strategy.as_deref().unwrap_or(STRATEGIES[0].name);
        let strategy = self.chosen(name)?;
        let searches = strategy.search().is_some();
        if self.seeds.as_ref().is_some_and(Range::is_empty) {
            return Err(InvalidSetting {
                name: "seeds".to_owned(),
                value: format!("{:?}", self.seeds.unwrap_or_default()),
                grammar: "a range of seeds that is not empty: a test without a run proves nothing"
                    .to_owned(),
            });
        }
        if !crate::seam::SIMULATED {
            self.replay_on_threads()?;
        }
        let must_prove = self.must_prove.unwrap_or(false);
        if must_prove && self.replay.is_none() && !searches {
            return Err(InvalidSetting {
                name: "strategy".to_owned(),
                value: name.to_owned(),
                grammar: format!(
                    "a search, because nothing else can prove what the test must (must_prove, \
                     Runner::must_prove or SIM_MUST_PROVE=1): {}",
                    SEARCHES.iter().map(|row| row.name).collect::<Vec<_>>().join(", ")
                ),
            });
        }
        let points = self.points.as_deref().unwrap_or(Points::DEFAULT);
        let points = Points::parse(points).ok_or_else(|| InvalidSetting {
            name: "points".to_owned(),
            value: points.to_owned(),
            grammar: Points::GRAMMAR.to_owned(),
        })?;
        let points = Points { arc: self.arc.unwrap_or(false), ..points };
        let chances = self.chances.as_deref().unwrap_or(Chances::DEFAULT);
        let chances = Chances::parse(chances).ok_or_else(|| InvalidSetting {
            name: "chances".to_owned(),
            value: chances.to_owned(),
            grammar: Chances::GRAMMAR.to_owned(),
        })?;
        let clock = self.clock_mode()?;
        let faults = self.faults(chances)?;
        let isolate = self.isolation()?;
        let many = match crate::seam::SIMULATED {
            true if searches => SEARCH_RUNS,
            true => SEEDS,
            false => SEEDS_REAL,
        };
        let runs = self.seeds.as_ref().map_or(many, |seeds| seeds.end);
        let (first, count) = match (self.seed, self.seeds) {
            (Some(seed), _) => (seed, 1),
            (None, Some(seeds)) => (seeds.start, seeds.end.saturating_sub(seeds.start)),
            (None, None) => (0, many),
        };
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Config {
            first,
            count,
            one_seed: self.seed.is_some(),
            runs,
            shard: self.shard.unwrap_or(Shard { number: 1, of: 1 }),
            strategy,
            time: self.time,
            steps_max: self.steps_max.unwrap_or(STEPS_MAX),
            replay: self.replay,
            points,
            chances,
            clock,
            faults,
            isolate,
            jobs: if self.native { 1 } else { self.jobs.unwrap_or_else(cores) },
            hang: Some(self.hang.unwrap_or(HANG)).filter(|hang| !hang.is_zero()),
            limit: Some(self.limit.unwrap_or(LIMIT)).filter(|limit| !limit.is_zero()),
            log: self.log.unwrap_or_default(),
            backtrace: self.log.is_some_and(|log| log != LogMode::Off),
            coverage: self.coverage.unwrap_or(false),
            closure: self.closure.unwrap_or(false),
            prove: self.prove.unwrap_or(if searches { PROOF_RUNS } else { 0 }),
            must_prove,
            shrink: self.shrink.unwrap_or(true),
            long_is_undecided: self.long_is_undecided,
            statistics: self.statistics.unwrap_or(false),
            out: self.out,
            results: self.results,
        })
    }
}

impl Config {
    /// The same for the seeds after this one; none if there are none, or if they are not run one by one.
    pub(crate) fn after(&self, seed: u64) -> Option<Config> {
        let whole = self.shard.of == 1 && self.replay.is_none() && !self.strategy.is_search();
        let (first, end) = (seed.checked_add(1)?, self.end());
        (whole && !self.one_seed && first < end).then(|| Config {
            first,
            count: end - first,
            ..self.clone()
        })
    }

    /// The `n`-th seed to run; none when they are used up.
    pub(crate) fn seed(&self, n: u64) -> Option<u64> {
        let offset = n.checked_mul(self.shard.of)?.checked_add(self.shard.number - 1)?;
        if self.borrows() {
            return (n == 0).then(|| self.first + offset % self.count);
        }
        (offset < self.count).then(|| self.first + offset)
    }

    /// Returns `true` if there are too few seeds for this shard to have one. It then runs a seed of another shard,
    /// because a test that was not run has not passed.
    pub(crate) fn borrows(&self) -> bool {
        self.positions() == 0
    }

    /// The first seed and how many follow one another from it, those of other shards included.
    pub(crate) fn seeds(&self) -> (u64, u64) {
        (self.first, self.count)
    }

    /// Returns the number of seeds of this shard.
    pub(crate) fn positions(&self) -> u64 {
        let left = self.count.checked_sub(self.shard.number);
        left.map_or(0, |left| left / self.shard.of + 1)
    }

    /// One more than the last seed, whatever the shard.
    pub(crate) fn end(&self) -> u64 {
        self.first.saturating_add(self.count)
    }

    /// The last seed to run.
    pub(crate) fn last_seed(&self) -> Option<u64> {
        self.seed(self.positions().checked_sub(1)?)
    }
}

enum Recognized {
    Yes,
    No,
    Bad(String),
}

const TIME_GRAMMAR: &str = "a time like 500ms, 5s, 2m or 1h";

fn strategy_grammar() -> String {
    let searches = SEARCHES.iter().map(|row| row.grammar());
    let names: Vec<String> = STRATEGIES.iter().map(|row| row.grammar()).chain(searches).collect();
    format!("the name of a strategy: {}", names.join(", "))
}

#[cfg(test)]
mod tests;
