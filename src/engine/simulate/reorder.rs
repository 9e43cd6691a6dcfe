//! The other orders of recorded calls that one run represents.
//!
//! These orders are checked without being run. An order that violates the model is run once before it is reported,
//! because tasks that share memory outside this library may behave differently.

use std::sync::Arc;

use super::job::WorkerJob;
use super::session::Session;
use crate::engine::seeds::Explored;
use crate::report::Closure;
use crate::rt::Worker;
use crate::run::Run;
use crate::run::choice::Strategy;
use crate::run::ids::{Seed, TaskId};
use crate::run::recording::Timed;
use crate::run::schedule::Schedule;
use crate::strategy::exhaustive::ClosureVerdict;
use crate::strategy::search::Apart;
use crate::strategy::witness::Witness;
use crate::strategy::{Chosen, Search};

/// The maximum number of call orders of a history that are checked for one seed. The limit keeps the cost of a seed in
/// proportion to its run.
const ORDERS_MAX: u32 = 1000;

/// The outcome of the last, passing run of a search, with its calls in other orders.
pub(super) enum Reordered {
    /// The run passes in all orders.
    Passes,
    /// The run fails in this order.
    Fails(Box<Run>),
    /// Undecidable within one run: the search restarted, with a run for each order.
    Anew,
}

/// Checks the other orders. Must be called after the search has advanced.
pub(super) fn check(
    session: &Session<'_>,
    search: &Arc<dyn Search>,
    worker: &Worker,
    seed: Seed,
) -> Reordered {
    match search.look_at_orders(&mut |history, times| holds(worker, history, times)) {
        ClosureVerdict::Consistent => return Reordered::Passes,
        ClosureVerdict::Violated(tasks) => {
            if let Some(run) = run_again(session, worker, seed, &tasks) {
                return Reordered::Fails(Box::new(run));
            }
        }
        ClosureVerdict::Unknown => {}
    }
    search.tell_apart(Apart::ORDERS);
    Reordered::Anew
}

/// A collector that checks the other orders for runs drawn from seeds, if this is requested.
pub(super) struct ClosureCollector {
    witness: Option<Witness>,
    /// The counts of checked orders; `None` if they are not requested.
    closure: Option<Closure>,
}

impl ClosureCollector {
    /// Returns the collector, and the strategy that makes the decisions.
    pub(super) fn of(
        session: &Session<'_>,
        strategy: Chosen,
    ) -> (ClosureCollector, Box<dyn Strategy>) {
        let strategy = strategy.create();
        if !session.config.closure {
            return (ClosureCollector { witness: None, closure: None }, strategy);
        }
        let witness = Witness::default();
        let strategy = witness.watch(strategy);
        (ClosureCollector { witness: Some(witness), closure: Some(Closure::default()) }, strategy)
    }

    /// Returns the last run in another order of its calls in which it fails. `None` if it passes in all checked orders.
    /// Must be called only if the last run passed.
    pub(super) fn check(
        &mut self,
        session: &Session<'_>,
        worker: &Worker,
        seed: Seed,
    ) -> Option<Run> {
        let (witness, closure) = (self.witness.as_ref()?, self.closure.as_mut()?);
        let mut orders = 0;
        let found = witness.look_at_orders(ORDERS_MAX, &mut |history, times| {
            orders += 1;
            holds(worker, history, times)
        });
        closure.runs += u64::from(orders > 0);
        closure.orders += orders;
        match found {
            ClosureVerdict::Consistent => None,
            ClosureVerdict::Unknown => {
                closure.open += 1;
                None
            }
            ClosureVerdict::Violated(tasks) => {
                let run = run_again(session, worker, seed, &tasks);
                closure.unconfirmed += u64::from(run.is_none());
                run
            }
        }
    }

    /// Moves the counts into the counts over all runs.
    pub(super) fn move_to(&mut self, all: &mut Explored) {
        if let (Some(all), Some(own)) = (&mut all.tally.closure, &mut self.closure) {
            all.add(&std::mem::take(own));
        }
    }
}

/// Returns `true` if a history of the last run satisfies its condition with its calls at these times.
pub(super) fn holds(worker: &Worker, history: usize, times: &[Timed]) -> bool {
    worker.history(history).is_none_or(|history| history.holds_at(times))
}

/// Runs the last run with its steps in this order. Returns the run if it fails.
fn run_again(session: &Session<'_>, worker: &Worker, seed: Seed, tasks: &[TaskId]) -> Option<Run> {
    let job = WorkerJob::Follow(Arc::new(in_order(worker.schedule(), tasks)));
    let name = session.config.strategy.name();
    let run = session.run_with(job.strategy(), name, seed, job);
    session.fails(&run).then_some(run)
}

/// Returns the schedule of the last run with its steps in this order.
pub(super) fn in_order(mut schedule: Schedule, tasks: &[TaskId]) -> Schedule {
    schedule.turns.clear();
    tasks.iter().for_each(|task| schedule.step(task.index(), false));
    schedule
}
