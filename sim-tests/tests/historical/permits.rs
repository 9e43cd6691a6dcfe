//! Permits: semaphores, and locks made of one permit.

use std::collections::VecDeque;
use std::sync::Arc;

use sim::Ordering::SeqCst;
use sim::{Atomic, Mutex, spawn};

use crate::Shows::{Deadlock, Panic};
use crate::parts::Sleeper;

crate::bugs! {
    a_lock_that_gave_up_stays_in_the_queue:
        "tokio #1898", "a `lock` that waits and is dropped leaves its waiter in the queue",
        Deadlock, 100, abandoned_lock;
    a_semaphore_is_opened_by_forgetting:
        "tokio #8020", "`forget_permits` writes the counter without the bit of the close",
        Panic("acquired although it is closed"), 100, forgotten_permits;
    the_first_waiter_gives_up:
        "shuttle #167", "the first in a fair queue gives up, and those behind it are not granted",
        Deadlock, 100, first_gives_up;
    a_write_that_is_not_polled_keeps_its_place:
        "async-lock #91", "a `write` that is not polled any more is granted, and another one in its task waits",
        Deadlock, 100, polled_once;
}

/// A fair semaphore: permits go to the waiter at the front.
struct Semaphore {
    queue: Mutex<Queue>,
}

struct Queue {
    free: u32,
    waiters: VecDeque<Waiter>,
}

#[derive(Clone)]
struct Waiter {
    needs: u32,
    granted: Arc<Sleeper>,
}

/// The effect of dropping a waiter that has no permit yet.
#[derive(Clone, Copy)]
enum Leave {
    StaysQueued,
    IsRemoved,
    /// The waiter is removed, and later waiters get permits if there are enough.
    HandsOn,
}

impl Queue {
    /// Removes the waiters at the front that can get their permits.
    fn grant(&mut self) -> Vec<Waiter> {
        let mut granted = Vec::new();
        while self.waiters.front().is_some_and(|first| first.needs <= self.free) {
            let first = self.waiters.pop_front().expect("it was seen");
            self.free -= first.needs;
            granted.push(first);
        }
        granted
    }
}

impl Semaphore {
    fn new(free: u32) -> Arc<Semaphore> {
        let queue = Queue { free, waiters: VecDeque::new() };
        Arc::new(Semaphore { queue: Mutex::new(queue).named("queue") })
    }

    /// Takes permits, or a place in the queue: the first poll of an `acquire`.
    async fn ask(&self, needs: u32) -> Result<(), Waiter> {
        let mut queue = self.queue.lock().await;
        if queue.waiters.is_empty() && queue.free >= needs {
            queue.free -= needs;
            return Ok(());
        }
        let waiter = Waiter { needs, granted: Sleeper::new() };
        queue.waiters.push_back(waiter.clone());
        Err(waiter)
    }

    async fn acquire(&self, needs: u32) {
        if let Err(waiter) = self.ask(needs).await {
            waiter.granted.sleep().await;
        }
    }

    async fn release(&self, count: u32) {
        let mut queue = self.queue.lock().await;
        queue.free += count;
        let granted = queue.grant();
        drop(queue);
        for waiter in granted {
            waiter.granted.wake().await;
        }
    }

    /// The drop of an `acquire` that has waited.
    async fn leave(&self, waiter: Waiter, how: Leave) {
        let mut queue = self.queue.lock().await;
        let is_me = |other: &Waiter| Arc::ptr_eq(&other.granted, &waiter.granted);
        let Some(place) = queue.waiters.iter().position(is_me) else {
            drop(queue);
            return self.release(waiter.needs).await;
        };
        if !matches!(how, Leave::StaysQueued) {
            queue.waiters.remove(place);
        }
        if matches!(how, Leave::HandsOn) {
            let granted = queue.grant();
            drop(queue);
            for waiter in granted {
                waiter.granted.wake().await;
            }
        }
    }
}

async fn abandoned_lock(is_fixed: bool) {
    let how = if is_fixed { Leave::HandsOn } else { Leave::StaysQueued };
    let lock = Semaphore::new(1);
    let (first, second) = (lock.clone(), lock.clone());
    let holder = spawn(async move {
        first.acquire(1).await;
        first.release(1).await;
    });
    // A `lock` with a time-out that passes at once.
    let impatient = spawn(async move {
        match second.ask(1).await {
            Ok(()) => second.release(1).await,
            Err(waiter) => second.leave(waiter, how).await,
        }
    });
    holder.await.unwrap();
    impatient.await.unwrap();
    lock.acquire(1).await;
}

async fn first_gives_up(is_fixed: bool) {
    let how = if is_fixed { Leave::HandsOn } else { Leave::IsRemoved };
    let semaphore = Semaphore::new(1);
    let (large, small) = (semaphore.clone(), semaphore.clone());
    let large = spawn(async move {
        if let Err(waiter) = large.ask(2).await {
            large.leave(waiter, how).await;
        }
    });
    let small = spawn(async move { small.acquire(1).await });
    large.await.unwrap();
    small.await.unwrap();
}

/// The issue is open, because a fair lock cannot know that a future will not be polled again. The fix is in the client:
/// it drops the future.
async fn polled_once(is_fixed: bool) {
    let lock = Semaphore::new(1);
    lock.acquire(1).await;
    let shared = lock.clone();
    let reader = spawn(async move { shared.release(1).await });
    let unpolled = lock.ask(1).await;
    if unpolled.is_ok() {
        lock.release(1).await;
    }
    let write = lock.ask(1).await;
    let mut unpolled = unpolled.err();
    if is_fixed && let Some(waiter) = unpolled.take() {
        lock.leave(waiter, Leave::HandsOn).await;
    }
    if let Err(waiter) = write {
        waiter.granted.sleep().await;
    }
    lock.release(1).await;
    if let Some(waiter) = unpolled {
        lock.leave(waiter, Leave::HandsOn).await;
    }
    reader.await.unwrap();
}

/// The counter of tokio's semaphore: the number of permits above the bit of the close.
struct Counter {
    permits: Atomic<u64>,
}

const CLOSED: u64 = 1;
const SHIFT: u32 = 1;

impl Counter {
    async fn close(&self) {
        self.permits.fetch_or(CLOSED, SeqCst).await;
    }

    async fn is_closed(&self) -> bool {
        self.permits.load(SeqCst).await & CLOSED != 0
    }

    async fn try_acquire(&self) -> bool {
        let update = |bits: u64| {
            let is_open = bits & CLOSED == 0 && bits >> SHIFT > 0;
            is_open.then(|| bits - (1 << SHIFT))
        };
        self.permits.fetch_update(SeqCst, SeqCst, update).await.is_ok()
    }

    async fn forget(&self, count: u64, keeps_closed: bool) {
        let update = |bits: u64| {
            let left = (bits >> SHIFT).saturating_sub(count) << SHIFT;
            Some(if keeps_closed { left | bits & CLOSED } else { left })
        };
        let _ = self.permits.fetch_update(SeqCst, SeqCst, update).await;
    }
}

async fn forgotten_permits(is_fixed: bool) {
    let semaphore = Arc::new(Counter { permits: Atomic::new(2 << SHIFT).named("permits") });
    let shared = semaphore.clone();
    let closing = spawn(async move {
        shared.close().await;
        shared.forget(1, is_fixed).await;
    });
    if semaphore.is_closed().await {
        assert!(!semaphore.try_acquire().await, "acquired although it is closed");
    }
    closing.await.unwrap();
}
