//! The setting of the clock of runs.

use super::Runner;

impl Runner {
    /// Choose when the time of [`sim::time`](mod@crate::time) moves in a run: `last`, the default, `late:K` or `any`.
    ///
    /// - `last`: when no task can step. Work takes no time, so a time-out never ends a wait that another task could
    ///   still end.
    /// - `any`: at any moment. A task may take any time between two of its points, so time-outs race with what they
    ///   guard. The clock is then a task of the run, the first child of the body, whose steps move the time to the next
    ///   deadline. Traces of such runs have the setting.
    /// - `late:K`, such as `late:2`: as `last`, besides at most `K` moves in a run that come at any moment, although
    ///   tasks can step: `K` times, tasks are slow. Drawn values decide which moves of the time may be early, 0 is
    ///   none. So shrinking removes early moves, and a failing run has no clock if it needs none. A search is exact for
    ///   the bound: if there was more time to move, it reports `explored all N runs with at most K early time moves`,
    ///   and otherwise a proof.
    ///
    /// Any other word is an [`InvalidSetting`](super::InvalidSetting) when the runner runs. No effect on real threads.
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
