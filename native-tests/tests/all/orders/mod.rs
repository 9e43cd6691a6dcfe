//! Memory orders: programs whose outcome depends on them, with the memory `c11`.
//!
//! An outcome that C++20 allows is found, and only with `c11`. An outcome that it forbids is never found. `UNPAUSE_LONG=1`
//! makes 20,000 runs of each program that must be silent.

mod all_stores;
mod audited;
mod bugs;
mod calls;
mod hints;
mod litmus;
mod litmus_table;
mod references;
mod repeat;
mod rules;
mod screens;
mod textbook;
mod uncertain;
mod waits;
mod within_bounds;

use std::sync::{Mutex, MutexGuard, PoisonError};

use sim::Runner;
use sim::report::{Report, Style, text};

/// A program that fails if it has the outcome in question.
type Program = fn();

/// Fails the run if the outcome in question has come.
fn never(outcome: bool) {
    assert!(!outcome, "the outcome");
}

/// A program that fails with `c11` within this number of seeds, and passes with `sc`.
struct Weak(&'static str, u64, Program);

/// A program that passes.
struct Right(&'static str, Program);

/// Held by a test. A test leaves out a rule, which the runs of other tests need.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number of runs of a program that must be silent.
fn silent_seeds(few: u64) -> u64 {
    let is_long = std::env::var_os("UNPAUSE_LONG").is_some_and(|value| value != "0");
    if is_long { 20_000 } else { few }
}

fn runner(memory: &str, seeds: u64) -> Runner {
    let out = std::env::temp_dir().join(format!("unpause-orders-{}", std::process::id()));
    Runner::new().hermetic().memory(memory).seeds(0..seeds).shrink(false).out(out)
}

fn run(memory: &str, seeds: u64, program: Program) -> Report {
    runner(memory, seeds).run_native(program)
}

fn screen(report: &Report) -> String {
    text(report, &Style::default())
}

/// The number of runs to the first failure; `None` without one.
fn runs_to_failure(seeds: u64, program: Program) -> Option<u64> {
    let finding = run("c11", seeds, program).finding?;
    Some(finding.run.seed.0 + 1)
}

/// Asserts that each program fails within its seeds with `c11`, and never with `sc`.
fn assert_found(programs: &[Weak]) {
    let _alone = alone();
    let mut late = Vec::new();
    for Weak(name, within, program) in programs {
        let under_sc = run("sc", silent_seeds(30), *program);
        assert!(under_sc.passed(), "{name}: {}", screen(&under_sc));
        let found = runs_to_failure(*within, *program);
        if found.is_none() {
            late.push((*name, *within));
        }
        if std::env::var_os("UNPAUSE_SHOW").is_some() {
            println!("{name}: {found:?} of {within}");
        }
    }
    assert!(late.is_empty(), "not found: {late:?}");
}

/// Asserts that no program fails.
fn assert_silent(programs: &[Right], seeds: u64) {
    for Right(name, program) in programs {
        let report = run("c11", silent_seeds(seeds), *program);
        assert!(report.passed(), "{name}: {}", screen(&report));
    }
}
