//! The sampled runs that check a search with the memory `c11`. They find a fault of the search, and no fault where the
//! search has none: see also `all_stores` and `waits`.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

use sim::report::{Report, Searched};
use unpause_run::strategy::exhaustive::{Rule, without};

use super::{alone, runner, screen};

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
