//! Searches over programs with std's primitives: an exhaustive search sees the same outcomes as all interleavings.
//! Most of these primitives wait in functions that std contains compiled, which are replaced when the program is linked.

use std::collections::BTreeSet;
use std::fmt::{Debug, Write as _};
use std::fs::{self, OpenOptions};
use std::hint::black_box;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, RwLockWriteGuard};
use std::thread;
use std::time::Duration;

/// The folder with the outcomes of runs: their memory ends with them, and statics are initialized again.
const FOLDER: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/std_search");

/// Longer than any run: a wait that times out does so because no thread can continue.
const SHORT: Duration = Duration::from_millis(5);

/// Records the outcome of a run of a program.
fn outcome(program: &str, outcome: impl Debug) {
    let mut line = String::new();
    writeln!(line, "{outcome:?}").unwrap();
    let path = format!("{FOLDER}/{program}");
    let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
    file.write_all(line.as_bytes()).unwrap();
}

/// Takes the outcomes recorded so far.
fn outcomes(program: &str) -> BTreeSet<String> {
    let path = format!("{FOLDER}/{program}");
    let text = fs::read_to_string(&path).unwrap_or_default();
    let _ = fs::remove_file(path);
    text.lines().map(str::to_owned).collect()
}

/// Runs `there` on a thread and `here` beside it, with a shared value. Returns both results.
fn two<S: Send + Sync + 'static, T: Send + 'static>(
    shared: S,
    there: fn(&S) -> T,
    here: fn(&S) -> T,
) -> (T, T, Arc<S>) {
    let shared = Arc::new(shared);
    let other = shared.clone();
    let thread = thread::spawn(move || there(&other));
    let here = here(&shared);
    (thread.join().unwrap(), here, shared)
}

fn runner(strategy: &str, runs: u64) -> sim::Runner {
    sim::Runner::new().hermetic().strategy(strategy).seeds(0..runs).prove(0).why(0)
}

/// The failure of a report, as text.
fn failure(report: &sim::report::Report) -> String {
    format!("{:?}", report.finding.as_ref().map(|finding| &finding.run.outcome))
}

/// Compares the outcomes of an exhaustive search with the outcomes of all interleavings, or of many random runs where
/// there are too many.
fn compare(program: &str, body: fn()) {
    fs::create_dir_all(FOLDER).unwrap();
    drop(outcomes(program));
    let report = runner("exhaustive", 100_000).run_native(body);
    let searched = report.searched.clone().unwrap();
    let by_search = outcomes(program);
    let all = runner("preemptions", 400_000).run_native(body);
    assert!(all.finding.is_none(), "{program}: {}", failure(&all));
    let bounded = all.searched.clone().unwrap();
    if !bounded.is_proof() {
        assert!(runner("random", 20_000).run_native(body).finding.is_none());
    }
    let by_force = outcomes(program);
    eprintln!(
        "{program}: {} classes, {} abandoned; {} interleavings, {}; outcomes {by_search:?}",
        report.runs,
        searched.blocked,
        all.runs,
        if bounded.is_proof() { "all" } else { "not all" },
    );
    assert!(searched.is_proof(), "{program}: {}: {searched:?}", failure(&report));
    assert_eq!(by_search, by_force, "{program}");
    assert!(!by_search.is_empty(), "{program}");
}

/// A test that compares the outcomes of a program.
macro_rules! programs {
    ($($name:ident $body:block)*) => {$(
        #[test]
        fn $name() {
            fn body() {
                outcome(stringify!($name), $body);
            }
            compare(stringify!($name), body);
        }
    )*};
}

fn add_locked(lock: &Mutex<u64>) -> u64 {
    let mut value = lock.lock().unwrap();
    *value += 1;
    *value
}

fn add_writing(lock: &RwLock<u64>) -> u64 {
    let mut value = lock.write().unwrap();
    *value += 1;
    *value
}

