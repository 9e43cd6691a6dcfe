//! The commands of `futex`: waits for bits, moves between words, wakes with a change, and commands that a run refuses.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use planted::futexes::{EAGAIN, EINVAL, ENOSYS, ETIMEDOUT};
use planted::futexes::{add_and_wake, compare_and_requeue, lock_by_priority, requeue, wait};
use planted::futexes::{wait_bits, wait_for, wait_for_raw, wait_for_several, wake, wake_bits};
use sim::Runner;
use sim::report::Report;
use sim::run::{Failure, Outcome};

fn search() -> Runner {
    Runner::new().hermetic().strategy("exhaustive").seeds(0..200_000)
}

/// Returns when all other threads wait.
fn settle() {
    thread::sleep(Duration::from_millis(1));
}

/// Two words, and the names of the threads that have waited for one of them, in the order of their ends.
#[derive(Default)]
struct Words {
    one: AtomicU32,
    two: AtomicU32,
    woken: Mutex<Vec<u32>>,
}

impl Words {
    /// Calls `wait` on a thread with this name. Returns when the thread waits.
    fn waiter(
        self: &Arc<Words>,
        name: u32,
        wait: impl FnOnce(&Words) -> i64 + Send + 'static,
    ) -> thread::JoinHandle<i64> {
        let words = self.clone();
        let thread = thread::spawn(move || {
            let result = wait(&words);
            words.woken.lock().unwrap().push(name);
            result
        });
        settle();
        thread
    }

    /// The names of the threads that were woken, when all threads wait or have ended.
    fn woken(&self) -> Vec<u32> {
        settle();
        self.woken.lock().unwrap().clone()
    }
}

#[sim::test(native, seeds = 100)]
fn a_wake_with_bits_ends_the_waits_for_one_of_them() {
    let words = Arc::new(Words::default());
    let threads = [1, 2, 4].map(|bits| words.waiter(bits, move |on| wait_bits(&on.one, 0, bits)));
    assert_eq!((wake_bits(&words.one, 9, 8), wake_bits(&words.one, 9, 2 | 4)), (0, 2));
    let mut woken = words.woken();
    woken.sort_unstable();
    assert_eq!(woken, [2, 4]);
    // A wake without bits ends all waits.
    assert_eq!(wake(&words.one, 9), 1);
    threads.into_iter().for_each(|thread| assert_eq!(thread.join().unwrap(), 0));
    assert_eq!((wait_bits(&words.one, 0, 0), wake_bits(&words.one, 9, 0)), (EINVAL, EINVAL));
}

#[sim::test(native, seeds = 100)]
fn a_requeue_wakes_some_waiters_and_moves_others_in_their_order() {
    let words = Arc::new(Words::default());
    let threads = [1, 2, 3, 4].map(|name| words.waiter(name, |on| wait(&on.one, 0)));
    assert_eq!(compare_and_requeue(&words.one, 7, 1, 2, &words.two), EAGAIN);
    assert_eq!((words.woken(), wake(&words.two, 9)), (vec![], 0));
    assert_eq!(requeue(&words.one, 1, 2, &words.two), 3);
    assert_eq!((words.woken(), wake(&words.two, 1)), (vec![1], 1));
    assert_eq!((words.woken(), wake(&words.one, 9)), (vec![1, 2], 1));
    assert_eq!((words.woken(), wake(&words.two, 9)), (vec![1, 2, 4], 1));
    threads.into_iter().for_each(|thread| assert_eq!(thread.join().unwrap(), 0));
    assert_eq!(requeue(&words.one, u32::MAX, 0, &words.two), EINVAL);
}

#[sim::test(native, seeds = 100)]
fn a_wait_that_was_moved_keeps_its_time_limit() {
    let words = Arc::new(Words::default());
    let limit = Duration::from_millis(50);
    let late = words.waiter(1, move |on| wait_for(&on.one, 0, limit));
    let in_time = words.waiter(2, move |on| wait_for(&on.one, 0, 2 * limit));
    assert_eq!(compare_and_requeue(&words.one, 0, 0, 9, &words.two), 2);
    assert_eq!(late.join().unwrap(), ETIMEDOUT);
    assert_eq!((wake(&words.one, 9), wake(&words.two, 9)), (0, 1));
    assert_eq!(in_time.join().unwrap(), 0);
}

