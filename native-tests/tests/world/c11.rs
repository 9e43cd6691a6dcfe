//! Locks and threads of C11: each waits in the run, and is seen by searches. Planted bugs beside the same programs
//! without them.

use std::ffi::{c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use planted::c11::{self, BUSY, Condvar, ERROR, Key, Mutex, Once, TIMED_OUT};
use sim::run::{Failure, Outcome};

fn runner() -> sim::Runner {
    sim::Runner::new().hermetic()
}

fn search() -> sim::Runner {
    runner().strategy("exhaustive").seeds(0..200_000)
}

fn grow(word: &AtomicU32) {
    let seen = word.load(SeqCst);
    word.store(seen + 1, SeqCst);
}

/// Two threads change a word in two parts, the first of them within the lock only if `both`.
fn contended(both: bool) {
    let shared = Arc::new((Mutex::new(0), AtomicU32::new(0)));
    let other = shared.clone();
    let thread = thread::spawn(move || {
        assert_eq!(other.0.lock(), 0);
        grow(&other.1);
        assert_eq!(other.0.unlock(), 0);
    });
    if both {
        assert_eq!(shared.0.lock(), 0);
    }
    grow(&shared.1);
    if both {
        assert_eq!(shared.0.unlock(), 0);
    }
    thread.join().unwrap();
    assert_eq!(shared.1.load(SeqCst), 2, "an update was lost");
}

#[test]
fn a_mutex_excludes_others_and_a_missing_one_is_found() {
    for runner in [runner().seeds(0..300), search()] {
        assert!(runner.run_native(|| contended(true)).finding.is_none());
        let wrong = runner.run_native(|| contended(false)).finding.expect("an update is lost");
        assert!(matches!(wrong.run.outcome, Outcome::Failed(Failure::Panic { .. })));
    }
    assert!(search().run_native(|| contended(true)).searched.unwrap().is_proof());
}

/// A queue of one value. `signals` selects the announcement of the value.
fn queue(signals: bool) {
    let shared = Arc::new((Mutex::new(0), Condvar::new(), AtomicU32::new(0)));
    let other = shared.clone();
    let consumer = thread::spawn(move || {
        let (mutex, condvar, value) = &*other;
        assert_eq!(mutex.lock(), 0);
        while value.load(SeqCst) == 0 {
            assert_eq!(condvar.wait(mutex), 0);
        }
        assert_eq!(mutex.unlock(), 0);
    });
    let (mutex, condvar, value) = &*shared;
    assert_eq!(mutex.lock(), 0);
    value.store(1, SeqCst);
    if signals {
        assert_eq!((condvar.signal(), condvar.broadcast()), (0, 0));
    }
    assert_eq!(mutex.unlock(), 0);
    consumer.join().unwrap();
}

#[test]
fn a_condition_variable_wakes_and_a_missing_signal_is_a_deadlock() {
    let runner = runner().seeds(0..300);
    assert!(runner.run_native(|| queue(true)).finding.is_none());
    let wrong = runner.run_native(|| queue(false)).finding.expect("nobody wakes the consumer");
    assert!(matches!(wrong.run.outcome, Outcome::Failed(Failure::Deadlock { .. })));
}

#[sim::test(native, seeds = 100)]
fn results_have_the_numbers_of_c11() {
    let [plain, recursive] = [0, 1].map(Mutex::new);
    let limit = Duration::from_millis(50);
    let condvar = Condvar::new();
    assert_eq!((plain.lock(), recursive.lock(), recursive.lock()), (0, 0, 0));
    assert_eq!(condvar.timed_wait(&plain, limit), TIMED_OUT);
    thread::scope(|scope| {
        scope.spawn(|| {
            assert_eq!((plain.try_lock(), recursive.try_lock()), (BUSY, BUSY));
            assert_eq!((plain.timed_lock(limit), recursive.unlock()), (TIMED_OUT, ERROR));
        });
    });
    assert_eq!((plain.unlock(), recursive.unlock(), recursive.unlock()), (0, 0, 0));
}

static CALLS: AtomicU32 = AtomicU32::new(0);

extern "C" fn count() {
    CALLS.fetch_add(1, SeqCst);
    thread::yield_now();
    CALLS.fetch_add(1, SeqCst);
}

#[sim::test(native, seeds = 300)]
fn a_once_calls_its_function_once_and_others_wait() {
    let once = Once::new();
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                once.call(count);
                assert_eq!(CALLS.load(SeqCst), 2);
            });
        }
    });
}

/// The number of threads that run at the same time, and the highest such number.
static RUNNING: AtomicU32 = AtomicU32::new(0);
static MOST: AtomicU32 = AtomicU32::new(0);

extern "C-unwind" fn negative(argument: *mut c_void) -> c_int {
    MOST.fetch_max(RUNNING.fetch_add(1, SeqCst) + 1, SeqCst);
    assert_eq!(c11::rest(Duration::from_secs(3600)), 0);
    RUNNING.fetch_sub(1, SeqCst);
    -(argument as usize as c_int)
}

#[sim::test(native, seeds = 50)]
fn a_thread_returns_its_value_and_may_end_early() {
    assert_eq!((c11::value_of(negative, 7), c11::value_of(c11::end_early, 8)), (-7, 8));
    let other = thread::spawn(|| c11::value_of(negative, 9));
    assert_eq!((c11::value_of(negative, 1), other.join().unwrap()), (-1, -9));
    // Threads that sleep for an hour of virtual time are asleep together.
    assert_eq!(MOST.load(SeqCst), 2);
}

/// The sum of the arguments of the destructor.
static SUM: AtomicUsize = AtomicUsize::new(0);

extern "C" fn add(value: *mut c_void) {
    SUM.fetch_add(value as usize, SeqCst);
}

/// A run ends the keys that it creates, and libc has only 1,024 keys.
#[test]
fn values_of_threads_end_with_them_and_keys_with_the_run() {
    let report = runner().seeds(0..1_100).run_native(|| {
        let (key, deleted) = (Key::new(add), Key::new(add));
        deleted.delete();
        let both = move || (key.exchange(3), key.exchange(4));
        assert_eq!(both(), (0, 3));
        assert_eq!(thread::spawn(both).join().unwrap(), (0, 3));
        assert_eq!((SUM.load(SeqCst), key.exchange(0)), (4, 4));
    });
    assert!(report.passed(), "{:?}", report.finding.map(|finding| finding.run.outcome));
}

/// Outside of a run they are libc's.
#[test]
fn threads_of_the_system_use_the_same_functions() {
    let shared = (Mutex::new(0), AtomicU32::new(0));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..1_000 {
                    assert_eq!(shared.0.lock(), 0);
                    grow(&shared.1);
                    assert_eq!(shared.0.unlock(), 0);
                }
            });
        }
    });
    assert_eq!(shared.1.load(SeqCst), 4_000);
    assert_eq!(c11::value_of(c11::end_early, 8), 8);
    assert_eq!(c11::rest(Duration::from_millis(1)), 0);
}
