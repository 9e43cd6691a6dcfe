//! Counts of references with the memory `c11`. Clones and drops of an `Arc` are no steps of a search, so it tries one
//! order of them. If a thread does not surely know all of them, it may see another count in another order, and the
//! search is no proof. Operations on words of the program are steps.

use std::collections::BTreeSet;
use std::mem::forget;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release};
use std::sync::{Arc, Mutex};
use std::thread;

use super::{alone, runner};

/// Executes two operations, each followed by a store with one of these orders. Returns a count if both stores are seen.
fn after_both(
    orders: [Ordering; 2],
    first: impl FnOnce() + Send,
    second: impl FnOnce() + Send,
    count: impl FnOnce() -> usize,
) -> Option<usize> {
    let flags = [AtomicUsize::new(0), AtomicUsize::new(0)];
    thread::scope(|scope| {
        let flags = &flags;
        scope.spawn(move || {
            first();
            flags[0].store(1, orders[0]);
        });
        scope.spawn(move || {
            second();
            flags[1].store(1, orders[1]);
        });
        let seen = flags.iter().all(|flag| flag.load(Acquire) == 1);
        seen.then(count)
    })
}

/// Clones an `Arc` with three references, and drops one.
fn clone_and_drop(orders: [Ordering; 2]) -> Option<usize> {
    let a = Arc::new(());
    let (b, c) = (a.clone(), a.clone());
    let seen = after_both(orders, || forget(a.clone()), move || drop(b), || Arc::strong_count(&a));
    drop(c);
    seen
}

/// The same, with the operations in the other order of threads.
fn drop_and_clone(orders: [Ordering; 2]) -> Option<usize> {
    let a = Arc::new(());
    let (b, c) = (a.clone(), a.clone());
    let seen = after_both(orders, move || drop(b), || forget(a.clone()), || Arc::strong_count(&a));
    drop(c);
    seen
}

fn two_weak_references(orders: [Ordering; 2]) -> Option<usize> {
    let a = Arc::new(());
    let (b, c) = (Arc::downgrade(&a), Arc::downgrade(&a));
    let clones = || forget(c.clone());
    after_both(orders, clones, move || drop(b), || Arc::weak_count(&a))
}

/// A count of the program.
fn words(orders: [Ordering; 2]) -> Option<usize> {
    let word = AtomicUsize::new(3);
    let add = || _ = word.fetch_add(1, Relaxed);
    let sub = || _ = word.fetch_sub(1, Relaxed);
    after_both(orders, add, sub, || word.load(Relaxed))
}

/// The same, with release and acquire on the count.
fn words_with_orders(orders: [Ordering; 2]) -> Option<usize> {
    let word = AtomicUsize::new(3);
    let add = || _ = word.fetch_add(1, AcqRel);
    let sub = || _ = word.fetch_sub(1, Release);
    after_both(orders, add, sub, || word.load(Acquire))
}

/// A program, and the counts that C++20 allows if both, the first, the second or none of the operations happen before
/// the load.
type Counting = (&'static str, fn([Ordering; 2]) -> Option<usize>, [&'static [usize]; 4]);

const PROGRAMS: &[Counting] = &[
    ("clone and drop", clone_and_drop, [&[3], &[3, 4], &[2, 3], &[2, 3, 4]]),
    ("drop and clone", drop_and_clone, [&[3], &[2, 3], &[3, 4], &[2, 3, 4]]),
    ("weak references", two_weak_references, [&[2], &[2, 3], &[1, 2], &[1, 2, 3]]),
    ("words", words, [&[3], &[3, 4], &[2, 3], &[2, 3, 4]]),
    ("words with orders", words_with_orders, [&[3], &[3, 4], &[2, 3], &[2, 3, 4]]),
];

/// The orders of the two stores.
const ORDERS: [[Ordering; 2]; 4] =
    [[Release, Release], [Release, Relaxed], [Relaxed, Release], [Relaxed, Relaxed]];

#[test]
fn a_proof_has_each_count_that_the_orders_allow() {
    let _alone = alone();
    let mut wrong = Vec::new();
    for (name, program, allowed) in PROGRAMS {
        for (orders, allowed) in ORDERS.into_iter().zip(allowed) {
            let found = Arc::new(Mutex::new(BTreeSet::new()));
            let of_runs = found.clone();
            let runner = runner("c11", 100_000).strategy("exhaustive").jobs(1);
            let report = runner.run_native(move || {
                let outcome = program(orders);
                of_runs.lock().unwrap().insert(outcome);
            });
            let searched = report.searched.expect("a search");
            let found = found.lock().unwrap().clone();
            let all: BTreeSet<_> = allowed.iter().copied().map(Some).chain([None]).collect();
            let (runs, is_proof) = (report.runs, searched.is_proof());
            println!("{name}, {orders:?}: {found:?} in {runs} runs, proof: {is_proof}");
            let is_simple = orders == [Release; 2] || name.starts_with("words");
            if !found.is_subset(&all) || is_proof && found != all || !is_proof && is_simple {
                wrong.push(format!("{name}, {orders:?}: {found:?} of {all:?}, {searched:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
