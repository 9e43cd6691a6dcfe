//! An asynchronous mutex that loses a wake-up: the owner releases the mutex between a waiter's
//! attempt and the waiter's entry into the list of waiters.

use std::sync::Arc;

use super::{Program, Spawning, Watched, together};
use crate::tools::{Atomic, Cell, SeqCst, boxed};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[Program {
    name: "async_mutex",
    seeds: 400,
    buggy: |spawning| boxed(async_mutex(spawning, false)),
    fixed: |spawning| boxed(async_mutex(spawning, true)),
}];

const TASKS: usize = 3;

#[derive(Default)]
struct Lock {
    taken: Atomic<bool>,
    waiting: [Atomic<bool>; TASKS],
    tokens: [Watched; TASKS],
    owner: Cell<i64>,
}

impl Lock {
    async fn try_take(&self) -> bool {
        self.taken.compare_exchange(false, true, SeqCst, SeqCst).await.is_ok()
    }

    /// Fixed: the waiter tries to take the lock again after it has entered itself in the list of waiters.
    async fn lock(&self, me: usize, fixed: bool) {
        while !self.try_take().await {
            self.waiting[me].store(true, SeqCst).await;
            if fixed && self.try_take().await {
                self.waiting[me].store(false, SeqCst).await;
                return;
            }
            self.tokens[me].wait(|token| token > 0).await;
            self.tokens[me].store(0).await;
        }
    }

    async fn unlock(&self, me: usize) {
        self.taken.store(false, SeqCst).await;
        for other in (0..TASKS).filter(|other| *other != me) {
            let waits = &self.waiting[other];
            if waits.load(SeqCst).await
                && waits.compare_exchange(true, false, SeqCst, SeqCst).await.is_ok()
            {
                return self.tokens[other].store(1).await;
            }
        }
    }
}

async fn async_mutex(spawning: Spawning, fixed: bool) {
    let lock = Arc::new(Lock::default());
    let task = |me: usize| {
        let lock = lock.clone();
        boxed(async move {
            lock.lock(me, fixed).await;
            lock.owner.set(me as i64).await;
            assert_eq!(lock.owner.get().await, me as i64, "two in the critical section");
            lock.unlock(me).await;
        })
    };
    together(spawning, (0..TASKS).map(task).collect()).await;
}
