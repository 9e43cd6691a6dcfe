//! The settings of faults that can be injected into tasks.

use super::Runner;

impl Runner {
    /// Lets the scheduler abort tasks whose [name](crate::task::Builder::name) matches `pattern`, at any of their
    /// points. This tests that the other tasks tolerate the abort. In the pattern, `*` matches any text.
    ///
    /// When such a task is spawned, the run draws if it will be aborted. The scheduler chooses the moment, and reports
    /// show the abort as a step of a task `canceller`. At most two children of the same task are aborted. No effect on
    /// real threads.
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

    /// Lets the scheduler drop futures under a [`timeout`](crate::time::timeout()) and in branches of a
    /// [`select!`](macro@crate::select), at any of their points, if a deadline can end them. The deadline of each such
    /// timeout, and of each timer in a branch, may pass at any moment. This tests that the futures tolerate being
    /// dropped.
    ///
    /// When the wait for a deadline begins, the run draws if the deadline passes early. The scheduler chooses the
    /// moment, and reports show it as a step of a task `time-out`. The time of the run then advances to that deadline,
    /// as if all tasks had been slow, so all earlier deadlines are due, too. Therefore no run shows an impossible
    /// behaviour. At most two such deadlines of one task pass early. No effect on real threads.
    ///
    /// No setting is needed for a branch that is dropped because another branch ended: schedules vary the end of the
    /// other branch already. A future that nothing can end is not dropped; mark it with
    /// [`cancellable`](crate::cancellable).
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

    /// Lets runs execute code that is marked with [`buggify!`](macro@crate::buggify), by a choice each time.
    ///
    /// ```
    /// let body = async || assert!(!sim::buggify!("rare case"));
    /// let runner = || sim::Runner::new().hermetic().shrink(false).seeds(0..200);
    /// assert!(runner().run(body).passed());
    /// # if !sim::SIMULATED { return }
    /// assert!(!runner().buggify(true).run(body).passed());
    /// ```
    #[must_use]
    pub fn buggify(mut self, wanted: bool) -> Runner {
        self.settings.buggify = Some(wanted);
        self
    }

    /// Tests a progress guarantee: `lock-free`, `obstruction-free` or `wait-free` (Herlihy and Shavit, *The Art of
    /// Multiprocessor Programming*, section 3.7). By a choice, spawned tasks may stall forever at any of their points.
    ///
    /// - `lock-free`: each spawned task may stall, but at most two children of one task. All other tasks must end. The
    ///   run fails if a task waits for a stalled task, or repeats itself until the step limit.
    /// - `obstruction-free`: all children of one task except one may stall at the same moment. The remaining child must
    ///   end by itself.
    /// - `wait-free:N`: like `lock-free`, but each operation of a spawned task must also end within `N` of its own
    ///   steps, whatever other tasks do. Otherwise the run fails with
    ///   [`Failure::Starved`](crate::run::Failure::Starved). An operation is a recorded call
    ///   ([`History::call`](crate::History::call)), or everything that a task does outside of calls. The steps of an
    ///   operation are its accesses: a `fetch_add` is one step. `wait-free` without `N` allows 100 steps. A program
    ///   with few operations cannot make an operation repeat itself endlessly. So choose the smallest bound that the
    ///   operation needs when it runs alone, or with its helpers.
    ///
    /// If all remaining tasks wait for the end of a stalled task, the run ends and passes, and the body's later checks
    /// are skipped. The body itself does not stall. A search tries all moments. No effect on real threads.
    ///
    /// Any other word causes an [`InvalidSetting`](super::InvalidSetting) error when the runner starts.
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
