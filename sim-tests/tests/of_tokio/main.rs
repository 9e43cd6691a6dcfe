//! tokio's names: in runs under the exhaustive search, in the real build on threads.

// The real build checks the types of tests that need simulated runs, and generates no code for them.
#![cfg_attr(not(feature = "sim"), allow(dead_code))]
#![forbid(unsafe_code)]

mod blocking;
mod broadcast;
mod bugs;
mod by_hand;
mod cancel;
mod deadlocks;
mod differential;
mod ends;
mod first_program;
mod ids;
mod join;
mod local;
mod locals;
mod locks;
mod models;
mod mpsc;
mod names;
mod notify;
mod parity;
mod pool;
mod runtimes;
mod select;
mod unbounded;
mod watch;

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::{Mutex, PoisonError};

use sim::Runner;
use sim::report::{Report, text};
use sim::run::{Failure, Outcome};

/// Runs `body` in all its orders; in the real build, several times on threads.
fn all(body: impl AsyncFn() + Sync) -> Report {
    let runner = Runner::new().hermetic();
    match sim::SIMULATED {
        true => runner.strategy("exhaustive").shrink(false).run(body),
        false => runner.seeds(0..50).run(body),
    }
}

/// Asserts that `body` passes in all orders, and that the search proves this.
#[track_caller]
fn holds(body: impl AsyncFn() + Sync) -> Report {
    let report = all(body);
    let screen = text(&report, &Default::default());
    assert!(report.passed(), "{screen}");
    if sim::SIMULATED {
        assert!(report.searched.as_ref().unwrap().is_proof(), "{screen}");
        let only = if report.runs == 1 { "the only interleaving" } else { "all" };
        assert!(screen.contains(&format!("explored {only}")), "{screen}");
    }
    report
}

/// Asserts that `body` fails in some order. Returns the failure; `None` in the real build, which may miss it.
#[track_caller]
fn fails(body: impl AsyncFn() + Sync) -> Option<(Failure, String)> {
    if !sim::SIMULATED {
        return None;
    }
    let report = all(body);
    let screen = text(&report, &Default::default());
    let finding = report.finding.as_ref().expect("it passed");
    let Outcome::Failed(failure) = &finding.run.outcome else { panic!("{screen}") };
    Some((failure.clone(), screen))
}

/// Asserts that `body` fails in some order, and that the screen contains these parts.
#[track_caller]
fn fails_with(parts: &[&str], body: impl AsyncFn() + Sync) {
    let Some((_, screen)) = fails(body) else { return };
    // Lines are broken where there is no room, and columns are wide.
    let words = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in parts {
        assert!(words.contains(part), "{part}\n{screen}");
    }
}

/// The results of the runs of a body.
struct Results<R>(Mutex<BTreeSet<R>>);

impl<R: Ord + Debug> Results<R> {
    const fn new() -> Results<R> {
        Results(Mutex::new(BTreeSet::new()))
    }

    fn add(&self, result: R) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(result);
    }

    /// Asserts that all these results occurred, and no others. In the real build, only asserts that no other results
    /// occurred.
    #[track_caller]
    fn are(&self, all: impl IntoIterator<Item = R>) {
        let (got, all) = (self.0.lock().unwrap(), all.into_iter().collect::<BTreeSet<R>>());
        match sim::SIMULATED {
            true => assert_eq!(*got, all),
            false => assert!(got.is_subset(&all), "{got:?}"),
        }
    }
}
