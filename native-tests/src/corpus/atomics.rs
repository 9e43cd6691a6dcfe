//! Words that are read or written one after the other, but not atomically (Qadeer and Wu, *KISS*, PLDI 2004; SCTBench:
//! bluetooth_driver, reorder_3 to reorder_20).

use super::sync::atomic::{AtomicBool, AtomicI64, Ordering::SeqCst};
use super::sync::{Arc, Mutex};
use super::{Program, on, together};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[
    Program {
        name: "bluetooth",
        seeds: 400,
        buggy: || bluetooth(false),
        fixed: || bluetooth(true),
    },
    Program {
        name: "reorder_3",
        seeds: 300,
        buggy: || reorder(2, 1, false),
        fixed: || reorder(2, 1, true),
    },
    Program {
        name: "reorder_4",
        seeds: 400,
        buggy: || reorder(3, 1, false),
        fixed: || reorder(3, 1, true),
    },
    Program {
        name: "reorder_5",
        seeds: 500,
        buggy: || reorder(4, 1, false),
        fixed: || reorder(4, 1, true),
    },
    Program {
        name: "reorder_10",
        seeds: 800,
        buggy: || reorder(9, 1, false),
        fixed: || reorder(9, 1, true),
    },
    Program {
        name: "reorder_20",
        seeds: 500,
        buggy: || reorder(10, 10, false),
        fixed: || reorder(10, 10, true),
    },
    Program { name: "seqlock", seeds: 150, buggy: || seqlock(false), fixed: || seqlock(true) },
    Program { name: "snapshot", seeds: 100, buggy: || snapshot(false), fixed: || snapshot(true) },
    Program { name: "lagging_copy", seeds: 200, buggy: || lagging(false), fixed: || lagging(true) },
    Program {
        name: "map_length",
        seeds: 200,
        buggy: || map_length(false),
        fixed: || map_length(true),
    },
    Program {
        name: "set_compaction",
        seeds: 300,
        buggy: || compaction(false),
        fixed: || compaction(true),
    },
];

/// A driver that is stopped while it is in use.
struct Driver {
    /// The number of users, plus one until the driver is stopped.
    pending: AtomicI64,
    stopping: AtomicBool,
    idle: AtomicBool,
    stopped: AtomicBool,
}

impl Driver {
    fn release(&self) {
        if self.pending.fetch_sub(1, SeqCst) == 1 {
            self.idle.store(true, SeqCst);
        }
    }
}

/// A thread checks if the driver may be used, then registers as a user. Fixed: it registers first, then checks.
fn bluetooth(fixed: bool) {
    let driver = Arc::new(Driver {
        pending: AtomicI64::new(1),
        stopping: AtomicBool::new(false),
        idle: AtomicBool::new(false),
        stopped: AtomicBool::new(false),
    });
    let user = on(&driver, move |driver| {
        if fixed {
            driver.pending.fetch_add(1, SeqCst);
        }
        if !driver.stopping.load(SeqCst) {
            if !fixed {
                driver.pending.fetch_add(1, SeqCst);
            }
            assert!(!driver.stopped.load(SeqCst), "used after it was stopped");
        }
        driver.release();
    });
    let stopper = on(&driver, |driver| {
        driver.stopping.store(true, SeqCst);
        driver.release();
        if driver.idle.load(SeqCst) {
            driver.stopped.store(true, SeqCst);
        }
    });
    together([user, stopper]);
}

/// A checker runs between the two stores of one setter, before any second store. Fixed: the two words are written and
/// checked under a lock.
fn reorder(setters: usize, checkers: usize, fixed: bool) {
    #[derive(Default)]
    struct Shared {
        lock: Mutex<()>,
        a: AtomicI64,
        b: AtomicI64,
    }
    let shared = Arc::new(Shared::default());
    let setter = |_| {
        on(&shared, move |Shared { lock, a, b }| {
            let _lock = fixed.then(|| lock.lock().unwrap());
            a.store(1, SeqCst);
            b.store(-1, SeqCst);
        })
    };
    let checker = |_| {
        on(&shared, move |Shared { lock, a, b }| {
            let _lock = fixed.then(|| lock.lock().unwrap());
            let none = a.load(SeqCst) == 0 && b.load(SeqCst) == 0;
            let both = none || a.load(SeqCst) == 1 && b.load(SeqCst) == -1;
            assert!(both, "one without the other");
        })
    };
    together((0..setters).map(setter).chain((0..checkers).map(checker)));
}

