//! The orders of recorded calls that one run of a search stands for, besides its own.
//!
//! They are checked without being run. One that is violated is run once before anybody hears of it: if
//! tasks share something that is not of this library, the run may not be the one that was foreseen.

use std::sync::Arc;

use super::session::Session;
use super::watchdog::Job;
use crate::ids::Seed;
use crate::rt::Worker;
use crate::run::{Outcome, Run};
use crate::strategy::Search;
use crate::strategy::exhaustive::Orders;

/// What became of the last run, which passed, in other orders of its calls.
pub(super) enum Reordered {
    /// It passes in all.
    Passes,
    /// It fails in this one.
    Fails(Box<Run>),
    /// That cannot be told from here: the search began anew, with a run for each order.
    Anew,
}

/// Looks at them. To be called after the search was told to advance.
pub(super) fn look(
    session: &Session<'_>,
    search: &Arc<dyn Search>,
    worker: &Worker,
    seed: Seed,
) -> Reordered {
    let mut holds = |history, times: &[_]| {
        worker.history(history).is_none_or(|history| history.holds_at(times))
    };
    match search.look_at_orders(&mut holds) {
        Orders::Hold => return Reordered::Passes,
        Orders::Violated(tasks) => {
            let mut schedule = worker.schedule();
            schedule.turns.clear();
            tasks.iter().for_each(|task| schedule.step(task.index(), false));
            let job = Job::Follow(Arc::new(schedule));
            let name = session.config.strategy.name();
            let run = session.run_with(job.strategy(), name, seed, job);
            if run.outcome != Outcome::Passed {
                return Reordered::Fails(Box::new(run));
            }
        }
        Orders::Open => {}
    }
    search.tell_orders_apart();
    Reordered::Anew
}
