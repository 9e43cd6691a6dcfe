//! The settings for plain threads.

use super::Runner;

impl Runner {
    /// Sets which operations of plain threads are points: `default` or `all`. Has no effect on other tests.
    ///
    /// With `default`, std operations that no program can distinguish are not points (creating and joining threads,
    /// reference counts of `Arc`). A loop that repeatedly reads the same values waits until one of these values
    /// changes. With `all`, each atomic operation is a point, and no loop is recognised. The setting `all` is useful
    /// for comparison, and for programs that depend on the number of rounds in such a loop. A replay uses the points of
    /// the run that produced the trace.
    ///
    /// ```no_run
    /// let runner = sim::Runner::new().strategy("exhaustive").points("all");
    /// let report = runner.run_native(|| {
    ///     std::thread::spawn(|| ()).join().unwrap();
    /// });
    /// assert!(report.passed());
    /// ```
    ///
    /// Any other name causes an [`InvalidSetting`](super::InvalidSetting) error when the runner starts.
    #[must_use]
    pub fn points(mut self, points: &str) -> Runner {
        self.settings.points = Some(points.to_owned());
        self
    }

    /// Sets the isolation between runs of plain threads: `run` or `process`. Has no effect on other tests.
    ///
    /// With `run`, the default, all runs execute in the process of the test. Rust statics are reset after each run, and
    /// a crash is contained as far as a process can contain its own crash. If this setting is not set and a run is not
    /// repeatable, all runs are repeated with `process`, and the report has a note. With `process`, each run executes
    /// in its own process, a copy of this process before the first run. Changes that a run makes to its process end
    /// with this process. If the process of a run dies, its seed fails with a trace. Each run takes about one
    /// millisecond longer. A search with `process` is not a proof if the run records a history.
    ///
    /// ```no_run
    /// let report = sim::Runner::new().isolate("process").seeds(0..100).run_native(|| {
    ///     // Changes the process.
    ///     std::env::set_current_dir("/").unwrap();
    /// });
    /// assert!(report.passed());
    /// ```
    ///
    /// Any other name causes an [`InvalidSetting`](super::InvalidSetting) error when the runner starts. The runner also
    /// fails with this error if `process` is set together with [`closure`](Self::closure).
    #[must_use]
    pub fn isolate(mut self, isolation: &str) -> Runner {
        self.settings.isolate = Some(isolation.to_owned());
        self
    }

    /// Sets the events that may happen to plain threads at any moment: words separated by commas, or `none`, the
    /// default. In other tests, `weak` affects [`compare_exchange_weak`](crate::Atomic::compare_exchange_weak), and
    /// `spurious` affects [`Condvar`](crate::Condvar).
    ///
    /// - `timers`: a sleep or a time limit ends although other threads can continue. The virtual time then jumps to its
    ///   deadline.
    /// - `spurious`: `Condvar::wait`, `park` and other futex waits end without a wake-up.
    /// - `weak`: `compare_exchange_weak` fails although it reads the expected value.
    ///
    /// Each event is a decision of the run. Therefore its trace is replayed without this setting, and shrinking removes
    /// events that the failure does not need. Any other word causes an [`InvalidSetting`](super::InvalidSetting) error
    /// when the runner starts.
    ///
    /// ```
    /// use sim::{Atomic, Ordering::SeqCst, Runner};
    ///
    /// let body = async || {
    ///     let word = Atomic::new(0);
    ///     let set = word.compare_exchange_weak(0, 1, SeqCst, SeqCst).await;
    ///     assert_eq!(set, Ok(0), "no other task has set it");
    /// };
    /// # if !sim::SIMULATED { return }
    /// let runner = || Runner::new().hermetic().shrink(false).strategy("exhaustive");
    /// assert!(runner().run(body).passed());
    /// assert!(!runner().chances("weak").run(body).passed());
    /// ```
    #[must_use]
    pub fn chances(mut self, chances: &str) -> Runner {
        self.settings.chances = Some(chances.to_owned());
        self
    }

    /// Sets whether reference-count operations of `Arc` are points of plain threads: in all runs, or in no run. If they
    /// are points, the threads can race for the last drop of a value. Without this setting they are points in a quarter
    /// of the runs, but in no run of a search. Has no effect on other tests.
    ///
    /// ```no_run
    /// use std::sync::Arc;
    ///
    /// let report = sim::Runner::new().arc(true).seeds(0..100).run_native(|| {
    ///     let value = Arc::new(1);
    ///     let other = value.clone();
    ///     let thread = std::thread::spawn(move || drop(other));
    ///     drop(value);
    ///     thread.join().unwrap();
    /// });
    /// assert!(report.passed());
    /// ```
    #[must_use]
    pub fn arc(mut self, wanted: bool) -> Runner {
        self.settings.arc = Some(wanted);
        self
    }

    /// Sets the values that atomic loads may see: `sc`, the default, or `c11`.
    ///
    /// With `sc` a load sees the newest value, whatever its memory ordering. With `c11` it may see each value that
    /// C++20 allows for the memory orderings in the program, and stores may become visible late. So a run finds a
    /// `Relaxed` that must be `Release`, even if this processor never shows the difference. The values are decisions of
    /// the run: the newest value is decision 0, and shrinking prefers it. A trace contains this setting.
    /// `docs/memory.md` in the repository describes what the model includes and excludes. A completed
    /// search is a proof with `c11`, within limits that it reports.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use sim::{Atomic, Ordering::Relaxed, Runner};
    ///
    /// # if sim::SIMULATED {
    /// let report = Runner::new().hermetic().memory("c11").run(async || {
    ///     let (value, ready) = (Arc::new(Atomic::new(0)), Arc::new(Atomic::new(false)));
    ///     let (stored, set) = (value.clone(), ready.clone());
    ///     let store = sim::spawn(async move {
    ///         stored.store(1, Relaxed).await;
    ///         set.store(true, Relaxed).await;
    ///     });
    ///     // Fails: nothing orders the two stores.
    ///     assert!(!ready.load(Relaxed).await || value.load(Relaxed).await == 1);
    ///     store.await.unwrap();
    /// });
    /// assert!(!report.passed());
    /// # }
    /// ```
    ///
    /// In plain threads, this setting applies to the std atomics in the same way. Real threads use the memory of the
    /// processor.
    ///
    /// Any other name causes an [`InvalidSetting`](super::InvalidSetting) error when the runner starts.
    #[must_use]
    pub fn memory(mut self, memory: &str) -> Runner {
        self.settings.memory = Some(memory.to_owned());
        self
    }
}
