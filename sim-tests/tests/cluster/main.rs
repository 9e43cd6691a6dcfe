//! Nodes of a cluster: their deaths, their messages.

mod clients;
mod links;
mod nemesis;
mod nodes;

use sim::Runner;
use sim::report::{Report, Style, text};
use sim::run::{Failure, Outcome};

fn search() -> Runner {
    Runner::new().hermetic().strategy("exhaustive")
}

#[track_caller]
fn passes(report: &Report) {
    assert!(report.passed(), "{}", screen(report));
}

fn screen(report: &Report) -> String {
    text(report, &Style::default())
}

#[track_caller]
fn proves(report: &Report) {
    let screen = screen(report);
    assert!(report.passed() && report.searched.as_ref().unwrap().is_proof(), "{screen}");
}

#[track_caller]
fn failure(report: &Report) -> &Failure {
    let run = &report.finding.as_ref().expect("it passed").run;
    let Outcome::Failed(failure) = &run.outcome else { panic!("{}", screen(report)) };
    failure
}

/// The message of a run that misuses the library.
#[track_caller]
fn misuse(report: &Report) -> &str {
    match failure(report) {
        Failure::Misuse { message, .. } => message,
        other => panic!("{other:?}"),
    }
}
