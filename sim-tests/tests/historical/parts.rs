//! Parts of the models: a sleeping thread or waker, and a fair queue for permits.

use std::collections::VecDeque;
use std::sync::Arc;

use sim::Ordering::SeqCst;
use sim::{Atomic, Mutex, spin_until};

/// A thread that can sleep, or a task with its waker. `wake` leaves a token, and `sleep` takes it.
#[derive(Default)]
pub(crate) struct Sleeper {
    token: Atomic<bool>,
}

impl Sleeper {
    pub(crate) fn new() -> Arc<Sleeper> {
        Arc::new(Sleeper { token: Atomic::new(false).named("token") })
    }

    pub(crate) async fn wake(&self) {
        self.token.store(true, SeqCst).await;
    }

    /// Takes the token if it is there.
    pub(crate) async fn is_woken(&self) -> bool {
        self.token.compare_exchange(true, false, SeqCst, SeqCst).await.is_ok()
    }

    /// Waits for a token and takes it.
    pub(crate) async fn sleep(&self) {
        spin_until(|| self.is_woken()).await;
    }
}

/// A condition variable, fair, without spurious wake-ups. A notification without a waiter is lost.
#[derive(Default)]
pub(crate) struct Condvar {
    waiting: Mutex<VecDeque<Arc<Sleeper>>>,
}

impl Condvar {
    /// Lets go of a lock and waits. The caller takes the lock again.
    pub(crate) async fn wait<Guard>(&self, guard: Guard) {
        let me = Sleeper::new();
        self.waiting.lock().await.push_back(me.clone());
        drop(guard);
        me.sleep().await;
    }

    pub(crate) async fn notify_one(&self) {
        let first = self.waiting.lock().await.pop_front();
        if let Some(first) = first {
            first.wake().await;
        }
    }
}
