//! Locks of std and parking_lot, whose calls are single operations in most runs: planted bugs, which must be found,
//! beside the same programs without them.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, RwLock, TryLockError, mpsc};
use std::thread;

use sim::run::event::Event;
use sim::run::{Failure, Outcome};

/// Runs both functions on a thread each.
fn both<T: Send + Sync + 'static>(state: T, work: [fn(&T); 2]) -> Arc<T> {
    let state = Arc::new(state);
    let threads = work.map(|work| {
        let state = state.clone();
        thread::spawn(move || work(&state))
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    state
}

fn runner() -> sim::Runner {
    sim::Runner::new().hermetic()
}

/// The operations of the failing run, by name and task.
fn operations(events: &[Event]) -> Vec<(&'static str, u32)> {
    events.iter().map(|event| (event.op.name, event.task.0)).collect()
}

/// Two threads take two locks, in the orders given.
fn two_locks(orders: [[usize; 2]; 2]) {
    let locks = Arc::new([Mutex::new(0), Mutex::new(0)]);
    let threads = orders.map(|[first, second]| {
        let locks = locks.clone();
        thread::spawn(move || {
            let mut first = locks[first].lock().unwrap();
            let mut second = locks[second].lock().unwrap();
            (*first, *second) = (1, 1);
        })
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn a_deadlock_names_the_holders_of_its_locks() {
    let report = runner().seeds(0..1000).run_native(|| two_locks([[0, 1], [1, 0]]));
    let found = report.finding.expect("the two orders deadlock").run;
    let Outcome::Failed(Failure::Deadlock { waits }) = &found.outcome else {
        panic!("{:?}", found.outcome)
    };
    let waits = waits.iter().filter(|wait| wait.op.is_some_and(|op| op.name == "lock"));
    let held: Vec<_> =
        waits.map(|wait| (wait.task.0, wait.holder.map(|held| held.task.0))).collect();
    assert_eq!(held, [(1, Some(2)), (2, Some(1))]);
    // Shrunk: a lock is one operation, and a thread that waits makes no step.
    let locks = operations(&found.events).into_iter().filter(|(name, _)| *name == "lock");
    assert_eq!(locks.collect::<Vec<_>>().len(), 2);
    let search = runner().strategy("exhaustive").run_native(|| two_locks([[0, 1], [0, 1]]));
    assert!(search.finding.is_none() && search.searched.unwrap().is_proof());
}

/// A lock of each kind is held while a word is changed in two parts.
struct Guarded {
    mutex: Mutex<u64>,
    rwlock: RwLock<u64>,
    raw: parking_lot::Mutex<u64>,
    raw_rwlock: parking_lot::RwLock<u64>,
    word: AtomicU64,
}

impl Guarded {
    fn new() -> Guarded {
        Guarded {
            mutex: Mutex::new(0),
            rwlock: RwLock::new(0),
            raw: parking_lot::Mutex::new(0),
            raw_rwlock: parking_lot::RwLock::new(0),
            word: AtomicU64::new(0),
        }
    }

    fn grow(&self) {
        let seen = self.word.load(SeqCst);
        self.word.store(seen + 1, SeqCst);
    }
}

/// Each task of the pair adds one to the word, within `hold`.
fn grown_by(hold: fn(&Guarded)) {
    assert_eq!(both(Guarded::new(), [hold, hold]).word.load(SeqCst), 2);
}

#[sim::test(native, seeds = 1000)]
fn a_mutex_excludes() {
    grown_by(|all| {
        let _held = all.mutex.lock().unwrap();
        all.grow();
    });
}

#[sim::test(native, seeds = 1000)]
fn a_mutex_of_parking_lot_excludes() {
    grown_by(|all| {
        let _held = all.raw.lock();
        all.grow();
    });
}

#[sim::test(native, seeds = 1000)]
fn a_writer_excludes() {
    grown_by(|all| {
        let _held = all.rwlock.write().unwrap();
        all.grow();
    });
}

#[sim::test(native, seeds = 1000)]
fn a_writer_of_parking_lot_excludes() {
    grown_by(|all| {
        let _held = all.raw_rwlock.write();
        all.grow();
    });
}

#[sim::test(native, seeds = 100, must_fail)]
fn readers_do_not_exclude_each_other() {
    grown_by(|all| {
        let _held = all.rwlock.read().unwrap();
        all.grow();
    });
}

#[sim::test(native, seeds = 100, must_fail)]
fn readers_of_parking_lot_do_not_exclude_each_other() {
    grown_by(|all| {
        let _held = all.raw_rwlock.read();
        all.grow();
    });
}

#[sim::test(native, seeds = 1000)]
fn a_reader_excludes_a_writer() {
    both(
        Guarded::new(),
        [
            |all| {
                let value = all.rwlock.read().unwrap();
                let raw = all.raw_rwlock.read();
                let (seen, word) = (*value + *raw, all.word.load(SeqCst));
                assert_eq!((all.word.load(SeqCst), *value + *raw), (word, seen));
            },
            |all| {
                for _ in 0..2 {
                    let mut value = all.rwlock.write().unwrap();
                    *value += all.word.fetch_add(1, SeqCst);
                    drop(value);
                    *all.raw_rwlock.write() += 1;
                }
            },
        ],
    );
}

/// A critical section without a point in it, and a thread that looks at the lock.
fn looks_at_a_held_lock(find: bool) {
    let lock = Arc::new(Mutex::new(0));
    let other = lock.clone();
    let holding = thread::spawn(move || *other.lock().unwrap() += 1);
    let seen = matches!(lock.try_lock(), Err(TryLockError::WouldBlock));
    holding.join().unwrap();
    assert!(!(find && seen), "the lock was seen held");
}

#[sim::test(native, seeds = 1000, must_fail)]
fn a_held_lock_is_seen_by_try_lock() {
    looks_at_a_held_lock(true);
}

#[test]
fn a_search_sees_a_held_lock_and_is_through() {
    let search = |find: fn()| runner().strategy("exhaustive").run_native(find);
    assert!(search(|| looks_at_a_held_lock(true)).finding.is_some());
    let report = search(|| looks_at_a_held_lock(false));
    assert!(report.finding.is_none() && report.searched.unwrap().is_proof());
}

#[sim::test(native, seeds = 1000, must_fail)]
fn a_reader_that_reads_again_waits_for_the_writer_between() {
    both(
        RwLock::new(0),
        [
            |lock| {
                let first = lock.read().unwrap();
                let second = lock.read().unwrap();
                assert_eq!(*first, *second);
            },
            |lock| *lock.write().unwrap() += 1,
        ],
    );
}

/// The condition variable of parking_lot moves the threads that it wakes to the queue of the mutex.
fn requeued(all: bool) {
    let state = Arc::new((parking_lot::Mutex::new(0), parking_lot::Condvar::new()));
    let threads = [0, 1].map(|_| {
        let state = state.clone();
        thread::spawn(move || {
            let mut ready = state.0.lock();
            while *ready == 0 {
                state.1.wait(&mut ready);
            }
            *ready += 1;
        })
    });
    {
        let mut ready = state.0.lock();
        *ready = 1;
        if all {
            state.1.notify_all();
        } else {
            state.1.notify_one();
        }
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(*state.0.lock(), 3);
}

#[sim::test(native, seeds = 2000)]
fn threads_that_are_requeued_get_the_lock() {
    requeued(true);
}

#[sim::test(native, seeds = 1000, must_fail)]
fn one_notification_for_two_waiters_is_too_few() {
    requeued(false);
}

#[sim::test(native, seeds = 2000)]
fn locks_with_other_operations_are_given_up() {
    both(
        parking_lot::RwLock::new(0),
        [
            |lock| {
                let reader = lock.upgradable_read();
                let mut writer = parking_lot::RwLockUpgradableReadGuard::upgrade(reader);
                *writer += 1;
                let reader = parking_lot::RwLockWriteGuard::downgrade(writer);
                let seen = *reader;
                assert_eq!(*reader, seen);
            },
            |lock| {
                if let Some(mut writer) = lock.try_write() {
                    *writer += 1;
                }
                parking_lot::RwLockWriteGuard::unlock_fair(lock.write());
                drop((lock.try_read(), lock.read_recursive()));
            },
        ],
    );
}

#[sim::test(native, seeds = 2000)]
fn locks_of_std_with_other_operations_are_given_up() {
    both(
        RwLock::new(0),
        [
            |lock| {
                *lock.write().unwrap() += 1;
                drop((lock.try_read(), lock.try_write()));
                drop(lock.read().unwrap());
            },
            |lock| {
                if let Ok(mut writer) = lock.try_write() {
                    *writer += 1;
                }
                drop(lock.read().unwrap());
                *lock.write().unwrap() += 1;
            },
        ],
    );
}

#[sim::test(native, seeds = 500)]
fn a_lock_where_another_one_was_left_held_is_free() {
    // All have the same address on the heap that reuses memory.
    for n in 0..3 {
        let lock = Box::new(Mutex::new(n));
        std::mem::forget(lock.lock().unwrap());
    }
}

#[sim::test(native, seeds = 1000, must_fail)]
fn a_lock_that_is_left_held_is_a_deadlock() {
    both(Mutex::new(0), [|lock| std::mem::forget(lock.lock()), |lock| drop(lock.lock())]);
}

#[sim::test(native, seeds = 1000, must_fail)]
fn a_notification_before_the_wait_is_lost() {
    both(
        (Mutex::new(false), Condvar::new()),
        [
            |(lock, changed)| {
                let ready = *lock.lock().unwrap();
                if !ready {
                    drop(changed.wait(lock.lock().unwrap()).unwrap());
                }
            },
            |(lock, changed)| {
                *lock.lock().unwrap() = true;
                changed.notify_one();
            },
        ],
    );
}

#[sim::test(native, seeds = 2000)]
fn a_condition_that_is_read_under_the_lock_is_seen() {
    both(
        (Mutex::new(false), Condvar::new()),
        [
            |(lock, changed)| {
                let mut ready = lock.lock().unwrap();
                while !*ready {
                    ready = changed.wait(ready).unwrap();
                }
            },
            |(lock, changed)| {
                *lock.lock().unwrap() = true;
                changed.notify_one();
            },
        ],
    );
}

#[sim::test(native, seeds = 500)]
fn a_channel_hands_its_messages_on() {
    let (sender, receiver) = mpsc::sync_channel(1);
    let sending = thread::spawn(move || (0..3).for_each(|n| sender.send(n).unwrap()));
    assert_eq!(receiver.iter().collect::<Vec<_>>(), [0, 1, 2]);
    sending.join().unwrap();
}

#[test]
fn a_trace_replays_with_its_locks_in_each_detail() {
    let run = |runner: sim::Runner| {
        runner
            .shrink(false)
            .out(env!("CARGO_TARGET_TMPDIR"))
            .run_native(|| looks_at_a_held_lock(true))
    };
    let mut details = BTreeSet::new();
    for seed in 0..200 {
        let Some(found) = run(runner().seed(seed)).finding else { continue };
        // The second value that the run was given, without the counts of `Arc`.
        details.insert(found.run.draws[1].value % 4);
        let file = found.trace_file.expect("the trace is written");
        let again = run(runner().replay(file)).finding.expect("it fails again");
        assert_eq!(operations(&again.run.events), operations(&found.run.events));
    }
    assert_eq!(
        details,
        BTreeSet::from([1]),
        "only runs of instructions see a lock that is held for no step"
    );
}

/// A run may have stepped the locks in detail. The failure does not need that.
#[test]
fn a_deadlock_is_shown_by_the_calls_of_its_locks() {
    let mut found = 0;
    for seed in 0..40 {
        let report = sim::Runner::new().hermetic().seed(seed).run_native(|| {
            let locks = Arc::new((Mutex::new(0), std::sync::RwLock::new(0)));
            let other = locks.clone();
            let thread = thread::spawn(move || {
                let _first = other.1.read().unwrap();
                let _second = other.0.lock().unwrap();
            });
            let _first = locks.0.lock().unwrap();
            let _second = locks.1.write().unwrap();
            drop((_first, _second));
            thread.join().unwrap();
        });
        let Some(finding) = report.finding else { continue };
        let Outcome::Failed(Failure::Deadlock { waits }) = &finding.run.outcome else {
            panic!("{:?}", finding.run.outcome)
        };
        let names: Vec<_> = waits.iter().filter_map(|wait| wait.op.map(|op| op.name)).collect();
        assert_eq!(names, ["write", "lock"], "seed {seed}");
        assert!(waits.iter().all(|wait| wait.holder.is_some()), "seed {seed}: {waits:?}");
        found += 1;
    }
    assert!(found > 5, "{found} deadlocks");
}
