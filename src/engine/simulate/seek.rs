//! Looks for a failure among all schedules of one generated program, for the shrinker: an exhaustive search
//! with the values of the program held.
//!
//! The values that commands draw themselves are the values of the schedule at first. If the failure
//! is not found with them, and there are such values, they are searched too.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use unpause_ordered::Set;

use super::confirm::ShrinkReplayer;
use super::exhaust::ends_by_a_step;
use super::reorder::{holds, in_order};
use super::watchdog::WorkerJob;
use crate::rt::Worker;
use crate::run::Failure;
use crate::run::schedule::Schedule;
use crate::shrink::{Replayer, Sought};
use crate::strategy::Search;
use crate::strategy::exhaustive::{ClosureVerdict, Exhaustive};
use crate::strategy::held::Held;
use crate::strategy::search::Apart;

/// Looks for a run with the values of `schedule` that fails as wanted and is `smaller`. Makes at
/// most `runs_max` runs in the first search and a third of this number in the second.
pub(super) fn seek(
    lenient: &mut ShrinkReplayer<'_, '_>,
    schedule: &Schedule,
    runs_max: u64,
    smaller: &dyn Fn(&Schedule) -> bool,
) -> Sought {
    let mut sought = Sought { found: None, runs: 0, through: true };
    // Where there are values to be searched there are many, and hardly a search is through with them.
    for (programs_only, runs_max) in [(false, runs_max), (true, runs_max / 3)] {
        let drew = pass(lenient, schedule, programs_only, runs_max, smaller, &mut sought);
        if !drew || sought.found.is_some() {
            break;
        }
    }
    sought
}

/// One search. Tells whether values were drawn that are not part of a program.
fn pass(
    lenient: &mut ShrinkReplayer<'_, '_>,
    schedule: &Schedule,
    programs_only: bool,
    runs_max: u64,
    smaller: &dyn Fn(&Schedule) -> bool,
    sought: &mut Sought,
) -> bool {
    let search: Arc<dyn Search> = Arc::new(Exhaustive::default());
    // A death that comes earlier makes a smaller run.
    search.tell_apart(Apart::DEATHS);
    let held = || Held::new(search.strategy(), schedule, programs_only);
    let first = held();
    let drew = first.others();
    lenient.worker.set_strategy(Box::new(first));
    lenient.watched.watched.begin_job(WorkerJob::Search(search.clone()));
    let mut through = false;
    let mut untried = Set::new();
    for number in 0..runs_max {
        if lenient.is_spent() {
            break;
        }
        lenient.watched.watched.begin(number);
        let failure = lenient.once();
        lenient.worker.add_untried(&mut untried);
        sought.runs += 1;
        let void = search.is_blocked();
        let fails = lenient.fails_as_wanted(failure.as_ref()) && !void;
        let ran = fails.then(|| lenient.worker.schedule());
        if let Some(ran) = ran.filter(|ran| lenient.may_be(ran) && smaller(ran)) {
            sought.found = Some(ran);
            break;
        }
        // A run that strays is no function of its decisions, and nothing can be said of the rest.
        if matches!(failure, Some(Failure::Diverged { .. })) && !void {
            break;
        }
        let more = search.advance(ends_by_a_step(failure.as_ref()));
        let mut anew = false;
        if failure.is_none() && lenient.wants_history() {
            let order = match reordered(&search, &lenient.worker) {
                ClosureVerdict::Consistent => None,
                ClosureVerdict::Unknown => {
                    anew = true;
                    None
                }
                ClosureVerdict::Violated(tasks) => {
                    Some(in_order(lenient.worker.schedule(), &tasks))
                }
            };
            if let Some(order) = order {
                lenient.worker.forget_histories();
                let ran = lenient.replay(&order);
                sought.runs += 1;
                if let Some(ran) = ran.filter(smaller) {
                    sought.found = Some(ran);
                    break;
                }
                lenient.worker.set_strategy(Box::new(held()));
                lenient.watched.watched.begin_job(WorkerJob::Search(search.clone()));
                anew = true;
            }
            if anew {
                search.tell_apart(Apart::ORDERS);
            }
        }
        lenient.worker.forget_histories();
        if !more && !anew {
            through = !search.progress().blind && untried.is_empty();
            break;
        }
    }
    lenient.worker.forget_histories();
    sought.through &= through;
    drew.load(Ordering::Relaxed)
}

/// An order of the calls of the last run that the model forbids, if any.
fn reordered(search: &Arc<dyn Search>, worker: &Worker) -> ClosureVerdict {
    search.look_at_orders(&mut |history, times| holds(worker, history, times))
}
