//! OS threads that do not belong to a test, and that change statics while the test begins its runs.

use std::hint::black_box;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock, RwLock};
use std::thread;
use std::time::Duration;

use sim::Runner;

/// The number of tests that begin runs in each case.
const TESTS: usize = 50;

/// Two values that are equal whenever no thread has the lock. The bytes are in the static itself.
type Pair = [u64; 2];

/// Increments both values, and takes some time in between.
fn increment(pair: &mut Pair) {
    pair[0] += 1;
    for _ in 0..5_000 {
        black_box(&mut *pair);
    }
    pair[1] += 1;
}

/// A test with a few runs.
fn begins_runs() {
    let report = Runner::new().hermetic().seeds(0..2).run_native(|| {
        for change in CHANGES {
            change(&mut |pair| assert_eq!(*pair, [0, 0]));
        }
        thread::spawn(|| ()).join().unwrap();
    });
    assert!(report.passed(), "{:?}", report.finding.map(|finding| finding.run.outcome));
}

static OF_MUTEX: Mutex<Pair> = Mutex::new([0; 2]);
static OF_RW_LOCK: RwLock<Pair> = RwLock::new([0; 2]);
static OF_LOT: parking_lot::Mutex<Pair> = parking_lot::Mutex::new([0; 2]);
static OF_SPIN: (AtomicBool, Mutex<()>, Mutex<Pair>) =
    (AtomicBool::new(false), Mutex::new(()), Mutex::new([0; 2]));

type Change = fn(&mut dyn FnMut(&mut Pair));

/// Calls a function with the values of a static under its lock.
const CHANGES: [Change; 4] = [
    |act| act(&mut OF_MUTEX.lock().unwrap()),
    |act| act(&mut OF_RW_LOCK.write().unwrap()),
    |act| act(&mut OF_LOT.lock()),
    |act| {
        while OF_SPIN.0.swap(true, SeqCst) {
            thread::yield_now();
        }
        act(&mut OF_SPIN.2.lock().unwrap());
        OF_SPIN.0.store(false, SeqCst);
    },
];

#[test]
fn a_lock_that_another_thread_has_when_runs_begin_keeps_its_value() {
    for change in CHANGES {
        let (stops, changes) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let other = thread::spawn({
            let (stops, changes) = (stops.clone(), changes.clone());
            move || {
                while !stops.load(SeqCst) {
                    change(&mut increment);
                    changes.fetch_add(1, SeqCst);
                }
            }
        });
        for _ in 0..TESTS {
            begins_runs();
        }
        stops.store(true, SeqCst);
        other.join().unwrap();
        let mut found = [0; 2];
        change(&mut |pair| found = *pair);
        change(&mut |pair| *pair = [0; 2]);
        let expected = changes.load(SeqCst) as u64;
        assert_eq!(found, [expected; 2]);
    }
}

/// A thread that never accesses a static does not stop the tests.
#[test]
fn a_thread_that_only_computes_does_not_stop_a_test() {
    let stops = Arc::new(AtomicBool::new(false));
    let other = thread::spawn({
        let stops = stops.clone();
        move || while !stops.load(SeqCst) {}
    });
    for _ in 0..TESTS {
        begins_runs();
    }
    stops.store(true, SeqCst);
    other.join().unwrap();
}

/// Threads that wait do not stop the tests.
#[test]
fn a_thread_that_waits_does_not_stop_a_test() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let waits = thread::spawn(move || receiver.recv().unwrap());
    let sleeps = thread::spawn(|| thread::sleep(Duration::from_secs(1)));
    for _ in 0..TESTS {
        begins_runs();
    }
    sender.send(7).unwrap();
    assert_eq!(waits.join().unwrap(), 7);
    sleeps.join().unwrap();
}

/// Set in the process of the next test.
const CHANGES_FIRST: &str = "CHANGES_STATICS_FIRST";

static COUNT: AtomicUsize = AtomicUsize::new(3);
static HELD: Mutex<()> = Mutex::new(());
static ONCE: OnceLock<String> = OnceLock::new();
/// So large that the system gives it memory of its own.
static LARGE: [AtomicUsize; 100_000] = [const { AtomicUsize::new(0) }; 100_000];

/// Changes statics before the process executes its first run.
#[test]
fn changes_statics_first() {
    if std::env::var_os(CHANGES_FIRST).is_none() {
        return;
    }
    let held = HELD.lock().unwrap();
    COUNT.store(7, SeqCst);
    ONCE.set("before".to_owned()).unwrap();
    LARGE[70_000].store(9, SeqCst);
    let report = Runner::new().hermetic().seeds(0..3).run_native(|| {
        assert_eq!((COUNT.swap(1, SeqCst), LARGE[70_000].swap(1, SeqCst)), (3, 0));
        assert_eq!(ONCE.get_or_init(|| "within".to_owned()), "within");
        drop(HELD.lock().unwrap());
    });
    assert!(report.passed(), "{:?}", report.finding.map(|finding| finding.run.outcome));
    // The test has its own values again.
    assert_eq!((COUNT.load(SeqCst), LARGE[70_000].load(SeqCst)), (7, 9));
    assert_eq!(ONCE.get().unwrap(), "before");
    assert!(HELD.try_lock().is_err());
    drop(held);
}

/// The first values of a run do not depend on the tests before the first run of the process.
#[test]
fn runs_begin_with_the_values_before_main() {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "beside::changes_statics_first", "--nocapture"]);
    let output = command.env(CHANGES_FIRST, "1").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
