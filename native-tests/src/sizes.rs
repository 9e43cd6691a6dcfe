//! A tiny program and a long one, without a bug: what a run costs, and what a point.

use super::names::{sync, thread};
use sync::Arc;
use sync::atomic::{AtomicU64, Ordering::SeqCst};

/// The rounds of each thread of the long program.
const ROUNDS: u64 = 500;

/// The operations that [`long`] has more than [`tiny`].
pub const OPERATIONS_MORE: u64 = 2 * 2 * (ROUNDS - 1);

/// Two threads, two operations each.
pub fn tiny() {
    count(1);
}

/// Two threads, a thousand operations each.
pub fn long() {
    count(ROUNDS);
}

/// Two threads that each add `rounds` to a word, by a load and a store: additions may be lost.
fn count(rounds: u64) {
    let word = Arc::new(AtomicU64::new(0));
    let threads = [0, 1].map(|_| {
        let word = word.clone();
        thread::spawn(move || {
            for _ in 0..rounds {
                word.store(word.load(SeqCst) + 1, SeqCst);
            }
        })
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert!(word.load(SeqCst) <= 2 * rounds);
}
