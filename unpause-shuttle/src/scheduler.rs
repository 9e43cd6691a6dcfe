//! shuttle's schedulers, expressed as settings of unpause.

use std::fmt::Debug;
use std::io;
use std::path::Path;

pub use crate::current::TaskId;
use crate::current::VectorClock;

/// A scheduler: the strategy, and the number of runs.
pub trait Scheduler: Debug {
    /// Returns the settings of unpause, separated by spaces.
    #[doc(hidden)]
    fn settings(&self) -> String;

    /// Returns the requirements that no setting expresses.
    #[doc(hidden)]
    fn demands(&self) -> Demands {
        Demands::default()
    }
}

impl<S: Scheduler + ?Sized> Scheduler for Box<S> {
    fn settings(&self) -> String {
        (**self).settings()
    }

    fn demands(&self) -> Demands {
        (**self).demands()
    }
}

/// The requirements of a scheduler that no setting expresses.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Demands {
    /// True if the body must not draw random numbers.
    pub refuses_random: bool,
    /// True if runs of seeds follow a search that is not a proof.
    pub samples: bool,
    /// True if the scheduler would follow a schedule of shuttle.
    pub follows: bool,
    /// True if a search executes each order of steps.
    pub each_order: bool,
    /// True if steps of shuttle are added that the engine does not have.
    pub adds_steps: bool,
    /// The key of the random numbers of [`rand`](crate::rand) in the current run, if all other random bytes must differ
    /// when the run is repeated. The scheduler sets any number.
    pub key: Option<u64>,
}

impl Demands {
    /// No demands.
    pub(crate) const NONE: Demands = Demands {
        refuses_random: false,
        samples: false,
        follows: false,
        each_order: false,
        adds_steps: false,
        key: None,
    };
}

/// Returns `true` if the variable for complete searches is set.
fn has_each_order() -> bool {
    is_chosen("UNPAUSE_SHUTTLE_DFS", "all", "classes")
}

/// Returns `true` if the variable for random walks is set.
fn is_walk() -> bool {
    is_chosen("UNPAUSE_SHUTTLE_RANDOM", "walk", "default")
}

/// Returns `true` if a variable has the value `chosen`, and `false` if it has the value `usual` or is not set.
///
/// # Panics
/// If the variable has another value.
fn is_chosen(variable: &str, chosen: &str, usual: &str) -> bool {
    match std::env::var(variable).as_deref() {
        Ok(value) if value == chosen => true,
        Ok(value) if value != usual => {
            panic!("{variable} is {value:?}, and must be `{chosen}` or `{usual}`")
        }
        _ => false,
    }
}

/// Returns the seed in shuttle's variable, or this seed if the variable is not set.
///
/// # Panics
/// If the variable is not a seed.
fn from_environment(seed: u64) -> u64 {
    const VARIABLE: &str = "SHUTTLE_RANDOM_SEED";
    let Ok(text) = std::env::var(VARIABLE) else { return seed };
    match text.parse() {
        Ok(seed) => seed,
        Err(error) => panic!("The seed provided by {VARIABLE} is not a valid u64: {error}"),
    }
}

/// The number of runs after a search without a proof, and in the place of a schedule.
pub(crate) const MANY: usize = 1000;

/// The number of runs of [`check`](crate::check()).
const CHECKED: usize = 100;

/// Returns the setting for this number of runs, starting at a seed, or at the last seed that leaves room for the runs.
pub(crate) fn seeds(first: u64, runs: usize) -> String {
    let runs = runs.max(1) as u64;
    let first = first.min(u64::MAX - runs);
    format!("SIM_SEEDS={first}..{}", first + runs)
}

/// Runs of unpause's default strategy. If the variable `UNPAUSE_SHUTTLE_RANDOM` is `walk`, the strategy is the random
/// walk, like shuttle's scheduler. The default strategy finds most bugs in fewer runs.
#[derive(Clone, Debug)]
pub struct RandomScheduler {
    seeds: String,
    is_walk: bool,
}

