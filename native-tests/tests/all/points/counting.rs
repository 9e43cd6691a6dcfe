//! Loops that end by themselves, and count their rounds where the engine must look for the counter: in two loops on the
//! stack, in a pointer to the heap, or beside a lock. A search tries the order in which such a loop gives up. If the
//! counter is elsewhere, the search is no proof.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;

use super::runner;

/// Calls `gives_up` with a flag that another thread sets. Fails if it has returned `true`.
pub(super) fn flagged(gives_up: fn(&AtomicU64) -> bool) {
    let flag = Arc::new(AtomicU64::new(0));
    let other = {
        let flag = flag.clone();
        thread::spawn(move || flag.store(1, SeqCst))
    };
    let gave_up = gives_up(&flag);
    other.join().unwrap();
    assert!(!gave_up, "gave up");
}

/// Fails if a search does not find that the program gives up.
fn must_give_up(body: fn()) {
    let report = runner("exhaustive", 2_000).run_native(body);
    let outcome = report.finding.map(|finding| format!("{:?}", finding.run.outcome));
    let found = outcome.is_some_and(|outcome| outcome.contains("gave up"));
    assert!(found, "nothing in {} runs, {:?}", report.runs, report.searched);
}

/// Reads the flag in two rounds, which are counted in the stack frame of this function.
#[inline(never)]
fn is_set_within_two_rounds(flag: &AtomicU64) -> bool {
    let mut rounds = [0_u64; 24];
    while black_box(&rounds)[12] < 2 {
        if flag.load(SeqCst) == 1 {
            return true;
        }
        black_box(&mut rounds)[12] += 1;
    }
    false
}

#[test]
fn two_loops_in_two_functions_count_their_rounds() {
    must_give_up(|| {
        flagged(|flag| {
            let mut attempts = [0_u64; 24];
            while black_box(&attempts)[12] < 3 {
                if is_set_within_two_rounds(flag) {
                    return false;
                }
                black_box(&mut attempts)[12] += 1;
            }
            true
        });
    });
}

#[test]
fn a_pointer_into_a_list_counts_the_rounds() {
    must_give_up(|| {
        flagged(|flag| {
            let items = vec![7_u64; 8];
            let mut left = items.iter();
            while black_box(&mut left).next().is_some() {
                if flag.load(SeqCst) == 1 {
                    return false;
                }
            }
            true
        });
    });
}

type Job = Box<dyn FnOnce() + Send>;

fn jobs() -> VecDeque<Job> {
    (0..8).map(|_| Box::new(|| ()) as Job).collect()
}

#[test]
fn a_queue_behind_a_mutex_counts_the_rounds() {
    must_give_up(|| {
        flagged(|flag| {
            let queue = Mutex::new(jobs());
            while flag.load(SeqCst) == 0 {
                let job = queue.lock().unwrap().pop_front();
                let Some(job) = job else { return true };
                job();
            }
            false
        });
    });
}

/// A spin lock, and the value that it protects.
struct Spinning<T> {
    word: AtomicU64,
    value: RefCell<T>,
}

impl<T> Spinning<T> {
    fn new(value: T) -> Spinning<T> {
        Spinning { word: AtomicU64::new(0), value: RefCell::new(value) }
    }

    fn with<R>(&self, act: impl FnOnce(&mut T) -> R) -> R {
        while self.word.swap(1, SeqCst) == 1 {
            spin_loop();
        }
        let result = act(&mut self.value.borrow_mut());
        self.word.store(0, SeqCst);
        result
    }
}

/// Each round undoes its changes of atomics, and yields.
#[test]
fn a_queue_behind_a_spin_lock_counts_the_rounds() {
    must_give_up(|| {
        flagged(|flag| {
            let queue = Box::new(Spinning::new(jobs()));
            while flag.load(SeqCst) == 0 {
                let Some(job) = queue.with(VecDeque::pop_front) else { return true };
                job();
                thread::yield_now();
            }
            false
        });
    });
}

