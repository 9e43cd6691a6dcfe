//! All runs of a program with a strengthening, or with the memory `sc`: an exhaustive search.

use std::sync::Arc;

use unpause_ordered::Set;

use crate::engine::simulate::confirm::signature;
use crate::engine::simulate::exhaust::ends_by_a_step;
use crate::engine::simulate::job::WorkerJob;
use crate::engine::simulate::session::Session;
use crate::native;
use crate::rt::{RunLimits, Weaker, Worker};
use crate::run::Run;
use crate::run::memory_model::{MemoryModel, Raise};
use crate::strategy::Search;
use crate::strategy::exhaustive::Exhaustive;
use crate::strategy::search::{Apart, SearchProgress};

/// The maximum number of runs of a search.
const RUNS: u64 = 1_000;

/// The result of a search for the failure.
pub(in crate::engine::simulate) enum AllRuns {
    /// All runs pass. This is their number.
    Pass(u64),
    /// This run has the same failure. The number counts the runs until then.
    Fail(Box<Run>, u64),
    /// The search is not complete, has left something out, or has found another failure.
    Unknown,
}

/// Explores all runs with these orders, in at most `steps_max` steps, in which the beginning of each run counts as
/// `begin` steps.
pub(super) fn all_runs(
    session: &Session<'_>,
    run: &Run,
    raises: Vec<Raise>,
    cost: (u64, u64),
) -> AllRuns {
    // A search of a generated program explores less than all runs, and so does a search with the memory `sc`.
    if session.config.memory != MemoryModel::C11 || !run.programs.is_empty() {
        return AllRuns::Unknown;
    }
    let apart = Apart::ORDERS.and(Apart::DEATHS).and(Apart::STORES);
    let limits = session.limits_as(true);
    let explore = |apart| explore(session, run, (apart, &limits, raises.clone()), cost);
    // Only the program shows if the counts of its references matter.
    explore(apart).or_else(|| explore(apart.and(Apart::REFERENCES))).unwrap_or(AllRuns::Unknown)
}

/// Explores all runs with the memory `sc`, which plain threads must already have, at the same cost.
pub(in crate::engine::simulate) fn all_runs_with_sc(
    session: &Session<'_>,
    run: &Run,
    cost: (u64, u64),
) -> AllRuns {
    let apart = Apart::ORDERS.and(Apart::DEATHS);
    let limits = RunLimits { weaker: Weaker::Nothing, ..session.limits_as(true) };
    let explore = |apart| explore(session, run, (apart, &limits, Vec::new()), cost);
    explore(apart).or_else(|| explore(apart.and(Apart::REFERENCES))).unwrap_or(AllRuns::Unknown)
}

/// Explores all runs. Returns `None` if the counts of references must distinguish runs, and do not.
fn explore(
    session: &Session<'_>,
    run: &Run,
    (apart, limits, raises): (Apart, &RunLimits, Vec<Raise>),
    (begin, steps_max): (u64, u64),
) -> Option<AllRuns> {
    let search = Exhaustive::after(&[]);
    search.tell_apart(apart);
    let mut worker = Worker::new(search.strategy());
    let has_sc = limits.weaker == Weaker::Nothing;
    if !raises.is_empty() {
        worker.raise(raises);
    }
    let job = WorkerJob::Search(Arc::new(search.clone()));
    let watched = session.watch.follow(worker.progress(), job, run.seed);
    session.show(apart);
    let _shown = Shown(session);
    let is_native = session.config.is_native();
    // Earlier runs may have left these notes.
    if is_native {
        native::take_simplified();
        native::take_shown_references();
        native::take_strengthened();
    }
    let wanted = signature(run);
    let (mut untried, mut steps, mut result) = (Set::new(), 0, AllRuns::Unknown);
    for _ in 0..RUNS {
        watched.watched.begin(run.seed.0);
        let failure = session.once_more(&mut worker, run.seed, limits);
        steps += worker.steps() + begin;
        worker.add_untried(&mut untried);
        if let Some(failure) = failure.as_ref().filter(|_| !search.is_blocked()) {
            let is_same = Some(failure.signature()) == wanted;
            if is_same {
                let found = Box::new(worker.extract(run.seed, &run.strategy));
                result = AllRuns::Fail(found, search.progress().runs + 1);
            }
            worker.forget_histories();
            break;
        }
        worker.forget_histories();
        if is_native && native::take_shown_references() && !apart.references {
            return None;
        }
        if !search.advance(ends_by_a_step(failure.as_ref())) {
            let SearchProgress { runs, blind, .. } = search.progress();
            // With the memory `sc`, weaker orders act as `SeqCst`.
            let leaves_out =
                is_native && (native::take_simplified() || native::take_strengthened() && !has_sc);
            if untried.is_empty() && !blind && !leaves_out {
                result = AllRuns::Pass(runs);
            }
            break;
        }
        if steps > steps_max {
            break;
        }
    }
    Some(result)
}

/// A guard under which runs show the differences of the search.
struct Shown<'a, 's>(&'a Session<'s>);

impl Drop for Shown<'_, '_> {
    fn drop(&mut self) {
        self.0.show(Apart::NOTHING);
    }
}
