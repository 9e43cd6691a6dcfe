//! Searches within a bound, with the memory `c11`. The bound counts preemptions or delays, and each choice of a store
//! is a run of its own.
//!
//! `litmus` compares the outcomes of searches whose bound leaves out nothing with the axioms of C++20.

use std::sync::Arc;

use sim::report::OrdersTaken;
use sim::{Atomic, Ordering, Ordering::*, fence, spawn};

use crate::weak_proofs::{UNTRIED, Words, publishes, reads, screen, search, two, words};

/// The names of the searches that execute every run within a bound.
const BOUNDED: [&str; 2] = ["preemptions", "delays"];

/// A search whose bound leaves out no run is a proof.
#[cfg_attr(feature = "sim", test)]
fn bounded_searches_that_leave_out_nothing_are_proofs() {
    let program = || two(words(), |words| publishes(words, Release), |words| reads(words, Acquire));
    for strategy in BOUNDED {
        let report = search("c11").strategy(strategy).must_prove(true).run(program);
        let (searched, shown) = (report.searched.as_ref().unwrap(), screen(&report));
        assert!(report.passed() && searched.is_proof(), "{shown}");
        assert_eq!((searched.orders, &searched.bound), (OrdersTaken::AsInC11, &None), "{shown}");
        assert!(shown.contains("each store that an operation may choose was a run"), "{shown}");
        // A program whose operations are all sequentially consistent chooses no store.
        let strong = || {
            let store = |words: Words| async move { words[0].store(1, SeqCst).await };
            two(words(), store, |words| async move { _ = words[0].load(SeqCst).await })
        };
        let searched = search("c11").strategy(strategy).run(strong).searched.unwrap();
        assert!(searched.is_proof() && searched.orders == OrdersTaken::AsAsked, "{searched:?}");
        // A search that leaves out runs is a proof for the others.
        let zero = search("c11").strategy(format!("{strategy}:0")).run(program);
        let (searched, shown) = (zero.searched.as_ref().unwrap(), screen(&zero));
        assert!(zero.passed() && !searched.is_proof(), "{shown}");
        assert!(searched.is_as_requested() && searched.orders == OrdersTaken::AsInC11, "{shown}");
        assert!(zero.runs < report.runs && shown.contains("runs with no"), "{shown}");
    }
}

/// A stale read is no preemption: a search without preemptions finds each of these bugs, and no such search finds a bug
/// of the fixed programs.
#[cfg_attr(feature = "sim", test)]
fn bounded_searches_find_stale_reads() {
    let publish = |store, load| {
        move || async move {
            let words = words();
            let tasks = [spawn(publishes(words.clone(), store)), spawn(reads(words, load))];
            for task in tasks {
                task.await.unwrap();
            }
        }
    };
    let fails = |strategy: &str, store, load| {
        !search("c11").strategy(strategy).run(publish(store, load)).passed()
    };
    for strategy in ["preemptions:0", "preemptions", "delays:1", "delays"] {
        assert!(fails(strategy, Relaxed, Acquire) && fails(strategy, Release, Relaxed));
        assert!(!fails(strategy, Release, Acquire), "{strategy}");
    }
    // Both tasks enter unless the fences are there. All runs with at most one preemption pass with the fences.
    let enter = |order: Ordering| {
        move || async move {
            let (words, entered) = (words(), Arc::new(Atomic::new(0)));
            let tasks = [0, 1].map(|own| {
                let (words, entered) = (words.clone(), entered.clone());
                spawn(async move {
                    words[own].store(1, Relaxed).await;
                    fence(order).await;
                    if words[1 - own].load(Relaxed).await == 0 {
                        entered.fetch_add(1, Relaxed).await;
                    }
                })
            });
            for task in tasks {
                task.await.unwrap();
            }
            assert!(entered.load(Relaxed).await < 2);
        }
    };
    for strategy in BOUNDED {
        assert!(!search("c11").strategy(format!("{strategy}:1")).run(enter(AcqRel)).passed());
        assert!(search("sc").strategy(strategy).run(enter(AcqRel)).passed());
        let report = search("c11").strategy(strategy).must_prove(true).run(enter(SeqCst));
        assert!(report.passed(), "{}", screen(&report));
    }
}

/// A bounded search is no proof if older stores are hidden.
#[cfg_attr(feature = "sim", test)]
fn limits_of_bounded_searches_are_no_proof() {
    for strategy in BOUNDED {
        let report = search("c11").strategy(strategy).run(|| {
            two(
                words(),
                |words| async move { words[0].store(1, Relaxed).await },
                |words| async move {
                    for _ in 0..4 {
                        words[0].load(Relaxed).await;
                    }
                },
            )
        });
        let (searched, shown) = (report.searched.as_ref().unwrap(), screen(&report));
        assert!(report.passed() && !searched.is_proof() && shown.contains(UNTRIED), "{shown}");
        assert_eq!(searched.orders, OrdersTaken::InPart);
    }
}

/// A search that is given up continues within a bound, and remembers that operations chose stores.
#[cfg_attr(feature = "sim", test)]
fn the_fallback_of_a_search_explores_stores() {
    let program = || async {
        let words = words();
        let tasks = [0, 1, 2].map(|_| {
            let words = words.clone();
            spawn(async move {
                for _ in 0..3 {
                    words[0].fetch_add(1, Relaxed).await;
                }
            })
        });
        for task in tasks {
            task.await.unwrap();
        }
    };
    let report = search("c11").seeds(0..400).run(program);
    let (searched, shown) = (report.searched.as_ref().unwrap(), screen(&report));
    let fallback = searched.fallback.as_ref().expect("the search is given up");
    assert!(report.passed() && searched.orders == OrdersTaken::AsInC11, "{shown}");
    assert!(fallback.searched.bound.is_some() && !shown.contains("c11"), "{shown}");
}
