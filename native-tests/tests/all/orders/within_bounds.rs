//! Bounded searches with the memory `c11`. If the bound leaves out no run, they have exactly the outcomes of the axioms
//! of C++20, and are proofs. Within a bound they execute each schedule with each choice of stores. `litmus` and
//! `weak_proofs` of `sim-tests` test the same with tasks.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicU32, fence};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use sim::Runner;
use sim::report::OrdersTaken;
use sim::run::Run;
use unpause_orders::litmus::{Limits, Litmus, Outcome, Random, TABLE, outcomes, random_within};

use super::litmus_table::outcome;
use super::{Program, alone, runner, screen, silent_seeds};

/// The searches that execute every run within a bound.
const BOUNDED: [&str; 2] = ["preemptions", "delays"];

fn search(strategy: &str, runs_max: u64) -> Runner {
    runner("c11", runs_max).strategy(strategy)
}

/// Searches programs with a bound that leaves out nothing. Returns the number of complete searches, and the number of
/// searches that need too many runs. A complete search must be a proof, and its runs must have exactly the outcomes
/// that the axioms allow.
fn searched(programs: impl IntoIterator<Item = Litmus>, runs_max: u64) -> [u64; 2] {
    let (mut complete, mut too_large) = (0, 0);
    for program in programs {
        let allowed = outcomes(&program).by_cpp20;
        for strategy in BOUNDED {
            let found = Arc::new(Mutex::new(BTreeSet::new()));
            let (of_runs, of_program) = (found.clone(), Arc::new(program.clone()));
            // Copies of this process would keep their outcomes for themselves.
            let report = search(strategy, runs_max).jobs(1).run_native(move || {
                let outcome = outcome(&of_program);
                of_runs.lock().unwrap().insert(outcome);
            });
            let found = found.lock().unwrap().clone();
            assert!(report.passed() && found.is_subset(&allowed), "{strategy}: {program:?}");
            let searched = report.searched.as_ref().expect("a search");
            if !searched.complete {
                too_large += 1;
                continue;
            }
            complete += 1;
            assert_eq!(found, allowed, "{strategy}: {program:?}");
            let is_limited = searched.orders == OrdersTaken::InPart;
            assert!(searched.is_proof() || is_limited, "{program:?}: {}", screen(&report));
        }
    }
    if std::env::var_os("UNPAUSE_SHOW").is_some() {
        println!("{complete} complete, {too_large} too large");
    }
    [complete, too_large]
}

#[test]
fn a_bounded_search_finds_all_outcomes_of_litmus_programs() {
    let _alone = alone();
    let is_long = silent_seeds(0) > 0;
    let runs_max = if is_long { 20_000 } else { 2_000 };
    let table = TABLE.lines().map(|line| Litmus::parse(line.split_once('\t').expect("a name").1));
    let [complete, too_large] = searched(table.step_by(if is_long { 1 } else { 4 }), runs_max);
    assert!(complete > too_large, "{complete} {too_large}");
    let mut stream = Random(9);
    let limits = Limits { acts: 4, threads: 3, words: 2 };
    let programs = silent_seeds(24).min(200);
    let programs = (0..programs).map(|_| random_within(&mut stream, limits));
    let [complete, too_large] = searched(programs, runs_max);
    assert!(complete > too_large, "{complete} {too_large}");
}

/// The program of the runs that `each_native_run` makes.
static PROGRAM: Mutex<Option<Arc<Litmus>>> = Mutex::new(None);
/// The outcome of the last run.
static LAST: Mutex<Outcome> = Mutex::new(Vec::new());

fn of_program() {
    let program = PROGRAM.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let outcome = outcome(&program.expect("a program"));
    *LAST.lock().unwrap() = outcome;
}