/// Rounds that find an empty queue are equal, so the loop is held.
#[test]
fn a_loop_over_an_empty_queue_is_held() {
    fn body() {
        flagged(|flag| {
            let queue = Mutex::new(VecDeque::<Job>::new());
            while flag.load(SeqCst) == 0 {
                assert!(queue.lock().unwrap().pop_front().is_none());
            }
            false
        });
    }
    let searched = runner("exhaustive", 100).run_native(body).searched.unwrap();
    assert!(searched.is_proof(), "{searched:?}");
}

/// A search of a loop that counts its rounds elsewhere finds that the loop gives up, or is no proof.
#[track_caller]
pub(super) fn must_not_prove(body: fn()) {
    let report = runner("exhaustive", 2_000).run_native(body);
    let Some(searched) = report.searched else { panic!("no search: {report:?}") };
    let is_named = searched.unseen.iter().any(|part| part.contains("a loop that counts them"));
    assert!(report.finding.is_some() || is_named && !searched.is_proof(), "{searched:?}");
}

/// A list that the thread empties, away from the flag and from any lock.
#[test]
fn a_list_on_the_heap_is_no_proof() {
    must_not_prove(|| {
        flagged(|flag| {
            let mut list: Box<(VecDeque<u64>, [u64; 64])> = Box::new(((0..40).collect(), [0; 64]));
            while black_box(&mut list).0.pop_front().is_some() {
                if flag.load(SeqCst) == 1 {
                    return false;
                }
            }
            true
        });
    });
}

/// The search begins again after its first run, because the program reads a number of references.
#[test]
fn a_list_is_no_proof_for_a_search_that_begins_again() {
    must_not_prove(|| {
        let shared = Arc::new(());
        let other = {
            let shared = shared.clone();
            thread::spawn(move || drop(shared))
        };
        flagged(|flag| {
            let mut list: Box<(VecDeque<u64>, [u64; 64])> = Box::new(((0..40).collect(), [0; 64]));
            while black_box(&mut list).0.pop_front().is_some() {
                if flag.load(SeqCst) == 1 {
                    return false;
                }
            }
            true
        });
        black_box(Arc::strong_count(&shared));
        other.join().unwrap();
    });
}

#[test]
fn a_list_in_a_thread_local_is_no_proof() {
    thread_local! {
        static LIST: RefCell<(VecDeque<u64>, [u64; 64])> = RefCell::new(((0..40).collect(), [0; 64]));
    }
    must_not_prove(|| {
        flagged(|flag| {
            while black_box(&LIST).with_borrow_mut(|list| list.0.pop_front()).is_some() {
                if flag.load(SeqCst) == 1 {
                    return false;
                }
            }
            true
        });
    });
}

/// A loop that changes memory in each round, undoes the change, and yields.
#[test]
fn a_list_in_a_loop_with_changes_is_no_proof() {
    must_not_prove(|| {
        flagged(|flag| {
            let mut list: Box<(VecDeque<u64>, [u64; 64])> = Box::new(((0..40).collect(), [0; 64]));
            let word = Box::new([0_u64; 64].map(AtomicU64::new));
            while black_box(&mut list).0.pop_front().is_some() {
                word[32].store(1, SeqCst);
                word[32].store(0, SeqCst);
                if flag.load(SeqCst) == 1 {
                    return false;
                }
                thread::yield_now();
            }
            true
        });
    });
}

/// Until the flag is set, flips a word twice in each round, at one place. Returns `true` if `ends` does so. It gets the
/// number of the flip in the round, and the previous value of the word.
fn flips(flag: &AtomicU64, mut ends: impl FnMut(u64, u64) -> bool) -> bool {
    let word = Box::new([0_u64; 64].map(AtomicU64::new));
    while flag.load(SeqCst) == 0 {
        for nth in 0..black_box(2) {
            if ends(nth, word[32].fetch_xor(1, SeqCst)) {
                return true;
            }
        }
        thread::yield_now();
    }
    false
}

