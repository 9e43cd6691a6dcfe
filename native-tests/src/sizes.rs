//! Programs without a bug: the costs of a run, of a point, and of memory orders.

use super::names::{sync, thread};
use sync::atomic::AtomicU64;
use sync::atomic::Ordering::{self, Acquire, Relaxed, Release, SeqCst};
use sync::{Arc, Mutex};

/// The rounds of each thread of the long program.
const ROUNDS: u64 = 500;

/// The operations that [`long`] has more than [`tiny`].
pub const OPERATIONS_MORE: u64 = 2 * 2 * (ROUNDS - 1);

/// Two threads, two operations each.
pub fn tiny() {
    count(1, (SeqCst, SeqCst));
}

/// Two threads, a thousand operations each.
pub fn long() {
    count(ROUNDS, (SeqCst, SeqCst));
}

/// [`long`] with relaxed operations, and a tenth of the rounds.
pub fn relaxed() {
    count(ROUNDS / 10, (Relaxed, Relaxed));
}

/// [`relaxed`] with acquire and release.
pub fn ordered() {
    count(ROUNDS / 10, (Acquire, Release));
}

/// Two threads that each take a lock ten times.
pub fn locks() {
    let sum = Arc::new(Mutex::new(0));
    let threads = [0, 1].map(|_| {
        let sum = sum.clone();
        thread::spawn(move || (0..10).for_each(|_| *sum.lock().unwrap() += 1))
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(*sum.lock().unwrap(), 20);
}

/// Two threads that each add `rounds` to a word, by a load and a store: additions may be lost.
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
