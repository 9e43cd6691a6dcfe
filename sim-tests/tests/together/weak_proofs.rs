//! Searches with the memory `c11`: programs that a search proves, and programs for which a search is not a proof.
//!
//! `litmus` compares the outcomes of searches with the axioms of C++20.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use sim::report::{OrdersTaken, Report, Style, text};
use sim::tokio::sync::{RwLock, mpsc};
use sim::{Atomic, Cell, Mutex, Runner, fence, spawn, spin_until};
use sim::{Ordering, Ordering::*};

pub(crate) fn search(memory: &str) -> Runner {
    Runner::new().hermetic().memory(memory).strategy("exhaustive")
}

fn searched<F: Future<Output = ()> + Send + 'static>(program: fn() -> F) -> Report {
    search("c11").run(program)
}

pub(crate) fn screen(report: &Report) -> String {
    text(report, &Style::default()).split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(crate) const UNTRIED: &str = "NOT A PROOF: older stores are tried within limits only";

/// Asserts that a search proves the program, also if a proof is required.
fn proves<F: Future<Output = ()> + Send + 'static>(program: fn() -> F) {
    let report = searched(program);
    let shown = screen(&report);
    assert!(report.passed() && report.searched.as_ref().unwrap().is_proof(), "{shown}");
    assert_eq!(report.searched.unwrap().orders, OrdersTaken::AsInC11);
    assert!(shown.contains("memory orders act as in C11"), "{shown}");
    assert!(search("c11").must_prove(true).run(program).passed());
}

/// Asserts that a search finds no failure of the program, but is no proof because of memory orders.
fn does_not_prove<F: Future<Output = ()> + Send + 'static>(program: fn() -> F) {
    let report = searched(program);
    let shown = screen(&report);
    assert!(report.passed() && !report.searched.as_ref().unwrap().is_proof(), "{shown}");
    assert_eq!(report.searched.unwrap().orders, OrdersTaken::InPart);
    assert!(shown.contains(UNTRIED), "{shown}");
    assert!(!search("c11").must_prove(true).run(program).passed());
}

pub(crate) type Words = Arc<[Atomic<u32>; 2]>;

pub(crate) fn words() -> Words {
    Arc::new([Atomic::new(0), Atomic::new(0)])
}

/// The first task does `first`, and the other task does `then`.
pub(crate) async fn two<A, B>(words: Words, first: fn(Words) -> A, then: fn(Words) -> B)
where
    A: Future<Output = ()> + Send + 'static,
    B: Future<Output = ()> + Send + 'static,
{
    let tasks = [spawn(first(words.clone())), spawn(then(words))];
    for task in tasks {
        task.await.unwrap();
    }
}

pub(crate) async fn publishes(words: Words, order: Ordering) {
    words[0].store(1, Relaxed).await;
    words[1].store(1, order).await;
}

pub(crate) async fn reads(words: Words, order: Ordering) {
    if words[1].load(order).await == 1 {
        assert_eq!(words[0].load(Relaxed).await, 1);
    }
}

#[cfg_attr(feature = "sim", test)]
fn orders_that_suffice_are_proved() {
    proves(|| two(words(), |words| publishes(words, Release), |words| reads(words, Acquire)));
    // Fences order the relaxed accesses before and after them.
    proves(|| {
        two(
            words(),
            |words| async move {
                words[0].store(1, Relaxed).await;
                fence(Release).await;
                words[1].store(1, Relaxed).await;
            },
            |words| async move {
                if words[1].load(Relaxed).await == 1 {
                    fence(Acquire).await;
                    assert_eq!(words[0].load(Relaxed).await, 1);
                }
            },
        )
    });
    // A read-modify-write continues the release sequence, even if it leaves the value unchanged.
    proves(|| async {
        let words = words();
        let publisher = spawn(publishes(words.clone(), Release));
        let same = spawn({
            let words = words.clone();
            async move { _ = words[1].fetch_or(1, Relaxed).await }
        });
        let swapped = words[1].load(Acquire).await;
        same.await.unwrap();
        publisher.await.unwrap();
        assert!(swapped < 2);
    });
}

