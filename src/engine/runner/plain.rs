//! The settings of plain threads.

use super::Runner;

impl Runner {
    /// Choose the operations of plain threads that are points: `default` or `all`. Has no effect on other tests.
    ///
    /// With `default`, the operations of std that no program can tell apart are not points (creating
    /// and joining threads, counts of `Arc`), and a loop that reads the same values waits until one
    /// of them changes. With `all`, each atomic operation is a point and no loop is recognised: for
    /// comparison, and for a program that depends on the number of rounds of such a loop. A trace
    /// is replayed with the points of the run that it was made from.
    ///
    /// ```no_run
    /// let runner = sim::Runner::new().strategy("exhaustive").points("all");
    /// let report = runner.run_native(|| {
    ///     std::thread::spawn(|| ()).join().unwrap();
    /// });
    /// assert!(report.passed());
    /// ```
    ///
    /// Any other name is an [`InvalidSetting`](super::InvalidSetting) when the runner runs.
    #[must_use]
    pub fn points(mut self, points: &str) -> Runner {
        self.settings.points = Some(points.to_owned());
        self
    }

    /// Choose what the runs of plain threads share: `run` or `process`. Has no effect on other tests.
    ///
    /// With `run`, the default, all runs are made in the process of the test: statics of Rust are put back, and a crash
    /// is contained as far as a process can contain its own. If nothing is chosen and a run is not repeatable, all runs
    /// are repeated with `process`, and the report has a note. With `process`, each run is made in a process of its
    /// own, a copy of this process before the first run. Changes of the process by a run end with the run's process. If
    /// the process of a run dies, the death is a failure of its seed, with its trace. A run takes about a millisecond
    /// longer. A search is then not a proof if the run records a history.
    ///
    /// ```no_run
    /// let report = sim::Runner::new().isolate("process").seeds(0..100).run_native(|| {
    ///     // Changes the process.
    ///     std::env::set_current_dir("/").unwrap();
    /// });
    /// assert!(report.passed());
    /// ```
    ///
    /// Any other name is an [`InvalidSetting`](super::InvalidSetting) when the runner runs, as is `process` together
    /// with [`closure`](Self::closure).
    #[must_use]
    pub fn isolate(mut self, isolation: &str) -> Runner {
        self.settings.isolate = Some(isolation.to_owned());
        self
    }

    /// Choose what may happen to plain threads at any moment: words with commas between them, or `none`, the default.
    /// In other tests `weak` has an effect on [`compare_exchange_weak`](crate::Atomic::compare_exchange_weak),
    /// `spurious` on [`Condvar`](crate::Condvar).
    ///
    /// - `timers`: a sleep or a time limit ends although other threads can continue. The virtual
    ///   time then jumps to it.
    /// - `spurious`: `Condvar::wait`, `park` and other waits for a futex end without a wake.
    /// - `weak`: `compare_exchange_weak` fails although it sees the expected value.
    ///
    /// Each chance is a decision of the run: its trace is replayed without this setting, and shrinking removes what the
    /// failure does not need. Any other word is an [`InvalidSetting`](super::InvalidSetting) when the runner runs.
    #[must_use]
    pub fn chances(mut self, chances: &str) -> Runner {
        self.settings.chances = Some(chances.to_owned());
        self
    }

    /// Make the counts of `Arc` points of plain threads in all runs, or in none: the threads then race for the last
    /// drop of a value. Without this setting they are points in a quarter of the runs, and in no run of a search. Has
    /// no effect on other tests.
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

    /// Choose the values that loads of atomics may see: `sc`, the default, or `c11`.
    ///
    /// With `sc` a load sees the newest value, whatever memory order the program asks for. With `c11` it may see each
    /// value that C++20 allows for the memory orders in the program, and stores may become visible late. So a run finds
    /// a `Relaxed` that must be `Release`, also if this processor would never show it. The values are decisions of the
    /// run: the newest value is decision 0, shrinking prefers it, and a trace has this setting. `docs/memory.md` of the
    /// repository says what is in the model and what is not. A search is then not a proof.
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
    /// In plain threads it is the same for the atomics of std. Real threads have the memory of the processor.
    ///
    /// Any other name is an [`InvalidSetting`](super::InvalidSetting) when the runner runs.
    #[must_use]
    pub fn memory(mut self, memory: &str) -> Runner {
        self.settings.memory = Some(memory.to_owned());
        self
    }
}
