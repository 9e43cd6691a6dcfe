//! Functions that run a body under many seeds and return the result.

use sim::report::{Finding, Report};
use sim::run::{Failure, Outcome, Run};
use sim::runner::TestResult;
use sim::{Runner, SIMULATED};

/// The number of seeds that a body must pass: fewer on real threads, where each run is expensive.
pub const SEEDS: u64 = if SIMULATED { 300 } else { 20 };

/// Runs a body under [`SEEDS`] seeds.
#[track_caller]
pub fn explore<R: TestResult>(name: &str, body: impl AsyncFn() -> R + Sync) -> Report {
    runner(name).seeds(0..SEEDS).run(body)
}

/// Creates a runner that writes its traces to a temporary folder for this test.
#[track_caller]
pub fn runner(name: &str) -> Runner {
    let folder = std::env::temp_dir().join("unpause-tests").join(name);
    Runner::new().hermetic().name(name).out(folder)
}

/// Runs a body, and checks that it passes all seeds.
///
/// # Panics
/// If a seed fails; the message contains the failure.
#[track_caller]
pub fn passes<R: TestResult>(name: &str, body: impl AsyncFn() -> R + Sync) -> Report {
    let report = explore(name, body);
    if let Some(finding) = &report.finding {
        panic!("{name}: {:?}\n{:?}", finding.run.outcome, finding.run.events);
    }
    report
}

/// Runs a body that must fail, and returns the finding.
///
/// # Panics
/// If the body passes all seeds.
#[track_caller]
pub fn finding<R: TestResult>(name: &str, body: impl AsyncFn() -> R + Sync) -> Finding {
    match explore(name, body).finding {
        Some(finding) => *finding,
        None => panic!("{name}: no seed fails"),
    }
}

/// Runs a body that must fail, and returns the failure.
///
/// # Panics
/// If the body passes all seeds.
#[track_caller]
pub fn fails<R: TestResult>(name: &str, body: impl AsyncFn() -> R + Sync) -> Failure {
    failure(&finding(name, body).run)
}

/// Returns the failure of a run.
///
/// # Panics
/// If the run passed.
#[track_caller]
pub fn failure(run: &Run) -> Failure {
    match &run.outcome {
        Outcome::Failed(failure) => failure.clone(),
        Outcome::Passed => panic!("the run passed"),
    }
}
