//! The primitives of the programs, over the threads and primitives of a peer that uses std's names.
//! None of these futures is ever pending. Each such contestant includes this file.

use std::pin::Pin;

use super::peer;
use super::peer::sync::atomic::{AtomicI64, Ordering::SeqCst};
use crate::exhaustive::now;

pub(crate) type Body = Pin<Box<dyn Future<Output = ()>>>;

pub(crate) fn boxed(body: impl Future<Output = ()> + 'static) -> Body {
    Box::pin(body)
}

pub(crate) type Task = peer::thread::JoinHandle<()>;

pub(crate) fn spawn<F: Future<Output = ()>>(make: impl FnOnce() -> F + Send + 'static) -> Task {
    peer::thread::spawn(move || now(make()))
}

pub(crate) async fn join(tasks: Vec<Task>) {
    for task in tasks {
        task.join().expect("no task panics");
    }
}

/// Shared memory for one number.
pub(crate) struct Word(AtomicI64);

impl Word {
    pub(crate) fn new(value: i64) -> Word {
        Word(AtomicI64::new(value))
    }

    pub(crate) async fn load(&self) -> i64 {
        self.0.load(SeqCst)
    }

    pub(crate) async fn store(&self, value: i64) {
        self.0.store(value, SeqCst);
    }

    pub(crate) async fn add(&self, more: i64) {
        self.0.fetch_add(more, SeqCst);
    }

    /// Replaces `from` by `to`. Returns `true` on success.
    pub(crate) async fn exchange(&self, from: i64, to: i64) -> bool {
        self.0.compare_exchange(from, to, SeqCst, SeqCst).is_ok()
    }
}

/// A lock.
pub(crate) struct Mutex<T>(peer::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Mutex<T> {
        Mutex(peer::sync::Mutex::new(value))
    }

    pub(crate) async fn lock(&self) -> peer::sync::MutexGuard<'_, T> {
        self.0.lock().expect("no task panics")
    }
}
