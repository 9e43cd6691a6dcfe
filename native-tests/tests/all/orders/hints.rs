//! The smallest strengthening of orders that prevents a failure.

use std::hint::spin_loop;
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicUsize, fence};
use std::thread;

use sim::report::Report;

use super::{Program, alone, runner, screen};

/// Asserts that a store before the flag is visible to a thread that has seen the flag.
fn passes_a_message(store: Ordering, load: Ordering) {
    let (data, flag) = (AtomicU32::new(0), AtomicU32::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            data.store(1, Relaxed);
            flag.store(1, store);
        });
        if flag.load(load) == 1 {
            assert_eq!(data.load(Relaxed), 1);
        }
    });
}

/// The same with a thread that waits for the flag.
fn waits_for_a_message(store: Ordering, load: Ordering) {
    let (data, flag) = (AtomicU32::new(0), AtomicU32::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            data.store(1, Relaxed);
            flag.store(1, store);
        });
        while flag.load(load) == 0 {
            spin_loop();
        }
        assert_eq!(data.load(Relaxed), 1);
    });
}

/// A message through a third thread.
fn hands_on(first: Ordering, second: Ordering) {
    let (data, flags) = (AtomicU32::new(0), [AtomicU32::new(0), AtomicU32::new(0)]);
    thread::scope(|scope| {
        scope.spawn(|| {
            data.store(1, Relaxed);
            flags[0].store(1, first);
        });
        scope.spawn(|| {
            if flags[0].load(Acquire) == 1 {
                flags[1].store(1, second);
            }
        });
        if flags[1].load(Acquire) == 1 {
            assert_eq!(data.load(Relaxed), 1);
        }
    });
}

/// Two owners of data. The last owner must see the write of the other thread.
fn counts_owners(order: Ordering) {
    let (owners, data) = (AtomicUsize::new(2), AtomicU32::new(0));
    let leave = |writes: bool| {
        if writes {
            data.store(1, Relaxed);
        }
        if owners.fetch_sub(1, order) == 1 {
            assert_eq!(data.load(Relaxed), 1);
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| leave(true));
        leave(false);
    });
}

/// A slot that is claimed by a compare-exchange, and read by a compare-exchange that fails.
fn claims(success: Ordering, failure: Ordering) {
    let (slot, data) = (AtomicU32::new(0), AtomicU32::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            data.store(1, Relaxed);
            _ = slot.compare_exchange(0, 1, success, Relaxed);
        });
        if slot.compare_exchange(5, 6, Relaxed, failure) == Err(1) {
            assert_eq!(data.load(Relaxed), 1);
        }
    });
}

/// A message whose store is behind a fence.
fn passes_behind_a_fence(load: Ordering) {
    let (data, flag) = (AtomicU32::new(0), AtomicU32::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            data.store(1, Relaxed);
            fence(Release);
            flag.store(1, Relaxed);
        });
        if flag.load(load) == 1 {
            assert_eq!(data.load(Relaxed), 1);
        }
    });
}

/// Of two threads that each store a word and load the other word, at least one sees the other store.
fn see_each_other(store: Ordering, load: Ordering) {
    let (x, y) = (AtomicU32::new(0), AtomicU32::new(0));
    let seen = thread::scope(|scope| {
        let first = scope.spawn(|| {
            x.store(1, store);
            y.load(load)
        });
        y.store(1, store);
        let seen = x.load(load);
        (seen, first.join().unwrap())
    });
    assert_ne!(seen, (0, 0));
}

/// A store that takes effect before a store that was executed before it.
fn stores_early() {
    let (x, y) = (AtomicU32::new(0), AtomicU32::new(0));
    let both = |first: &AtomicU32, second: &AtomicU32| {
        first.store(1, Release);
        second.store(2, Release);
    };
    thread::scope(|scope| {
        scope.spawn(|| both(&x, &y));
        both(&y, &x);
    });
    assert_ne!((x.load(SeqCst), y.load(SeqCst)), (1, 1));
}

/// A failure that has nothing to do with orders, behind a read that may be stale.
fn fails_anyway() {
    waits_for_a_message(Release, Acquire);
    let word = AtomicU32::new(0);
    thread::scope(|scope| {
        scope.spawn(|| word.store(1, Relaxed));
        assert_ne!(word.load(Relaxed), 1);
    });
}

/// A message whose data are sequentially consistent, but whose flag may be too weak. The exact order S allows the
/// outcome, so it is no hint to strengthen a relaxed load of data.
fn reads_behind_a_flag(store: Ordering, load: Ordering) {
    let (data, flag) = (AtomicU32::new(0), AtomicU32::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            data.store(1, SeqCst);
            flag.store(1, store);
        });
        if flag.load(load) == 1 {
            assert_eq!(data.load(SeqCst), 1);
        }
    });
}

const FENCED_LOAD: &str = "SeqCst for the fence before the load";

