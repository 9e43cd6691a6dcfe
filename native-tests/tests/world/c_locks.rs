//! Locks of libc: each waits in the run, and is seen by searches. Planted bugs beside the same programs without them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use planted::c_locks::{Barrier, Condvar, Mutex, Once, RwLock, Semaphore, SpinLock, Time};
use sim::run::{Failure, Outcome};

const EPERM: i32 = 1;
const EBUSY: i32 = 16;
const EINVAL: i32 = 22;
const EDEADLK: i32 = 35;
const ETIMEDOUT: i32 = 110;

fn runner() -> sim::Runner {
    sim::Runner::new().hermetic()
}

fn search() -> sim::Runner {
    runner().strategy("exhaustive").seeds(0..200_000)
}

/// The failure of a report, as text.
fn failure(report: &sim::report::Report) -> String {
    format!("{:?}", report.finding.as_ref().map(|finding| &finding.run.outcome))
}

/// Locks of a kind around a word that is changed in two parts. `hold` is the exclusive lock of the kind.
struct Guarded {
    word: AtomicU64,
    mutex: Mutex,
    recursive: Mutex,
    checked: Mutex,
    rwlock: RwLock,
    semaphore: Semaphore,
    spin: SpinLock,
}

impl Guarded {
    fn new() -> Guarded {
        Guarded {
            word: AtomicU64::new(0),
            mutex: Mutex::new(),
            recursive: Mutex::recursive(),
            checked: Mutex::checked(),
            rwlock: RwLock::new(),
            semaphore: Semaphore::new(1),
            spin: SpinLock::new(),
        }
    }

    fn grow(&self) {
        let seen = self.word.load(SeqCst);
        self.word.store(seen + 1, SeqCst);
    }
}

