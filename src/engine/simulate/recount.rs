//! Statistics of runs that were not recorded when they were made: the runs are repeated.

use super::session::Session;
use super::watchdog::WorkerJob;
use crate::rt::Worker;
use crate::run::ids::Seed;
use crate::run::statistics::Statistics;

/// Maximum number of repeated runs.
const RUNS: u64 = 1000;

/// Returns the statistics of the first of so many runs; none if they generated no program, or if the strategy plans
/// runs from earlier ones.
pub(super) fn recount(session: &Session<'_>, runs: u64) -> Option<Statistics> {
    let strategy = session.config.strategy;
    if strategy.search().is_some() {
        return None;
    }
    let mut worker = Worker::new(strategy.create());
    let watched = session.watch.follow(worker.progress(), WorkerJob::Seeds(strategy), Seed(0));
    let mut statistics = Statistics::new();
    session.quietly(|| {
        let seeds = (0..).map_while(|n| session.config.seed(n));
        for seed in seeds.take(runs.min(RUNS) as usize) {
            watched.watched.begin(seed);
            session.prepare(&mut worker, &watched.watched, Seed(seed));
            session.once(&mut worker, Seed(seed), &session.limits());
            statistics.add(&worker.extract(Seed(seed), strategy.name()));
            worker.forget_histories();
        }
    });
    Some(statistics).filter(|statistics| !statistics.labels.is_empty())
}
