//! The date, and the numbers of threads.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use planted::process::{SLEEPS, thread_number};

/// The first of January 2026.
const DATE: Duration = Duration::from_secs(1_767_225_600);

fn date() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap()
}

#[sim::test(native, seeds = 20)]
fn a_run_begins_at_the_date_of_all_runs() {
    // Each reading takes a nanosecond.
    assert_eq!(date(), DATE + Duration::from_nanos(1));
    thread::sleep(Duration::from_secs(90));
    assert_eq!(date(), DATE + Duration::new(90, 2));
}

/// A sleep of libc is a sleep of the run: a thread that sleeps for a shorter time continues before it ends.
#[sim::test(native, seeds = 20)]
fn a_sleep_of_libc_takes_the_time_of_the_run() {
    for (way, sleeps, time) in SLEEPS {
        let (begin, is_set) = (Instant::now(), AtomicBool::new(false));
        let slept = thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(1));
                is_set.store(true, SeqCst);
            });
            sleeps();
            assert!(is_set.load(SeqCst), "{way}");
            begin.elapsed()
        });
        assert!(slept >= time && slept < time + Duration::from_micros(1), "{way}: {slept:?}");
    }
}

#[sim::test(native, seeds = 20)]
fn threads_have_numbers_of_their_own_and_the_same_in_each_run() {
    let numbers = Mutex::new(BTreeSet::from([thread_number()]));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| numbers.lock().unwrap().insert(thread_number()));
        }
    });
    let numbers = numbers.into_inner().unwrap();
    assert_eq!(numbers, BTreeSet::from([1 << 22, (1 << 22) + 1, (1 << 22) + 2]));
}
