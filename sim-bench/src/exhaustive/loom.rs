//! loom: partial-order reduction under a memory model, at most five threads with the first.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use super::Explored;

mod tools {
    //! What the programs are written with: loom's threads and primitives. None of these futures is ever
    //! pending.

    use std::pin::Pin;

    use loom::sync::atomic::{AtomicI64, Ordering::SeqCst};

    use crate::exhaustive::now;

    pub(crate) type Body = Pin<Box<dyn Future<Output = ()>>>;

    pub(crate) fn boxed(body: impl Future<Output = ()> + 'static) -> Body {
        Box::pin(body)
    }

    pub(crate) type Task = loom::thread::JoinHandle<()>;

    pub(crate) fn spawn<F: Future<Output = ()>>(make: impl FnOnce() -> F + Send + 'static) -> Task {
        loom::thread::spawn(move || now(make()))
    }

    pub(crate) async fn join(tasks: Vec<Task>) {
        for task in tasks {
            task.join().expect("no task panics");
        }
    }

    /// Shared memory of one number.
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

        /// Whether it was `from`, and is `to` now.
        pub(crate) async fn exchange(&self, from: i64, to: i64) -> bool {
            self.0.compare_exchange(from, to, SeqCst, SeqCst).is_ok()
        }
    }

    /// A lock.
    pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Mutex<T> {
            Mutex(loom::sync::Mutex::new(value))
        }

        pub(crate) async fn lock(&self) -> loom::sync::MutexGuard<'_, T> {
            self.0.lock().expect("no task panics")
        }
    }
}

#[path = "programs.rs"]
#[allow(dead_code)] // What is known of a program is asked of ours.
mod programs;

/// Explores a program, for so long at most.
pub(super) fn explore(index: usize, budget: Duration) -> Explored {
    let (began, runs) = (Instant::now(), Arc::new(AtomicU64::new(0)));
    let count = runs.clone();
    let mut model = loom::model::Builder::new();
    model.log = false;
    model.max_branches = 10_000;
    // It looks at the clock only every so many runs.
    model.checkpoint_interval = 100;
    model.max_duration = Some(budget);
    model.check(move || {
        count.fetch_add(1, Relaxed);
        super::now((programs::PROGRAMS[index].body)());
    });
    let runs = runs.load(Relaxed);
    Explored { runs, blocked: 0, complete: began.elapsed() <= budget }
}
