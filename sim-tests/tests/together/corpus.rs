//! The bug corpus: the default strategy finds every bug within its budget, fixed twins pass.
//!
//! With `UNPAUSE_LONG=1` twins pass a hundred thousand seeds instead of a few hundred, and
//! the programs that take the most runs have 31 variants each.

use std::collections::BTreeSet;
use std::time::Duration;

use sim::Runner;
use sim::run::{Failure, Outcome};
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

#[cfg_attr(feature = "sim", test)]
fn the_default_strategy_finds_every_bug_within_its_budget() {
    let mut missed = Vec::new();
    for program in all() {
        for spawning in SPAWNINGS {
            match first_failure(program, spawning) {
                Some((_, Outcome::Failed(failure))) => {
                    // The failure that the program is meant to show, not a fault of the program
                    // itself.
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

#[cfg_attr(feature = "sim", test)]
fn fixed_twins_pass() {
    let seeds = if long() { 100_000 } else { 80 };
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

/// Returns the mean number of runs to the first failing run, over `runs` searches of a program. The program first draws
/// `draws` values that it does not use, so that its rehearsals differ.
fn runs_to_bug(program: &Program, spawning: Spawning, draws: u32, runs: u64) -> f64 {
    let runner = runner().hang(Duration::ZERO);
    let fails = |seed: &u64| {
        let run = runner.run_seed(*seed, async || {
            for _ in 0..draws {
                sim::rand::below(2);
            }
            (program.buggy)(spawning).await;
        });
        run.outcome != Outcome::Passed
    };
    runs as f64 / (0..runs).filter(fails).count().max(1) as f64
}

/// Asserts that no variant of a program needs more than three times as many runs as the median variant.
fn has_no_unlucky_variant(program: &Program, spawning: Spawning, runs: u64) {
    let variants = (0..31).map(|draws| runs_to_bug(program, spawning, draws, runs));
    let mut variants: Vec<f64> = variants.collect();
    variants.sort_by(f64::total_cmp);
    let (median, worst) = (variants[15], variants[30]);
    let name = program.name;
    println!("{name:<20} {spawning:?}: median {median:.1}, worst {worst:.1}");
    assert!(worst <= 3.0 * median, "{name} {spawning:?}: {variants:.1?}");
}

#[cfg_attr(feature = "sim", test)]
fn no_body_is_unlucky_for_ever() {
    let named = |name: &str| all().find(|program| program.name == name).expect("its name");
    // If all seeds used one lesson, the worst variants of these programs would take eight and four times the runs of
    // the median. In that case, no rehearsal has the task of the bug at the object of the bug.
    let names = if long() { &["two_step_init", "twostage"][..] } else { &["two_step_init"] };
    for name in names {
        has_no_unlucky_variant(named(name), Spawning::Together, 500);
    }
    if !long() {
        return;
    }
    for spawning in SPAWNINGS {
        let mut hardest: Vec<(f64, &Program)> =
            all().map(|program| (runs_to_bug(program, spawning, 0, 4000), program)).collect();
        hardest.sort_by(|a, b| b.0.total_cmp(&a.0));
        for (_, program) in &hardest[..10] {
            has_no_unlucky_variant(program, spawning, 4000);
        }
    }
}
