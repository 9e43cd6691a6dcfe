//! Explains a failing run by other runs of the same program, with the same drawn values, in other orders.
//!
//! The explanation covers the reported run: the shrunk run, or the replay of a trace. The parts of the explanation
//! share a budget of runs and steps. The parts are computed in this order, because a proof is worth more than an
//! estimate: the step after which no schedule passes, the remedy, and last the chances.

mod candidates;
mod chances;
mod decisive;
mod exact_locks;
mod lab;
mod memory;
mod near;
mod nearest;
mod no_return;
mod orders;
mod remedy;

use self::lab::Lab;
pub(super) use self::memory::{StrongMemory, sees_newest};
use super::session::Session;
use crate::engine::assignment::Account;
use crate::native;
use crate::report::{Finding, NoReturn, Why};
use crate::run::memory_model::MemoryModel;
use crate::run::{Failure, Outcome};

/// Explains a failing run. Returns `None` if no runs are allowed for the explanation, if other orders cannot explain
/// the failure, or if no explanation was found. The nearest passing run comes from the runs of the other parts, so it
/// needs no runs of its own. `account` is the account of the test without this failure. The account is reported if a
/// run of the explanation ends the process.
pub(super) fn explain(session: &Session<'_>, finding: &Finding, account: Account) -> Option<Why> {
    let (config, run) = (session.config, &finding.run);
    let Outcome::Failed(failure) = &run.outcome else { return None };
    if config.why == 0 || !depends_on_order(failure) || run.steps.is_empty() {
        return None;
    }
    let newest_stores = config.memory == MemoryModel::C11;
    if newest_stores && !sees_newest(run) {
        return None;
    }
    let kept = Account { finding: Some(finding.clone()), ..account };
    let _kept = session.watch.explained.keep(kept);
    let _death = native::keep_death();
    let mut lab = Lab::new(session, run, config.why);
    if !lab.fails_again() {
        return None;
    }
    let no_return = no_return::find(&mut lab);
    if let Some(NoReturn { after: 0, .. }) = no_return {
        return Some(Why { runs: lab.runs(), no_return, newest_stores, ..Why::default() });
    }
    let (remedy, cause) = remedy::find(&mut lab).unzip();
    let cause = cause.flatten();
    let (chances, marks) = chances::find(&mut lab, no_return);
    if lab.has_hung() {
        return None;
    }
    let passing = lab.passing();
    let runs = lab.runs();
    let why = Why { runs, cause, remedy, chances, marks, no_return, passing, newest_stores };
    let found = why.no_return.is_some() || why.remedy.is_some() || !why.chances.is_empty();
    (found || why.passing.is_some()).then_some(why)
}

/// Returns `true` if the failure belongs to the program, so that another order of steps may avoid it. Step limits are
/// excluded, because each continuation would take as many steps. All other failures do not result from an order of
/// steps.
pub(super) fn depends_on_order(failure: &Failure) -> bool {
    matches!(
        failure,
        Failure::Panic { .. }
            | Failure::Memory(_)
            | Failure::Error { .. }
            | Failure::Deadlock { .. }
            | Failure::Invariant { .. }
            | Failure::Starved { .. }
            | Failure::History { .. }
            | Failure::Crash { .. }
    )
}
