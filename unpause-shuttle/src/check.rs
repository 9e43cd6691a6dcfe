//! The functions for tests to call.

use std::path::Path;

use crate::runner::{Config, Runner};
use crate::scheduler::{DfsScheduler, PctScheduler, RandomScheduler, UrwRandomScheduler};

/// Runs `body` 100 times with the default strategy.
///
/// # Panics
/// If a run fails.
pub fn check<F>(body: F)
where
    F: Fn() + Send + Sync + 'static,
{
    check_random(body, 100);
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

/// Explores all runs, or at most this many runs.
///
/// # Panics
/// If a run fails.
pub fn check_dfs<F>(body: F, max_iterations: Option<usize>)
where
    F: Fn() + Send + Sync + 'static,
{
    Runner::new(DfsScheduler::new(max_iterations, false), Config::new()).run(body);
}

/// Runs `body` with the default strategy. Each failing run and some other runs are repeated, so nondeterminism of the
/// body is found.
///
/// # Panics
/// If a run fails.
pub fn check_uncontrolled_nondeterminism<F>(body: F, max_iterations: usize)
where
    F: Fn() + Send + Sync + 'static,
{
    check_random(body, max_iterations);
}

/// The message that refuses a schedule.
pub(crate) const REFUSED: &str = "a schedule of shuttle means nothing to unpause, which has other runs. Run the test with \
    `check_random`; its screen has the command that replays a failing run";

/// Refuses to replay, because a shuttle schedule has no meaning here.
///
/// # Panics
/// Always. The message contains the remedy.
pub fn replay<F>(_body: F, _schedule: &str)
where
    F: Fn() + Send + Sync + 'static,
{
    panic!("{REFUSED}");
}

/// Refuses to replay, because a shuttle schedule has no meaning here.
///
/// # Panics
/// Always. The message contains the remedy.
pub fn replay_from_file<F, P>(_body: F, _path: P)
where
    F: Fn() + Send + Sync + 'static,
    P: AsRef<Path>,
{
    panic!("{REFUSED}");
}