programs! {
    mutex {
        let (there, here, _) = two(Mutex::new(0), add_locked, add_locked);
        (there, here)
    }
    try_lock {
        let (there, here, shared) = two(
            Mutex::new(0),
            |m| m.try_lock().map_or(7, |mut value| { *value += 1; *value }),
            add_locked,
        );
        (there, here, *shared.lock().unwrap())
    }
    read_and_write {
        let (seen, ..) = two(
            RwLock::new(0),
            |l| *l.read().unwrap(),
            |l| { *l.write().unwrap() = 1; 0 },
        );
        seen
    }
    two_writers {
        let (there, here, _) = two(RwLock::new(0), add_writing, add_writing);
        (there, here)
    }
    try_read {
        let (seen, ..) = two(
            RwLock::new(0),
            |l| l.try_read().map_or(7, |value| *value),
            |l| { *l.write().unwrap() = 1; 0 },
        );
        seen
    }
    downgrade {
        let (there, here, _) = two(
            RwLock::new(0),
            |l| *l.read().unwrap(),
            |l| {
                let mut value = l.write().unwrap();
                *value = 1;
                *RwLockWriteGuard::downgrade(value)
            },
        );
        (there, here)
    }
    condvar_flag {
        let (waits, ..) = two(
            (Mutex::new(false), Condvar::new()),
            |(flag, changed)| {
                let (mut flag, mut waits) = (flag.lock().unwrap(), 0);
                while !*flag {
                    waits = 1;
                    flag = changed.wait(flag).unwrap();
                }
                waits
            },
            |(flag, changed)| { *flag.lock().unwrap() = true; changed.notify_one(); 0 },
        );
        waits
    }
    once_lock_init {
        let (there, here, _) =
            two(OnceLock::new(), |cell| *cell.get_or_init(|| 1), |cell| *cell.get_or_init(|| 2));
        (there, here)
    }
    once_lock_set_and_get {
        let (there, here, cell) = two(
            OnceLock::new(),
            |cell| (cell.set(1).is_ok(), None),
            |cell| { let seen = cell.get().copied(); (cell.set(2).is_ok(), seen) },
        );
        (there, here, cell.get().copied())
    }
    once_poisoned {
        let (there, here, _) = two(
            Once::new(),
            |once| {
                let fails = || once.call_once(|| resume_unwind(Box::new(())));
                let failed = catch_unwind(AssertUnwindSafe(fails)).is_err();
                (failed, once.is_completed())
            },
            |once| {
                let mut was_poisoned = None;
                once.call_once_force(|state| was_poisoned = Some(state.is_poisoned()));
                (was_poisoned.is_some(), was_poisoned == Some(true))
            },
        );
        (there, here)
    }
    once_wait {
        let (there, ..) = two(
            (Once::new(), AtomicU64::new(0)),
            |(once, step)| { let before = step.load(SeqCst); once.wait(); (before, step.load(SeqCst)) },
            |(once, step)| {
                once.call_once(|| step.store(1, SeqCst));
                step.store(2, SeqCst);
                (0, 0)
            },
        );
        there
    }
    lazy_lock {
        type Shared = (LazyLock<u64>, AtomicU64);
        let shared: Shared = (LazyLock::new(|| 5), AtomicU64::new(0));
        let act = |(lazy, turn): &Shared| (**lazy, turn.fetch_add(1, SeqCst));
        let (there, here, _) = two(shared, act, act);
        (there, here)
    }
    barrier {
        let act = |(barrier, turn): &(Barrier, AtomicU64)| {
            let turn = turn.fetch_add(1, SeqCst);
            (turn, barrier.wait().is_leader())
        };
        let (there, here, _) = two((Barrier::new(2), AtomicU64::new(0)), act, act);
        (there, here)
    }
    park_and_flag {
        let flag = Arc::new(AtomicU64::new(0));
        let other = flag.clone();
        let thread = thread::spawn(move || {
            let mut parked = 0;
            while other.load(SeqCst) == 0 {
                parked += 1;
                thread::park();
            }
            parked
        });
        flag.store(1, SeqCst);
        thread.thread().unpark();
        thread.join().unwrap()
    }
    two_unparks {
        let step = Arc::new(AtomicU64::new(0));
        let other = step.clone();
        let thread = thread::spawn(move || {
            thread::park();
            other.load(SeqCst)
        });
        thread.thread().unpark();
        step.store(1, SeqCst);
        thread.thread().unpark();
        step.store(2, SeqCst);
        thread.join().unwrap()
    }
    scoped {
        let value = AtomicU64::new(0);
        thread::scope(|scope| {
            scope.spawn(|| value.store(1, SeqCst));
            value.store(2, SeqCst);
        });
        value.load(SeqCst)
    }
    token_of_a_scope {
        let flag = Arc::new(AtomicU64::new(0));
        thread::scope(|scope| {
            scope.spawn(|| flag.store(1, SeqCst));
        });
        let (me, other) = (thread::current(), flag.clone());
        let thread = thread::spawn(move || {
            other.store(2, SeqCst);
            me.unpark();
        });
        thread::park();
        let seen = flag.load(SeqCst);
        thread.join().unwrap();
        seen
    }
}

