//! shuttle's schedulers, expressed as settings of unpause.

use std::fmt::Debug;
use std::io;
use std::path::Path;

pub use crate::current::TaskId;

/// A scheduler: the strategy, and the number of runs.
pub trait Scheduler: Debug {
    /// Returns the settings of unpause, separated by spaces.
    #[doc(hidden)]
    fn settings(&self) -> String;
}

impl<S: Scheduler + ?Sized> Scheduler for Box<S> {
    fn settings(&self) -> String {
        (**self).settings()
    }
}

/// Returns the setting for this number of runs, starting at a seed, or at the last seed that leaves room for the runs.
fn seeds(first: u64, runs: usize) -> String {
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

    /// Creates a scheduler for this number of runs, starting at a seed.
    pub fn new_from_seed(seed: u64, max_iterations: usize) -> Self {
        RandomScheduler(seeds(seed, max_iterations))
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

    /// Creates a scheduler for this number of runs, starting at a seed.
    pub fn new_from_seed(seed: u64, max_iterations: usize) -> Self {
        UrwRandomScheduler(format!("SIM_STRATEGY=urw {}", seeds(seed, max_iterations)))
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

    /// Like `new`, starting at a seed.
    ///
    /// # Panics
    /// If the depth is 0.
    pub fn new_from_seed(seed: u64, max_depth: usize, max_iterations: usize) -> Self {
        assert!(max_depth > 0, "the depth of a bug must be greater than 0");
        let depth = max_depth.min(DEEPEST);
        PctScheduler(format!("SIM_STRATEGY=pct:{depth} {}", seeds(seed, max_iterations)))
    }
}

impl Scheduler for PctScheduler {
    fn settings(&self) -> String {
        self.0.clone()
    }
}

/// The exhaustive search.
#[derive(Clone, Debug)]
pub struct DfsScheduler(String);

impl DfsScheduler {
    /// Creates a search of all runs, or of at most this many runs. Random numbers are always
    /// allowed.
    pub fn new(max_iterations: Option<usize>, _allow_random_data: bool) -> Self {
        let runs = max_iterations.map_or(String::new(), |runs| format!(" {}", seeds(0, runs)));
        DfsScheduler(format!("SIM_STRATEGY=exhaustive{runs}"))
    }
}

impl Scheduler for DfsScheduler {
    fn settings(&self) -> String {
        self.0.clone()
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

/// Runs another scheduler unchanged. It needs no check of its own, because unpause always repeats some runs to find
/// uncontrolled nondeterminism.
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
        self.0.settings()
    }
}

/// Refused, because a shuttle schedule has no meaning here.
#[derive(Clone, Debug)]
pub struct ReplayScheduler(());

impl ReplayScheduler {
    /// Refuses the schedule.
    ///
    /// # Panics
    /// Always. The message contains the remedy.
    pub fn new_from_encoded(_schedule: &str) -> Self {
        panic!("{}", crate::check::REFUSED);
    }

    /// Refuses the schedule.
    ///
    /// # Errors
    /// Never.
    ///
    /// # Panics
    /// Always. The message contains the remedy.
    pub fn new_from_file<P: AsRef<Path>>(_path: P) -> io::Result<Self> {
        panic!("{}", crate::check::REFUSED);
    }
}

impl Scheduler for ReplayScheduler {
    fn settings(&self) -> String {
        panic!("{}", crate::check::REFUSED);
    }
}
