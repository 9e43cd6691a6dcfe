//! Loops that end by themselves after many rounds. They count their rounds where the engine does not see the counter,
//! and a thread that waits in such a loop has no deadlock.

use std::cell::RefCell;
use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use sim::report::Report;

use super::runner;

const STRATEGIES: [&str; 2] = ["random", "exhaustive"];

fn made(strategy: &str, body: fn()) -> (Report, String) {
    let report = runner(strategy, 3).max_steps(1_000_000).run_native(body);
    let outcome = report.finding.as_ref().map(|finding| &finding.run.outcome);
    let text = format!("{strategy}: {outcome:?} {:?} {:?}", report.searched, report.notes);
    (report, text)
}

/// Fails if a run does not end, or if a search proves that the loop waits for another thread.
#[track_caller]
fn must_give_up(body: fn()) {
    for strategy in STRATEGIES {
        let (report, text) = made(strategy, body);
        assert!(report.finding.is_none(), "{text}");
        assert!(report.searched.is_none_or(|searched| !searched.is_proof()), "{text}");
    }
}

/// Fails if the loop without an end is not found in each strategy.
#[track_caller]
fn must_be_endless(body: fn()) {
    for strategy in STRATEGIES {
        let (report, text) = made(strategy, body);
        assert!(report.finding.is_some() && text.contains("Deadlock"), "{text}");
    }
}

/// A counter on the heap, away from any lock.
fn counter() -> Box<[u64; 512]> {
    Box::new([0; 512])
}

/// Returns `true` if `rounds` rounds are over. No round is over if `rounds` is 0.
fn is_last(counter: &mut [u64; 512], rounds: u64) -> bool {
    let count = &mut black_box(counter)[300];
    *count += 1;
    *count == rounds
}

/// A flag that no thread sets, and that another thread reads.
fn flag() -> Arc<AtomicU64> {
    let flag = Arc::new(AtomicU64::new(0));
    let other = flag.clone();
    thread::spawn(move || other.load(SeqCst)).join().unwrap();
    flag
}

/// Changes a word and changes it back in each round, until another thread sets the flag.
fn undoes(rounds: u64) {
    let (word, flag) = (AtomicU64::new(0), flag());
    let mut counter = counter();
    while flag.load(SeqCst) == 0 && !is_last(&mut counter, rounds) {
        word.fetch_add(1, SeqCst);
        word.fetch_sub(1, SeqCst);
        thread::yield_now();
    }
}

#[test]
fn a_loop_that_undoes_its_changes_gives_up() {
    must_give_up(|| undoes(2_500));
    must_be_endless(|| undoes(0));
}

#[test]
fn a_loop_that_counts_in_a_thread_local_gives_up() {
    thread_local! {
        static COUNTER: RefCell<[u64; 512]> = const { RefCell::new([0; 512]) };
    }
    fn body(rounds: u64) {
        let (word, flag) = (AtomicU64::new(0), flag());
        let is_last = || COUNTER.with_borrow_mut(|counter| is_last(counter, rounds));
        while flag.load(SeqCst) == 0 && !is_last() {
            word.fetch_add(1, SeqCst);
            word.fetch_sub(1, SeqCst);
            thread::yield_now();
        }
    }
    must_give_up(|| body(2_500));
    must_be_endless(|| body(0));
}

/// The loop changes no atomic.
fn only_reads(rounds: u64) {
    let flag = flag();
    let mut counter = counter();
    while flag.load(SeqCst) == 0 && !is_last(&mut counter, rounds) {
        spin_loop();
    }
}

#[test]
fn a_loop_that_only_reads_gives_up() {
    must_give_up(|| only_reads(40_000));
    // A copy of the process continues a loop that is regarded as endless for at most 100,000 accesses.
    must_give_up(|| only_reads(400_000));
    must_be_endless(|| only_reads(0));
}

#[test]
fn a_loop_that_counts_in_a_register_gives_up() {
    must_give_up(|| {
        let flag = flag();
        for _ in 0..40_000 {
            if flag.load(SeqCst) == 1 {
                return;
            }
            spin_loop();
        }
    });
}

/// In a run of a seed, no thread in a loop over a lock is held.
#[test]
fn a_loop_over_a_lock_gives_up() {
    fn body(rounds: u64) {
        let done = Mutex::new(Box::new([0_u64; 512]));
        let mut counter = counter();
        while done.lock().unwrap()[200] == 0 && !is_last(&mut counter, rounds) {
            thread::yield_now();
        }
    }
    must_give_up(|| body(2_500));
    let (report, text) = made("exhaustive", || body(0));
    assert!(report.finding.is_some() && text.contains("Deadlock"), "{text}");
}

/// Another thread waits, too: neither may be regarded as dead while the other may still give up.
#[test]
fn two_loops_that_wait_for_each_other_give_up() {
    fn body() {
        static FLAGS: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];
        let waits = |own: usize, rounds: u64| {
            let mut counter = counter();
            while FLAGS[1 - own].load(SeqCst) == 0 && !is_last(&mut counter, rounds) {
                thread::yield_now();
            }
            FLAGS[own].store(1, SeqCst);
        };
        let other = thread::spawn(move || waits(1, 0));
        waits(0, 40_000);
        other.join().unwrap();
    }
    must_give_up(body);
}

#[test]
fn a_loop_with_a_long_time_limit_gives_up() {
    fn body(limit: Duration) {
        let flag = flag();
        let begin = Instant::now();
        while flag.load(SeqCst) == 0 && begin.elapsed() < limit {
            thread::yield_now();
        }
    }
    must_give_up(|| body(Duration::from_secs(60)));
    let report = runner("random", 1).max_steps(20_000).run_native(|| body(Duration::MAX));
    let text = format!("{:?} {:?}", report.finding.map(|found| found.run.outcome), report.notes);
    assert!(text.contains("StepLimit") || text.contains("Deadlock"), "{text}");
}
