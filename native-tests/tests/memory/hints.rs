//! Orders that prevent a data race: each hint has been tried. Only the build of `--races` finds races.

use std::sync::atomic::Ordering::{self, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicUsize, fence};
use std::sync::{Arc, RwLock};
use std::thread;

use planted::Plain;
use sim::Runner;
use sim::report::{Report, Style, text};

/// A thread writes a value and sets a flag. The other thread reads the value if the flag is set.
fn publishes(store: Ordering, load: Ordering) {
    let shared: Arc<(Plain, AtomicBool)> = Arc::default();
    let of_thread = shared.clone();
    let thread = thread::spawn(move || {
        of_thread.0.set(7);
        of_thread.1.store(true, store);
    });
    if shared.1.load(load) {
        assert_eq!(shared.0.get(), 7);
    }
    thread.join().unwrap();
}

/// Two owners of a value. The last owner writes it.
fn counts_owners(order: Ordering) {
    let shared: Arc<(Plain, AtomicUsize)> = Arc::new((Plain::default(), AtomicUsize::new(2)));
    let leave = move |shared: &(Plain, AtomicUsize)| {
        std::hint::black_box(shared.0.get());
        if shared.1.fetch_sub(1, order) == 1 {
            fence(Acquire);
            shared.0.set(1);
        }
    };
    let of_thread = shared.clone();
    let thread = thread::spawn(move || leave(&of_thread));
    leave(&shared);
    thread.join().unwrap();
}

/// Two threads that nothing orders.
fn writes_beside_each_other() {
    let shared: Arc<Plain> = Arc::default();
    let of_thread = shared.clone();
    let thread = thread::spawn(move || of_thread.set(1));
    shared.set(2);
    thread.join().unwrap();
}

const HINTS: &[(&[&str], fn())] = &[
    (&["Release for the store"], || publishes(Relaxed, Acquire)),
    (&["Acquire for the load"], || publishes(Release, Relaxed)),
    (&["Release for the store", "Acquire for the load"], || publishes(Relaxed, Relaxed)),
    (&["Release for the fetch_sub"], || counts_owners(Relaxed)),
    (&[], writes_beside_each_other),
];

const MENDED: &[fn()] = &[|| publishes(Release, Acquire), || counts_owners(Release)];

fn run(memory: &str, program: fn()) -> Report {
    let out = std::env::temp_dir().join(format!("unpause-race-hints-{}", std::process::id()));
    Runner::new().hermetic().memory(memory).seeds(0..300).out(out).run_native(program)
}

#[test]
fn a_hint_has_orders_that_prevent_the_race() {
    for memory in ["sc", "c11"] {
        for (nth, (hint, program)) in HINTS.iter().enumerate() {
            let report = run(memory, *program);
            let shown = text(&report, &Style::default());
            let Some(finding) = report.finding else { return };
            let operations = finding.strengthening.iter().flat_map(|hint| &hint.operations);
            let has: Vec<String> =
                operations.map(|hint| format!("{:?} for the {}", hint.order, hint.op)).collect();
            assert_eq!(has, *hint, "{memory}, program {nth}: {shown}");
        }
        for (nth, program) in MENDED.iter().enumerate() {
            let report = run(memory, *program);
            assert!(report.passed(), "{nth}: {}", text(&report, &Style::default()));
        }
    }
}

/// A search tries one order of the two reads of the lock. In the other order, nothing orders the accesses.
fn reads_of_a_lock_hide_a_race() {
    let shared: Arc<(Plain, RwLock<()>)> = Arc::default();
    let of_thread = shared.clone();
    let thread = thread::spawn(move || {
        let _reading = of_thread.1.read().unwrap();
        of_thread.0.set(1);
    });
    drop(shared.1.read().unwrap());
    std::hint::black_box(shared.0.get());
    thread.join().unwrap();
}

#[test]
fn a_search_that_finds_no_race_is_no_proof() {
    // Other builds do not look for races.
    if run("sc", writes_beside_each_other).passed() {
        return;
    }
    let search = Runner::new().hermetic().strategy("exhaustive");
    let report = search.run_native(reads_of_a_lock_hide_a_race);
    let is_proof = report.searched.as_ref().is_some_and(|searched| searched.is_proof());
    assert!(!report.passed() || !is_proof, "{}", text(&report, &Style::default()));
}
