//! Bugs that a share of the runs looks for by default: a few seeds find each planted bug, and none reports its fixed twin.
//!
//! In a share of the runs the counts of `Arc` are points. In the other, a call of a lock joins the queue of the lock.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex, RwLock, Weak};
use std::thread;

use sim::Runner;
use sim::run::{Failure, Outcome};

/// A program, the number of seeds that find its bug, and the same program without the bug.
struct Planted {
    name: &'static str,
    seeds: u64,
    buggy: fn(),
    fixed: fn(),
}

const PLANTED: &[Planted] = &[
    Planted {
        name: "dropped under a lock",
        seeds: 300,
        buggy: || visits(false),
        fixed: || visits(true),
    },
    Planted {
        name: "dropped under a lock, by a list",
        seeds: 100,
        buggy: || retains(false),
        fixed: || retains(true),
    },
    Planted {
        name: "expects another thread to be last",
        seeds: 100,
        buggy: || ends(false),
        fixed: || ends(true),
    },
    Planted { name: "read twice", seeds: 20, buggy: || reads(false), fixed: || reads(true) },
    Planted {
        name: "read twice, of parking_lot",
        seeds: 20,
        buggy: || reads_of_parking_lot(false),
        fixed: || reads_of_parking_lot(true),
    },
    Planted {
        name: "read in a method",
        seeds: 20,
        buggy: || reads_in_a_method(false),
        fixed: || reads_in_a_method(true),
    },
    Planted {
        name: "read beside two writers",
        seeds: 20,
        buggy: || reads_beside_two(false),
        fixed: || reads_beside_two(true),
    },
    Planted {
        name: "two locks, read in two orders",
        seeds: 100,
        buggy: || reads_of_two(false),
        fixed: || reads_of_two(true),
    },
];

/// Its destructor takes the lock of the list that it is in.
struct Entry {
    list: Arc<Mutex<Vec<Weak<Entry>>>>,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.list.lock().unwrap().retain(|entry| entry.strong_count() > 0);
    }
}

fn entries() -> (Arc<Mutex<Vec<Weak<Entry>>>>, Arc<Entry>) {
    let list = Arc::new(Mutex::new(Vec::new()));
    let entry = Arc::new(Entry { list: list.clone() });
    list.lock().unwrap().push(Arc::downgrade(&entry));
    (list, entry)
}

/// An upgrade may hold the last reference for a moment, under the lock. Fixed: the reference is dropped after the unlock.
fn visits(fixed: bool) {
    let (list, entry) = entries();
    let visitor = thread::spawn(move || {
        let mut held = Vec::new();
        let entries = list.lock().unwrap();
        for entry in entries.iter().filter_map(Weak::upgrade) {
            if fixed {
                held.push(entry);
            }
        }
        drop(entries);
        drop(held);
    });
    drop(entry);
    visitor.join().unwrap();
}

/// A list that is cleared of entries without references, as a registry of subscribers is, under a lock that readers share.
/// Fixed: the entries are not upgraded.
fn retains(fixed: bool) {
    struct Subscriber(Arc<RwLock<Vec<Weak<Subscriber>>>>);
    impl Drop for Subscriber {
        fn drop(&mut self) {
            assert!(self.0.read().unwrap().len() < 3);
        }
    }
    let list = Arc::new(RwLock::new(Vec::new()));
    let subscribers = [0, 1].map(|_| Arc::new(Subscriber(list.clone())));
    list.write().unwrap().extend(subscribers.iter().map(Arc::downgrade));
    let cleaner = {
        let list = list.clone();
        thread::spawn(move || {
            list.write().unwrap().retain(|subscriber| match fixed {
                true => subscriber.strong_count() > 0,
                false => subscriber.upgrade().is_some(),
            });
        })
    };
    drop(subscribers);
    cleaner.join().unwrap();
}

/// The other thread is expected to drop a value last. Fixed: this thread drops its reference first.
fn ends(fixed: bool) {
    struct Ends(Arc<AtomicU32>, thread::ThreadId);
    impl Drop for Ends {
        fn drop(&mut self) {
            let is_first = thread::current().id() == self.1;
            self.0.store(if is_first { 1 } else { 2 }, SeqCst);
        }
    }
    let ended = Arc::new(AtomicU32::new(0));
    let value = Arc::new(Ends(ended.clone(), thread::current().id()));
    let other = value.clone();
    let value = Some(value).filter(|_| !fixed);
    let thread = thread::spawn(move || drop(other));
    drop(value);
    thread.join().unwrap();
    assert_eq!(ended.load(SeqCst), 2, "dropped by the first thread");
}

/// A thread locks for reading twice, beside a writer. Fixed: it locks once.
fn reads(fixed: bool) {
    let value = Arc::new(RwLock::new(0));
    let other = value.clone();
    let writer = thread::spawn(move || *other.write().unwrap() += 1);
    let seen = value.read().unwrap();
    let again = if fixed { *seen } else { *value.read().unwrap() };
    assert_eq!(*seen, again);
    drop(seen);
    writer.join().unwrap();
}

/// The same. Fixed: the inner call is `read_recursive`.
fn reads_of_parking_lot(fixed: bool) {
    let value = Arc::new(parking_lot::RwLock::new(0));
    let other = value.clone();
    let reader = thread::spawn(move || {
        let seen = other.read();
        let again = if fixed { other.read_recursive() } else { other.read() };
        assert_eq!(*seen, *again);
    });
    *value.write() += 1;
    reader.join().unwrap();
}