impl RandomScheduler {
    /// Creates a scheduler for this number of runs.
    pub fn new(max_iterations: usize) -> Self {
        RandomScheduler::new_from_seed(0, max_iterations)
    }

    /// Creates a scheduler for this number of runs, starting at a seed. The variable `SHUTTLE_RANDOM_SEED` overrides
    /// the seed.
    ///
    /// # Panics
    /// If the variable is not a seed.
    pub fn new_from_seed(seed: u64, max_iterations: usize) -> Self {
        RandomScheduler { seeds: seeds(from_environment(seed), max_iterations), is_walk: is_walk() }
    }
}

impl Scheduler for RandomScheduler {
    fn settings(&self) -> String {
        let walk = if self.is_walk { "SIM_STRATEGY=random SIM_ARC=0 " } else { "" };
        format!("{walk}{}", self.seeds)
    }

    fn demands(&self) -> Demands {
        Demands { adds_steps: self.is_walk, ..Demands::NONE }
    }
}

/// Runs of the strategy `urw`.
#[derive(Clone, Debug)]
pub struct UrwRandomScheduler(String);

impl UrwRandomScheduler {
    /// Creates a scheduler for this number of runs.
    pub fn new(max_iterations: usize) -> Self {
        UrwRandomScheduler::new_from_seed(0, max_iterations)
    }

    /// Creates a scheduler for this number of runs, starting at a seed. The variable `SHUTTLE_RANDOM_SEED` overrides
    /// the seed.
    ///
    /// # Panics
    /// If the variable is not a seed.
    pub fn new_from_seed(seed: u64, max_iterations: usize) -> Self {
        let seeds = seeds(from_environment(seed), max_iterations);
        UrwRandomScheduler(format!("SIM_STRATEGY=urw {seeds}"))
    }
}

impl Scheduler for UrwRandomScheduler {
    fn settings(&self) -> String {
        self.0.clone()
    }
}

/// The maximum depth of unpause's `pct`.
const DEEPEST: usize = 8;

/// Runs of the strategy `pct`. If there are several runs, and none of them spawns a thread, the check fails.
#[derive(Clone, Debug)]
pub struct PctScheduler(String);

impl PctScheduler {
    /// Creates a scheduler for this number of runs, for bugs of this depth. A depth above 8 counts
    /// as 8.
    pub fn new(max_depth: usize, max_iterations: usize) -> Self {
        PctScheduler::new_from_seed(0, max_depth, max_iterations)
    }

    /// Like `new`, starting at a seed. The variable `SHUTTLE_RANDOM_SEED` overrides the seed.
    ///
    /// # Panics
    /// If the depth is 0, or if the variable is not a seed.
    pub fn new_from_seed(seed: u64, max_depth: usize, max_iterations: usize) -> Self {
        assert!(max_depth > 0, "the depth of a bug must be greater than 0");
        let depth = max_depth.min(DEEPEST);
        let seeds = seeds(from_environment(seed), max_iterations);
        // shuttle notices it when the second run begins.
        let spawns = if max_iterations > 1 { " must_spawn" } else { "" };
        PctScheduler(format!("SIM_STRATEGY=pct:{depth} {seeds}{spawns}"))
    }
}

impl Scheduler for PctScheduler {
    fn settings(&self) -> String {
        self.0.clone()
    }
}

/// The exhaustive search. If it has no number of runs and ends without a proof, runs of the default strategy follow.
///
/// The search executes one run of each class of equivalent interleavings. If the variable `UNPAUSE_SHUTTLE_DFS` is
/// `all`, it executes each interleaving, like shuttle's search. The numbers of runs are then the same as in shuttle
/// for bodies of spawns and yields.
#[derive(Clone, Debug)]
pub struct DfsScheduler {
    settings: String,
    demands: Demands,
}