#[sim::test(native, seeds = 100)]
fn a_wake_with_a_change_tests_the_previous_value() {
    let words = Arc::new(Words::default());
    let one = words.waiter(1, |on| wait(&on.one, 0));
    let two = words.waiter(2, |on| wait(&on.two, 0));
    assert_eq!(add_and_wake(&words.one, &words.two, 3, 5), 1);
    assert_eq!((words.two.load(SeqCst), one.join().unwrap()), (3, 0));
    assert_eq!(add_and_wake(&words.one, &words.two, 0xffe, 3), 1);
    assert_eq!((words.two.load(SeqCst), two.join().unwrap()), (1, 0));
}

#[sim::test(native, seeds = 20)]
fn an_invalid_time_is_refused() {
    let word = AtomicU32::new(0);
    let waits = [(-1, 0), (0, -1), (0, 1_000_000_000)];
    let waits = waits.map(|(seconds, nanoseconds)| wait_for_raw(&word, 0, seconds, nanoseconds));
    assert_eq!(waits, [EINVAL; 3]);
}

/// A thread waits for the first word. The waits for it are moved to the second word. The planted bugs: a wake of one of
/// the words is missing.
fn moved(wakes: [bool; 2]) {
    let words = Arc::new(Words::default());
    let other = words.clone();
    let waiter = thread::spawn(move || wait(&other.one, 0));
    requeue(&words.one, 0, 1, &words.two);
    if wakes[1] {
        wake(&words.two, 1);
    }
    words.one.store(1, SeqCst);
    if wakes[0] {
        wake(&words.one, 1);
    }
    waiter.join().unwrap();
}

fn is_deadlock(report: &Report) -> bool {
    let outcome = report.finding.as_ref().map(|finding| &finding.run.outcome);
    matches!(outcome, Some(Outcome::Failed(Failure::Deadlock { .. })))
}

#[test]
fn a_search_tries_each_order_of_a_wait_and_a_requeue() {
    assert!(is_deadlock(&search().run_native(|| moved([false, true]))));
    assert!(is_deadlock(&search().run_native(|| moved([true, false]))));
    let right = search().run_native(|| moved([true, true]));
    assert!(right.finding.is_none() && right.searched.unwrap().is_proof());
}

/// A wake with a change changes the second word only. The planted bug: a thread waits for the first word, which stays the
/// same after the wake.
fn changed(waits_for_changed: bool) {
    let words = Arc::new(Words::default());
    let other = words.clone();
    let waiter = thread::spawn(move || match waits_for_changed {
        true => wait(&other.two, 0),
        false => wait(&other.one, 0),
    });
    add_and_wake(&words.one, &words.two, 1, 0);
    waiter.join().unwrap();
}

#[test]
fn a_search_tries_each_order_of_a_wait_and_a_wake_with_a_change() {
    assert!(is_deadlock(&search().run_native(|| changed(false))));
    let right = search().run_native(|| changed(true));
    assert!(right.finding.is_none() && right.searched.unwrap().is_proof());
}

#[sim::test(native, seeds = 100)]
fn a_loop_sees_the_change_of_a_wake() {
    let words = Arc::new(Words::default());
    let other = words.clone();
    let waiter = thread::spawn(move || {
        while other.two.load(SeqCst) == 0 {
            std::hint::spin_loop();
        }
    });
    settle();
    add_and_wake(&words.one, &words.two, 1, 0);
    waiter.join().unwrap();
}

/// Searches a body, which does not fail. Returns the calls that the search has not seen.
fn refused(body: fn()) -> Vec<String> {
    let report = search().run_native(body);
    assert!(report.passed());
    report.searched.unwrap().unseen
}

#[test]
fn locks_with_priorities_and_waits_for_several_words_are_refused() {
    fn by_priority() {
        let word = AtomicU32::new(0);
        assert_eq!((lock_by_priority(&word), word.into_inner()), (ENOSYS, 0));
    }
    fn for_several() {
        assert_eq!(wait_for_several(), ENOSYS);
    }
    assert_eq!(refused(by_priority), ["futex, with FUTEX_LOCK_PI"]);
    assert_eq!(refused(for_several), ["futex_waitv"]);
}