/// The round has two accesses at one place, which see different values. Only the second one shortens the list.
#[test]
fn a_list_that_the_second_access_at_a_place_shortens_is_no_proof() {
    must_not_prove(|| {
        flagged(|flag| {
            let mut list: Box<(VecDeque<u64>, [u64; 64])> = Box::new(((0..40).collect(), [0; 64]));
            flips(flag, |_, value| value == 1 && black_box(&mut list).0.pop_front().is_none())
        });
    });
}

/// The twin of this loop has no end of its own.
#[test]
fn a_loop_with_two_accesses_at_a_place_is_held() {
    fn body() {
        flagged(|flag| flips(flag, |nth, value| nth != value));
    }
    let searched = runner("exhaustive", 100).run_native(body).searched.unwrap();
    assert!(searched.is_proof(), "{searched:?}");
}

/// The thread that is held first waits for a lock that the other thread has.
#[test]
fn a_loop_that_takes_a_lock_is_held() {
    fn body() {
        let shared = Arc::new((AtomicU64::new(0), Mutex::new(0)));
        let other = {
            let shared = shared.clone();
            thread::spawn(move || {
                *shared.1.lock().unwrap() = 1;
                shared.0.store(1, SeqCst);
            })
        };
        while shared.0.load(SeqCst) == 0 {
            black_box(*shared.1.lock().unwrap());
        }
        other.join().unwrap();
    }
    let searched = runner("exhaustive", 1_000).run_native(body).searched.unwrap();
    assert!(searched.is_proof(), "{searched:?}");
}

#[test]
fn a_loop_that_tries_to_acquire_a_lock_is_held() {
    fn body() {
        let value = Arc::new(Mutex::new(0));
        let other = {
            let value = value.clone();
            thread::spawn(move || *value.lock().unwrap() += 1)
        };
        loop {
            if let Ok(mut value) = value.try_lock() {
                *value += 1;
                break;
            }
            thread::yield_now();
        }
        other.join().unwrap();
        assert_eq!(*value.lock().unwrap(), 2);
    }
    let searched = runner("exhaustive", 100).run_native(body).searched.unwrap();
    assert!(searched.is_proof(), "{searched:?}");
}

/// A loop that reads a value behind a lock, and changes no other memory. `pause` is called in each round.
fn waits_behind_a_lock(pause: fn()) {
    let done = Arc::new(Mutex::new(false));
    let other = {
        let done = done.clone();
        thread::spawn(move || *done.lock().unwrap() = true)
    };
    while !*done.lock().unwrap() {
        pause();
    }
    other.join().unwrap();
}

#[test]
fn a_loop_over_a_lock_is_held() {
    for body in [|| waits_behind_a_lock(thread::yield_now), || waits_behind_a_lock(spin_loop)] {
        let searched = runner("exhaustive", 100).run_native(body).searched.unwrap();
        assert!(searched.is_proof(), "{searched:?}");
    }
}

/// The other thread never sets the value, so the search finds a deadlock. A loop over the calls of a lock with an end of
/// its own is none.
#[test]
fn a_loop_over_a_lock_without_an_end_is_a_deadlock() {
    fn endless() {
        let done = Mutex::new(false);
        while !*done.lock().unwrap() {
            thread::yield_now();
        }
    }
    fn counted() {
        let done = Arc::new(Mutex::new(0));
        let other = {
            let done = done.clone();
            thread::spawn(move || *done.lock().unwrap() += 1)
        };
        for _ in 0..5 {
            *done.lock().unwrap() += 1;
        }
        other.join().unwrap();
        assert_eq!(*done.lock().unwrap(), 6);
    }
    // A held thread is released eight times, for 2,040 rounds of three steps in all.
    let report = runner("exhaustive", 1_000).max_steps(10_000).run_native(endless);
    let outcome = report.finding.map(|finding| format!("{:?}", finding.run.outcome));
    assert!(outcome.as_ref().is_some_and(|text| text.contains("Deadlock")), "{outcome:?}");
    let report = runner("exhaustive", 1_000).run_native(counted);
    assert!(report.searched.unwrap().is_proof() && report.notes.is_empty(), "{:?}", report.notes);
}