impl DfsScheduler {
    /// Creates a search of all runs, or of at most this many runs. If random data is not allowed, a run fails if it
    /// draws a random number from [`rand`](crate::rand).
    pub fn new(max_iterations: Option<usize>, allow_random_data: bool) -> Self {
        let runs = max_iterations.map_or(String::new(), |runs| format!(" {}", seeds(0, runs)));
        let (refuses_random, samples) = (!allow_random_data, max_iterations.is_none());
        let each_order = has_each_order();
        // Reference counts are no steps in shuttle.
        let word = if each_order { " each_order SIM_ARC=0" } else { "" };
        DfsScheduler {
            settings: format!("SIM_STRATEGY=exhaustive{runs}{word}"),
            demands: Demands {
                refuses_random,
                samples,
                each_order,
                adds_steps: each_order,
                ..Demands::NONE
            },
        }
    }
}

impl Scheduler for DfsScheduler {
    fn settings(&self) -> String {
        self.settings.clone()
    }

    fn demands(&self) -> Demands {
        self.demands
    }
}

/// Runs seeds with the default strategy, like a test without a scheduler. Unlike shuttle's scheduler it does not take
/// turns between the tasks.
#[derive(Clone, Debug)]
pub struct RoundRobinScheduler(String);

impl RoundRobinScheduler {
    /// Creates a scheduler for this number of runs.
    pub fn new(max_iterations: usize) -> Self {
        RoundRobinScheduler(seeds(0, max_iterations))
    }

    /// Creates the scheduler of [`check`](crate::check()). If the body `has_captured` values, all runs except the first
    /// are in processes of their own.
    pub(crate) fn of_check(has_captured: bool) -> Self {
        RoundRobinScheduler(match has_captured {
            false => seeds(0, CHECKED),
            true => format!("{}\nSIM_SEEDS=1..{CHECKED} SIM_ISOLATE=process", seeds(0, 1)),
        })
    }
}

impl Default for RoundRobinScheduler {
    /// Creates a scheduler for one run.
    fn default() -> Self {
        RoundRobinScheduler::new(1)
    }
}

impl Scheduler for RoundRobinScheduler {
    fn settings(&self) -> String {
        self.0.clone()
    }
}

/// Runs another scheduler, and repeats each run with the same decisions in the process of the test. Random numbers of
/// [`rand`](crate::rand) are the same in the repetition, and all other random bytes differ. A difference is a failure.
#[derive(Clone, Debug)]
pub struct UncontrolledNondeterminismCheckScheduler<S>(S);

impl<S: Scheduler> UncontrolledNondeterminismCheckScheduler<S> {
    /// Creates a scheduler for the runs of `scheduler`.
    pub fn new(scheduler: S) -> Self {
        UncontrolledNondeterminismCheckScheduler(scheduler)
    }
}

impl<S: Scheduler> Scheduler for UncontrolledNondeterminismCheckScheduler<S> {
    fn settings(&self) -> String {
        // Otherwise such runs would be repeated in processes of their own.
        self.0.settings() + " SIM_ISOLATE=run repeats_each"
    }

    fn demands(&self) -> Demands {
        Demands { key: Some(0), ..self.0.demands() }
    }
}

/// Runs seeds with the default strategy, because a schedule of shuttle has no meaning here.
#[derive(Clone, Debug)]
pub struct ReplayScheduler(());

impl ReplayScheduler {
    /// Creates a scheduler that does not read the schedule.
    pub fn new_from_encoded(_schedule: &str) -> Self {
        ReplayScheduler(())
    }

    /// Creates a scheduler that does not use the schedule in the file.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn new_from_file<P: AsRef<Path>>(path: P) -> io::Result<Self> {
        std::fs::read_to_string(path).map(|schedule| ReplayScheduler::new_from_encoded(&schedule))
    }

    /// Has no effect.
    pub fn set_allow_incomplete(&mut self) {}

    /// Has no effect.
    pub fn set_target_clock(&mut self, _clock: impl Into<VectorClock>) {}
}

impl Scheduler for ReplayScheduler {
    fn settings(&self) -> String {
        seeds(0, MANY)
    }

    fn demands(&self) -> Demands {
        Demands { follows: true, ..Demands::default() }
    }
}