/// The runs within a bound are exactly the runs of a search without a bound that have so few preemptions. The number of
/// older stores that they read is not bounded.
#[test]
fn a_bound_counts_preemptions_and_no_choices_of_stores() {
    let _alone = alone();
    let mut compared = 0;
    for line in TABLE.lines().step_by(if silent_seeds(0) > 0 { 1 } else { 6 }) {
        let program = Litmus::parse(line.split_once('\t').expect("a name").1);
        *PROGRAM.lock().unwrap() = Some(Arc::new(program));
        let runs = |strategy: &str, within: usize| {
            let (mut count, mut found) = (0, BTreeSet::new());
            let preempts = |run: &Run| run.steps.iter().filter(|step| step.preempts).count();
            let report = search(strategy, 4_000).each_native_run(of_program, |run| {
                if preempts(&run) <= within {
                    count += 1;
                    found.insert(LAST.lock().unwrap().clone());
                }
            });
            (report.searched.expect("a search").complete, (count, found))
        };
        for within in 0..3 {
            let (is_complete, all) = runs("delays", within);
            if !is_complete {
                break;
            }
            let name = format!("preemptions:{within}");
            assert_eq!(runs(&name, usize::MAX), (true, all), "{line}: {name}");
            compared += 1;
        }
    }
    assert!(compared > 10, "{compared}");
}

/// Each thread stores to its own word, and enters if the other word is not set.
fn enters(order: Ordering) {
    let (words, entered) = ([AtomicU32::new(0), AtomicU32::new(0)], AtomicU32::new(0));
    let enter = |own: usize| {
        words[own].store(1, Relaxed);
        fence(order);
        if words[1 - own].load(Relaxed) == 0 {
            entered.fetch_add(1, Relaxed);
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| enter(0));
        enter(1);
    });
    assert!(entered.load(Relaxed) < 2);
}

fn publishes(store: Ordering, load: Ordering) {
    let words = [AtomicU32::new(0), AtomicU32::new(0)];
    thread::scope(|scope| {
        scope.spawn(|| {
            words[0].store(1, Relaxed);
            words[1].store(1, store);
        });
        if words[1].load(load) == 1 {
            assert_eq!(words[0].load(Relaxed), 1);
        }
    });
}

/// Relaxed stores and loads, which only a lock can order.
fn locks(is_locked: bool) {
    let (words, lock) = ([AtomicU32::new(0), AtomicU32::new(0)], Mutex::new(()));
    thread::scope(|scope| {
        scope.spawn(|| {
            let held = is_locked.then(|| lock.lock().unwrap());
            words[0].store(1, Relaxed);
            words[1].store(1, Relaxed);
            drop(held);
        });
        let held = is_locked.then(|| lock.lock().unwrap());
        if words[1].load(Relaxed) == 1 {
            assert_eq!(words[0].load(Relaxed), 1);
        }
        drop(held);
    });
}

/// Programs with an order that is too weak, and the fixed programs. A bounded search finds each bug, and proves that
/// the fixed program has none.
#[test]
fn bugs_are_found_and_fixed_programs_are_proved() {
    let _alone = alone();
    let programs: [(&str, Program, Program); 4] = [
        ("no release", || publishes(Relaxed, Acquire), || publishes(Release, Acquire)),
        ("no acquire", || publishes(Release, Relaxed), || publishes(Release, Acquire)),
        ("fences that are too weak", || enters(AcqRel), || enters(SeqCst)),
        ("no lock", || locks(false), || locks(true)),
    ];
    for (name, bug, fixed) in programs {
        for strategy in BOUNDED {
            assert!(!search(strategy, 100_000).run_native(bug).passed(), "{name}");
            let report = search(strategy, 100_000).must_prove(true).run_native(fixed);
            let searched = report.searched.as_ref().expect("a search");
            let shown = screen(&report);
            assert!(report.passed() && searched.orders == OrdersTaken::AsInC11, "{name}: {shown}");
            // Several processes search the same.
            let jobs = search(strategy, 100_000).jobs(2).run_native(fixed);
            let of_jobs = jobs.searched.as_ref().expect("a search");
            assert!(of_jobs.is_proof() && of_jobs.orders == searched.orders, "{}", screen(&jobs));
            assert_eq!((jobs.runs, of_jobs.repeated), (report.runs, searched.repeated), "{name}");
        }
    }
}
