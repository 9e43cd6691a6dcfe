//! The bug corpus: the default strategy finds every bug within its budget, fixed twins pass.
//!
//! With `UNPAUSE_LONG=1` twins pass a hundred thousand seeds and not some hundreds.

use std::collections::BTreeSet;
use std::time::Duration;

use sim::run::{Failure, Outcome};
use sim::{Runner, SIMULATED};
use sim_tests::corpus::all;
use sim_tests::corpus::programs::{Program, Spawning};
use sim_tests::histories::long;

const SPAWNINGS: [Spawning; 2] = [Spawning::Together, Spawning::OneByOne];

fn runner() -> Runner {
    Runner::new().hermetic().hang(Duration::from_secs(60))
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

/// The first seed that fails, and how.
fn first_failure(program: &Program, spawning: Spawning) -> Option<(u64, Outcome)> {
    let run = |seed| runner().run_seed(seed, || (program.buggy)(spawning)).outcome;
    (0..program.seeds).map(|seed| (seed, run(seed))).find(|(_, end)| *end != Outcome::Passed)
}

#[test]
fn the_default_strategy_finds_every_bug_within_its_budget() {
    if !SIMULATED {
        return;
    }
    let mut missed = Vec::new();
    for program in all() {
        for spawning in SPAWNINGS {
            match first_failure(program, spawning) {
                Some((_, Outcome::Failed(failure))) => {
                    // What the program means to show, and no fault of the program itself.
                    let meant = matches!(
                        failure,
                        Failure::Panic { .. } | Failure::Deadlock { .. } | Failure::History { .. }
                    );
                    assert!(meant, "{}: {failure:?}", program.name);
                }
                _ => missed.push((program.name, spawning)),
            }
        }
    }
    assert_eq!(missed, []);
}

#[test]
fn fixed_twins_pass() {
    if !SIMULATED {
        return;
    }
    let seeds = if long() { 100_000 } else { 200 };
    for program in all() {
        for spawning in SPAWNINGS {
            let out = format!("{}/corpus", env!("CARGO_TARGET_TMPDIR"));
            let runner = runner().name(program.name).out(out).seeds(0..seeds);
            let report = runner.run(|| (program.fixed)(spawning));
            if let Some(found) = report.finding {
                panic!("{} {spawning:?}: {:?}", program.name, found.run.outcome);
            }
        }
    }
}