/// Time moves when no thread can continue. This is an effect of all threads, so a search is not a proof.
#[test]
fn a_timed_wait_is_no_proof() {
    fn body() {
        let (seen, ..) = two(
            (Mutex::new(0), Condvar::new()),
            |(value, changed)| {
                let value = value.lock().unwrap();
                let (value, timeout) = changed.wait_timeout(value, SHORT).unwrap();
                (*value, timeout.timed_out())
            },
            |(value, changed)| {
                *value.lock().unwrap() = 1;
                changed.notify_one();
                (0, false)
            },
        );
        outcome("wait_timeout", seen);
    }
    fs::create_dir_all(FOLDER).unwrap();
    drop(outcomes("wait_timeout"));
    let report = runner("exhaustive", 100_000).run_native(body);
    let by_search = outcomes("wait_timeout");
    assert!(runner("preemptions", 400_000).run_native(body).finding.is_none());
    assert_eq!(by_search, outcomes("wait_timeout"));
    eprintln!("wait_timeout: {} classes, {by_search:?}", report.runs);
    let searched = report.searched.unwrap();
    assert!(searched.complete && !searched.is_proof(), "{searched:?}");
}

/// The end of a thread and the mark on a poisoned lock are not points, but the functions that show them are.
#[test]
fn a_thread_that_ends_or_panics_is_seen_before_it_and_after_it() {
    fn end() {
        let thread = thread::spawn(|| ());
        outcome("is_finished", thread.is_finished());
        thread.join().unwrap();
    }
    fn panic() {
        let lock = Arc::new(Mutex::new(()));
        let other = lock.clone();
        let thread = thread::spawn(move || {
            let _held = other.lock().unwrap();
            resume_unwind(Box::new(()));
        });
        outcome("is_poisoned", lock.is_poisoned());
        assert!(thread.join().is_err());
    }
    /// The compiler merges the two calls of `is_poisoned`.
    fn merged() {
        let locks = Arc::new((Mutex::new(()), RwLock::new(())));
        let other = locks.clone();
        let thread = thread::spawn(move || {
            let _held = other.0.lock().unwrap();
            resume_unwind(Box::new(()));
        });
        let is_poisoned = match black_box(true) {
            true => locks.0.is_poisoned(),
            false => locks.1.is_poisoned(),
        };
        outcome("merged", is_poisoned);
        assert!(thread.join().is_err());
    }
    fs::create_dir_all(FOLDER).unwrap();
    let programs = [("is_finished", end as fn()), ("is_poisoned", panic), ("merged", merged)];
    for (program, body) in programs {
        drop(outcomes(program));
        let report = runner("exhaustive", 10_000).run_native(body);
        assert!(report.finding.is_none(), "{program}: {}", failure(&report));
        assert_eq!(outcomes(program), BTreeSet::from(["false", "true"].map(str::to_owned)));
        assert!(!report.searched.unwrap().is_proof(), "{program}");
    }
}

