//! The bug corpus over plain threads: the default strategy finds every bug within its bound, fixed twins pass.
//!
//! With `UNPAUSE_LONG=1` twins pass ten thousand seeds instead of a few hundred.

use std::collections::BTreeSet;

use native_tests::corpus::{Program, all};
use sim::Runner;
use sim::run::{Failure, Outcome};

fn runner(program: &Program, seeds: u64) -> Runner {
    let out = format!("{}/corpus", env!("CARGO_TARGET_TMPDIR"));
    Runner::new().hermetic().name(program.name).out(out).seeds(0..seeds)
}

#[test]
fn names_are_distinct_words() {
    let names: BTreeSet<_> = all().map(|program| program.name).collect();
    assert_eq!(names.len(), all().count());
    for program in all() {
        let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        assert!(program.name.chars().all(word) && program.seeds > 0, "{}", program.name);
    }
}

#[test]
fn the_default_strategy_finds_every_bug_within_its_bound() {
    let mut missed = Vec::new();
    for program in all() {
        let runner = runner(program, program.seeds).shrink(false).prove(0);
        let Some(found) = runner.run_native(program.buggy).finding else {
            missed.push(program.name);
            continue;
        };
        // The failure that the program is meant to show, not a fault of the program itself.
        let outcome = &found.run.outcome;
        let meant =
            matches!(outcome, Outcome::Failed(Failure::Panic { .. } | Failure::Deadlock { .. }));
        assert!(meant, "{}: {outcome:?}", program.name);
    }
    assert!(missed.is_empty(), "not found: {missed:?}");
}

#[test]
fn fixed_twins_pass() {
    let seeds = if std::env::var_os("UNPAUSE_LONG").is_some() { 10_000 } else { 80 };
    for program in all() {
        let report = runner(program, seeds).run_native(program.fixed);
        if let Some(found) = report.finding {
            panic!("{}: {:?}", program.name, found.run.outcome);
        }
        assert_eq!(report.runs, seeds, "{}", program.name);
    }
}
