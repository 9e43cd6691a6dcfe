//! The settings of faults that may be injected into tasks.

use super::Runner;

impl Runner {
    /// Aborts tasks whose [name](crate::task::Builder::name) matches `pattern` at any of their
    /// points, by choice: tests that the other tasks tolerate it. In the pattern `*` matches any
    /// text.
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
        self.settings.cancel = Some(pattern.to_owned());
        self
    }

    /// Have futures under a [`timeout`](crate::time::timeout()) and in the branches of a
    /// [`select!`](macro@crate::select) dropped at any of their points, by choice, where a time can do so. The deadline
    /// of each such time-out, and of each timer that a branch waits for, may pass at any moment: tests that the futures
    /// live with being dropped.
    ///
    /// A run draws when the wait for the deadline begins if it passes early. The moment is a choice of the scheduler;
    /// screens show it as the step of a task `time-out`. The time of the run then moves on to that
    /// deadline, as if all tasks had been slow. All earlier deadlines are then due, too. So no run
    /// shows what could not happen. At most two such deadlines of one task pass early. No effect on
    /// real threads.
    ///
    /// A branch that is dropped because another one has ended needs no setting: schedules vary when that one ends, as
    /// far as it can. A future that nothing can end is not dropped; mark it with [`cancellable`](crate::cancellable).
    ///
    /// ```
    /// use sim::time::{Duration, timeout};
    /// use sim::{Atomic, Ordering::SeqCst};
    ///
    /// let body = async || {
    ///     let open = Atomic::new(0);
    ///     let request = async {
    ///         open.fetch_add(1, SeqCst).await;
    ///         open.fetch_sub(1, SeqCst).await;
    ///     };
    ///     let _ = timeout(Duration::from_secs(30), request).await;
    ///     assert_eq!(open.load(SeqCst).await, 0, "a request is counted for ever");
    /// };
    /// let runner = || sim::Runner::new().hermetic().shrink(false);
    /// assert!(runner().run(body).passed());
    /// # if !sim::SIMULATED { return }
    /// assert!(!runner().cancel_selects(true).run(body).passed());
    /// ```
    #[must_use]
    pub fn cancel_selects(mut self, wanted: bool) -> Runner {
        self.settings.cancel_selects = Some(wanted);
        self
    }

    /// Have code that is marked with [`buggify!`](macro@crate::buggify) executed now and then, by choice.
    #[must_use]
    pub fn buggify(mut self, wanted: bool) -> Runner {
        self.settings.buggify = Some(wanted);
        self
    }

    /// Test a guarantee of progress: `lock-free`, `obstruction-free` or `wait-free` (Herlihy and Shavit, *The Art of
    /// Multiprocessor Programming*, section 3.7). Spawned tasks may stall for good at any of their points, by choice.
    ///
    /// - `lock-free`: each spawned task may stall, two of one spawner at most. The others must end:
    ///   a task fails the run if it waits for a stalled task or repeats itself until the step
    ///   limit.
    /// - `obstruction-free`: of the tasks that one task has spawned, all but one may stall at one moment. That one must
    ///   end by itself.
    /// - `wait-free:N`: as `lock-free`, and each operation of a spawned task must end within `N` steps of its own,
    ///   whatever others do; else the run fails with [`Failure::Starved`](crate::run::Failure::Starved). An operation
    ///   is a recorded call ([`History::call`](crate::History::call)), or what a task does outside of calls. Its steps
    ///   are its accesses: a `fetch_add` is one. `wait-free` alone allows 100. A program with few operations cannot
    ///   have one repeat itself without end, so choose the smallest bound that the operation needs when it runs alone,
    ///   or with its helpers.
    ///
    /// If all remaining tasks wait for the end of a stalled task, the run is over and has passed;
    /// the body's later checks are skipped. The body itself does not stall. With a search, all
    /// moments are tried. No effect on real threads.
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
    /// // Each addition of another task has a loop of exchanges begin again.
    /// let body = async || {
    ///     let count = Arc::new(Atomic::new(0));
    ///     let add = |_| {
    ///         let count = count.clone();
    ///         async move {
    ///             let mut old = count.load(SeqCst).await;
    ///             while let Err(now) = count.compare_exchange(old, old + 1, SeqCst, SeqCst).await {
    ///                 old = now;
    ///             }
    ///         }
    ///     };
    ///     sim::map_concurrently(0..2, add).await;
    /// };
    /// assert!(runner().progress("lock-free").run(body).passed());
    /// assert!(!runner().progress("wait-free:2").run(body).passed());
    /// ```
    #[must_use]
    pub fn progress(mut self, guarantee: &str) -> Runner {
        self.settings.progress = Some(guarantee.to_owned());
        self
    }
}
