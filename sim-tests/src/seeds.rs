//! Runs a body under many seeds and returns the outcome.

use sim::report::{Finding, Report};
use sim::run::{Failure, Outcome, Run};
use sim::runner::TestResult;
use sim::{Runner, SIMULATED};

/// Seeds that a body must pass: fewer on real threads, where each costs some.
pub const SEEDS: u64 = if SIMULATED { 300 } else { 20 };

/// Runs a body under [`SEEDS`] seeds.
#[track_caller]
pub fn explore<R: TestResult>(name: &str, body: impl AsyncFn() -> R + Sync) -> Report {
    runner(name).seeds(0..SEEDS).run(body)
}

/// A runner that keeps its traces in the target folder, each test its own.
#[track_caller]
pub fn runner(name: &str) -> Runner {
    let folder = std::env::temp_dir().join("unpause-tests").join(name);
    Runner::new().hermetic().name(name).out(folder)
}

/// Checks that a body passes all seeds.
///
/// # Panics
/// If it fails; with the failure.
#[track_caller]
pub fn passes<R: TestResult>(name: &str, body: impl AsyncFn() -> R + Sync) -> Report {
    let report = explore(name, body);
    if let Some(finding) = &report.finding {
        panic!("{name}: {:?}\n{:?}", finding.run.outcome, finding.run.events);
    }
    report
}

/// The failure of a body.
///
/// # Panics
/// If it passes all seeds.
#[track_caller]
pub fn finding<R: TestResult>(name: &str, body: impl AsyncFn() -> R + Sync) -> Finding {
    match explore(name, body).finding {
        Some(finding) => *finding,
        None => panic!("{name}: no seed fails"),
    }
}

/// The failure a body fails with.
///
/// # Panics
/// If it passes all seeds.
#[track_caller]
pub fn fails<R: TestResult>(name: &str, body: impl AsyncFn() -> R + Sync) -> Failure {
    failure(&finding(name, body).run)
}

/// The failure of a run.
///
/// # Panics
/// If it passed.
#[track_caller]
pub fn failure(run: &Run) -> Failure {
    match &run.outcome {
        Outcome::Failed(failure) => failure.clone(),
        Outcome::Passed => panic!("the run passed"),
    }
}