/// A program with its hint: orders and operations.
const HINTS: &[(&[&str], Program)] = &[
    (&["Release for the store"], || passes_a_message(Relaxed, Acquire)),
    (&["Acquire for the load"], || passes_a_message(Release, Relaxed)),
    (&["Release for the store", "Acquire for the load"], || passes_a_message(Relaxed, Relaxed)),
    (&["Release for the store"], || waits_for_a_message(Relaxed, Acquire)),
    (&["Acquire for the load"], || waits_for_a_message(Release, Relaxed)),
    (&["Release for the store"], || hands_on(Relaxed, Release)),
    (&["Release for the store"], || hands_on(Release, Relaxed)),
    (&["AcqRel for the fetch_sub"], || counts_owners(Relaxed)),
    (&["AcqRel for the fetch_sub"], || counts_owners(Release)),
    (&["Release for the compare_exchange"], || claims(Relaxed, Acquire)),
    (&["Acquire for the compare_exchange"], || claims(Release, Relaxed)),
    (&["Acquire for the load"], || passes_behind_a_fence(Relaxed)),
    (&[FENCED_LOAD, FENCED_LOAD], || see_each_other(Release, Acquire)),
    (&[FENCED_LOAD, FENCED_LOAD], || see_each_other(Relaxed, Relaxed)),
    // Both threads call the same function.
    (&["SeqCst for the fence before the store"], stores_early),
    (&["Release for the store", "Acquire for the load"], || reads_behind_a_flag(Relaxed, Relaxed)),
    // No stale read.
    (&[], fails_anyway),
];

/// The programs with the orders of their hints.
const MENDED: &[Program] = &[
    || passes_a_message(Release, Acquire),
    || waits_for_a_message(Release, Acquire),
    || hands_on(Release, Release),
    || counts_owners(AcqRel),
    || claims(Release, Acquire),
    || passes_behind_a_fence(Acquire),
    || see_each_other(SeqCst, SeqCst),
    || reads_behind_a_flag(Release, Acquire),
];

fn hinted(report: &Report) -> Vec<String> {
    let finding = report.finding.as_ref().expect("a failure");
    let operations = finding.strengthening.iter().flat_map(|hint| &hint.operations);
    operations.map(|hint| format!("{:?} for the {}", hint.order, hint.op)).collect()
}

#[test]
fn a_hint_has_the_orders_that_mend_the_program() {
    let _alone = alone();
    for (nth, (hint, program)) in HINTS.iter().enumerate() {
        let report = runner("c11", 500).shrink(true).run_native(*program);
        let shown = screen(&report);
        assert_eq!(hinted(&report), *hint, "program {nth}: {shown}");
        let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        let has_hint = shown.contains("not found again in") || shown.contains("proved, all ");
        assert_eq!(has_hint, !hint.is_empty(), "program {nth}: {shown}");
        for operation in *hint {
            let operation = match operation.split_once(" for the fence before") {
                Some((order, fenced)) => format!("a {order} fence before{fenced}"),
                None => (*operation).to_owned(),
            };
            let place = format!("{operation} at tests/all/orders/hints.rs:");
            assert!(shown.contains(&place), "program {nth}: {shown}");
        }
    }
    for (nth, program) in MENDED.iter().enumerate() {
        let report = runner("c11", 500).run_native(*program);
        assert!(report.passed(), "program {nth}: {}", screen(&report));
    }
}

/// Programs with a proved hint, each with the program that has the orders of the hint.
const PROVED: &[(usize, usize)] =
    &[(0, 0), (1, 0), (2, 0), (3, 1), (4, 1), (5, 2), (6, 2), (9, 4), (10, 4), (11, 5), (15, 7)];

/// The number of interleavings of a proved hint is the number of runs of a search of the mended program.
#[test]
fn a_hint_is_proved_by_all_runs() {
    let _alone = alone();
    for (weak, mended) in PROVED {
        let report = runner("c11", 500).shrink(true).prove(0).why(0).run_native(HINTS[*weak].1);
        let strengthening = report.finding.as_ref().and_then(|it| it.strengthening.as_ref());
        let searched = runner("c11", 10_000).strategy("exhaustive").run_native(MENDED[*mended]);
        assert!(
            searched.searched.as_ref().is_some_and(|it| it.is_proof()),
            "{}",
            screen(&searched)
        );
        let proved = strengthening.and_then(|it| it.interleavings);
        assert_eq!(proved, Some(searched.runs), "program {weak}: {}", screen(&report));
    }
}

#[test]
fn a_hint_needs_a_run_that_was_shrunk_and_is_the_same_in_a_process_of_its_own() {
    let _alone = alone();
    let program = || passes_a_message(Relaxed, Relaxed);
    assert!(hinted(&runner("c11", 500).run_native(program)).is_empty());
    let apart = runner("c11", 500).shrink(true).prove(0).why(0);
    let apart = apart.isolate("process").run_native(program);
    assert_eq!(hinted(&apart), HINTS[2].0);
}
