//! unpause's exhaustive search, in the form that users call.

use std::time::Duration;

use sim::Runner;

use super::Explored;

mod tools {
    //! The primitives of the programs, from this library.

    use std::pin::Pin;

    use sim::Ordering::SeqCst;

    pub(crate) use sim::Mutex;

    pub(crate) type Body = Pin<Box<dyn Future<Output = ()> + Send>>;

    pub(crate) fn boxed(body: impl Future<Output = ()> + Send + 'static) -> Body {
        Box::pin(body)
    }

    pub(crate) type Task = sim::JoinHandle<()>;

    pub(crate) fn spawn<F>(make: impl FnOnce() -> F + Send + 'static) -> Task
    where
        F: Future<Output = ()> + Send + 'static,
    {
        sim::spawn(make())
    }

    pub(crate) async fn join(tasks: Vec<Task>) {
        for task in tasks {
            task.await.expect("no task is aborted");
        }
    }

    /// Shared memory for one number.
    pub(crate) struct Word(sim::Atomic<i64>);

    impl Word {
        pub(crate) fn new(value: i64) -> Word {
            Word(sim::Atomic::new(value))
        }

        pub(crate) fn load(&self) -> impl Future<Output = i64> + Send {
            self.0.load(SeqCst)
        }

        pub(crate) fn store(&self, value: i64) -> impl Future<Output = ()> + Send {
            self.0.store(value, SeqCst)
        }

        pub(crate) async fn add(&self, more: i64) {
            self.0.fetch_add(more, SeqCst).await;
        }

        /// Replaces `from` by `to`. Returns `true` on success.
        pub(crate) async fn exchange(&self, from: i64, to: i64) -> bool {
            self.0.compare_exchange(from, to, SeqCst, SeqCst).await.is_ok()
        }
    }
}

#[path = "programs.rs"]
pub(super) mod programs;

/// Explores a program until the time limit.
pub(super) fn explore(index: usize, budget: Duration) -> Explored {
    let program = &programs::PROGRAMS[index];
    let runner = Runner::new().hermetic().strategy("exhaustive").hang(Duration::ZERO);
    let report = runner.time(budget).run(async || (program.body)().await);
    assert!(report.passed(), "{} is right", program.name);
    let searched = report.searched.expect("it was a search");
    Explored { runs: report.runs, blocked: searched.blocked, complete: searched.is_proof() }
}
