//! `Runner::run_native` of a closure: captured values outlive the runs, and created values are new in each run.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize};
use std::sync::{Arc, Mutex};
use std::thread;

use sim::Runner;
use sim::report::Report;

fn search() -> Runner {
    Runner::new().hermetic().strategy("exhaustive")
}

/// Has a thread store 1, and returns the value that this thread has loaded.
fn races_with_a_store() -> u32 {
    let number = Arc::new(AtomicU32::new(0));
    let stored = number.clone();
    let thread = thread::spawn(move || stored.store(1, SeqCst));
    let seen = number.load(SeqCst);
    thread.join().unwrap();
    seen
}

fn is_proof(report: &Report) -> bool {
    report.searched.as_ref().is_some_and(|searched| searched.is_proof())
}

#[test]
fn values_of_all_runs_are_gathered() {
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let (of_runs, runs) = (seen.clone(), Arc::new(AtomicUsize::new(0)));
    let counted = runs.clone();
    let report = search().run_native(move || {
        let value = races_with_a_store();
        of_runs.lock().unwrap().insert(value);
        counted.fetch_add(1, Relaxed);
    });
    assert!(is_proof(&report), "{report:?}");
    assert_eq!(*seen.lock().unwrap(), BTreeSet::from([0, 1]));
    // The search also cuts runs, which do not count.
    assert!(runs.load(Relaxed) as u64 >= report.runs);
    // The lock and the counter are not points, so the search has as many runs as a search of the body alone.
    let alone = search().run_native(|| assert!(races_with_a_store() < 2));
    assert_eq!((alone.runs, is_proof(&alone)), (report.runs, true));
}

