//! Timers on the clock of the system, without a runtime: one thread of the process calls wakers when they are due.
//!
//! The thread starts with the first timer that has to wait. A timer that is dropped leaves nothing behind.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// A time that is not waited for: about 30 years.
pub(super) const FAR: Duration = Duration::from_secs(86_400 * 365 * 30);

/// The moment that is `after` from `now`; [`FAR`] from it, if the clock cannot represent that.
pub(super) fn add(now: Instant, after: Duration) -> Instant {
    now.checked_add(after).unwrap_or_else(|| now + FAR)
}

/// The wakers of timers, by deadline and number.
#[derive(Debug, Default)]
struct Queue {
    wakers: BTreeMap<(Instant, u64), Waker>,
    /// The number of the next timer.
    next: u64,
}

static QUEUE: Mutex<Queue> = Mutex::new(Queue { wakers: BTreeMap::new(), next: 0 });

/// Signalled when the earliest deadline has changed.
static CHANGED: Condvar = Condvar::new();

fn queue() -> MutexGuard<'static, Queue> {
    // No code of users runs under the lock, but a clone of a waker may panic.
    QUEUE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A timer on the clock of the system.
#[derive(Debug)]
pub(super) struct RealTimer {
    deadline: Instant,
    /// Its number in the queue, from its first poll that was pending.
    number: Option<u64>,
}

impl RealTimer {
    pub(super) fn new(deadline: Instant) -> RealTimer {
        RealTimer { deadline, number: None }
    }

    /// Ready if the deadline has passed; else the waker is called when it has.
    pub(super) fn poll(&mut self, cx: &Context<'_>) -> Poll<()> {
        if Instant::now() >= self.deadline {
            self.leave();
            return Poll::Ready(());
        }
        let waker = cx.waker().clone();
        let mut queue = queue();
        let number = *self.number.get_or_insert_with(|| {
            queue.next += 1;
            queue.next
        });
        let key = (self.deadline, number);
        let old = queue.wakers.insert(key, waker);
        let is_first = queue.wakers.first_key_value().is_some_and(|(first, _)| *first == key);
        drop(queue);
        drop(old);
        if is_first {
            CHANGED.notify_one();
        }
        start();
        Poll::Pending
    }

    /// Changes the deadline. The waker of the last poll is called at the new one.
    pub(super) fn reset(&mut self, deadline: Instant) {
        let before = std::mem::replace(&mut self.deadline, deadline);
        let Some(number) = self.number else { return };
        let mut queue = queue();
        // If it was called, its task polls the timer.
        if let Some(waker) = queue.wakers.remove(&(before, number)) {
            queue.wakers.insert((deadline, number), waker);
        }
        drop(queue);
        CHANGED.notify_one();
    }

    fn leave(&mut self) {
        if let Some(number) = self.number.take() {
            let waker = queue().wakers.remove(&(self.deadline, number));
            drop(waker);
        }
    }
}

impl Drop for RealTimer {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Starts the thread, once.
fn start() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let thread = std::thread::Builder::new().name("sim::time".to_owned());
        thread.spawn(wake_all).expect("a process that waits for a time can start a thread");
    });
}

/// Calls the wakers that are due, for ever.
fn wake_all() {
    let mut waiting = queue();
    loop {
        let now = Instant::now();
        let next = waiting.wakers.first_key_value().map(|((deadline, _), _)| *deadline);
        waiting = match next {
            None => CHANGED.wait(waiting).unwrap_or_else(PoisonError::into_inner),
            Some(deadline) if deadline > now => {
                let timeout = CHANGED.wait_timeout(waiting, deadline - now);
                timeout.unwrap_or_else(PoisonError::into_inner).0
            }
            Some(_) => {
                let first = waiting.wakers.pop_first();
                drop(waiting);
                if let Some((_, waker)) = first {
                    waker.wake();
                }
                queue()
            }
        };
    }
}
