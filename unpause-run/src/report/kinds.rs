//! Tests that the screen in a JSON report is the printed screen, for each kind of failure in each kind of run.

use std::sync::atomic::Ordering;

use cargo_unpause::document::Document;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use unpause_ordered::Set;

use super::documents::round_trips;
use super::properties::failure;
use super::sample::*;
use super::*;
use crate::run::ids::{ObjectId, TaskId};
use crate::run::memory_model::OrderMark;
use crate::run::panics::TaskPanic;
use crate::run::program::{CommandLayout, CommandRecord, Fate, Faults, Part, ProgramRecord};
use crate::run::threads::{HoldRecord, SpawnRecord, ThreadFacts};
use crate::run::{CallRecord, Failure};

/// Returns the report of a failure.
type Make = fn(Failure) -> Report;

/// The kinds of runs, each with a report of a failure in such a run. If you add a way to run tests whose runs have data
/// of their own, add a row.
const RUNS: [(&str, Make); 8] = [
    ("tasks", lost_update_that),
    ("nodes", of_nodes),
    ("plain threads", of_plain_threads),
    ("a generated program", of_a_program),
    ("real threads", on_real_threads),
    ("a process that died", of_a_dead_process),
    ("a replay", of_a_replay),
    ("a search", of_a_search),
];

fn changed(failure: Failure, change: fn(&mut Finding)) -> Report {
    let mut report = lost_update_that(failure);
    change(report.finding.as_mut().unwrap());
    report
}

/// A node sends a message to another node.
fn of_nodes(failure: Failure) -> Report {
    changed(failure, |finding| {
        let tasks = &mut finding.run.tasks;
        (tasks[1].node, tasks[2].node) = (Some("n1".to_owned()), Some("n2".to_owned()));
        (tasks[2].from, tasks[2].message) = (Some("n1".to_owned()), Some("Ping(1)".to_owned()));
    })
}

/// A thread is interrupted in a call, and the threads print.
fn of_plain_threads(failure: Failure) -> Report {
    changed(failure, |finding| {
        let place = |line: u32| format!("src/queue.rs:{line}:5");
        finding.run.calls = vec![CallRecord {
            task: TaskId(2),
            function: "push".to_owned(),
            place: place(7),
            events: vec![3, 4],
            through: vec!["/cargo/registry/src/ring-1.0.0/src/lib.rs:3:1".to_owned(); 3],
            is_last: true,
        }];
        let counter = ObjectId::new(0);
        finding.run.threads = ThreadFacts {
            spawns: vec![SpawnRecord { state: counter, place: place(3) }],
            holds: vec![HoldRecord { lock: counter, event: 2, shared: true }],
            own: vec![5],
            panicked_from: Some(place(9)),
        };
        finding.run.orders = vec![OrderMark { event: 2, order: Ordering::Relaxed }];
        let (message, place) =
            ("no \u{1b}[31mroom\nleft: 2".to_owned(), "src/pool.rs:9:5".to_owned());
        finding.run.panics = vec![TaskPanic { task: TaskId(1), message, place }];
        finding.run.output = "one\n\u{1b}[31mtwo\u{202e}\n".to_owned();
        let store = Strengthened { op: "store", place: here(), order: Ordering::Release };
        finding.strengthening =
            Some(Strengthening { operations: vec![store], runs: 12, interleavings: Some(6) });
    })
}

fn of_a_program(failure: Failure) -> Report {
    changed(failure, |finding| {
        let ran = Some((TaskId(1), 2, 6));
        let (part, fate, change) = (Part::Prefix, Fate::Runs, 0);
        let (simpler, candidates, drawn) = ((0, 0), 0, (0, 0));
        let layout = CommandLayout { part, fate, change, simpler, candidates, ran, drawn };
        let command = CommandRecord {
            layout,
            text: "Put(1), sent again".to_owned(),
            label: "Put".to_owned(),
            source: "Put(1)".to_owned(),
            faults: Faults { again: true, ..Faults::default() },
        };
        let (model, commands) = ("Queue".to_owned(), vec![command]);
        finding.run.programs = vec![ProgramRecord { model, commands, ..ProgramRecord::default() }];
        finding.source_file = Some("target/sim/demo/17.rs".to_owned());
    })
}

