//! std's primitives for tasks, except locks: values created once, parking, counts, fences, the ends of tasks.

mod at_end;
mod counted;
mod once;
mod parking;
mod words;

use sim::report::{Style, text};
use sim::run::{Failure, Outcome};
use sim::{Runner, SIMULATED};

/// Asserts that a search and the default strategy find a failure. Returns the search's report, if simulated.
#[track_caller]
fn fails(body: impl AsyncFn() + Sync) -> Option<(Failure, String)> {
    if !SIMULATED {
        return None;
    }
    let by_seeds = Runner::new().hermetic().run(&body);
    assert!(!by_seeds.passed(), "not found by seeds");
    let report = Runner::new().hermetic().strategy("exhaustive").run(&body);
    let screen = text(&report, &Style::default());
    let finding = report.finding.as_ref().expect("not found by the search");
    let Outcome::Failed(failure) = &finding.run.outcome else { panic!("{screen}") };
    Some((failure.clone(), screen))
}

/// Asserts that no order of the steps fails. On real threads, this function asserts only that some runs pass.
#[track_caller]
fn holds(body: impl AsyncFn() + Sync) {
    let runner = Runner::new().hermetic();
    let report = match SIMULATED {
        true => runner.strategy("exhaustive").run(body),
        false => runner.seeds(0..30).run(body),
    };
    let screen = text(&report, &Style::default());
    assert!(report.passed(), "{screen}");
    assert!(!SIMULATED || report.searched.as_ref().unwrap().is_proof(), "{screen}");
}

/// Asserts that the first body panics with this text in some order, and that the second body passes in all orders.
#[track_caller]
fn panics(text: &str, bug: impl AsyncFn() + Sync, fixed: impl AsyncFn() + Sync) {
    match fails(bug) {
        Some((Failure::Panic { message, .. }, _)) => assert!(message.contains(text), "{message}"),
        Some((failure, screen)) => panic!("{failure:?}\n{screen}"),
        None => {}
    }
    holds(fixed);
}

/// Asserts that the first body can wait forever, and that the second body passes in all orders.
#[track_caller]
fn waits(bug: impl AsyncFn() + Sync, fixed: impl AsyncFn() + Sync) {
    if let Some((failure, screen)) = fails(bug) {
        assert!(matches!(failure, Failure::Deadlock { .. }), "{screen}");
    }
    holds(fixed);
}
