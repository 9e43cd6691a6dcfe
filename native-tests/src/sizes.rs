//! Programs without a bug: the costs of a run, of a point, and of memory orders.

use super::names::{sync, thread};
use sync::atomic::AtomicU64;
use sync::atomic::Ordering::{self, Acquire, Relaxed, Release, SeqCst};
use sync::{Arc, Mutex};

/// The number of rounds of each thread in the long program.
const ROUNDS: u64 = 500;

/// The number of additional operations of [`long`] compared with [`tiny`].
pub const OPERATIONS_MORE: u64 = 2 * 2 * (ROUNDS - 1);

/// Runs two threads with two operations each.
pub fn tiny() {
    count(1, (SeqCst, SeqCst));
}

/// Runs two threads with a thousand operations each.
pub fn long() {
    count(ROUNDS, (SeqCst, SeqCst));
}

/// Like [`long`], but with relaxed operations and a tenth of the rounds.
pub fn relaxed() {
    count(ROUNDS / 10, (Relaxed, Relaxed));
}

/// Like [`relaxed`], but with acquire and release operations.
pub fn ordered() {
    count(ROUNDS / 10, (Acquire, Release));
}

/// Runs two threads that each acquire a lock ten times.
pub fn locks() {
    let sum = Arc::new(Mutex::new(0));
    let threads = [0, 1].map(|_| {
        let sum = sum.clone();
        thread::spawn(move || (0..10).for_each(|_| *sum.lock().unwrap() += 1))
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(*sum.lock().unwrap(), 20);
}

/// Runs two threads that each add `rounds` to a word, by loads and stores, so additions may be lost.
fn count(rounds: u64, (load, store): (Ordering, Ordering)) {
    let word = Arc::new(AtomicU64::new(0));
    let threads = [0, 1].map(|_| {
        let word = word.clone();
        thread::spawn(move || {
            for _ in 0..rounds {
                word.store(word.load(load) + 1, store);
            }
        })
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert!(word.load(SeqCst) <= 2 * rounds);
}
