//! An atomic word with a wait operation.

use std::future::poll_fn;
use std::sync::Mutex;
use std::task::{Poll, Waker};

use crate::tools::{Atomic, SeqCst};

/// An atomic whose writers wake the tasks that wait for one of its values. A wait that never ends
/// is a deadlock instead of an endless loop.
#[derive(Debug, Default)]
pub struct Watched {
    value: Atomic<i64>,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    /// The number of writes.
    writes: u64,
    wakers: Vec<Waker>,
}

impl Watched {
    /// Creates a word with the value `value`.
    pub fn new(value: i64) -> Watched {
        Watched { value: Atomic::new(value), ..Watched::default() }
    }

    /// Returns the value.
    pub async fn load(&self) -> i64 {
        self.value.load(SeqCst).await
    }

    /// Writes a value.
    pub async fn store(&self, value: i64) {
        self.value.store(value, SeqCst).await;
        self.wake();
    }

    /// Adds to the value, and returns the old value.
    pub async fn add(&self, more: i64) -> i64 {
        let old = self.value.fetch_add(more, SeqCst).await;
        self.wake();
        old
    }

    /// Waits for a value that satisfies `wanted`, and returns it.
    pub async fn wait(&self, wanted: impl Fn(i64) -> bool) -> i64 {
        loop {
            let writes = self.waiting.lock().unwrap().writes;
            let value = self.value.load(SeqCst).await;
            if wanted(value) {
                return value;
            }
            poll_fn(|context| {
                let mut waiting = self.waiting.lock().unwrap();
                if waiting.writes != writes {
                    return Poll::Ready(());
                }
                waiting.wakers.push(context.waker().clone());
                Poll::Pending
            })
            .await;
        }
    }

    fn wake(&self) {
        let wakers = {
            let mut waiting = self.waiting.lock().unwrap();
            waiting.writes += 1;
            std::mem::take(&mut waiting.wakers)
        };
        wakers.into_iter().for_each(Waker::wake);
    }
}
