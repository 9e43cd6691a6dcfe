//! Proves that no failing run has fewer preemptions than the result of shrinking.
//!
//! Shrinking moves from run to run, and can stop at a run without a smaller neighbour. This proof tries all runs with
//! fewer preemptions, with the same drawn values and thus the same generated program. The proof ends when a run fails
//! in the same way or no runs remain.

use std::sync::Arc;

use unpause_ordered::Set;

use super::confirm::signature;
use super::job::WorkerJob;
use super::runs::{Next, for_each_run};
use super::session::Session;
use crate::report::{Proof, Size};
use crate::rt::Worker;
use crate::run::memory_model::MemoryModel;
use crate::run::schedule::Schedule;
use crate::run::{Failure, Run};
use crate::strategy::Search;
use crate::strategy::bounded::{Bounded, PREEMPTIONS};
use crate::strategy::held::Held;

/// The maximum average number of steps per run in a proof. Without this limit, endless runs would make the proof
/// endless.
const STEPS: u64 = 1000;

/// Searches for a run that fails like `run` with fewer preemptions, in at most `runs_max` runs. If it finds a run, no
/// failing run has fewer preemptions.
pub(super) fn prove(session: &Session<'_>, run: &Run, runs_max: u64) -> (Proof, Option<Run>) {
    let preemptions = Size::of(run).preemptions;
    let (complete, same_stores) = (preemptions == 0, session.config.memory == MemoryModel::C11);
    let mut proof = Proof { fewest: 0, complete, runs: 0, saved: 0, longer: None, same_stores };
    let Some(most) = preemptions.checked_sub(1) else { return (proof, None) };
    let search: Arc<dyn Search> = Arc::new(Bounded::new(&PREEMPTIONS, Some(most)));
    let held = Held::new(search.strategy(), &Schedule::of(run), false);
    let mut worker = Worker::new(Box::new(held));
    let job = WorkerJob::Search(search.clone());
    let watched = session.watch.follow(worker.progress(), job, run.seed);
    let (wanted, limits) = (signature(run), session.limits_following(run.steps.len()));
    let (mut steps, mut untried) = (0, Set::new());
    let mut better = None;
    for_each_run(&mut worker, 0..runs_max, |worker, _| {
        watched.watched.begin(run.seed.0);
        let failure = session.once_more(worker, run.seed, &limits);
        proof.runs += 1;
        steps += worker.steps();
        let strayed = matches!(failure, Some(Failure::Diverged { .. }));
        if failure.is_some() && failure.map(|failure| failure.signature()) == wanted {
            better = Some(worker.extract(run.seed, &run.strategy));
        }
        worker.add_untried(&mut untried);
        // A run that diverges is not a function of its decisions, so nothing can be proven about it.
        if better.is_some() || strayed {
            return Next::Stop;
        }
        proof.complete = !search.advance(true);
        let ends = proof.complete || steps >= runs_max.saturating_mul(STEPS);
        if ends { Next::Stop } else { Next::Again }
    });
    if untried.iter().any(|part| !part.is_assumption()) {
        // The runs left something out, so a run with fewer preemptions may exist.
        proof.complete = false;
        return (proof, better);
    }
    proof.fewest = match search.progress().within {
        Some(within) => within.through.map_or(0, |through| through + 1),
        None if proof.complete => preemptions,
        None => 0,
    };
    (proof, better)
}