#[cfg_attr(feature = "sim", test)]
fn orders_that_do_not_suffice_fail() {
    for (store, load) in [(Relaxed, Acquire), (Release, Relaxed)] {
        let report = search("c11").run(move || async move {
            let words = words();
            let publisher = spawn(publishes(words.clone(), store));
            reads(words, load).await;
            publisher.await.unwrap();
        });
        assert!(!report.passed());
        let trace = report.finding.unwrap();
        assert!(!trace.run.steps.is_empty());
    }
}

/// A swap that leaves the value unchanged is a store. A task that reads the new store is ordered after the task of the
/// swap. A task that reads the old store is not ordered.
#[cfg_attr(feature = "sim", test)]
fn a_store_of_the_same_value_counts() {
    let report = searched(|| {
        two(
            words(),
            |words| async move {
                words[0].store(1, Relaxed).await;
                words[1].swap(0, Release).await;
            },
            |words| async move {
                words[1].load(Acquire).await;
                // The load of the first value orders nothing, so this fails.
                assert_eq!(words[0].load(Relaxed).await, 1);
            },
        )
    });
    assert!(!report.passed());
    let orders = |words: Words| async move {
        let swapped = words[1].swap(0, Acquire).await;
        let data = words[0].load(Relaxed).await;
        (swapped, data)
    };
    // With a swap on both sides, each order of the swaps is a class.
    let report = search("c11").run(move || async move {
        let words = words();
        let other = spawn({
            let words = words.clone();
            async move {
                words[0].store(1, Relaxed).await;
                words[1].swap(0, Release).await;
            }
        });
        assert_eq!(orders(words).await.0, 0);
        other.await.unwrap();
    });
    assert!(report.passed() && report.searched.as_ref().unwrap().is_proof(), "{}", screen(&report));
}

#[cfg_attr(feature = "sim", test)]
fn locks_and_cells_order_tasks() {
    proves(|| async {
        let (word, lock) = (Arc::new(Atomic::new(0)), Arc::new(Mutex::new(false)));
        let first = spawn({
            let (word, lock) = (word.clone(), lock.clone());
            async move {
                word.store(1, Relaxed).await;
                *lock.lock().await = true;
            }
        });
        if *lock.lock().await {
            assert_eq!(word.load(Relaxed).await, 1);
        }
        first.await.unwrap();
        assert_eq!(word.load(Relaxed).await, 1);
    });
    proves(|| async {
        let (word, cell) = (Arc::new(Atomic::new(0)), Arc::new(Cell::new(false)));
        let first = spawn({
            let (word, cell) = (word.clone(), cell.clone());
            async move {
                word.store(1, Relaxed).await;
                cell.set(true).await;
            }
        });
        if cell.get().await {
            assert_eq!(word.load(Relaxed).await, 1);
        }
        first.await.unwrap();
    });
}

/// If all operations are sequentially consistent, a search is the same with both memories.
#[cfg_attr(feature = "sim", test)]
fn strong_orders_cost_nothing() {
    let strong = |memory: &str| {
        let report = search(memory).run(|| async {
            let word = Arc::new(Atomic::new(0));
            let other = spawn({
                let word = word.clone();
                async move { word.swap(0, SeqCst).await }
            });
            word.store(1, SeqCst).await;
            other.await.unwrap();
        });
        let searched = report.searched.unwrap();
        assert!(searched.is_proof());
        (report.runs, searched.blocked, searched.orders, searched.audit.map(|audit| audit.runs))
    };
    assert_eq!(strong("c11"), strong("sc"));
}