fn on_real_threads(failure: Failure) -> Report {
    let mut report = undecided_on_real_threads();
    report.finding.as_mut().unwrap().run.outcome = Outcome::Failed(failure);
    report
}

/// Returns a report in which nothing is known about the run.
fn of_a_dead_process(failure: Failure) -> Report {
    let finding = Finding::without_replay(Run::empty(Seed(3), failure));
    let (test, finding) = ("demo::dies".to_owned(), Some(Box::new(finding)));
    Report { test, runs: 3, finding, ..Report::default() }
}

fn of_a_replay(failure: Failure) -> Report {
    let mut report = changed(failure, |finding| {
        finding.from = Origin::File("sim-regressions/a b/17.simtrace".to_owned());
        (finding.trace_file, finding.shrunk) = (None, None);
        finding.record = Some("cargo test -p demo".to_owned());
    });
    report.replayed = report.finding.as_ref().map(|finding| finding.from.clone());
    report.settings = vec![("clock".to_owned(), "any".to_owned())];
    report
}

fn of_a_search(failure: Failure) -> Report {
    let mut report = changed(failure, |finding| {
        let (longer, same_stores) = (None, false);
        let proof = Proof { fewest: 1, complete: true, runs: 7, saved: 0, longer, same_stores };
        finding.proof = Some(proof);
    });
    report.searched = Some(unfinished_search());
    report
}

pub(super) fn unfinished_search() -> Searched {
    Searched {
        blocked: 0,
        repeated: 0,
        complete: false,
        part: Some(0.25),
        blind: false,
        by_step: false,
        cause: None,
        assumes: false,
        beyond: Vec::new(),
        ignored: Vec::new(),
        unseen: Vec::new(),
        orders: OrdersTaken::AsAsked,
        bound: None,
        early_moves: None,
        waits_for_time: false,
        series: Vec::new(),
        share: None,
        estimate: Some(RunsEstimate { runs: 4_000, low: 3_000, high: 5_000 }),
        excess: None,
        audit: None,
        fallback: None,
    }
}

#[test]
fn the_screen_in_a_report_is_the_printed_screen() {
    let (mut runner, schema) = (TestRunner::deterministic(), Document::schema());
    let (failures, style) = (failure(), Style { color: false, width: 72 });
    let mut seen: Set<&str> = Set::new();
    // The rarest kinds occur only a few times.
    for _ in 0..400 {
        let failure = failures.new_tree(&mut runner).unwrap().current();
        let variant = failure.variant();
        if !seen.insert(variant) {
            continue;
        }
        for (run, report) in RUNS {
            let read = round_trips(&report(failure.clone()), &style, &schema);
            assert!(read.is_ok(), "{variant} in {run}: {}", read.err().unwrap_or_default());
        }
    }
    assert_eq!(seen, Failure::VARIANTS.iter().copied().collect::<Set<&str>>());
}

#[test]
fn the_panics_that_the_failure_does_not_contain_are_shown() {
    let of = |task: u32, message: &str, place: &str| TaskPanic {
        task: TaskId(task),
        message: message.to_owned(),
        place: place.to_owned(),
    };
    let mut report = super::sample::panic();
    let finding = report.finding.as_mut().unwrap();
    let Outcome::Failed(Failure::Panic { message, place, .. }) = &finding.run.outcome else {
        panic!("another failure")
    };
    let own = of(1, message, place);
    let rooms = (2..6).map(|task| of(task % 2, "no\n  room", "src/pool.rs:9:5"));
    finding.run.panics = [own.clone()].into_iter().chain(rooms).collect();
    let screen = text(&report, &Style::default());
    assert_eq!(screen.matches(" at src/pool.rs:9:5: no, room\n").count(), 3, "{screen}");
    assert!(
        screen.contains("panicked    main at src/pool") && screen.contains("… 1 panic more"),
        "{screen}"
    );
    let finding = report.finding.as_mut().unwrap();
    finding.run.panics = vec![own];
    assert!(!text(&report, &Style::default()).contains("panicked    "));
}
