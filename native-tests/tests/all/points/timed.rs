//! Loops that count their rounds, while another thread sleeps: the rounds take no time, so the sleep does not end before.

use std::hint::{black_box, spin_loop};
use std::sync::Condvar;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use sim::Runner;

fn ms(time: u64) -> Duration {
    Duration::from_millis(time)
}

/// A value that is announced by a flag.
#[derive(Default)]
struct Mailbox {
    flag: AtomicU64,
    lock: Mutex<()>,
    changed: Condvar,
}

impl Mailbox {
    fn put(&self) {
        let _held = self.lock.lock().unwrap();
        self.flag.store(1, SeqCst);
        self.changed.notify_one();
    }

    /// Looks `rounds` times, with a count in memory, and waits then. Returns `false` after `limit`.
    fn take(&self, rounds: u64, limit: Duration) -> bool {
        let (deadline, mut count) = (Instant::now() + limit, 0);
        while *black_box(&mut count) < rounds {
            if self.flag.load(SeqCst) == 1 {
                return true;
            }
            spin_loop();
            *black_box(&mut count) += 1;
        }
        let mut held = self.lock.lock().unwrap();
        while self.flag.load(SeqCst) == 0 {
            let now = Instant::now();
            if now >= deadline {
                return false;
            }
            held = self.changed.wait_timeout(held, deadline - now).unwrap().0;
        }
        true
    }
}

/// A message comes after `sleep`. Returns the results of taking it within one second.
fn taken(rounds: u64, sleep: u64) -> bool {
    let mailbox = Mailbox::default();
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(ms(sleep));
            mailbox.put();
        });
        mailbox.take(rounds, ms(1_000))
    })
}

#[sim::test(native, seeds = 40)]
fn rounds_end_before_the_sleep_of_another_thread() {
    for rounds in [4, 11, 40, 300, 1_000] {
        assert!(!taken(rounds, 1_500), "{rounds} rounds");
    }
}

#[sim::test(native, seeds = 300, must_fail)]
fn a_message_before_the_time_limit_is_taken() {
    assert!(!taken(11, 500));
}

#[sim::test(native, strategy = "exhaustive")]
fn every_order_ends_by_the_time_limit() {
    assert!(!taken(11, 1_500));
}

fn received(sleep: u64) -> bool {
    let (sender, receiver) = crossbeam_channel::bounded(1);
    thread::scope(|scope| {
        scope.spawn(move || {
            thread::sleep(ms(sleep));
            let _ = sender.send(());
        });
        receiver.recv_timeout(ms(1_000)).is_ok()
    })
}

#[sim::test(native, seeds = 300)]
fn a_receiver_of_crossbeam_gives_up_before_a_later_message() {
    assert!(!received(1_500));
}

#[sim::test(native, seeds = 300, must_fail)]
fn a_receiver_of_crossbeam_has_an_earlier_message() {
    assert!(!received(500));
}

/// Looks at a flag until a time limit of 100 ms. The flag is set after `sleep`.
fn seen_in_time(sleep: u64) -> bool {
    let flag = AtomicU64::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(ms(sleep));
            flag.store(1, SeqCst);
        });
        let begin = Instant::now();
        while begin.elapsed() < ms(100) {
            if flag.load(SeqCst) == 1 {
                return true;
            }
        }
        false
    })
}

#[sim::test(native, seeds = 300)]
fn a_loop_until_a_time_ends_before_a_later_change() {
    assert!(!seen_in_time(1_000));
}

#[sim::test(native, seeds = 300, must_fail)]
fn a_loop_until_a_time_sees_an_earlier_change() {
    assert!(!seen_in_time(50));
}

/// A loop that waits for a thread which sleeps again and again repeats once without effect, and not after each sleep.
#[test]
fn loops_wait_for_many_sleeps() {
    fn body() {
        let ticks = AtomicU64::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..300 {
                    thread::sleep(ms(1));
                    ticks.fetch_add(1, SeqCst);
                }
            });
            while ticks.load(SeqCst) < 300 {}
        });
    }
    let report = Runner::new().hermetic().seeds(0..20).max_steps(3_000).run_native(body);
    assert!(report.passed(), "{:?}", report.finding.map(|f| f.run.outcome));
}

/// A proof says that a wait with a time limit never ends too early. Without a time limit, it says nothing about time.
#[test]
fn a_proof_names_its_assumption_about_the_time() {
    fn waits(limit: Option<Duration>) {
        let (sender, receiver) = std::sync::mpsc::channel();
        let other = thread::spawn(move || sender.send(1).unwrap());
        let received = match limit {
            Some(limit) => receiver.recv_timeout(limit).unwrap(),
            None => receiver.recv().unwrap(),
        };
        assert_eq!(received, 1);
        other.join().unwrap();
    }
    for (body, is_timed) in
        [(|| waits(Some(Duration::from_millis(10))), true), (|| waits(None), false)]
            as [(fn(), bool); 2]
    {
        let runner = Runner::new().hermetic().strategy("exhaustive").seeds(0..1_000);
        let searched = runner.run_native(body).searched.unwrap();
        let assumption = searched.assumption().unwrap_or_default();
        assert!(searched.is_proof(), "{searched:?}");
        assert_eq!(assumption.contains("time advances"), is_timed, "{searched:?}");
    }
}