/// The search is not a proof if an object may order tasks more strongly than its real counterpart.
#[cfg_attr(feature = "sim", test)]
fn other_objects_are_no_proof() {
    does_not_prove(|| async {
        let (word, (sender, mut receiver)) = (Arc::new(Atomic::new(0)), mpsc::channel(1));
        let first = spawn({
            let word = word.clone();
            async move {
                word.store(1, Relaxed).await;
                sender.send(()).await.unwrap();
            }
        });
        receiver.recv().await.unwrap();
        assert_eq!(word.load(Relaxed).await, 1);
        first.await.unwrap();
    });
    // Two tasks read a cell. The search has one order of the reads.
    does_not_prove(|| async {
        let shared = Arc::new((Atomic::new(0), Cell::new(())));
        let readers = [0, 1].map(|_| {
            let shared = shared.clone();
            spawn(async move {
                shared.0.store(1, Relaxed).await;
                shared.1.get().await;
                shared.0.load(Relaxed).await;
            })
        });
        for reader in readers {
            reader.await.unwrap();
        }
    });
    does_not_prove(|| async {
        let shared = Arc::new((Atomic::new(0), RwLock::new(())));
        let readers = [0, 1].map(|_| {
            let shared = shared.clone();
            spawn(async move {
                shared.0.store(1, Relaxed).await;
                drop(shared.1.read().await);
                shared.0.load(Relaxed).await;
            })
        });
        for reader in readers {
            reader.await.unwrap();
        }
    });
    // An attempt to take a lock orders nothing if it fails.
    does_not_prove(|| async {
        let shared = Arc::new((Atomic::new(0), Mutex::new(())));
        let other = spawn({
            let shared = shared.clone();
            async move {
                let held = shared.1.lock().await;
                shared.0.store(1, Relaxed).await;
                drop(held);
            }
        });
        drop(shared.1.try_lock().await);
        shared.0.load(Relaxed).await;
        other.await.unwrap();
    });
}

/// A condition that only reads atomics can be proved.
#[cfg_attr(feature = "sim", test)]
fn waits_for_words_are_proved() {
    proves(|| {
        two(
            words(),
            |words| publishes(words, Release),
            |words| async move {
                spin_until(async || words[1].load(Acquire).await == 1).await;
                assert_eq!(words[0].load(Relaxed).await, 1);
            },
        )
    });
    let report = searched(|| {
        two(
            words(),
            |words| publishes(words, Relaxed),
            |words| async move {
                spin_until(async || words[1].load(Acquire).await == 1).await;
                assert_eq!(words[0].load(Relaxed).await, 1);
            },
        )
    });
    assert!(!report.passed());
    proves(|| {
        two(
            words(),
            |words| publishes(words, Release),
            |words| async move {
                let both =
                    async || words[0].load(Acquire).await + words[1].load(Acquire).await == 2;
                spin_until(both).await;
            },
        )
    });
}

#[cfg_attr(feature = "sim", test)]
fn limits_are_no_proof() {
    // The fourth load cannot read the same old store.
    does_not_prove(|| {
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
    proves(|| {
        two(
            words(),
            |words| async move { words[0].store(1, Relaxed).await },
            |words| async move {
                for _ in 0..3 {
                    words[0].load(Relaxed).await;
                }
            },
        )
    });
    // A word keeps 16 stores.
    does_not_prove(|| {
        two(
            words(),
            |words| async move {
                for value in 1..17 {
                    words[0].store(value, Relaxed).await;
                }
            },
            |words| async move { _ = words[0].load(Relaxed).await },
        )
    });
    // All stores are visible after time has passed.
    does_not_prove(|| async {
        let words = words();
        let other = spawn({
            let words = words.clone();
            async move { words[0].store(1, Relaxed).await }
        });
        sim::time::sleep(Duration::from_secs(1)).await;
        words[0].load(Relaxed).await;
        other.await.unwrap();
    });
}

/// Several threads find the same result.
#[cfg_attr(feature = "sim", test)]
fn a_search_by_several_threads_is_the_same() {
    let counts = [1, 2].map(|jobs| {
        let report = search("c11").jobs(jobs).run(|| async {
            let word = Arc::new(Atomic::new(0));
            let add = |_| {
                let word = word.clone();
                spawn(async move {
                    word.fetch_add(1, Relaxed).await;
                    word.load(Acquire).await
                })
            };
            for task in (0..3).map(add).collect::<Vec<_>>() {
                assert!(task.await.unwrap() > 0);
            }
        });
        let searched = report.searched.as_ref().unwrap();
        assert!(report.passed() && searched.is_proof(), "{}", screen(&report));
        (report.runs, searched.blocked)
    });
    assert_eq!(counts[0], counts[1]);
}
