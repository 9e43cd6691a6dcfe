//! The functions that tests call.

use std::path::Path;

use crate::runner::{Config, Runner};
use crate::scheduler::{DfsScheduler, PctScheduler, RandomScheduler, UrwRandomScheduler};

/// Makes 100 runs.
///
/// # Panics
/// If a run fails.
pub fn check<F>(body: F)
where
    F: Fn() + Send + Sync + 'static,
{
    check_random(body, 100);
}

/// Makes this number of runs of the default strategy.
///
/// # Panics
/// If a run fails.
pub fn check_random<F>(body: F, iterations: usize)
where
    F: Fn() + Send + Sync + 'static,
{
    Runner::new(RandomScheduler::new(iterations), Config::new()).run(body);
}

/// The same, from this seed on.
///
/// # Panics
/// If a run fails.
pub fn check_random_with_seed<F>(body: F, seed: u64, iterations: usize)
where
    F: Fn() + Send + Sync + 'static,
{
    Runner::new(RandomScheduler::new_from_seed(seed, iterations), Config::new()).run(body);
}

/// Makes this number of runs of the strategy `urw`.
///
/// # Panics
/// If a run fails.
pub fn check_urw<F>(body: F, iterations: usize)
where
    F: Fn() + Send + Sync + 'static,
{
    Runner::new(UrwRandomScheduler::new(iterations), Config::new()).run(body);
}

/// Makes this number of runs of the strategy `pct`, for bugs of this depth. A larger depth than 8 is 8.
///
/// # Panics
/// If a run fails.
pub fn check_pct<F>(body: F, iterations: usize, depth: usize)
where
    F: Fn() + Send + Sync + 'static,
{
    Runner::new(PctScheduler::new(depth, iterations), Config::new()).run(body);
}

/// Searches all runs, or this number of them.
///
/// # Panics
/// If a run fails.
pub fn check_dfs<F>(body: F, max_iterations: Option<usize>)
where
    F: Fn() + Send + Sync + 'static,
{
    Runner::new(DfsScheduler::new(max_iterations, false), Config::new()).run(body);
}

/// Makes runs of the default strategy. Each run that fails is repeated, and so are others, so what differs when a run
/// is repeated is found.
///
/// # Panics
/// If a run fails.
pub fn check_uncontrolled_nondeterminism<F>(body: F, max_iterations: usize)
where
    F: Fn() + Send + Sync + 'static,
{
    check_random(body, max_iterations);
}

/// The refusal of a schedule.
pub(crate) const REFUSED: &str = "a schedule of shuttle means nothing to unpause, which has other runs. Run the test with \
    `check_random`; its screen has the command that replays a failing run";

/// Refused: a schedule of shuttle means nothing here.
///
/// # Panics
/// Always, with what to do.
pub fn replay<F>(_body: F, _schedule: &str)
where
    F: Fn() + Send + Sync + 'static,
{
    panic!("{REFUSED}");
}

/// Refused: a schedule of shuttle means nothing here.
///
/// # Panics
/// Always, with what to do.
pub fn replay_from_file<F, P>(_body: F, _path: P)
where
    F: Fn() + Send + Sync + 'static,
    P: AsRef<Path>,
{
    panic!("{REFUSED}");
}