/// A way to lock and to unlock.
type Way = (&'static str, fn(&Guarded) -> i32, fn(&Guarded) -> i32);

/// All exclusive locks, with every acquiring function that waits.
const WAYS: &[Way] = &[
    ("lock", |all| all.mutex.lock(), |all| all.mutex.unlock()),
    (
        "recursive",
        |all| all.recursive.lock() | all.recursive.lock(),
        |all| all.recursive.unlock() | all.recursive.unlock(),
    ),
    ("checked", |all| all.checked.lock(), |all| all.checked.unlock()),
    ("timed_lock", |all| all.mutex.timed_lock(Duration::from_secs(9)), |all| all.mutex.unlock()),
    ("write", |all| all.rwlock.write(), |all| all.rwlock.unlock()),
    (
        "timed_write",
        |all| all.rwlock.timed_write(Duration::from_secs(9)),
        |all| all.rwlock.unlock(),
    ),
    ("wait", |all| all.semaphore.wait(), |all| all.semaphore.post()),
    (
        "timed_wait",
        |all| all.semaphore.timed_wait(Duration::from_secs(9)),
        |all| all.semaphore.post(),
    ),
    ("spin", |all| all.spin.lock(), |all| all.spin.unlock()),
];

/// Two threads change the word, the second of them within the lock only if `both`.
fn contended<const WAY: usize>(both: bool) {
    let (_, lock, unlock) = WAYS[WAY];
    let all = Arc::new(Guarded::new());
    let other = all.clone();
    let thread = thread::spawn(move || {
        assert_eq!(lock(&other), 0);
        other.grow();
        assert_eq!(unlock(&other), 0);
    });
    if both {
        assert_eq!(lock(&all), 0);
    }
    all.grow();
    if both {
        assert_eq!(unlock(&all), 0);
    }
    thread.join().unwrap();
    assert_eq!(all.word.load(SeqCst), 2, "an update was lost");
}

/// Searches and samples the program of one way.
fn judge<const WAY: usize>() {
    let (name, ..) = WAYS[WAY];
    for sampled in [runner().seeds(0..300), search()] {
        let right = sampled.run_native(|| contended::<WAY>(true));
        assert!(right.finding.is_none(), "{name}: {}", failure(&right));
        let wrong = sampled.run_native(|| contended::<WAY>(false));
        let found = wrong.finding.unwrap_or_else(|| panic!("{name}: the lost update is not found"));
        assert!(matches!(found.run.outcome, Outcome::Failed(Failure::Panic { .. })), "{name}");
    }
}

#[test]
fn each_lock_excludes_others_and_lets_a_missing_one_be_found() {
    judge::<0>();
    judge::<1>();
    judge::<2>();
    judge::<3>();
    judge::<4>();
    judge::<5>();
    judge::<6>();
    judge::<7>();
    judge::<8>();
    const { assert!(WAYS.len() == 9) };
}

/// Two threads take two locks, in the orders given.
fn two_locks(orders: [[usize; 2]; 2]) {
    let locks = Arc::new([Mutex::new(), Mutex::new()]);
    let threads = orders.map(|order| {
        let locks = locks.clone();
        thread::spawn(move || {
            order.iter().for_each(|at| assert_eq!(locks[*at].lock(), 0));
            order.iter().for_each(|at| assert_eq!(locks[*at].unlock(), 0));
        })
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn a_deadlock_of_two_mutexes_names_the_holders() {
    let report = runner().seeds(0..1000).run_native(|| two_locks([[0, 1], [1, 0]]));
    let found = report.finding.expect("the two orders deadlock").run;
    let Outcome::Failed(Failure::Deadlock { waits }) = &found.outcome else {
        panic!("{:?}", found.outcome)
    };
    let waits = waits.iter().filter(|wait| wait.op.is_some_and(|op| op.name == "lock"));
    let held: Vec<_> = waits
        .map(|wait| {
            // The method that calls libc's function, or its caller if the compiler has made the call a jump.
            assert!(wait.place.file().ends_with("/c_locks.rs"), "{:?}", wait.place);
            (wait.task.0, wait.holder.map(|held| held.task.0))
        })
        .collect();
    assert_eq!(held, [(1, Some(2)), (2, Some(1))]);
    let search = search().run_native(|| two_locks([[0, 1], [0, 1]]));
    assert!(search.finding.is_none() && search.searched.unwrap().is_proof());
}

#[test]
fn a_search_of_one_mutex_is_as_short_as_for_std() {
    let of_c = search().run_native(|| contended::<0>(true));
    let of_std = search().run_native(|| {
        let all = Arc::new((std::sync::Mutex::new(()), Guarded::new()));
        let other = all.clone();
        let grow = |all: &(std::sync::Mutex<()>, Guarded)| {
            let _held = all.0.lock().unwrap();
            all.1.grow();
        };
        let thread = thread::spawn(move || grow(&other));
        grow(&all);
        thread.join().unwrap();
    });
    let is_proof = |report: &sim::report::Report| report.searched.as_ref().unwrap().is_proof();
    assert!(is_proof(&of_c) && is_proof(&of_std));
    assert_eq!(of_c.runs, of_std.runs);
}

/// A queue of one value. `signals` selects the announcement of the value.
fn queue(signals: bool) {
    static MUTEX: Mutex = Mutex::new();
    static CONDVAR: Condvar = Condvar::new();
    static VALUE: AtomicU32 = AtomicU32::new(0);
    let consumer = thread::spawn(|| {
        assert_eq!(MUTEX.lock(), 0);
        while VALUE.load(SeqCst) == 0 {
            assert_eq!(CONDVAR.wait(&MUTEX), 0);
        }
        assert_eq!(MUTEX.unlock(), 0);
    });
    assert_eq!(MUTEX.lock(), 0);
    VALUE.store(1, SeqCst);
    if signals {
        assert_eq!(CONDVAR.signal(), 0);
    }
    assert_eq!(MUTEX.unlock(), 0);
    consumer.join().unwrap();
}

#[test]
fn a_condition_variable_wakes_and_a_missing_signal_is_a_deadlock() {
    for runner in [runner().seeds(0..300), search()] {
        let right = runner.run_native(|| queue(true));
        assert!(right.finding.is_none(), "{}", failure(&right));
        let wrong = runner.run_native(|| queue(false)).finding.expect("nobody wakes the consumer");
        assert!(matches!(wrong.run.outcome, Outcome::Failed(Failure::Deadlock { .. })));
    }
    assert!(search().run_native(|| queue(true)).searched.unwrap().is_proof());
}

#[sim::test(native, seeds = 100)]
fn limits_of_time_end_waits() {
    let (mutex, condvar) = (Mutex::recursive(), Condvar::new());
    let semaphore = Semaphore::new(0);
    let limit = Duration::from_millis(50);
    assert_eq!((mutex.lock(), mutex.lock()), (0, 0));
    assert_eq!(condvar.timed_wait(&mutex, limit), ETIMEDOUT);
    thread::scope(|scope| {
        scope.spawn(|| {
            assert_eq!(mutex.try_lock(), EBUSY);
            assert_eq!(mutex.timed_lock(limit), ETIMEDOUT);
            assert_eq!(mutex.unlock(), EPERM);
        });
    });
    assert_eq!((mutex.unlock(), mutex.unlock(), mutex.unlock()), (0, 0, EPERM));
    assert_eq!((semaphore.try_wait(), semaphore.timed_wait(limit)), (-1, -1));
    let errno = std::io::Error::last_os_error().raw_os_error();
    assert_eq!((errno, mutex.destroy()), (Some(ETIMEDOUT), 0));
    let checked = Mutex::checked();
    assert_eq!((checked.lock(), checked.lock(), checked.unlock()), (0, EDEADLK, 0));
}

/// `CLOCK_MONOTONIC`, and a clock that limits no wait.
const MONOTONIC: i32 = 1;
const OTHER_CLOCK: i32 = 5;

/// The numbers that libc returns for waits until this time. The first list does not depend on the clock.
fn numbers(time: Time) -> ([i32; 4], [i32; 14]) {
    let (free, held, recursive) = (Mutex::new(), Mutex::new(), Mutex::recursive());
    let (checked, lost) = (Mutex::checked(), Mutex::checked());
    let all = [&held, &recursive, &checked];
    assert_eq!(all.map(Mutex::lock), [0; 3]);
    let (semaphore, empty) = (Semaphore::new(1), Semaphore::new(0));
    let (unlocked, shared, owned) = (RwLock::new(), RwLock::new(), RwLock::new());
    assert_eq!((shared.read(), owned.write()), (0, 0));
    let condvar = Condvar::new();
    let other = [
        held.clock_lock(OTHER_CLOCK, time),
        free.clock_lock(OTHER_CLOCK, time),
        empty.clock_wait(OTHER_CLOCK, time),
        condvar.clock_wait(&held, OTHER_CLOCK, time),
    ];
    let known = [
        free.timed_lock_at(time),
        held.timed_lock_at(time),
        held.clock_lock(MONOTONIC, time),
        recursive.timed_lock_at(time),
        checked.timed_lock_at(time),
        semaphore.timed_wait_at(time),
        empty.timed_wait_at(time),
        empty.clock_wait(MONOTONIC, time),
        unlocked.timed_write_at(time),
        shared.timed_write_at(time) + shared.clock_write(MONOTONIC, time),
        shared.timed_read_at(time),
        owned.timed_write_at(time),
        condvar.timed_wait_at(&lost, time),
        condvar.timed_wait_at(&held, time) + condvar.clock_wait(&held, MONOTONIC, time),
    ];
    (other, known)
}

/// Compares the numbers with the numbers of libc 2.36.
fn times_have_their_numbers() {
    let other = [EINVAL, EINVAL, -1, EINVAL];
    for nanoseconds in [-1, 1_000_000_000] {
        let invalid = numbers(Time { seconds: 1 << 40, nanoseconds });
        let bad = EINVAL;
        let known = [0, bad, bad, 0, EDEADLK, -1, -1, -1, bad, 2 * bad, bad, bad, bad, 2 * bad];
        assert_eq!(invalid, (other, known));
    }
    for seconds in [-5, 1] {
        let past = numbers(Time { seconds, nanoseconds: 10 });
        let late = ETIMEDOUT;
        let known =
            [0, late, late, 0, EDEADLK, 0, -1, -1, 0, 2 * late, 0, EDEADLK, EPERM, 2 * late];
        assert_eq!(past, (other, known));
    }
}

#[test]
fn invalid_and_past_times_have_the_numbers_of_libc() {
    times_have_their_numbers();
    let report = runner().seeds(0..50).run_native(times_have_their_numbers);
    assert!(report.finding.is_none(), "{}", failure(&report));
}

/// Fails if a wait until a time in the past has this result, beside a thread that posts.
fn past_wait_is_not<const RESULT: i32>() {
    let semaphore = Arc::new(Semaphore::new(0));
    let other = semaphore.clone();
    let thread = thread::spawn(move || assert_eq!(other.post(), 0));
    assert_ne!(semaphore.timed_wait_at(Time { seconds: 1, nanoseconds: 0 }), RESULT);
    thread.join().unwrap();
}

#[test]
fn a_wait_until_a_time_in_the_past_does_not_wait_for_other_threads() {
    for runner in [runner().seeds(0..300), search()] {
        for program in [past_wait_is_not::<0> as fn(), past_wait_is_not::<-1>] {
            assert!(runner.run_native(program).finding.is_some());
        }
        let other = runner.run_native(past_wait_is_not::<1>);
        assert!(other.finding.is_none(), "{}", failure(&other));
    }
}

/// Fails if a thread sees this value of a semaphore while another thread makes it 1.
fn value_is_not<const VALUE: i32>() {
    let semaphore = Arc::new(Semaphore::new(0));
    let other = semaphore.clone();
    let thread = thread::spawn(move || assert_eq!(other.post(), 0));
    assert_ne!(semaphore.value(), VALUE);
    thread.join().unwrap();
}

#[test]
fn the_value_of_a_semaphore_is_read_before_a_change_and_after_it() {
    for runner in [runner().seeds(0..300), search()] {
        for program in [value_is_not::<0> as fn(), value_is_not::<1>] {
            assert!(runner.run_native(program).finding.is_some());
        }
        let other = runner.run_native(value_is_not::<2>);
        assert!(other.finding.is_none(), "{}", failure(&other));
    }
}

#[test]
fn a_mutex_that_is_locked_twice_is_a_deadlock() {
    let found = runner().seeds(0..3).run_native(|| {
        let mutex = Mutex::new();
        mutex.lock();
        mutex.lock();
    });
    let found = found.finding.expect("it waits for itself").run.outcome;
    assert!(matches!(found, Outcome::Failed(Failure::Deadlock { .. })), "{found:?}");
}

/// Robust mutexes are libc's, and no search over one is a proof.
#[test]
fn a_robust_mutex_excludes_others_and_is_not_seen() {
    fn program() {
        let all = Arc::new((Mutex::robust(), Guarded::new()));
        let other = all.clone();
        let grow = |all: &(Mutex, Guarded)| {
            assert_eq!(all.0.lock(), 0);
            all.1.grow();
            assert_eq!(all.0.unlock(), 0);
        };
        let thread = thread::spawn(move || grow(&other));
        grow(&all);
        thread.join().unwrap();
        assert_eq!(all.1.word.load(SeqCst), 2);
    }
    let sampled = runner().seeds(0..100).run_native(program);
    assert!(sampled.finding.is_none(), "{}", failure(&sampled));
    let searched = search().seeds(0..1_000).run_native(program);
    assert!(searched.finding.is_none(), "{}", failure(&searched));
    assert!(!searched.searched.unwrap().is_proof());
}

#[sim::test(native, seeds = 300)]
fn readers_share_and_come_before_a_writer_that_waits() {
    let (lock, inside) = (RwLock::new(), AtomicU32::new(0));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                assert_eq!(lock.read(), 0);
                inside.fetch_add(1, SeqCst);
                // By libc's default a reader may enter again beside a writer that waits.
                assert_eq!((lock.read(), lock.unlock()), (0, 0));
                inside.fetch_sub(1, SeqCst);
                assert_eq!(lock.unlock(), 0);
            });
        }
        scope.spawn(|| {
            assert_eq!(lock.write(), 0);
            assert_eq!((inside.load(SeqCst), lock.read(), lock.write()), (0, EDEADLK, EDEADLK));
            assert_eq!((lock.try_read(), lock.try_write()), (EBUSY, EBUSY));
            assert_eq!(lock.unlock(), 0);
        });
    });
}

