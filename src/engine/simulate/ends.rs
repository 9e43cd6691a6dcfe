//! Runs that end their process, reported as failures of their seeds.
//!
//! A process cannot report its own end by `abort()`, by a stack overflow or by a failed allocation. If an earlier
//! process ended during a test, the test is first executed in a new process. If the new process ends, too, it has
//! recorded which run was active.

use crate::engine::assignment::{Account, Assignment};
use crate::engine::runner;
use crate::engine::underway::{Mark, Note};
use crate::report::{Finding, Origin, Report};
use crate::run::ids::{Seed, TaskId};
use crate::run::signals::signal_name;
use crate::run::{Failure, Run};

/// Returns the report of a test with a run that ends the process. `None` if no earlier process ended during the test,
/// or if the new process does not end.
pub(super) fn earlier(assignment: &Assignment<'_>) -> Option<Report> {
    let Assignment { config, site, .. } = *assignment;
    Mark::left(config, site)?;
    let signal = runner::end(site.filter.as_deref()?)?;
    let noted = Mark::left(config, site)?.into_iter().next()?;
    let (seed, replay, which) = match noted {
        Note::Seed(seed) => (seed, site.seed_command(seed.0), "the run of this seed"),
        Note::From(seed) => (
            seed,
            site.search_command(),
            "a run derived from this seed, while it was replayed or shrunk",
        ),
        Note::Rehearsal(n) => {
            (Seed(n.into()), site.search_command(), "a run that the strategy learns from")
        }
    };
    let name = signal_name(signal);
    let message = format!(
        "The process of the test ended by {name} in {which}. An earlier process had ended in this test, so it was run in a new \
         process, and other tests can continue. The steps of the run are not known: no process could report them. {}",
        causes(signal)
    );
    let failure = Failure::Crash {
        task: TaskId::MAIN,
        cause: format!("process ended by {name}"),
        message,
        place: String::new(),
    };
    let finding = Finding::of(Run::empty(seed, failure), Origin::Seed(seed));
    let finding = Finding { replay: Some(replay), ..finding };
    Some(assignment.report(Account { runs: 1, finding: Some(finding), ..Account::default() }))
}

/// Returns the usual causes of a signal.
fn causes(signal: i32) -> &'static str {
    match signal {
        6 => "Usual causes are `abort()`, a full stack and a failed allocation.",
        9 => "Usual causes are a lack of memory and a kill from outside.",
        _ => "Usual causes are unsafe code and code of C.",
    }
}
