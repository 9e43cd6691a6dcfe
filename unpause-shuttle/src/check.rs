//! The functions for tests to call.

use std::path::Path;

use crate::runner::{Config, Runner};
use crate::scheduler::{
    DfsScheduler, PctScheduler, RandomScheduler, ReplayScheduler, RoundRobinScheduler,
    UncontrolledNondeterminismCheckScheduler, UrwRandomScheduler,
};

/// Runs `body` 100 times with the default strategy. If `body` captures values, they see only one call: the other runs
/// are in processes of their own.
///
/// # Panics
/// If the run fails.
pub fn check<F>(body: F)
where
    F: Fn() + Send + Sync + 'static,
{
    Runner::new(RoundRobinScheduler::of_check(size_of::<F>() > 0), Config::new()).run(body);
}

/// Runs `body` this many times with the default strategy.
///
/// # Panics
/// If a run fails.
pub fn check_random<F>(body: F, iterations: usize)
where
    F: Fn() + Send + Sync + 'static,
{
    Runner::new(RandomScheduler::new(iterations), Config::new()).run(body);
}

/// Runs `body` this many times with the default strategy, starting at this seed.
///
/// # Panics
/// If a run fails.
pub fn check_random_with_seed<F>(body: F, seed: u64, iterations: usize)
where
    F: Fn() + Send + Sync + 'static,
{
    Runner::new(RandomScheduler::new_from_seed(seed, iterations), Config::new()).run(body);
}

/// Runs `body` this many times with the strategy `urw`.
///
/// # Panics
/// If a run fails.
pub fn check_urw<F>(body: F, iterations: usize)
where
    F: Fn() + Send + Sync + 'static,
{
    Runner::new(UrwRandomScheduler::new(iterations), Config::new()).run(body);
}

/// Runs `body` this many times with the strategy `pct`, for bugs of this depth. A depth above 8 counts as 8.
///
/// # Panics
/// If a run fails.
pub fn check_pct<F>(body: F, iterations: usize, depth: usize)
where
    F: Fn() + Send + Sync + 'static,
{
    Runner::new(PctScheduler::new(depth, iterations), Config::new()).run(body);
}

/// Explores all runs, or at most this many runs. A search of all runs that ends without a proof, for example because of
/// its time limit, is followed by 1000 runs of the default strategy.
///
/// # Panics
/// If a run fails.
pub fn check_dfs<F>(body: F, max_iterations: Option<usize>)
where
    F: Fn() + Send + Sync + 'static,
{
    Runner::new(DfsScheduler::new(max_iterations, false), Config::new()).run(body);
}

/// Runs `body` with the default strategy. Each run is repeated with the same decisions. Random numbers of
/// [`rand`](crate::rand) are the same in the repetition. All other random bytes differ, for example the keys of
/// `HashMap`. A run that differs from its repetition fails.
///
/// # Panics
/// If a run fails.
pub fn check_uncontrolled_nondeterminism<F>(body: F, max_iterations: usize)
where
    F: Fn() + Send + Sync + 'static,
{
    let runs = RandomScheduler::new(max_iterations);
    let scheduler = UncontrolledNondeterminismCheckScheduler::new(runs);
    Runner::new(scheduler, Config::new()).run(body);
}

/// Runs `body` 1000 times with the default strategy, because a schedule of shuttle has no meaning here. So a failure is
/// found again, unless it is rare. The screen of a failure has the command that replays it.
///
/// # Panics
/// If a run fails.
pub fn replay<F>(body: F, schedule: &str)
where
    F: Fn() + Send + Sync + 'static,
{
    Runner::new(ReplayScheduler::new_from_encoded(schedule), Config::new()).run(body);
}

/// Like [`replay`], for a schedule in a file.
///
/// # Panics
/// If the file cannot be read, or if a run fails.
pub fn replay_from_file<F, P>(body: F, path: P)
where
    F: Fn() + Send + Sync + 'static,
    P: AsRef<Path>,
{
    match ReplayScheduler::new_from_file(path) {
        Ok(scheduler) => _ = Runner::new(scheduler, Config::new()).run(body),
        Err(error) => panic!("could not load schedule from file: {error}"),
    }
}