/// A sequence lock that increments its count only after both halves. Fixed: the count is odd during the writes.
fn seqlock(fixed: bool) {
    #[derive(Default)]
    struct Shared {
        count: AtomicI64,
        a: AtomicI64,
        b: AtomicI64,
    }
    let shared = Arc::new(Shared::default());
    let writer = on(&shared, move |Shared { count, a, b }| {
        for value in 1..=2 {
            if fixed {
                count.fetch_add(1, SeqCst);
            }
            a.store(value, SeqCst);
            b.store(value, SeqCst);
            count.fetch_add(if fixed { 1 } else { 2 }, SeqCst);
        }
    });
    let reader = on(&shared, |Shared { count, a, b }| {
        for _ in 0..3 {
            let before = count.load(SeqCst);
            if before % 2 == 1 {
                continue;
            }
            let read = (a.load(SeqCst), b.load(SeqCst));
            if count.load(SeqCst) == before {
                assert_eq!(read.0, read.1, "two halves of different values");
                return;
            }
        }
    });
    together([writer, reader]);
}

/// A snapshot that reads cell by cell may contain the second update without the first. Fixed: the cells are read until
/// two reads are equal.
fn snapshot(fixed: bool) {
    let cells = Arc::new([const { AtomicBool::new(false) }; 2]);
    let writer = on(&cells, |cells| cells.iter().for_each(|cell| cell.store(true, SeqCst)));
    let reader = on(&cells, move |cells| {
        let scan = || (cells[0].load(SeqCst), cells[1].load(SeqCst));
        let mut seen = scan();
        while fixed {
            let again = scan();
            if again == seen {
                break;
            }
            seen = again;
        }
        assert_ne!(seen, (false, true), "the second update without the first");
    });
    together([writer, reader]);
}

/// A register with a lagging copy: a client reads the new value, then the old one. Fixed: the copy is not read.
fn lagging(fixed: bool) {
    let copies = Arc::new([const { AtomicI64::new(0) }; 2]);
    let writer = on(&copies, |copies| copies.iter().for_each(|copy| copy.store(1, SeqCst)));
    let reader = on(&copies, move |copies| {
        let first = copies[0].load(SeqCst);
        let second = copies[usize::from(!fixed)].load(SeqCst);
        assert!(first <= second, "the old value after the new one");
    });
    together([writer, reader]);
}

/// A map that counts a new entry only after the entry is visible. Fixed: all accesses hold a lock.
fn map_length(fixed: bool) {
    #[derive(Default)]
    struct Small {
        value: AtomicI64,
        length: AtomicI64,
        lock: Mutex<()>,
    }
    let map = Arc::new(Small::default());
    let writer = on(&map, move |Small { value, length, lock }| {
        let _lock = fixed.then(|| lock.lock().unwrap());
        if value.swap(7, SeqCst) == 0 {
            length.fetch_add(1, SeqCst);
        }
    });
    let reader = on(&map, move |Small { value, length, lock }| {
        let _lock = fixed.then(|| lock.lock().unwrap());
        assert!(
            value.load(SeqCst) == 0 || length.load(SeqCst) == 1,
            "an entry that is not counted"
        );
    });
    together([writer, reader]);
}

/// A key is moved to another place and back, while a search looks in both places one after the other. Needs two
/// preemptions. Fixed: moves and searches hold a lock.
fn compaction(fixed: bool) {
    let shared = Arc::new((Mutex::new(()), AtomicI64::new(5), AtomicI64::new(0)));
    let mover = on(&shared, move |(lock, first, second)| {
        let _lock = fixed.then(|| lock.lock().unwrap());
        second.store(5, SeqCst);
        first.store(0, SeqCst);
        first.store(5, SeqCst);
        second.store(0, SeqCst);
    });
    let searcher = on(&shared, move |(lock, first, second)| {
        let _lock = fixed.then(|| lock.lock().unwrap());
        assert!(first.load(SeqCst) == 5 || second.load(SeqCst) == 5, "the key is in neither place");
    });
    together([mover, searcher]);
}
