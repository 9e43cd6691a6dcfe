//! A bucket of tokens that is refilled periodically; calls reserve tokens, and give them back if they are cancelled
//! before the next refill. Planted bug: only the parity of refills is compared, so a call also gives tokens back after
//! two.

#![forbid(unsafe_code)]

use std::sync::Arc;

use sim::time::{Duration, sleep};
use sim::tokio::sync::{Mutex, Notify, Semaphore};

const CALLERS: usize = 5;
/// The number of calls of each caller.
const CALLS: u64 = 40;
/// The number of tokens in a full bucket.
const CAPACITY: usize = 8;
/// The most tokens of a call.
const TOKENS: u64 = 2;
const TICK: Duration = Duration::from_millis(1);
/// The time between two refills, in ticks.
const PERIOD: u32 = 7;
/// The most tries of a call, and the longest try in ticks.
const TRIES: u64 = 3;
const LONGEST: u64 = 3;
/// One of this number of tries fails.
const FAILURES: u64 = 5;
/// A caller cancels a successful call once in this number of calls.
const CANCELS: u64 = 12;

/// Draws a time of `from` to `to - 1` ticks.
fn ticks(from: u64, to: u64) -> Duration {
    TICK * sim::rand::range(from..to) as u32
}

#[derive(Default)]
struct Bucket {
    /// Changes with each refill.
    period: u64,
    /// The number of refills.
    refills: u64,
    /// The number of tokens that calls have kept.
    used: usize,
}

/// The tokens of a call, and the state of the bucket when they were taken.
struct Reservation {
    tokens: usize,
    period: u64,
    refills: u64,
}

struct Limiter {
    fixed: bool,
    tokens: Semaphore,
    bucket: Mutex<Bucket>,
    /// Tells waiting callers that tokens have come.
    filled: Notify,
}

impl Limiter {
    /// Waits for tokens, and takes them.
    async fn reserve(&self, tokens: u64) -> Reservation {
        let mut waited = false;
        loop {
            let filled = self.filled.notified();
            let bucket = self.bucket.lock().await;
            if let Ok(permits) = self.tokens.try_acquire_many(tokens as u32) {
                permits.forget();
                crate::sometimes!(waited, "a caller has waited for tokens");
                let Bucket { period, refills, .. } = *bucket;
                return Reservation { tokens: tokens as usize, period, refills };
            }
            drop(bucket);
            waited = true;
            filled.await;
        }
    }

    /// Keeps the tokens of a call that has ended.
    async fn commit(&self, reservation: Reservation) {
        let mut bucket = self.bucket.lock().await;
        let age = bucket.refills - reservation.refills;
        crate::sometimes_each!((age, "kept"), "refills during a reservation");
        bucket.used += reservation.tokens;
        let most = CAPACITY * (bucket.refills as usize + 1);
        assert!(bucket.used <= most, "{} tokens were used, of at most {most}", bucket.used);
    }

    /// Gives tokens back, unless a refill has replaced them.
    async fn cancel(&self, reservation: Reservation) {
        let bucket = self.bucket.lock().await;
        let age = bucket.refills - reservation.refills;
        crate::sometimes_each!((age, "cancelled"), "refills during a reservation");
        let is_replaced = bucket.period != reservation.period;
        crate::sometimes!(is_replaced, "a cancellation is too late");
        crate::sometimes!(!is_replaced, "a cancellation gives tokens back");
        if !is_replaced {
            self.tokens.add_permits(reservation.tokens);
            self.filled.notify_waiters();
        }
        let available = self.tokens.available_permits();
        crate::watermark!(available as u64, "tokens after a cancellation");
        assert!(available <= CAPACITY, "{available} tokens, but the capacity is {CAPACITY}");
    }

    /// Fills the bucket again and again.
    async fn refill(self: Arc<Self>) {
        loop {
            sleep(TICK * PERIOD).await;
            let mut bucket = self.bucket.lock().await;
            let available = self.tokens.available_permits();
            crate::sometimes_each!(available, "tokens before a refill");
            self.tokens.add_permits(CAPACITY - available);
            bucket.refills += 1;
            bucket.period = if self.fixed { bucket.refills } else { bucket.refills % 2 };
            self.filled.notify_waiters();
        }
    }

    /// Makes calls. Each call has several tries, and is cancelled if all of them fail.
    async fn call(self: Arc<Self>) {
        for _ in 0..CALLS {
            if sim::rand::bool() {
                sleep(ticks(0, 3)).await;
            }
            let reservation = self.reserve(sim::rand::range(1..TOKENS + 1)).await;
            let mut is_done = false;
            for _ in 0..TRIES {
                sleep(ticks(1, LONGEST + 1)).await;
                is_done = sim::rand::below(FAILURES) > 0;
                if is_done {
                    break;
                }
            }
            if is_done && sim::rand::below(CANCELS) > 0 {
                self.commit(reservation).await;
            } else {
                self.cancel(reservation).await;
            }
        }
    }
}

pub(crate) async fn body(fixed: bool) {
    let limiter = Arc::new(Limiter {
        fixed,
        tokens: Semaphore::new(CAPACITY),
        bucket: Mutex::default(),
        filled: Notify::new(),
    });
    let refilling = sim::spawn(limiter.clone().refill());
    let callers: Vec<_> = (0..CALLERS).map(|_| sim::spawn(limiter.clone().call())).collect();
    for caller in callers {
        caller.await.unwrap();
    }
    refilling.abort();
    // The task was aborted, so it has no result.
    let _ = refilling.await;
}