#[sim::test(native, seeds = 300)]
fn a_barrier_lets_all_through_in_each_round() {
    let (barrier, come) = (Barrier::new(2), AtomicU32::new(0));
    let serial = AtomicU32::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for round in 1..=2 {
                    come.fetch_add(1, SeqCst);
                    serial.fetch_add(u32::from(barrier.wait() == -1), SeqCst);
                    assert!(come.load(SeqCst) >= 2 * round);
                }
            });
        }
    });
    assert_eq!((serial.load(SeqCst), barrier.destroy()), (2, 0));
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
                assert_eq!(once.call(count), 0);
                assert_eq!(CALLS.load(SeqCst), 2);
            });
        }
    });
}

/// Outside of a run the locks are libc's.
#[test]
fn threads_of_the_system_use_the_same_locks() {
    let all = Guarded::new();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for (name, lock, unlock) in WAYS.iter().cycle().take(9_000) {
                    assert_eq!(lock(&all), 0, "{name}");
                    assert_eq!(unlock(&all), 0, "{name}");
                }
            });
        }
    });
    let (semaphore, mutex, condvar) = (Semaphore::new(0), Mutex::new(), Condvar::new());
    let limit = Duration::from_millis(1);
    assert_eq!((semaphore.timed_wait(limit), mutex.lock()), (-1, 0));
    assert_eq!((condvar.timed_wait(&mutex, limit), mutex.unlock()), (ETIMEDOUT, 0));
    let barrier = Barrier::new(2);
    let seen: BTreeSet<i32> = thread::scope(|scope| {
        let threads = [0, 1].map(|_| scope.spawn(|| barrier.wait()));
        threads.map(|thread| thread.join().unwrap()).into()
    });
    assert_eq!(seen, BTreeSet::from([-1, 0]));
}
