//! Searches for a failure among all schedules of one generated program, for the shrinker. The search is exhaustive,
//! with fixed values for the program.
//!
//! At first, the values that commands themselves draw are fixed to the values of the schedule. If the failure is not
//! found, and there are such values, a second search varies them too.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use unpause_ordered::Set;

use super::confirm::ShrinkReplayer;
use super::exhaust::ends_by_a_step;
use super::job::WorkerJob;
use super::reorder::{holds, in_order};
use super::runs::{Next, OwnsWorker, for_each_run};
use crate::rt::Worker;
use crate::run::Failure;
use crate::run::schedule::Schedule;
use crate::shrink::{Replayer, Sought};
use crate::strategy::Search;
use crate::strategy::exhaustive::{ClosureVerdict, Exhaustive};
use crate::strategy::held::Held;
use crate::strategy::search::Apart;

/// Searches for a run with the values of `schedule` that fails as wanted and is `smaller`. Executes at most `runs_max`
/// runs in the first search and a third of this number in the second.
pub(super) fn seek(
    lenient: &mut ShrinkReplayer<'_, '_>,
    schedule: &Schedule,
    runs_max: u64,
    smaller: &dyn Fn(&Schedule) -> bool,
) -> Sought {
    let mut sought = Sought { found: None, runs: 0, through: true };
    // If commands draw values, there are many combinations, and the second search is rarely complete. So it gets fewer
    // runs.
    for (programs_only, runs_max) in [(false, runs_max), (true, runs_max / 3)] {
        let search: Arc<dyn Search> = Arc::new(Exhaustive::default());
        // An earlier death makes a smaller run.
        search.tell_apart(Apart::DEATHS);
        let pass = Pass { lenient, search, schedule, programs_only, smaller, sought: &mut sought };
        let drew = pass.run(runs_max);
        if !drew || sought.found.is_some() {
            break;
        }
    }
    sought
}

/// One of the two searches of this module.
struct Pass<'p, 'a, 'b> {
    lenient: &'p mut ShrinkReplayer<'a, 'b>,
    search: Arc<dyn Search>,
    schedule: &'p Schedule,
    /// True if only the values of programs are fixed.
    programs_only: bool,
    smaller: &'p dyn Fn(&Schedule) -> bool,
    sought: &'p mut Sought,
}

/// The state of a search after a run.
enum PassState {
    /// The search has a next run.
    Running,
    /// The search has no further run.
    Complete,
    /// The search found the wanted run, or nothing can be concluded about the remaining runs.
    Stopped,
}

impl OwnsWorker for Pass<'_, '_, '_> {
    fn worker(&mut self) -> &mut Worker {
        &mut self.lenient.worker
    }
}

impl Pass<'_, '_, '_> {
    /// Executes at most `runs_max` runs. Returns `true` if a run drew values that are not part of a program.
    fn run(mut self, runs_max: u64) -> bool {
        let held = self.held();
        let drew = held.others();
        self.follow(held);
        let mut through = false;
        let mut untried = Set::new();
        for_each_run(&mut self, 0..runs_max, |pass, number| {
            if pass.lenient.is_spent() {
                return Next::Stop;
            }
            pass.lenient.watched.watched.begin(number);
            let failure = pass.lenient.once();
            pass.lenient.worker.add_untried(&mut untried);
            pass.sought.runs += 1;
            match pass.judge(failure.as_ref()) {
                PassState::Running => Next::Again,
                PassState::Complete => {
                    through = !pass.search.progress().blind && untried.is_empty();
                    Next::Stop
                }
                PassState::Stopped => Next::Stop,
            }
        });
        self.sought.through &= through;
        drew.load(Ordering::Relaxed)
    }

    /// Returns the strategy of the search, with fixed values from the schedule.
    fn held(&self) -> Held {
        Held::new(self.search.strategy(), self.schedule, self.programs_only)
    }

    /// Switches the worker to the runs of the search.
    fn follow(&mut self, held: Held) {
        self.lenient.worker.set_strategy(Box::new(held));
        self.lenient.watched.watched.begin_job(WorkerJob::Search(self.search.clone()));
    }

    /// Accepts the last run if it is wanted, and advances the search.
    fn judge(&mut self, failure: Option<&Failure>) -> PassState {
        let void = self.search.is_blocked();
        let fails = self.lenient.fails_as_wanted(failure) && !void;
        let ran = fails.then(|| self.lenient.worker.schedule());
        if let Some(ran) = ran.filter(|ran| self.lenient.may_be(ran) && (self.smaller)(ran)) {
            self.sought.found = Some(ran);
            return PassState::Stopped;
        }
        // A run that diverges is not a function of its decisions, so nothing can be concluded about the rest.
        if matches!(failure, Some(Failure::Diverged { .. })) && !void {
            return PassState::Stopped;
        }
        let more = self.search.advance(ends_by_a_step(failure));
        if failure.is_some() || !self.lenient.wants_history() {
            return if more { PassState::Running } else { PassState::Complete };
        }
        match self.reordered() {
            ClosureVerdict::Consistent if !more => return PassState::Complete,
            ClosureVerdict::Consistent => return PassState::Running,
            ClosureVerdict::Unknown => {}
            ClosureVerdict::Violated(tasks) => {
                let order = in_order(self.lenient.worker.schedule(), &tasks);
                self.lenient.worker.forget_histories();
                let ran = self.lenient.replay(&order);
                self.sought.runs += 1;
                if let Some(ran) = ran.filter(self.smaller) {
                    self.sought.found = Some(ran);
                    return PassState::Stopped;
                }
                self.follow(self.held());
            }
        }
        self.search.tell_apart(Apart::ORDERS);
        PassState::Running
    }

    /// Returns an order of the calls of the last run that the model forbids, if any.
    fn reordered(&self) -> ClosureVerdict {
        let worker = &self.lenient.worker;
        self.search.look_at_orders(&mut |history, times| holds(worker, history, times))
    }
}
