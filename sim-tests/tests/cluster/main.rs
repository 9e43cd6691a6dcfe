//! Nodes of a cluster: their deaths, their messages, their sockets.

// The real build checks the types of tests that need simulated runs, and generates no code for them.
#![cfg_attr(not(feature = "sim"), allow(dead_code))]

mod clients;
mod clocks;
mod clogs;
mod counts;
mod disks;
mod first_program;
mod fs;
mod guesses;
mod invariants;
mod links;
mod lives;
mod messages;
mod names;
mod nemesis;
mod nodes;
mod online;
mod packages;
mod pairs;
mod primary;
mod program;
mod refusals;
mod screens;
mod settings;
mod statics;
mod table;
mod tcp;
mod tcp_faults;
mod tcp_sockets;
mod tcp_table;
mod udp;
mod udp_calls;

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

/// The number of runs of a search.
#[track_caller]
fn runs(body: impl AsyncFn() + Sync) -> u64 {
    let report = search().run(body);
    proves(&report);
    report.runs
}

/// The message of a run that misuses the library.
#[track_caller]
fn misuse(report: &Report) -> &str {
    match failure(report) {
        Failure::Misuse { message, .. } => message,
        other => panic!("{other:?}"),
    }
}

/// The body in simulated runs, and once on the sockets of the system.
#[track_caller]
fn both(body: impl AsyncFn() + Sync) {
    if sim::SIMULATED {
        passes(&Runner::new().hermetic().run(&body));
    }
    on_the_system(body);
}

fn on_the_system(body: impl AsyncFn()) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    runtime.block_on(body());
}
