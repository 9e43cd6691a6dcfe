//! Primitives of std: planted bugs, which must be found, beside the same programs without them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, RwLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// Runs `work` on two threads that share `state`, and returns the state.
fn twice<T: Send + Sync + 'static>(state: T, work: fn(&T)) -> Arc<T> {
    let state = Arc::new(state);
    let threads = [0, 1].map(|_| {
        let state = state.clone();
        thread::spawn(move || work(&state))
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    state
}

#[sim::test(native, seeds = 1000, must_fail)]
fn an_update_in_two_parts_is_lost() {
    let counter = twice(AtomicU64::new(0), |counter| {
        let seen = counter.load(SeqCst);
        counter.store(seen + 1, SeqCst);
    });
    assert_eq!(counter.load(SeqCst), 2);
}

#[sim::test(native, seeds = 1000)]
fn an_update_in_one_part_is_not_lost() {
    let counter = twice(AtomicU64::new(0), |counter| _ = counter.fetch_add(1, SeqCst));
    assert_eq!(counter.load(SeqCst), 2);
}

#[sim::test(native, seeds = 1000, must_fail)]
fn a_lock_taken_twice_does_not_make_one_step() {
    let counter = twice(Mutex::new(0), |counter| {
        let seen = *counter.lock().unwrap();
        *counter.lock().unwrap() = seen + 1;
    });
    assert_eq!(*counter.lock().unwrap(), 2);
}

#[sim::test(native, seeds = 1000)]
fn a_lock_held_makes_one_step() {
    let counter = twice(Mutex::new(0), |counter| *counter.lock().unwrap() += 1);
    assert_eq!(*counter.lock().unwrap(), 2);
}

#[sim::test(native, seeds = 1000, must_fail)]
fn an_upgrade_of_a_read_lock_loses_an_update() {
    let counter = twice(RwLock::new(0), |counter| {
        let seen = *counter.read().unwrap();
        *counter.write().unwrap() = seen + 1;
    });
    assert_eq!(*counter.read().unwrap(), 2);
}

/// Takes two locks, in this order on one thread and in `other` on the other thread.
fn two_locks(other: [usize; 2]) {
    let locks = Arc::new([Mutex::new(()), Mutex::new(())]);
    let shared = locks.clone();
    let thread = thread::spawn(move || {
        let first = shared[other[0]].lock().unwrap();
        drop((shared[other[1]].lock().unwrap(), first));
    });
    let first = locks[0].lock().unwrap();
    drop((locks[1].lock().unwrap(), first));
    thread.join().unwrap();
}

#[sim::test(native, seeds = 1000, must_fail)]
fn two_locks_in_two_orders_deadlock() {
    two_locks([1, 0]);
}

#[sim::test(native, seeds = 1000)]
fn two_locks_in_one_order_do_not() {
    two_locks([0, 1]);
}

#[sim::test(native, seeds = 1000, must_fail)]
fn a_notification_before_the_wait_is_lost() {
    let shared = Arc::new((Mutex::new(()), Condvar::new()));
    let waits = shared.clone();
    let thread = thread::spawn(move || drop(waits.1.wait(waits.0.lock().unwrap()).unwrap()));
    drop(shared.0.lock().unwrap());
    shared.1.notify_one();
    thread.join().unwrap();
}

#[sim::test(native, seeds = 1000)]
fn a_flag_keeps_the_notification() {
    let shared = Arc::new((Mutex::new(false), Condvar::new()));
    let waits = shared.clone();
    let thread = thread::spawn(move || {
        let mut set = waits.0.lock().unwrap();
        while !*set {
            set = waits.1.wait(set).unwrap();
        }
    });
    *shared.0.lock().unwrap() = true;
    shared.1.notify_one();
    thread.join().unwrap();
}

#[sim::test(native, seeds = 500)]
fn channels_lose_nothing() {
    for bound in [1, 3] {
        let (sender, receiver) = mpsc::sync_channel(bound);
        let senders = [0, 10].map(|first| {
            let sender = sender.clone();
            thread::spawn(move || {
                (first..first + 2).for_each(|number| sender.send(number).unwrap())
            })
        });
        drop(sender);
        let mut got: Vec<i32> = receiver.iter().collect();
        got.sort();
        assert_eq!(got, [0, 1, 10, 11]);
        senders.into_iter().for_each(|thread| thread.join().unwrap());
    }
}

#[sim::test(native, seeds = 1000, must_fail)]
fn a_token_of_park_may_be_of_an_earlier_unpark() {
    let set = Arc::new(AtomicU32::new(0));
    let seen = set.clone();
    let parked = thread::spawn(move || {
        thread::park();
        seen.load(SeqCst)
    });
    let handle = parked.thread().clone();
    let other = thread::spawn(move || handle.unpark());
    set.store(1, SeqCst);
    parked.thread().unpark();
    other.join().unwrap();
    assert_eq!(parked.join().unwrap(), 1);
}

#[sim::test(native, seeds = 300)]
fn scoped_threads_borrow() {
    let sum = AtomicU32::new(0);
    thread::scope(|scope| {
        for number in 1..=3 {
            let sum = &sum;
            scope.spawn(move || sum.fetch_add(number, SeqCst));
        }
    });
    assert_eq!(sum.into_inner(), 6);
}

#[sim::test(native, seeds = 300, must_fail)]
fn the_order_of_a_hash_map_depends_on_the_seed() {
    let map: HashMap<u32, ()> = (0..10).map(|key| (key, ())).collect();
    assert_eq!(map.keys().next(), Some(&3));
}

#[sim::test(native, seeds = 100)]
fn time_moves_when_no_thread_can_go_on() {
    let begin = Instant::now();
    let sleeper = thread::spawn(|| thread::sleep(Duration::from_secs(7200)));
    thread::sleep(Duration::from_secs(3600));
    assert_eq!(begin.elapsed().as_secs(), 3600);
    sleeper.join().unwrap();
    assert_eq!(begin.elapsed().as_secs(), 7200);
}

#[sim::test(native, seeds = 300)]
fn a_loop_until_a_time_comes_to_its_end() {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(5) {
        std::hint::spin_loop();
    }
    // The last readings count most.
    assert!(begin.elapsed() < Duration::from_secs(20));
}

#[sim::test(native, seeds = 20)]
fn a_loop_that_counts_until_a_time_comes_to_its_end() {
    let (begin, count) = (Instant::now(), AtomicU64::new(0));
    while begin.elapsed() < Duration::from_secs(1) {
        count.fetch_add(1, SeqCst);
    }
    assert!((1_000..2_000).contains(&count.load(SeqCst)), "{count:?}");
}

/// Like a cache whose entries expire: the first entry would expire before the last entry is added.
#[sim::test(native, seeds = 20)]
fn a_thread_that_notes_times_while_it_works_takes_no_time_for_it() {
    let (begin, last) = (Instant::now(), Arc::new(AtomicU64::new(0)));
    let last = std::hint::black_box(&last);
    for _ in 0..200 {
        last.store(begin.elapsed().as_nanos() as u64, SeqCst);
    }
    assert!(begin.elapsed() < Duration::from_millis(50), "{:?}", begin.elapsed());
}

#[sim::test(native, seeds = 300)]
fn a_thread_that_sleeps_is_woken_while_another_one_loops_until_a_later_time() {
    let is_set = Arc::new(AtomicBool::new(false));
    let sets = is_set.clone();
    let thread = thread::spawn(move || {
        thread::sleep(Duration::from_millis(1));
        sets.store(true, SeqCst);
    });
    let begin = Instant::now();
    while !is_set.load(SeqCst) {
        assert!(begin.elapsed() < Duration::from_secs(5), "the sleep of 1 ms has not ended");
        thread::yield_now();
    }
    thread.join().unwrap();
}

#[sim::test(native, seeds = 300)]
fn a_thread_that_sleeps_is_woken_while_another_one_loops() {
    let is_set = Arc::new(AtomicBool::new(false));
    let sets = is_set.clone();
    let thread = thread::spawn(move || {
        thread::sleep(Duration::from_millis(1));
        sets.store(true, SeqCst);
    });
    while !is_set.load(SeqCst) {
        thread::yield_now();
    }
    thread.join().unwrap();
}

#[sim::test(native, seeds = 300)]
fn a_wait_with_a_limit_ends_by_time_only_if_nobody_notifies() {
    let shared = Arc::new((Mutex::new(false), Condvar::new()));
    let sets = shared.clone();
    let thread = thread::spawn(move || {
        *sets.0.lock().unwrap() = true;
        sets.1.notify_one();
    });
    let limit = Duration::from_secs(1);
    let set = shared.0.lock().unwrap();
    let (set, waited) = shared.1.wait_timeout_while(set, limit, |set| !*set).unwrap();
    assert!(*set && !waited.timed_out());
    drop(set);
    thread.join().unwrap();
    let never = shared.0.lock().unwrap();
    let (_never, waited) = shared.1.wait_timeout_while(never, limit, |_| true).unwrap();
    assert!(waited.timed_out());
}

#[sim::test(native, seeds = 50, must_fail)]
fn an_error_of_the_body_fails_the_run() -> Result<(), std::num::ParseIntError> {
    "seven".parse::<u32>()?;
    Ok(())
}

static STARTS_AT_ZERO: AtomicU32 = AtomicU32::new(0);

#[sim::test(native, seeds = 100)]
fn a_static_starts_each_run_afresh() {
    assert_eq!(STARTS_AT_ZERO.fetch_add(1, SeqCst), 0);
}

#[sim::test(native, seeds = 100)]
fn a_panic_of_a_thread_is_the_result_of_its_join() {
    let lock = Arc::new(Mutex::new(0));
    let panics = lock.clone();
    let thread = thread::spawn(move || {
        let _held = panics.lock().unwrap();
        panic!("poisons the lock");
    });
    assert!(thread.join().is_err() && lock.is_poisoned());
}

/// The end of a thread is not a point. The loop that waits for it has points, because a new thread can continue.
#[sim::test(native, seeds = 100)]
fn a_loop_waits_for_the_end_of_a_thread() {
    let thread = thread::spawn(|| 7);
    while !thread.is_finished() {
        std::hint::spin_loop();
    }
    assert_eq!(thread.join().unwrap(), 7);
}

/// The counts of an `Arc` are not points, and threads change them by themselves, without their carrier. Here a loop
/// reads the counts, so a drop must release the held loop. If it did not, the loop would go on when no other thread
/// can, and a millisecond would pass.
#[sim::test(native, seeds = 300)]
fn a_loop_sees_a_change_that_is_no_point() {
    let count = Arc::new(());
    let other = count.clone();
    let began = Instant::now();
    let thread = thread::spawn(move || drop(other));
    while Arc::strong_count(&count) > 1 {
        std::hint::spin_loop();
    }
    assert!(began.elapsed() < Duration::from_millis(1), "the loop was not held until the drop");
    thread.join().unwrap();
}
