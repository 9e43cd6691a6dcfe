//! Proves that no failing run has fewer preemptions than the result of shrinking.
//!
//! Shrinking goes from run to run and can be stuck where none near by is smaller. This goes through all
//! runs with fewer preemptions, with the same values drawn, and so of the same generated program, until
//! one fails in the same way or there is none left.

use std::sync::Arc;

use super::confirm::signature;
use super::job::WorkerJob;
use super::session::Session;
use crate::report::{Proof, Size};
use crate::rt::Worker;
use crate::run::schedule::Schedule;
use crate::run::{Failure, Run};
use crate::strategy::Search;
use crate::strategy::bounded::{Bounded, PREEMPTIONS};
use crate::strategy::held::Held;

/// Maximum number of steps of a proof per run that it may take, because endless runs must not make the proof endless.
const STEPS: u64 = 1000;

/// Looks for a run that fails as `run` does with fewer preemptions, in at most `runs_max` runs. If such a run exists,
/// it has the fewest of all.
pub(super) fn prove(session: &Session<'_>, run: &Run, runs_max: u64) -> (Proof, Option<Run>) {
    let preemptions = Size::of(run).preemptions;
    let mut proof =
        Proof { fewest: 0, complete: preemptions == 0, runs: 0, saved: 0, longer: None };
    let Some(most) = preemptions.checked_sub(1) else { return (proof, None) };
    let search: Arc<dyn Search> = Arc::new(Bounded::new(&PREEMPTIONS, Some(most)));
    let held = Held::new(search.strategy(), &Schedule::of(run), false);
    let mut worker = Worker::new(Box::new(held));
    let job = WorkerJob::Search(search.clone());
    let watched = session.watch.follow(worker.progress(), job, run.seed);
    let (wanted, limits) = (signature(run), session.limits_following(run.steps.len()));
    let mut steps = 0;
    let mut better = None;
    while proof.runs < runs_max && steps < runs_max.saturating_mul(STEPS) {
        watched.watched.begin(run.seed.0);
        let failure = session.once(&mut worker, run.seed, &limits);
        proof.runs += 1;
        steps += worker.steps();
        let strayed = matches!(failure, Some(Failure::Diverged { .. }));
        if failure.is_some() && failure.map(|failure| failure.signature()) == wanted {
            better = Some(worker.extract(run.seed, &run.strategy));
        }
        worker.forget_histories();
        // A run that strays is no function of its decisions, and nothing can be proven of it.
        if better.is_some() || strayed {
            break;
        }
        if !search.advance(true) {
            proof.complete = true;
            break;
        }
    }
    proof.fewest = match search.progress().within {
        Some(within) => within.through.map_or(0, |through| through + 1),
        None if proof.complete => preemptions,
        None => 0,
    };
    (proof, better)
}
