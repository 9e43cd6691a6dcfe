//! shuttle's semaphore of many permits, implemented with std's `Mutex`. Reserving requests and upgrades are not
//! supported.

use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::thread::has_ended;

/// The order in which requests get permits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fairness {
    /// Earlier requests get permits first.
    StrictlyFair,
    /// Any request gets its permits if they are available.
    Unfair,
}

/// The error of [`BatchSemaphore::try_acquire`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TryAcquireError {
    /// The semaphore is closed.
    Closed,
    /// Not enough permits are available.
    NoPermits,
}

impl fmt::Display for TryAcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TryAcquireError::Closed => "semaphore closed",
            TryAcquireError::NoPermits => "no permits available",
        })
    }
}

impl Error for TryAcquireError {}

/// The error of a request: the semaphore is closed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AcquireError(());

impl fmt::Display for AcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("semaphore closed")
    }
}

impl Error for AcquireError {}

/// A request that waits for permits.
#[derive(Debug)]
struct Waiter {
    number: u64,
    permits: usize,
    is_bypassable: bool,
    waker: Waker,
    /// True if the task that has polled the request last has ended.
    has_ended: &'static AtomicBool,
}

#[derive(Debug)]
struct State {
    available: usize,
    is_closed: bool,
    /// The number of the next waiting request.
    next: u64,
    /// Waiting requests, in the order of their first polls.
    waiters: VecDeque<Waiter>,
    /// Numbers of requests that have been granted permits but were not polled since.
    granted: Vec<u64>,
}

impl State {
    /// Takes permits if enough are available and the waiters allow this request to go first.
    fn take(&mut self, permits: usize, fairness: Fairness) -> bool {
        let is_behind = fairness == Fairness::StrictlyFair
            && self.waiters.iter().any(|waiter| !waiter.is_bypassable);
        let takes = permits <= self.available && !is_behind;
        if takes {
            self.available -= permits;
        }
        takes
    }

    /// Gives available permits to waiters. Returns the wakers to call. Requests of tasks that have ended leave the
    /// queue: no task waits for them. If another task polls such a request, it queues again.
    fn grant(&mut self, fairness: Fairness) -> Vec<Waker> {
        if self.available > 0 {
            self.waiters.retain(|waiter| !waiter.has_ended.load(SeqCst));
        }
        if fairness == Fairness::Unfair {
            // The request that is polled first takes the permits.
            let enough = self.waiters.iter().filter(|waiter| waiter.permits <= self.available);
            return enough.map(|waiter| waiter.waker.clone()).collect();
        }
        let mut wakers = Vec::new();
        let mut at = 0;
        while let Some(waiter) = self.waiters.get(at) {
            if waiter.permits <= self.available {
                self.available -= waiter.permits;
                self.granted.push(waiter.number);
                wakers.extend(self.waiters.remove(at).map(|waiter| waiter.waker));
            } else if waiter.is_bypassable {
                at += 1;
            } else {
                break;
            }
        }
        wakers
    }
}

/// A semaphore. A request may acquire many permits.
#[derive(Debug)]
pub struct BatchSemaphore {
    state: Mutex<State>,
    fairness: Fairness,
}

impl BatchSemaphore {
    /// Creates a semaphore with this number of permits.
    pub fn new(permits: usize, fairness: Fairness) -> BatchSemaphore {
        BatchSemaphore::const_new(permits, fairness)
    }

    /// Like `new`, for statics.
    pub const fn const_new(permits: usize, fairness: Fairness) -> BatchSemaphore {
        let state = State {
            available: permits,
            is_closed: false,
            next: 0,
            waiters: VecDeque::new(),
            granted: Vec::new(),
        };
        BatchSemaphore { state: Mutex::new(state), fairness }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of available permits.
    pub fn available_permits(&self) -> usize {
        self.state().available
    }

    /// Closes the semaphore: waiting and later requests are refused.
    pub fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        let waiters = std::mem::take(&mut state.waiters);
        drop(state);
        waiters.into_iter().for_each(|waiter| waiter.waker.wake());
    }

    /// Same as `close`, because here every operation is a scheduling point.
    pub fn close_no_scheduling_point(&self) {
        self.close();
    }

    /// Returns `true` if the semaphore is closed.
    pub fn is_closed(&self) -> bool {
        self.state().is_closed
    }

    /// Acquires permits if they are available.
    ///
    /// # Errors
    /// If the semaphore is closed, or if not enough permits are available.
    pub fn try_acquire(&self, permits: usize) -> Result<(), TryAcquireError> {
        let mut state = self.state();
        if state.is_closed {
            return Err(TryAcquireError::Closed);
        }
        match state.take(permits, self.fairness) {
            true => Ok(()),
            false => Err(TryAcquireError::NoPermits),
        }
    }