/// A method holds a lock and calls another method that locks. Fixed: it unlocks before the call.
fn reads_in_a_method(fixed: bool) {
    #[derive(Default)]
    struct Table(RwLock<Vec<u32>>);
    impl Table {
        fn len(&self) -> usize {
            self.0.read().unwrap().len()
        }
        fn last(&self, fixed: bool) -> Option<u32> {
            let rows = self.0.read().unwrap();
            let last = rows.last().copied();
            if fixed {
                drop(rows);
            }
            if self.len() > 0 { last } else { None }
        }
        fn push(&self, row: u32) {
            self.0.write().unwrap().push(row);
        }
    }
    let table = Arc::new(Table::default());
    let other = table.clone();
    let thread = thread::spawn(move || (0..2).for_each(|row| other.push(row)));
    table.push(7);
    assert!(table.last(fixed).is_some());
    thread.join().unwrap();
}

/// Two threads write, and one reads twice.
fn reads_beside_two(fixed: bool) {
    let value = Arc::new(parking_lot::RwLock::new([0; 2]));
    let threads: Vec<_> = (0..2)
        .map(|at| {
            let value = value.clone();
            thread::spawn(move || value.write()[at] += 1)
        })
        .collect();
    let seen = value.read();
    let sum = seen[0] + if fixed { seen[1] } else { value.read()[1] };
    assert!(sum <= 2);
    drop(seen);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Two threads read two locks in different orders, beside writers. Fixed: both use the same order.
fn reads_of_two(fixed: bool) {
    let locks = Arc::new([0, 1].map(RwLock::new));
    let read = |first: usize, second: usize| {
        let locks = locks.clone();
        move || {
            let first = locks[first].read().unwrap();
            let second = locks[second].read().unwrap();
            assert!(*first + *second < 9);
        }
    };
    let reader = thread::spawn(if fixed { read(0, 1) } else { read(1, 0) });
    let writers = [0, 1].map(|at| {
        let locks = locks.clone();
        thread::spawn(move || *locks[at].write().unwrap() += 1)
    });
    read(0, 1)();
    reader.join().unwrap();
    writers.into_iter().for_each(|writer| writer.join().unwrap());
}

fn runner(name: &str) -> Runner {
    let out = format!("{}/shares", env!("CARGO_TARGET_TMPDIR"));
    Runner::new().hermetic().name(name.replace([' ', ','], "_")).out(out)
}

#[test]
fn planted_bugs_are_found_within_their_seeds() {
    let mut missed = Vec::new();
    for Planted { name, seeds, buggy, .. } in PLANTED {
        let report = runner(name).seeds(0..10 * seeds).run_native(*buggy);
        let Some(found) = report.finding else {
            missed.push((*name, 10 * seeds));
            continue;
        };
        eprintln!("{name}: seed {}", found.run.seed.0);
        if found.run.seed.0 >= *seeds {
            missed.push((*name, found.run.seed.0));
        }
        let outcome = &found.run.outcome;
        let meant =
            matches!(outcome, Outcome::Failed(Failure::Panic { .. } | Failure::Deadlock { .. }));
        assert!(meant, "{name}: {outcome:?}");
        // The trace has the decision: no setting is needed.
        let file = found.trace_file.as_ref().expect("the trace is written");
        let again = runner(name).replay(file).run_native(*buggy).finding;
        assert_eq!(again.map(|again| again.run.outcome), Some(outcome.clone()), "{name}");
    }
    assert!(missed.is_empty(), "not found, or at a later seed: {missed:?}");
}

#[test]
fn the_same_programs_without_the_bugs_pass() {
    let long = std::env::var_os("UNPAUSE_LONG").is_some();
    for Planted { name, fixed, .. } in PLANTED {
        let report = runner(name).seeds(0..if long { 20_000 } else { 300 }).run_native(*fixed);
        assert!(report.finding.is_none(), "{name}: {:?}", report.finding);
    }
}

/// Without the counts nothing of this kind is found, so the first test has found it by them.
#[test]
fn a_setting_keeps_the_counts_out_of_all_runs() {
    for Planted { name, buggy, .. } in &PLANTED[..3] {
        let report = runner(name).arc(false).seeds(0..300).run_native(*buggy);
        assert!(report.finding.is_none(), "{name}: {:?}", report.finding);
    }
}

/// If counts are points, each row is at a line of the program or of std, even when the first thread drops a value
/// from this library.
#[test]
fn counts_are_at_lines_of_the_program() {
    fn body() {
        let value = Arc::new(());
        let other = value.clone();
        thread::spawn(move || {
            drop(other);
            std::process::abort();
        });
        drop(value);
    }
    let mut rows = 0;
    for seed in 0..200 {
        let runner = Runner::new().hermetic().arc(true).shrink(false);
        let report = runner.seeds(seed..seed + 1).run_native(body);
        let Some(finding) = report.finding else { continue };
        let Outcome::Failed(Failure::Crash { .. }) = &finding.run.outcome else {
            panic!("{:?}", finding.run.outcome)
        };
        for event in &finding.run.events {
            let file = event.place.file();
            assert!(file.starts_with("tests/") || file.starts_with("std/"), "{seed}: {event:?}");
            rows += 1;
        }
    }
    assert!(rows > 500, "{rows}");
}
