//! The sampled runs that check a search with the memory `c11`. They find a fault of the search, and no fault where the
//! search has none: see also `all_stores` and `waits`.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::thread;

use sim::report::{Report, Searched};
use unpause_orders::litmus::{Litmus, Outcome, TABLE};
use unpause_run::strategy::exhaustive::{Rule, without};

use super::litmus_table::outcome;
use super::{alone, runner, screen, silent_seeds};

// A search whose sampled runs contradict it continues within a bound, up to this number of runs.
fn search(program: impl Fn() + Send + Sync + Clone + 'static) -> Report {
    runner("c11", 2_000).strategy("exhaustive").jobs(1).run_native(program)
}

fn searched(report: Report) -> Searched {
    assert!(report.passed(), "{}", screen(&report));
    report.searched.expect("a search")
}

/// A thread stores to two words. Another thread reads the second one, and the first one twice.
fn reads_twice() {
    let words = [AtomicU32::new(0), AtomicU32::new(0)];
    thread::scope(|scope| {
        let words = &words;
        scope.spawn(|| words.iter().for_each(|word| word.store(1, Relaxed)));
        scope.spawn(|| [1, 0, 0].map(|word: usize| words[word].load(Relaxed)));
    });
}

#[test]
fn reads_of_older_stores_that_are_not_tried_are_found() {
    let _alone = alone();
    let whole = searched(search(reads_twice));
    assert!(whole.is_proof() && whole.audit.is_some(), "{whole:?}");
    let faulty = without(Rule::Stores, || searched(search(reads_twice)));
    assert!(!faulty.is_proof(), "{faulty:?}");
    assert!(faulty.audit.is_some_and(|audit| audit.missed.is_some()));
}

/// Returns the outcomes of a search, and the search.
fn outcomes(program: &Litmus) -> (BTreeSet<Outcome>, Searched) {
    let found = Arc::new(Mutex::new(BTreeSet::new()));
    let (of_runs, of_program) = (found.clone(), Arc::new(program.clone()));
    let report = search(move || {
        let outcome = outcome(&of_program);
        of_runs.lock().unwrap().insert(outcome);
    });
    (std::mem::take(&mut *found.lock().unwrap()), searched(report))
}

/// A search of litmus programs does not try older stores. The sampled runs have another outcome in most programs in
/// which this makes a difference. They do not show a difference in last values that no thread reads.
#[test]
fn faults_in_searches_of_litmus_programs_are_found() {
    let _alone = alone();
    let (mut found, mut faulty) = (0, 0);
    for line in TABLE.lines().step_by(if silent_seeds(0) > 0 { 1 } else { 4 }) {
        let (name, program) = line.split_once('\t').expect("a name and a program");
        let program = Litmus::parse(program);
        let (all, whole) = outcomes(&program);
        if !whole.is_proof() {
            continue;
        }
        assert!(whole.audit.is_some(), "{name}: {whole:?}");
        let (some, less) = without(Rule::Stores, || outcomes(&program));
        let is_found = less.audit.is_some_and(|audit| audit.missed.is_some());
        // Sampled runs that contradict the search have added their outcomes.
        if some != all || is_found {
            faulty += 1;
            found += u32::from(is_found);
        }
    }
    println!("found {found} of {faulty}");
    assert!(faulty > 5 && found * 5 >= faulty * 3, "{found} of {faulty}");
}
