//! Runs with the memory `sc`, for a failing run in which some operations chose older stores.
//!
//! Such a run does not show that the failure needs older stores: another order of steps may have the same failure. So
//! all runs with the memory `sc` are explored if they are few. Otherwise seeds are tried. A run that fails becomes the
//! reported run, if it also fails with the memory `c11` and the newest store at each operation.

use std::sync::Arc;

use super::confirm::{same_again, signature};
use super::job::WorkerJob;
use super::runs::{Next, for_each_run};
use super::session::Session;
use super::strengthen::{AllRuns, all_runs_with_sc, cost_of, seeds_for};
use super::why::{StrongMemory, depends_on_order, sees_newest};
use crate::report::WithSc;
use crate::rt::{RunLimits, Weaker, Worker};
use crate::run::ids::Seed;
use crate::run::memory_model::MemoryModel;
use crate::run::schedule::Schedule;
use crate::run::{Outcome, Run};
use crate::strategy::Chosen;
use crate::strategy::newest::Newest;

/// The part of the steps of a strengthening that the exploration of all runs may take, and the part of the seeds.
const PARTS: (u64, u64) = (4, 2);

/// The strategy of the seeds if the strategy of the test is a search.
const OF_SEARCHES: &str = "portfolio";

/// Tries to find the failure of a run with the memory `sc`. `runs` is the number of runs that were needed to find the
/// failure. Also returns a run that fails in the same way, and in which each operation chooses the newest store. `None`
/// if the run has no older stores, or if no other order of steps can explain the failure.
pub(super) fn find(session: &Session<'_>, run: &Run, runs: u64) -> Option<(WithSc, Option<Run>)> {
    let Outcome::Failed(failure) = &run.outcome else { return None };
    let may_need_older = session.config.memory == MemoryModel::C11 && !sees_newest(run);
    if !may_need_older || !run.programs.is_empty() || !depends_on_order(failure) {
        return None;
    }
    let strong = StrongMemory::begin(session.config);
    let (steps_max, begin) = cost_of(session.config);
    let (found, tried) = match all_runs_with_sc(session, run, (begin, steps_max / PARTS.0)) {
        AllRuns::Pass(runs) => (None, WithSc { fails: false, complete: true, runs }),
        AllRuns::Fail(run, runs) => (Some(*run), WithSc { fails: true, complete: false, runs }),
        AllRuns::Unknown => by_seeds(session, run, seeds_for(runs), (begin, steps_max / PARTS.1)),
    };
    drop(strong);
    Some((tried, found.and_then(|found| with_newest_stores(session, &found))))
}

/// Executes at most this number of seeds, in at most `steps_max` steps, with the memory `sc`. Plain threads must
/// already have this memory.
fn by_seeds(
    session: &Session<'_>,
    run: &Run,
    seeds: u64,
    (begin, steps_max): (u64, u64),
) -> (Option<Run>, WithSc) {
    let strategy = Some(session.config.strategy).filter(|strategy| !strategy.is_search());
    let strategy =
        strategy.or_else(|| Chosen::parse(OF_SEARCHES)).expect("a strategy of the registry");
    let mut worker = Worker::new(strategy.create());
    let watched = session.watch.follow(worker.progress(), WorkerJob::Seeds(strategy), Seed(0));
    let limits = RunLimits { weaker: Weaker::Nothing, beyond: 0, ..session.limits_as(false) };
    let (wanted, mut found, mut runs, mut steps) = (signature(run), None, 0, 0);
    for_each_run(&mut worker, 0..seeds, |worker, number| {
        let seed = Seed(run.seed.0.wrapping_add(number));
        watched.watched.begin(seed.0);
        session.prepare(worker, &watched.watched, seed);
        let failure = session.once_more(worker, seed, &limits);
        runs += 1;
        steps += worker.steps() + begin;
        if failure.map(|failure| failure.signature()) == wanted {
            found = Some(worker.extract(seed, &run.strategy));
        }
        if found.is_some() || steps > steps_max { Next::Stop } else { Next::Again }
    });
    let fails = found.is_some();
    (found, WithSc { fails, complete: false, runs })
}

/// Repeats a failing run of the memory `sc` with the memory `c11`. Returns the run if it has the same failure.
fn with_newest_stores(session: &Session<'_>, run: &Run) -> Option<Run> {
    let schedule = Arc::new(Schedule::of(run));
    let job = WorkerJob::Follow(schedule);
    let strategy = Box::new(Newest::new(job.strategy()));
    let newest = session.run_with(strategy, "follow", run.seed, job);
    let newest = Run { strategy: run.strategy.clone(), ..newest };
    let fails = signature(&newest) == signature(run) && sees_newest(&newest);
    (fails && same_again(session, &newest).is_ok()).then_some(newest)
}
