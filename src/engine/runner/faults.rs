//! The settings of faults that may befall tasks.

use super::Runner;

impl Runner {
    /// Have tasks whose [name](crate::task::Builder::name) is of the form of `pattern` aborted at any of their points, by
    /// choice: tests that the others live with it. In the pattern `*` stands for any text.
    ///
    /// A run draws when such a task is spawned if it is aborted. The moment is a choice of the scheduler; screens show
    /// it as the step of a task `canceller`. At most two tasks of one spawner are aborted. No effect on real threads.
    ///
    /// ```
    /// use sim::{Atomic, Ordering::SeqCst, task::Builder};
    /// use std::sync::Arc;
    ///
    /// let body = async || {
    ///     let count = Arc::new(Atomic::new(0));
    ///     let own = count.clone();
    ///     let task = Builder::new().name("worker-1").spawn(async move {
    ///         own.fetch_add(1, SeqCst).await;
    ///         own.fetch_sub(1, SeqCst).await;
    ///     });
    ///     let _ = task.await;
    ///     assert_eq!(count.load(SeqCst).await, 0, "a worker has not left");
    /// };
    /// let runner = || sim::Runner::new().hermetic().shrink(false);
    /// assert!(runner().run(body).passed());
    /// # if !sim::SIMULATED { return }
    /// assert!(!runner().cancel("worker-*").run(body).passed());
    /// ```
    #[must_use]
    pub fn cancel(mut self, pattern: &str) -> Runner {
        self.settings.faults.cancel = Some(pattern.to_owned());
        self
    }

    /// Test a guarantee of progress: `lock-free` or `obstruction-free` (Herlihy and Shavit, *The Art of Multiprocessor
    /// Programming*, section 3.7). Spawned tasks may stall for good at any of their points, by choice.
    ///
    /// - `lock-free`: each spawned task may stall, two of one spawner at most. The others must end: a task that waits for one
    ///   that stalled, or that repeats itself until the step limit, fails the run.
    /// - `obstruction-free`: of the tasks that one task has spawned, all but one may stall at one moment. That one must end
    ///   by itself.
    ///
    /// A run in which all that are left wait for the end of a stalled task is over, and has passed; what the body would
    /// have checked after that is not checked. The body itself does not stall. With a search, all moments are tried. No
    /// effect on real threads.
    ///
    /// Any other word is an [`InvalidSetting`](super::InvalidSetting) when the runner runs.
    ///
    /// ```
    /// use sim::{Atomic, Mutex, Ordering::SeqCst};
    /// use std::sync::Arc;
    ///
    /// let runner = || sim::Runner::new().hermetic().shrink(false).strategy("exhaustive");
    /// // One step adds.
    /// let free = runner().progress("lock-free").run(async || {
    ///     let count = Arc::new(Atomic::new(0));
    ///     let add = |_| {
    ///         let count = count.clone();
    ///         async move { count.fetch_add(1, SeqCst).await }
    ///     };
    ///     sim::map_concurrently(0..2, add).await;
    /// });
    /// assert!(free.passed());
    /// # if !sim::SIMULATED { return }
    /// // A task that stalls keeps the lock.
    /// let locks = runner().progress("lock-free").run(async || {
    ///     let (lock, count) = (Arc::new(Mutex::new(())), Arc::new(Atomic::new(0)));
    ///     let add = |_| {
    ///         let (lock, count) = (lock.clone(), count.clone());
    ///         async move {
    ///             let _guard = lock.lock().await;
    ///             count.fetch_add(1, SeqCst).await
    ///         }
    ///     };
    ///     sim::map_concurrently(0..2, add).await;
    /// });
    /// assert!(!locks.passed());
    /// ```
    #[must_use]
    pub fn progress(mut self, guarantee: &str) -> Runner {
        self.settings.faults.progress = Some(guarantee.to_owned());
        self
    }
}
