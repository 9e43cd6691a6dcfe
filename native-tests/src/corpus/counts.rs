//! Counted references and handles, and similar shared state (internment, RUSTSEC-2020-0017; async-channel, pull request
//! 60; lock_api, commit da16c2c; tokio, pull request 6683).

use super::sync::atomic::{AtomicBool, AtomicI64, Ordering::SeqCst};
use super::sync::{Arc, Mutex};
use super::{Program, on, together};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[
    Program { name: "intern_drop", seeds: 250, buggy: || intern(false), fixed: || intern(true) },
    Program { name: "weak_upgrade", seeds: 100, buggy: || upgrade(false), fixed: || upgrade(true) },
    Program {
        name: "reentrant_unlock",
        seeds: 200,
        buggy: || reentrant(false),
        fixed: || reentrant(true),
    },
    Program { name: "timer_lost", seeds: 150, buggy: || timers(false), fixed: || timers(true) },
    Program { name: "hazard_pointer", seeds: 200, buggy: || hazard(false), fixed: || hazard(true) },
];

/// The last reference is dropped while the table returns a new reference. Fixed: references are dropped under the lock
/// of the table.
fn intern(fixed: bool) {
    struct Shared {
        /// True if the table contains the entry.
        table: Mutex<bool>,
        references: AtomicI64,
        freed: AtomicBool,
    }
    let shared = Arc::new(Shared {
        table: Mutex::new(true),
        references: AtomicI64::new(1),
        freed: AtomicBool::new(false),
    });
    let dropper = on(&shared, move |Shared { table, references, freed }| {
        let held = fixed.then(|| table.lock().unwrap());
        if references.fetch_sub(1, SeqCst) != 1 {
            return;
        }
        *held.unwrap_or_else(|| table.lock().unwrap()) = false;
        freed.store(true, SeqCst);
    });
    let user = on(&shared, |Shared { table, references, freed }| {
        let entry = table.lock().unwrap();
        if !*entry {
            return;
        }
        references.fetch_add(1, SeqCst);
        drop(entry);
        assert!(!freed.load(SeqCst), "used after it was freed");
    });
    together([dropper, user]);
}

/// A weak handle that is upgraded on a closed channel. It increments the count, and resets it if it was 0. Another
/// thread may see the count in between. Fixed: a compare-exchange that never changes 0.
fn upgrade(fixed: bool) {
    let handles = Arc::new(AtomicI64::new(0));
    let upgrader = || {
        on(&handles, move |handles| {
            if !fixed {
                let others = handles.fetch_add(1, SeqCst);
                assert_eq!(others, 0, "upgraded although the channel is closed");
                handles.store(0, SeqCst);
                return;
            }
            let mut seen = handles.load(SeqCst);
            while seen != 0 {
                match handles.compare_exchange(seen, seen + 1, SeqCst, SeqCst) {
                    Ok(_) => panic!("upgraded although the channel is closed"),
                    Err(now) => seen = now,
                }
            }
        })
    };
    together([upgrader(), upgrader()]);
}

/// A reentrant mutex is released before its count is reset. Needs two preemptions. Fixed: the count is reset first.
fn reentrant(fixed: bool) {
    let lock = Arc::new((Mutex::new(()), AtomicI64::new(0)));
    let thread = || {
        on(&lock, move |(mutex, count)| {
            let held = mutex.lock().unwrap();
            count.store(1, SeqCst);
            assert_eq!(count.load(SeqCst), 1, "the count of whoever holds the lock");
            let held = Some(held).filter(|_| fixed);
            count.store(0, SeqCst);
            drop(held);
        })
    };
    together([thread(), thread()]);
}

/// A timer never fires: it is inserted after the search for the earliest deadline, but before this deadline is stored.
/// Fixed: the driver holds the locks until it has stored the earliest deadline.
fn timers(fixed: bool) {
    struct Timers {
        /// The earliest deadline of each shard.
        shards: [Mutex<i64>; 2],
        /// The time at which the driver wakes up; in the past while the driver runs.
        next_wake: AtomicI64,
        woken: AtomicBool,
    }
    let timers = Arc::new(Timers {
        shards: [100, 100].map(Mutex::new),
        next_wake: AtomicI64::new(0),
        woken: AtomicBool::new(false),
    });
    let driver = on(&timers, move |Timers { shards, next_wake, .. }| {
        let first = shards[0].lock().unwrap();
        let mut earliest = *first;
        let first = Some(first).filter(|_| fixed);
        let second = shards[1].lock().unwrap();
        earliest = earliest.min(*second);
        let second = Some(second).filter(|_| fixed);
        next_wake.store(earliest, SeqCst);
        drop((first, second));
    });
    let inserter = on(&timers, |Timers { shards, next_wake, woken }| {
        *shards[0].lock().unwrap() = 10;
        if next_wake.load(SeqCst) > 10 {
            woken.store(true, SeqCst);
        }
    });
    together([driver, inserter]);
    let woken = timers.woken.load(SeqCst);
    assert!(woken || timers.next_wake.load(SeqCst) <= 10, "no thread wakes up in time");
}

/// A hazard pointer is set but not validated, so the protected node may already be freed. Fixed: the pointer is read
/// again after it is protected.
fn hazard(fixed: bool) {
    struct Shared {
        pointer: AtomicI64,
        hazard: AtomicI64,
        freed: [AtomicBool; 3],
    }
    let shared = Arc::new(Shared {
        pointer: AtomicI64::new(1),
        hazard: AtomicI64::new(0),
        freed: [const { AtomicBool::new(false) }; 3],
    });
    let reader = on(&shared, move |Shared { pointer, hazard, freed }| {
        for _ in 0..3 {
            let object = pointer.load(SeqCst);
            hazard.store(object, SeqCst);
            if fixed && pointer.load(SeqCst) != object {
                continue;
            }
            assert!(!freed[object as usize].load(SeqCst), "used after it was freed");
            break;
        }
        hazard.store(0, SeqCst);
    });
    let writer = on(&shared, |Shared { pointer, hazard, freed }| {
        let old = pointer.swap(2, SeqCst);
        if hazard.load(SeqCst) != old {
            freed[old as usize].store(true, SeqCst);
        }
    });
    together([reader, writer]);
}
