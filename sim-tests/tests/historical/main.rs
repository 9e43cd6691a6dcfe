//! Historical bugs of tokio, futures, async-std and others, in small models of the primitives as they were.
//!
//! Each model contains the wrong step and the step of the fix, behind one switch. The model also contains a client that
//! is as small as the bug allows. The default strategy must find the bug within a stated number of seeds, the
//! exhaustive search must find it too, and must prove that the fixed twin passes. A call is one point if it is one
//! critical section. Two accesses by one thread are two points if other threads could access the memory in between.
//! `docs/known-bugs.md` has the table.
//!
//! `UNPAUSE_LONG=1` runs fixed twins under a hundred thousand seeds and prints the figures of the table.

#![forbid(unsafe_code)]

mod broadcast;
mod clients;
mod mail;
mod notify;
mod parts;
mod permits;
mod readers;
mod tasks;
mod threads;
mod timers;
mod values;

use std::time::Duration;

use sim::report::{Report, text};
use sim::run::{Failure, Outcome};
use sim::{Runner, SIMULATED};
use sim_tests::histories::long;
use sim_tests::tools::Body;

/// A bug, and its fix.
struct Bug {
    /// The name of its test.
    name: &'static str,
    /// The project, and the number of the issue or of the change that fixed it.
    reference: &'static str,
    /// The mistake, for the table.
    mistake: &'static str,
    shows: Shows,
    /// The number of seeds, from 0 on, within which the default strategy must find it.
    seeds: u64,
    /// The client, with the bug or without it.
    client: fn(is_fixed: bool) -> Body,
}

/// The failure that a bug leads to.
#[derive(Clone, Copy)]
enum Shows {
    Deadlock,
    /// The run panics with a message that contains these words.
    Panic(&'static str),
}

impl Shows {
    fn is(self, failure: &Failure) -> bool {
        match (self, failure) {
            (Shows::Deadlock, Failure::Deadlock { .. }) => true,
            (Shows::Panic(words), Failure::Panic { message, .. }) => message.contains(words),
            _ => false,
        }
    }
}

/// All families, in the order of the table.
const FAMILIES: &[&[Bug]] = &[
    permits::BUGS,
    notify::BUGS,
    broadcast::BUGS,
    mail::BUGS,
    values::BUGS,
    tasks::BUGS,
    threads::BUGS,
    readers::BUGS,
    timers::BUGS,
    clients::BUGS,
];

/// Seeds of a fixed twin.
const fn twin_seeds(long: bool) -> u64 {
    match (SIMULATED, long) {
        (true, true) => 100_000,
        (true, false) => 200,
        (false, true) => 500,
        (false, false) => 20,
    }
}

impl Bug {
    fn runner(&self) -> Runner {
        let out = format!("{}/historical", env!("CARGO_TARGET_TMPDIR"));
        Runner::new()
            .hermetic()
            .name(self.name)
            .out(out)
            .shrink(false)
            .hang(Duration::from_secs(60))
    }

    fn sample(&self, is_fixed: bool, seeds: std::ops::Range<u64>) -> Report {
        self.runner().seeds(seeds).run(|| (self.client)(is_fixed))
    }

    fn search(&self, is_fixed: bool) -> Report {
        self.runner().strategy("exhaustive").run(|| (self.client)(is_fixed))
    }

    /// Asserts that the report has the failure of this bug.
    #[track_caller]
    fn is_shown_by(&self, report: &Report) {
        let screen = text(report, &Default::default());
        let Some(finding) = &report.finding else { panic!("{}: not found\n{screen}", self.name) };
        match &finding.run.outcome {
            Outcome::Failed(failure) if self.shows.is(failure) => {}
            _ => panic!("{}: another failure\n{screen}", self.name),
        }
    }

    /// Checks the bug and its twin; in the real build, the twin.
    fn check(&self) {
        let twin = self.sample(true, 0..twin_seeds(long()));
        assert!(twin.passed(), "{}", text(&twin, &Default::default()));
        if !SIMULATED {
            return;
        }
        self.is_shown_by(&self.sample(false, 0..self.seeds));
        self.is_shown_by(&self.search(false));
        let proof = self.search(true);
        let screen = text(&proof, &Default::default());
        assert!(proof.passed(), "{screen}");
        assert!(proof.searched.is_some_and(|searched| searched.is_proof()), "{screen}");
    }

    /// The numbers of runs until the bug was found, in `ranges` ranges of seeds: minimum, median and maximum.
    fn runs_to_failure(&self, ranges: u64) -> [u64; 3] {
        let mut runs: Vec<u64> = (0..ranges)
            .map(|range| {
                let first = range * 10_000;
                let report = self.sample(false, first..first + 10_000);
                self.is_shown_by(&report);
                report.runs
            })
            .collect();
        runs.sort_unstable();
        [runs[0], runs[runs.len() / 2], runs[runs.len() - 1]]
    }
}

/// Declares the bugs of a family, each with the test of its name.
macro_rules! bugs {
    ($($name:ident: $reference:literal, $mistake:literal, $shows:expr, $seeds:literal, $client:expr;)*) => {
        /// The bugs of this file.
        pub(crate) const BUGS: &[crate::Bug] = &[$(crate::Bug {
            name: stringify!($name),
            reference: $reference,
            mistake: $mistake,
            shows: $shows,
            seeds: $seeds,
            client: |is_fixed| sim_tests::tools::boxed($client(is_fixed)),
        }),*];

        $(#[test]
        fn $name() {
            crate::named(stringify!($name)).check();
        })*
    };
}
pub(crate) use bugs;

fn all() -> impl Iterator<Item = &'static Bug> {
    FAMILIES.iter().copied().flatten()
}

/// Returns the bug with this name. If a family is missing in [`FAMILIES`], its tests fail here.
fn named(name: &str) -> &'static Bug {
    all().find(|bug| bug.name == name).expect("its family is listed")
}

#[test]
fn each_bug_has_at_most_a_thousand_seeds_and_a_row() {
    let table = include_str!("../../../docs/known-bugs.md");
    for bug in all() {
        assert!(bug.seeds <= 1_000, "{}", bug.name);
        let row = format!("| {} | {} | `{}` |", bug.reference, bug.mistake, bug.name);
        assert!(table.contains(&row), "docs/known-bugs.md lacks the row\n{row}");
    }
}

/// Prints the rows of the table in `docs/known-bugs.md`.
#[test]
fn the_table() {
    if !SIMULATED || !long() {
        return;
    }
    for bug in all() {
        let [least, median, most] = bug.runs_to_failure(20);
        let (found, proof) = (bug.search(false).runs, bug.search(true).runs);
        let Bug { name, reference, mistake, .. } = bug;
        println!(
            "| {reference} | {mistake} | `{name}` | {least}, {median}, {most} | {found} | {proof} |"
        );
    }
}
