//! Readings of the clock: later readings differ, but no wait begins or ends at another time because of it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Condvar, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

fn ms(time: u64) -> Duration {
    Duration::from_millis(time)
}

#[sim::test(native, seeds = 100)]
fn a_later_reading_is_later() {
    let (first, date) = (Instant::now(), SystemTime::now());
    let there = thread::spawn(|| (Instant::now(), SystemTime::now())).join().unwrap();
    let (last, now) = (Instant::now(), SystemTime::now());
    assert!(first < there.0 && there.0 < last, "{first:?} {there:?} {last:?}");
    assert!(date < there.1 && there.1 < now, "{date:?} {there:?} {now:?}");
    assert!(last - first < Duration::from_micros(1), "it takes no time: {:?}", last - first);
}

/// The ways to wait for 5 ms, each with the time that passes.
fn waits() -> Vec<(&'static str, Duration)> {
    let timed = |wait: &dyn Fn()| {
        let begin = Instant::now();
        wait();
        begin.elapsed()
    };
    let (lock, changed) = (Mutex::new(()), Condvar::new());
    let (_sender, receiver) = mpsc::channel::<()>();
    let (_other, channel) = crossbeam_channel::bounded::<()>(1);
    vec![
        ("sleep", timed(&|| thread::sleep(ms(5)))),
        ("park", timed(&|| thread::park_timeout(ms(5)))),
        ("condvar", timed(&|| drop(changed.wait_timeout(lock.lock().unwrap(), ms(5))))),
        ("mpsc", timed(&|| assert!(receiver.recv_timeout(ms(5)).is_err()))),
        ("crossbeam", timed(&|| assert!(channel.recv_timeout(ms(5)).is_err()))),
        ("after", timed(&|| assert!(crossbeam_channel::after(ms(5)).recv().is_ok()))),
    ]
}

#[sim::test(native, seeds = 100)]
fn a_wait_is_as_long_as_its_time() {
    for (way, time) in waits() {
        assert!(time >= ms(5) && time < ms(5) + Duration::from_micros(1), "{way}: {time:?}");
    }
}

/// Returns `true` if the first thread continues first. Both wait for the same time, and first read the clock.
fn first_is_first(readings: [u32; 2], wait: fn()) -> bool {
    let (count, first) = (AtomicU64::new(0), AtomicU64::new(0));
    let run = |readings: u32| {
        for _ in 0..readings {
            let _ = Instant::now();
        }
        wait();
        count.fetch_add(1, SeqCst)
    };
    thread::scope(|scope| {
        scope.spawn(|| first.store(run(readings[0]), SeqCst));
        run(readings[1]);
    });
    first.load(SeqCst) == 0
}

fn parks() {
    thread::park_timeout(ms(5));
}

fn sleeps() {
    thread::sleep(ms(5));
}

fn waits_for_the_rest() {
    let (begin, lock, changed) = (Instant::now(), Mutex::new(()), Condvar::new());
    let mut held = lock.lock().unwrap();
    while let Some(rest) = ms(5).checked_sub(begin.elapsed()) {
        held = changed.wait_timeout(held, rest).unwrap().0;
    }
}

/// Both orders of equal waits, for any number of readings before each.
macro_rules! equal_waits {
    ($($wait:ident: $first:ident $last:ident,)*) => {
        $(
            #[sim::test(native, seeds = 300, must_fail)]
            fn $first() {
                assert!(first_is_first([0, 9], $wait));
                assert!(first_is_first([9, 0], $wait));
            }

            #[sim::test(native, seeds = 300, must_fail)]
            fn $last() {
                assert!(!first_is_first([0, 9], $wait));
                assert!(!first_is_first([9, 0], $wait));
            }
        )*
    };
}

equal_waits! {
    parks: one_of_two_that_park_may_be_first the_other_of_two_that_park_may_be_first,
    sleeps: one_of_two_that_sleep_may_be_first the_other_of_two_that_sleep_may_be_first,
    waits_for_the_rest: one_of_two_waits_may_end_first the_other_of_two_waits_may_end_first,
}

/// A search does not try the orders of readings, so they are equal in it.
#[sim::test(native, strategy = "exhaustive")]
fn readings_in_a_search_are_equal() {
    let first = Instant::now();
    let there = thread::spawn(Instant::now).join().unwrap();
    assert_eq!((first, first), (there, Instant::now()));
}

/// A thread polls with `rounds` readings of the clock, and sleeps then for 20 ms. Another thread does `steps`
/// operations and signals it to end. Returns the time until the signal.
fn told(rounds: u32, steps: u64) -> Duration {
    let (told, count, begin) = (AtomicBool::new(false), AtomicU64::new(0), Instant::now());
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..steps {
                count.fetch_add(1, SeqCst);
            }
            told.store(true, SeqCst);
        });
        let mut until = begin;
        while !told.load(SeqCst) {
            for _ in 0..rounds {
                until = Instant::now();
            }
            thread::sleep((until + ms(20)).duration_since(Instant::now()));
        }
        begin.elapsed()
    })
}

/// The possible steps of another thread take no time, even if this thread polls with readings of the clock.
#[sim::test(native, seeds = 300)]
fn a_thread_that_polls_lets_the_others_go_first() {
    let time = told(40, 10);
    assert!(time < ms(21), "{time:?}");
}

/// Each of 3,000 entries reads the clock when it is made and when it is used, within a second. `change` is called before
/// each reading.
fn entries_are_in_time(change: fn(&AtomicU64)) {
    let entries: Vec<_> = (0..3_000).map(|_| Box::new(AtomicU64::new(0))).collect();
    let limit = |entry: &AtomicU64| {
        change(entry);
        Instant::now() + ms(1_000)
    };
    let limits: Vec<_> = entries.iter().map(|entry| limit(entry)).collect();
    for (entry, limit) in entries.iter().zip(limits) {
        change(entry);
        assert!(Instant::now() < limit);
    }
}

fn add(entry: &AtomicU64) {
    entry.fetch_add(1, SeqCst);
}

#[sim::test(native, seeds = 3)]
fn many_entries_that_change_keep_their_time_limits() {
    entries_are_in_time(add);
}

#[sim::test(native, seeds = 3)]
fn many_entries_keep_their_time_limits() {
    entries_are_in_time(|_| ());
}

/// Calls `round` until 40 ms have passed.
fn until_a_time(mut round: impl FnMut()) {
    let (begin, mut rounds) = (Instant::now(), 0);
    while begin.elapsed() < ms(40) {
        round();
        rounds += 1;
        assert!(rounds < 50_000, "the loop does not come to its end");
    }
}

#[sim::test(native, seeds = 3)]
fn a_loop_until_a_time_ends() {
    let count = AtomicU64::new(0);
    until_a_time(|| ());
    until_a_time(|| add(&count));
    // Also in a program with many entries.
    let entries: Vec<_> = (0..3_000).map(|_| Box::new(AtomicU64::new(0))).collect();
    until_a_time(|| add(&entries[0]));
    until_a_time(|| ());
}

#[sim::test(native, seeds = 3)]
fn a_loop_that_adds_entries_until_a_time_ends() {
    let mut entries = Vec::new();
    until_a_time(|| entries.push(Box::new(AtomicU64::new(0))));
    until_a_time(|| {
        add(&entries[0]);
        entries.push(Box::new(AtomicU64::new(0)));
    });
}