/// The number of the first failing run of `planted` by each strategy; the fixed twin passes them all, with a proof.
fn finds(name: &str, planted: fn(), fixed: fn()) {
    let mut found = Vec::new();
    for (strategy, runs) in
        [("random", 2000), ("pct", 2000), ("portfolio", 2000), ("exhaustive", 100_000)]
    {
        let report = runner(strategy, runs).run_native(planted);
        assert!(
            report.finding.is_some(),
            "{name}: {strategy} finds nothing in {} runs",
            report.runs
        );
        found.push((strategy, report.runs));
        let report = runner(strategy, runs).run_native(fixed);
        assert!(report.finding.is_none(), "{name}, fixed, {strategy}: {}", failure(&report));
        let proof = report.searched.as_ref().is_none_or(|searched| searched.is_proof());
        assert!(proof, "{name}, fixed: {}", failure(&report));
    }
    eprintln!("{name}: {found:?}");
}

#[test]
fn a_notification_between_check_and_wait_is_found() {
    fn planted() {
        two(
            (AtomicU64::new(0), Mutex::new(()), Condvar::new()),
            |(flag, lock, changed)| {
                let mut guard = lock.lock().unwrap();
                while flag.load(SeqCst) == 0 {
                    guard = changed.wait(guard).unwrap();
                }
            },
            |(flag, _, changed)| {
                flag.store(1, SeqCst);
                changed.notify_one();
            },
        );
    }
    fn fixed() {
        two(
            (AtomicU64::new(0), Mutex::new(()), Condvar::new()),
            |(flag, lock, changed)| {
                let mut guard = lock.lock().unwrap();
                while flag.load(SeqCst) == 0 {
                    guard = changed.wait(guard).unwrap();
                }
            },
            |(flag, lock, changed)| {
                let _guard = lock.lock().unwrap();
                flag.store(1, SeqCst);
                changed.notify_one();
            },
        );
    }
    finds("notification between check and wait", planted, fixed);
}

#[test]
fn a_once_lock_that_is_read_and_then_set_is_found() {
    fn planted() {
        let set = |cell: &OnceLock<u64>| {
            if cell.get().is_none() {
                cell.set(1).unwrap();
            }
        };
        two(OnceLock::new(), set, set);
    }
    fn fixed() {
        let set = |cell: &OnceLock<u64>| {
            cell.get_or_init(|| 1);
        };
        two(OnceLock::new(), set, set);
    }
    finds("OnceLock, get and then set", planted, fixed);
}

#[test]
fn a_failed_initialiser_with_a_waiter_is_found() {
    fn fails(once: &Once) {
        let fails = || once.call_once(|| resume_unwind(Box::new(())));
        let _ = catch_unwind(AssertUnwindSafe(fails));
    }
    fn planted() {
        two(
            (Once::new(), AtomicU64::new(0)),
            |(once, begun)| {
                begun.store(1, SeqCst);
                fails(once);
            },
            |(once, begun)| {
                // It may run beside the failing initialization.
                if begun.load(SeqCst) == 1 {
                    once.call_once(|| ());
                }
            },
        );
    }
    fn fixed() {
        two(
            (Once::new(), AtomicU64::new(0)),
            |(once, begun)| {
                begun.store(1, SeqCst);
                fails(once);
            },
            |(once, begun)| {
                if begun.load(SeqCst) == 1 {
                    once.call_once_force(|_| ());
                }
            },
        );
    }
    finds("failed initialiser", planted, fixed);
}