    /// Waits for permits.
    pub fn acquire(&self, permits: usize) -> Acquire<'_> {
        self.request(permits, false)
    }

    /// Waits for permits. Later requests may get their permits first.
    pub fn acquire_bypassable(&self, permits: usize) -> Acquire<'_> {
        self.request(permits, true)
    }

    fn request(&self, permits: usize, is_bypassable: bool) -> Acquire<'_> {
        Acquire { semaphore: self, permits, is_bypassable, number: None, is_done: false }
    }

    /// Waits for permits. The thread is blocked while it waits.
    ///
    /// # Errors
    /// If the semaphore is closed.
    pub fn acquire_blocking(&self, permits: usize) -> Result<(), AcquireError> {
        super::block_on(self.acquire(permits))
    }

    /// Releases or adds permits.
    pub fn release(&self, permits: usize) {
        let mut state = self.state();
        state.available += permits;
        let wakers = state.grant(self.fairness);
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl Default for BatchSemaphore {
    fn default() -> BatchSemaphore {
        BatchSemaphore::new(0, Fairness::StrictlyFair)
    }
}

/// The future of a request. Dropping it cancels the request, and releases permits that were granted but not yet
/// returned by a poll.
#[derive(Debug)]
#[must_use]
pub struct Acquire<'a> {
    semaphore: &'a BatchSemaphore,
    permits: usize,
    is_bypassable: bool,
    /// The request's number among the waiters, set when it queues.
    number: Option<u64>,
    is_done: bool,
}

impl Future for Acquire<'_> {
    type Output = Result<(), AcquireError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        assert!(!this.is_done, "a request is polled after it was ready");
        let mut state = this.semaphore.state();
        if let Some(number) = this.number {
            if let Some(at) = state.granted.iter().position(|granted| *granted == number) {
                state.granted.swap_remove(at);
                this.is_done = true;
                return Poll::Ready(Ok(()));
            }
        }
        if state.is_closed {
            this.is_done = true;
            return Poll::Ready(Err(AcquireError(())));
        }
        let queued = state.waiters.iter().position(|waiter| Some(waiter.number) == this.number);
        let may_take = queued.is_none() || this.semaphore.fairness == Fairness::Unfair;
        if may_take && state.take(this.permits, this.semaphore.fairness) {
            queued.map(|at| state.waiters.remove(at));
            this.is_done = true;
            return Poll::Ready(Ok(()));
        }
        match queued {
            Some(at) => {
                let waiter = &mut state.waiters[at];
                (waiter.waker, waiter.has_ended) = (context.waker().clone(), has_ended());
            }
            None => {
                let number = state.next;
                state.next += 1;
                this.number = Some(number);
                let (permits, is_bypassable) = (this.permits, this.is_bypassable);
                let (waker, has_ended) = (context.waker().clone(), has_ended());
                state.waiters.push_back(Waiter {
                    number,
                    permits,
                    is_bypassable,
                    waker,
                    has_ended,
                });
            }
        }
        Poll::Pending
    }
}

impl Drop for Acquire<'_> {
    fn drop(&mut self) {
        let (Some(number), false) = (self.number, self.is_done) else { return };
        let mut state = self.semaphore.state();
        state.waiters.retain(|waiter| waiter.number != number);
        if let Some(at) = state.granted.iter().position(|granted| *granted == number) {
            state.granted.swap_remove(at);
            state.available += self.permits;
        }
        let wakers = state.grant(self.semaphore.fairness);
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;
    use crate::future::{block_on, spawn};

    /// A request that a task has polled once, after the end of the task.
    async fn abandoned(semaphore: &'static BatchSemaphore) -> Pin<Box<Acquire<'static>>> {
        let task = spawn(async move {
            let mut request = Box::pin(semaphore.acquire(1));
            let mut context = Context::from_waker(Waker::noop());
            assert!(request.as_mut().poll(&mut context).is_pending());
            Some(request)
        });
        task.await.unwrap().unwrap()
    }

    #[test]
    fn a_request_of_a_task_that_has_ended_gets_no_permits_until_another_task_polls_it() {
        static SEMAPHORE: BatchSemaphore = BatchSemaphore::const_new(0, Fairness::StrictlyFair);
        block_on(async {
            let request = abandoned(&SEMAPHORE).await;
            SEMAPHORE.release(1);
            assert_eq!(SEMAPHORE.available_permits(), 1);
            request.await.unwrap();
            assert_eq!(SEMAPHORE.available_permits(), 0);
        });
    }

    #[test]
    fn a_request_that_a_task_still_polls_gets_its_permits_first() {
        static SEMAPHORE: BatchSemaphore = BatchSemaphore::const_new(0, Fairness::StrictlyFair);
        block_on(async {
            let request = abandoned(&SEMAPHORE).await;
            // This poll is outside of tasks.
            let mut request = pin!(request);
            let mut context = Context::from_waker(Waker::noop());
            assert!(request.as_mut().poll(&mut context).is_pending());
            SEMAPHORE.release(1);
            assert_eq!(SEMAPHORE.available_permits(), 0);
            request.await.unwrap();
            // A task that waits gets its permit from the release.
            let task = spawn(async { SEMAPHORE.acquire(1).await.unwrap() });
            SEMAPHORE.release(1);
            task.await.unwrap();
            assert_eq!(SEMAPHORE.available_permits(), 0);
        });
    }
}
