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

/// Returns the setting for this number of runs, starting at a seed, or at the last seed that leaves room for the runs.
pub(crate) fn seeds(first: u64, runs: usize) -> String {
    let runs = runs.max(1) as u64;
    let first = first.min(u64::MAX - runs);
    format!("SIM_SEEDS={first}..{}", first + runs)
}

/// Runs of unpause's default strategy.
#[derive(Clone, Debug)]
pub struct RandomScheduler(String);

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
        RandomScheduler(seeds(from_environment(seed), max_iterations))
    }
}

impl Scheduler for RandomScheduler {
    fn settings(&self) -> String {
        self.0.clone()
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

/// Runs of the strategy `pct`.
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
        PctScheduler(format!("SIM_STRATEGY=pct:{depth} {seeds}"))
    }
}

impl Scheduler for PctScheduler {
    fn settings(&self) -> String {
        self.0.clone()
    }
}

/// The exhaustive search. If it has no number of runs and ends without a proof, runs of the default strategy follow.
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
        DfsScheduler {
            settings: format!("SIM_STRATEGY=exhaustive{runs}"),
            demands: Demands { refuses_random, samples, follows: false },
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

/// Runs another scheduler. A run that cannot be repeated in the process of the test is a failure.
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
        self.0.settings() + " SIM_ISOLATE=run"
    }

    fn demands(&self) -> Demands {
        self.0.demands()
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
