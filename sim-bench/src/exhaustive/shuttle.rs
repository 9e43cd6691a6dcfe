//! shuttle's depth-first search: every order of all steps.

use std::time::{Duration, Instant};

use shuttle::scheduler::DfsScheduler;

use super::Explored;

mod tools {
    //! What the programs are written with: shuttle's threads and primitives. None of these futures is
    //! ever pending.

    use std::pin::Pin;

    use shuttle::sync::atomic::{AtomicI64, Ordering::SeqCst};

    use crate::exhaustive::now;

    pub(crate) type Body = Pin<Box<dyn Future<Output = ()>>>;

    pub(crate) fn boxed(body: impl Future<Output = ()> + 'static) -> Body {
        Box::pin(body)
    }

    pub(crate) type Task = shuttle::thread::JoinHandle<()>;

    pub(crate) fn spawn<F: Future<Output = ()>>(make: impl FnOnce() -> F + Send + 'static) -> Task {
        shuttle::thread::spawn(move || now(make()))
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
    pub(crate) struct Mutex<T>(shuttle::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Mutex<T> {
            Mutex(shuttle::sync::Mutex::new(value))
        }

        pub(crate) async fn lock(&self) -> shuttle::sync::MutexGuard<'_, T> {
            self.0.lock().expect("no task panics")
        }
    }
}

#[path = "programs.rs"]
#[allow(dead_code)] // What is known of a program is asked of ours.
mod programs;

/// Explores a program, for so long at most.
pub(super) fn explore(index: usize, budget: Duration) -> Explored {
    let began = Instant::now();
    let mut config = shuttle::Config::new();
    config.failure_persistence = shuttle::FailurePersistence::None;
    config.max_time = Some(budget);
    let runner = shuttle::Runner::new(DfsScheduler::new(None, false), config);
    let runs = runner.run(move || super::now((programs::PROGRAMS[index].body)()));
    Explored { runs: runs as u64, blocked: 0, complete: began.elapsed() <= budget }
}