/// Each run adds its own memory to the test's state: nodes of a map, texts, its growing buffers.
#[test]
fn memory_that_a_run_gives_to_the_test_is_kept() {
    let texts = Arc::new(Mutex::new(HashMap::new()));
    let (given, number) = (texts.clone(), Arc::new(AtomicUsize::new(0)));
    let report = Runner::new().hermetic().seeds(0..500).run_native(move || {
        let threads = [0, 1].map(|thread| {
            let (given, number) = (given.clone(), number.clone());
            thread::spawn(move || {
                let text = format!("{thread} of {}", number.fetch_add(1, Relaxed));
                given.lock().unwrap().insert(text.clone(), vec![text; 3]);
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    assert!(report.passed(), "{report:?}");
    let texts = texts.lock().unwrap();
    let numbers: HashSet<usize> = texts
        .iter()
        .map(|(text, values)| {
            assert!(values.iter().all(|value| value == text) && values.len() == 3);
            text.split_once(" of ").unwrap().1.parse().unwrap()
        })
        .collect();
    assert_eq!(numbers, (0..texts.len()).collect());
    assert!(texts.len() >= 1_000, "{}", texts.len());
}

/// A lock of the test is held at a point: others wait for it, and the run does not hang.
#[test]
fn a_lock_of_the_test_can_be_held_at_a_point() {
    let total = Arc::new(Mutex::new(0_u64));
    let of_runs = total.clone();
    let report = Runner::new().hermetic().seeds(0..200).run_native(move || {
        let inside = Arc::new(AtomicU32::new(0));
        let threads = [0, 1].map(|_| {
            let (total, inside) = (of_runs.clone(), inside.clone());
            thread::spawn(move || {
                let mut total = total.lock().unwrap();
                assert_eq!(inside.fetch_add(1, SeqCst), 0, "two have the lock");
                *total += 1;
                inside.fetch_sub(1, SeqCst);
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    assert!(report.passed(), "{report:?}");
    assert!(*total.lock().unwrap() >= 400);
}

/// A failure is in the report, whatever data the test has; shrinking and the replay find the same.
#[test]
fn the_failure_of_a_closure_is_found_and_shrunk() {
    let values = Arc::new(Mutex::new(Vec::new()));
    let of_runs = values.clone();
    let report = Runner::new().hermetic().seeds(0..1_000).run_native(move || {
        let value = races_with_a_store();
        of_runs.lock().unwrap().push(value.to_string());
        assert_eq!(value, 0, "the store came first");
    });
    let text = sim::report::text(&report, &Default::default());
    assert!(text.contains("the store came first") && text.contains("replay"), "{text}");
    let values = values.lock().unwrap();
    assert!(values.iter().all(|value| value == "0" || value == "1"));
    assert_eq!(values.iter().find(|value| *value == "1").map(|_| ()), Some(()));
}

/// Rehearsals, repetitions and shrinking do not call the closure in this process.
#[test]
fn a_closure_is_called_once_for_each_run() {
    let calls = Arc::new(AtomicUsize::new(0));
    let (passing, failing) = (calls.clone(), calls.clone());
    let report = Runner::new().hermetic().seeds(0..20).run_native(move || {
        passing.fetch_add(1, Relaxed);
        races_with_a_store();
    });
    assert!(report.passed() && report.rehearsals > 0, "{report:?}");
    assert_eq!((calls.swap(0, Relaxed), report.runs), (20, 20));
    let report = Runner::new().hermetic().seeds(0..1_000).run_native(move || {
        failing.fetch_add(1, Relaxed);
        assert_eq!(races_with_a_store(), 0, "the store came first");
    });
    assert!(report.finding.is_some(), "{report:?}");
    assert_eq!(calls.load(Relaxed) as u64, report.runs);
}

/// The first run moves memory to the test. So in later runs, the thread's allocations have other addresses.
#[test]
fn runs_with_pointers_are_repeatable_although_memory_is_kept() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let of_runs = seen.clone();
    let report = search().run_native(move || {
        let (sender, receiver) = std::sync::mpsc::channel();
        let thread = thread::spawn(move || sender.send(1).unwrap());
        let received = receiver.try_recv();
        let mut seen = of_runs.lock().unwrap();
        if !seen.contains(&received) {
            seen.push(received);
        }
        drop(seen);
        thread.join().unwrap();
    });
    let is_apart = report.notes.iter().any(|note| note.contains("SIM_ISOLATE=process"));
    assert!(report.passed() && !is_apart, "{report:?}");
    assert_eq!(seen.lock().unwrap().len(), 2);
}

/// A search cuts runs without anything new. Their threads still end, and drop their share of the test's values.
#[test]
fn threads_of_cut_runs_drop_captured_values() {
    let value = Arc::new(());
    let of_runs = value.clone();
    let report = search().run_native(move || {
        let (sender, receiver) = std::sync::mpsc::sync_channel(0);
        let of_thread = of_runs.clone();
        let thread = thread::spawn(move || {
            let _ = receiver.try_recv();
            drop(of_thread);
        });
        let _ = sender.send(1);
        thread.join().unwrap();
    });
    assert!(report.passed(), "{report:?}");
    assert_eq!(Arc::strong_count(&value), 1);
}

/// The return of the body ends the run, at any step of threads that it has not joined. It may directly follow a spawn.
#[test]
fn a_thread_that_is_not_joined_does_any_number_of_steps() {
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let of_runs = seen.clone();
    let report = search().run_native(move || {
        let number = Arc::new(AtomicU32::new(0));
        let stored = number.clone();
        let of_thread = of_runs.clone();
        thread::spawn(move || {
            stored.store(1, SeqCst);
            stored.store(2, SeqCst);
        });
        thread::spawn(move || {
            let value = number.load(SeqCst);
            of_thread.lock().unwrap().insert(value);
        });
    });
    assert!(is_proof(&report), "{report:?}");
    assert_eq!(*seen.lock().unwrap(), BTreeSet::from([0, 1, 2]));
    // A thread that is joined has no such step.
    let joined = search().run_native(|| thread::spawn(|| ()).join().unwrap());
    assert_eq!((joined.runs, is_proof(&joined)), (1, true));
}

/// The runs give each static its first value. Another thread must not see it, because a test may hold a static lock.
#[test]
fn a_static_lock_that_a_test_holds_is_held_during_its_runs() {
    static LOCK: Mutex<()> = Mutex::new(());
    let [begun, entered] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
    let held = LOCK.lock().unwrap();
    let (begins, enters) = (begun.clone(), entered.clone());
    let beside = thread::spawn(move || {
        while !begins.load(SeqCst) {
            thread::yield_now();
        }
        let _held = LOCK.lock().unwrap();
        enters.store(true, SeqCst);
    });
    let report = Runner::new().hermetic().seeds(0..2_000).run_native(move || {
        begun.store(true, SeqCst);
        races_with_a_store();
    });
    assert!(report.passed() && !entered.load(SeqCst), "another thread has entered: {report:?}");
    drop(held);
    beside.join().unwrap();
    assert!(entered.load(SeqCst));
}

/// All runs of an audit share a copy of the process. There the 60th run has another operation, so the audit is repeated
/// with a process for each run, and each of these runs sees the values after the search.
#[test]
fn an_audit_whose_runs_change_captured_values_is_repeated() {
    let calls = Arc::new(AtomicUsize::new(0));
    let of_runs = calls.clone();
    let report = search().run_native(move || {
        let number = Arc::new(AtomicU32::new(0));
        let other = number.clone();
        let is_late = of_runs.fetch_add(1, Relaxed) >= 60;
        let thread = thread::spawn(move || other.store(1, SeqCst));
        if is_late {
            number.fetch_add(1, SeqCst);
        }
        assert!(number.load(SeqCst) < 2);
        thread.join().unwrap();
    });
    assert!(is_proof(&report), "{report:?}");
    let audit = report.searched.as_ref().unwrap().audit.as_ref().unwrap();
    assert!(audit.runs >= 100 && audit.agrees() && audit.captured, "{audit:?}");
    assert!(calls.load(Relaxed) < 60, "the runs of the audit are in other processes");
}
