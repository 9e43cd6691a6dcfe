//! The setting `clock` of the runner.

use super::Runner;

impl Runner {
    /// Sets when the time of [`sim::time`](mod@crate::time) advances in a run: `last` (the default), `late:K` or `any`.
    ///
    /// - `last`: only when no task can step. Work takes no time, so a timeout never ends a wait that another task could
    ///   still end.
    /// - `any`: at any moment. A task may take any time between two of its points, so timeouts race with the futures
    ///   that they guard. The clock is then a task of the run, the first child of the body. Each of its steps advances
    ///   the time to the next deadline. Traces of such runs contain the setting.
    /// - `late:K`, for example `late:2`: like `last`, with at most `K` additional advances per run. An additional
    ///   advance may happen while tasks can step, so it simulates slow tasks. Drawn values decide which advances are
    ///   early, and the value 0 means none. Therefore shrinking removes early advances, and a failing run has no clock
    ///   task if it needs no early advance. A search covers all runs within the bound. If some runs reached the bound,
    ///   it reports `explored all N runs with at most K early time moves`, and otherwise a proof.
    ///
    /// Any other word causes an [`InvalidSetting`](super::InvalidSetting) error when the runner starts. No effect on
    /// real threads.
    ///
    /// ```
    /// use sim::time::{Duration, timeout};
    ///
    /// // Passes if work takes no time.
    /// let body = async || {
    ///     let work = async {
    ///         sim::task::yield_now().await;
    ///         sim::task::yield_now().await;
    ///     };
    ///     assert!(timeout(Duration::from_secs(1), work).await.is_ok(), "late");
    /// };
    /// assert!(sim::Runner::new().run(body).passed());
    /// # if !sim::SIMULATED { return }
    /// # let out = std::env::temp_dir().join("sim-docs");
    /// # let runner = || sim::Runner::new().hermetic().out(&out);
    /// assert!(!runner().clock("any").run(body).passed());
    /// assert!(!runner().clock("late:1").run(body).passed());
    /// ```
    #[must_use]
    pub fn clock(mut self, clock: &str) -> Runner {
        self.settings.clock = Some(clock.to_owned());
        self
    }
}
