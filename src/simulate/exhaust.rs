//! Goes through the runs of a search, one after the other on one thread, until there are none left,
//! one fails, or there were as many as allowed.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Instant;

use super::confirm;
use super::explore::{Explored, remarks};
use super::reorder::{self, Reordered};
use super::session::Session;
use super::watchdog::Job;
use crate::ids::Seed;
use crate::report::{Bound, Searched};
use crate::rt::Worker;
use crate::run::{Failure, Outcome, Run};
use crate::strategy::Search;

/// What is done with each run of a search.
pub(super) enum Visit<'a> {
    /// Stop at the first that fails.
    UntilFailure,
    /// Show it, whether it failed or not, and go on.
    Each(&'a mut dyn FnMut(Run)),
    /// Only this one counts.
    One(u64),
}

/// Runs the search.
pub(super) fn exhaust(
    session: &Session<'_>,
    search: &Arc<dyn Search>,
    mut visit: Visit<'_>,
) -> Explored {
    let began = Instant::now();
    let config = session.config;
    let name = config.strategy.name();
    if matches!(visit, Visit::Each(_)) {
        search.tell_orders_apart();
    }
    let mut worker = Worker::new(search.strategy());
    let watched = session.watch.follow(worker.progress(), Job::Seeds(config.strategy), Seed(0));
    session.rehearse(&mut worker, &watched.watched);
    watched.watched.begin_job(Job::Search(search.clone()));
    let limits = session.limits();
    let mut explored = Explored::default();
    if config.shard.of > 1 || config.results.is_some() {
        explored.warnings.push(format!(
            "{name} makes each run from those before: it is not divided into shards, and there are no \
             results to go on from. This was the whole search, whatever SIM_SHARD says"
        ));
    }
    let mut complete = false;
    session.quietly(|| {
        // Runs that do not count have a number, too, so that a number is one run.
        for number in 0.. {
            let late = config.time.is_some_and(|time| began.elapsed() >= time);
            let last = match visit {
                Visit::One(one) => number > one,
                _ => number >= config.end(),
            };
            if late || last {
                break;
            }
            let seed = Seed(number);
            watched.watched.begin(number);
            let failure = session.once(&mut worker, seed, &limits);
            let void = search.is_blocked();
            if !void {
                explored.runs += 1;
                explored.steps += worker.steps();
                worker.add_conditions(&mut explored.conditions);
            }
            let failure = failure.filter(|_| !void).map(not_a_replay);
            let extract = |worker: &Worker| {
                let run = worker.extract(seed, name);
                match &failure {
                    Some(failure) => Run { outcome: Outcome::Failed(failure.clone()), ..run },
                    None => run,
                }
            };
            if config.statistics && !void {
                explored.statistics.get_or_insert_default().add(&extract(&worker));
            }
            let stray = matches!(failure, Some(Failure::NonDeterminism { .. }));
            let wanted = match &visit {
                Visit::UntilFailure => true,
                Visit::Each(_) => false,
                Visit::One(one) => number == *one,
            };
            if wanted && failure.is_some() || stray {
                explored.found = Some((number, extract(&worker)));
                worker.forget_histories();
                break;
            }
            if number == 0 {
                let run = extract(&worker);
                explored.warnings.extend(remarks(&run));
                if let Err(failure) = confirm::same_again(session, &run) {
                    let outcome = Outcome::Failed(failure);
                    explored.found = Some((number, Run { outcome, ..run }));
                    worker.forget_histories();
                    break;
                }
            }
            if let (Visit::Each(visit), false) = (&mut visit, void) {
                visit(extract(&worker));
            }
            let waits = Some(Failure::Deadlock { waits: Vec::new() }.kind());
            let long = Some(Failure::StepLimit { steps: 0, cycle: Vec::new() }.kind());
            let kind = failure.as_ref().map(Failure::kind);
            let cut = kind != waits && kind != long;
            let more = search.advance(cut);
            let reordered = match &failure {
                None => reorder::look(session, search, &worker, seed),
                Some(_) => Reordered::Passes,
            };
            let anew = matches!(reordered, Reordered::Anew);
            let found = match (&visit, reordered) {
                (_, Reordered::Fails(run)) if wanted => {
                    explored.reordered = true;
                    Some(*run)
                }
                (Visit::One(_), _) if wanted => Some(extract(&worker)),
                _ => None,
            };
            worker.forget_histories();
            if let Some(run) = found {
                explored.found = Some((number, run));
                break;
            }
            if !more && !anew {
                complete = true;
                break;
            }
        }
    });
    let progress = search.progress();
    if explored.found.is_none() {
        // Those before it began anew are none.
        explored.runs = progress.runs;
    }
    let part = if complete { 1.0 } else { progress.part };
    explored.searched = Some(Searched {
        blocked: progress.blocked,
        complete,
        part,
        blind: progress.blind,
        cut_short: progress.cut_short,
        repeated: progress.repeated,
        bound: progress
            .within
            .map(|within| Bound { what: within.what.to_owned(), through: within.through }),
    });
    explored
}

/// To have diverged from an earlier run is what a replay does; here it means that the body is not a
/// function of its decisions.
fn not_a_replay(failure: Failure) -> Failure {
    match failure {
        Failure::Diverged { step, expected, found } => {
            Failure::NonDeterminism { step, first: expected, second: found }
        }
        failure => failure,
    }
}
