//! Statistics of runs that were not recorded during the runs: the runs are repeated.

use super::explore::SeedRunner;
use super::runs::{Next, for_each_run};
use super::session::Session;
use crate::run::ids::Seed;
use crate::run::statistics::Statistics;

/// The maximum number of repeated runs.
const RUNS: u64 = 1000;

/// Returns the statistics of the first `runs` runs, up to a limit. `None` if they generated no
/// program, or if the strategy is a search.
pub(super) fn recount(session: &Session<'_>, runs: u64) -> Option<Statistics> {
    if session.config.strategy.search().is_some() {
        return None;
    }
    let mut statistics = Statistics::new();
    session.quietly(|| {
        let mut runner = SeedRunner::new(session);
        let seeds = (0..).map_while(|n| session.config.seed(n));
        for_each_run(&mut runner, seeds.take(runs.min(RUNS) as usize), |runner, seed| {
            runner.make(Seed(seed));
            statistics.add(&runner.extract(Seed(seed)));
            Next::Again
        });
    });
    Some(statistics).filter(|statistics| !statistics.labels.is_empty())
}
