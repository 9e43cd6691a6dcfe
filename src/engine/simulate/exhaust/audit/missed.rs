//! Finds a reversal that a search did not try. The sampled run belongs to no class of the search, but a run with two
//! steps reversed does.

use std::collections::VecDeque;
use unpause_ordered::Set;

use super::again::Again;
use crate::report::{Clash, StepText};
use crate::run::ids::TaskId;
use crate::strategy::divided::SearchTree;
use crate::strategy::happens_before::HappensBefore;

/// The maximum number of runs for finding it: repetitions of runs to be reversed, and runs with a reversal.
const RUNS: u32 = 200;

/// The maximum number of steps of a run in which conflicting steps are reversed. Longer runs have too many pairs of
/// conflicting steps.
const STEPS: u32 = 400;

/// Returns two steps whose order the search did not reverse. Starting at the sampled run, it reverses pairs of
/// conflicting steps until a run belongs to a class of the search. `None` if no nearby run belongs to such a class.
pub(super) fn reversal(
    again: &mut Again<'_, '_>,
    search: &SearchTree,
    tasks: Vec<TaskId>,
) -> Option<Clash> {
    let mut known = Set::new();
    let mut left = VecDeque::from([tasks]);
    let mut runs = 0;
    let mut counts_run = || {
        runs += 1;
        (runs <= RUNS).then_some(())
    };
    while let Some(tasks) = left.pop_front() {
        counts_run()?;
        let (_, reversed) = again.make(&tasks, reversals);
        let run = again.outline();
        for Reversal { steps, tasks, begins } in reversed {
            counts_run()?;
            let (_, class) = again.make(&tasks, |order| order.class());
            let made = again.outline();
            let made = made.steps.iter().map(|step| step.task).take(begins);
            if !made.eq(tasks[..begins].iter().copied()) {
                // These two steps cannot occur in the other order.
                continue;
            }
            if search.has_class(class) == Some(true) {
                let steps = steps.map(|step| StepText::of(&run, step));
                return Some(Clash { steps, ..Clash::default() });
            }
            if known.insert(class) {
                left.push_back(tasks);
            }
        }
    }
    None
}

/// A reversal of two conflicting steps without a step between them in happens-before order.
struct Reversal {
    steps: [u32; 2],
    /// The tasks of all steps, in the new order.
    tasks: Vec<TaskId>,
    /// The number of steps up to and including the reversed steps. The further steps follow as far as they are
    /// possible.
    begins: usize,
}

/// Returns all reversals of a run.
fn reversals(order: &HappensBefore) -> Vec<Reversal> {
    let mut reversals = Vec::new();
    let length = order.steps().min(STEPS);
    // Reversals near the end come first, because a reversal near the beginning may lead to a run without the later
    // reversals.
    for later in (0..length).rev() {
        for earlier in (0..later).rev() {
            let is_between =
                |step: u32| order.is_before(earlier, step) && order.is_before(step, later);
            let is_race = order.task_of(earlier) != order.task_of(later)
                && order.base(later) != Some(earlier)
                && order.is_before(earlier, later)
                && !(earlier + 1..later).any(is_between);
            if !is_race {
                continue;
            }
            let waits = |step: &u32| *step == earlier || order.is_before(earlier, *step);
            let first = (0..later).filter(|step| !waits(step)).chain([later, earlier]);
            let mut steps: Vec<u32> = first.collect();
            let begins = steps.len();
            let is_left = |step: &u32| *step != later && *step != earlier;
            steps.extend((earlier..later).filter(waits).filter(is_left));
            steps.extend(later + 1..order.steps());
            let tasks = steps.into_iter().map(|step| order.task_of(step)).collect();
            reversals.push(Reversal { steps: [earlier, later], tasks, begins });
        }
    }
    reversals
}

#[cfg(test)]
mod tests {
    use std::panic::Location;
    use std::sync::Arc;
    use std::sync::atomic::AtomicU32;
    use std::sync::atomic::Ordering::{Relaxed, SeqCst};

    use super::*;
    use crate::engine::assignment::Assignment;
    use crate::engine::config::Settings;
    use crate::engine::results::Results;
    use crate::engine::runner::Site;
    use crate::engine::runner::outcome::FunctionBody;
    use crate::engine::simulate::job::WorkerJob;
    use crate::engine::simulate::session::Session;
    use crate::rt::Worker;
    use crate::run::ids::Seed;
    use crate::strategy::Chosen;
    use crate::strategy::divided::Sizes;
    use crate::strategy::search::Apart;

    #[test]
    fn all_runs_together_are_limited() {
        crate::engine::simulate::hook::install();
        let made = AtomicU32::new(0);
        let body = FunctionBody::new(async || {
            made.fetch_add(1, Relaxed);
            let word = Arc::new(crate::Atomic::new(0));
            let add = |_| {
                let word = word.clone();
                crate::spawn(async move {
                    for _ in 0..3 {
                        word.fetch_add(1, SeqCst).await;
                    }
                })
            };
            let tasks: Vec<_> = (0..4).map(add).collect();
            for task in tasks {
                task.await.unwrap();
            }
        });
        let config = Settings::default().resolve().expect("the defaults are valid");
        let (site, results) = (Site::of_program(Location::caller()), Results::nowhere());
        let assignment = Assignment::new(&config, &site, &results);
        let session = Session::new(&assignment, &body);
        let strategy = Chosen::parse("random").expect("a strategy of the registry");
        let mut worker = Worker::new(strategy.create());
        let watched = session.watch.follow(worker.progress(), WorkerJob::Seeds(strategy), Seed(0));
        assert!(session.once(&mut worker, Seed(0), &session.limits()).is_none());
        let run = worker.outline(Seed(0), "random");
        let tasks = run.steps.iter().map(|step| step.task).collect();
        let schedule = worker.schedule();
        let mut again = Again {
            session: &session,
            worker: &mut worker,
            watched: &watched.watched,
            seed: Seed(0),
            schedule,
            apart: Apart::NOTHING,
        };
        // A search without classes, so every reversal leads to an unknown class.
        let search = SearchTree::new(Sizes::USUAL, Apart::NOTHING);
        made.store(0, Relaxed);
        assert!(reversal(&mut again, &search, tasks).is_none());
        assert_eq!(made.load(Relaxed), RUNS);
    }
}
