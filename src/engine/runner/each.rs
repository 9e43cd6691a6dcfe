//! Functions that return individual runs, for tools that inspect them.

use super::outcome::{FunctionBody, TestResult};
use super::{Runner, native};
use crate::engine::backend;
use crate::report::Report;
use crate::run::Run;
use crate::run::ids::Seed;

impl Runner {
    /// Runs `body` once, under `seed`, and returns the run, passed or failed. The run contains all its decisions,
    /// events and histories. The run is not shrunk and not written to a file. Settings about seeds and replays are
    /// ignored; all other settings apply.
    ///
    /// Intended for tools that inspect passing runs. On real threads a run has no steps and no events.
    ///
    /// # Panics
    /// If a setting is invalid. The message names the setting, its value and its grammar.
    ///
    /// ```
    /// use sim::run::Outcome;
    /// use sim::{Atomic, Ordering::SeqCst, Runner};
    ///
    /// let run = Runner::new().run_seed(7, async || {
    ///     Atomic::new(0).store(1, SeqCst).await;
    /// });
    /// assert_eq!(run.outcome, Outcome::Passed);
    /// // The body went to its point, and then from it to its end.
    /// assert!(!sim::SIMULATED || (run.steps.len(), run.events.len()) == (2, 1));
    /// ```
    #[track_caller]
    pub fn run_seed<B, R>(&self, seed: u64, body: B) -> Run
    where
        B: AsyncFn() -> R + Sync,
        R: TestResult,
    {
        match self.config() {
            Ok((config, _)) => {
                backend::run_seed(&config, &self.site, &FunctionBody::new(body), Seed(seed))
            }
            Err(invalid) => panic!("{invalid}"),
        }
    }

    /// Runs `body` under a search and passes every run, including failing runs, to `visit`. The search ends when it is
    /// complete or after the number of runs set by [`seeds`](Self::seeds). Nothing is shrunk or written to a file.
    ///
    /// Intended for tables of everything that a small program can do. The report has a finding only if the body is not
    /// a function of its decisions. On real threads nothing is run.
    ///
    /// # Panics
    /// If a setting is invalid, or the strategy is not in [`SEARCHES`](crate::strategy::SEARCHES).
    ///
    /// ```
    /// use std::collections::BTreeSet;
    /// use std::sync::Arc;
    ///
    /// use sim::run::event::Values;
    /// use sim::{Atomic, Ordering::SeqCst, Runner};
    ///
    /// // Each of two tasks writes its flag and then reads the other one: who sees what?
    /// let mut seen = BTreeSet::new();
    /// let report = Runner::new().hermetic().strategy("exhaustive").each_run(
    ///     async || {
    ///         let flags = Arc::new([Atomic::new(0u64), Atomic::new(0u64)]);
    ///         let tasks = [0, 1].map(|me| {
    ///             let flags = flags.clone();
    ///             sim::spawn(async move {
    ///                 flags[me].store(1, SeqCst).await;
    ///                 flags[1 - me].load(SeqCst).await;
    ///             })
    ///         });
    ///         for task in tasks {
    ///             task.await.unwrap();
    ///         }
    ///     },
    ///     |run| {
    ///         let mut reads = Vec::new();
    ///         for event in &run.events {
    ///             if let Values::Read(value) = event.values {
    ///                 reads.push((event.task, value));
    ///             }
    ///         }
    ///         reads.sort();
    ///         seen.insert(reads.iter().map(|(_, value)| *value).collect::<Vec<_>>());
    ///     },
    /// );
    /// if sim::SIMULATED {
    ///     assert!(report.searched.unwrap().is_proof());
    ///     // Not both see nothing: memory is sequentially consistent.
    ///     assert_eq!(seen, BTreeSet::from([vec![0, 1], vec![1, 0], vec![1, 1]]));
    ///     assert_eq!(report.runs, 3);
    /// }
    /// ```
    #[track_caller]
    pub fn each_run<B, R>(&self, body: B, mut visit: impl FnMut(Run)) -> Report
    where
        B: AsyncFn() -> R + Sync,
        R: TestResult,
    {
        match self.config() {
            Ok((config, _)) => {
                backend::each_run(&config, &self.site, &FunctionBody::new(body), &mut visit)
            }
            Err(invalid) => panic!("{invalid}"),
        }
    }

    /// Like [`each_run`](Self::each_run), for a function whose plain threads the scheduler controls.
    #[doc(hidden)]
    #[track_caller]
    pub fn each_native_run<R>(&self, body: fn() -> R, mut visit: impl FnMut(Run)) -> Report
    where
        R: TestResult + 'static,
    {
        let _only = native::of_closure(None, false, None);
        let body = FunctionBody::new(async || native::run(None, body, false).await);
        let mut settings = self.settings.clone();
        settings.kind.native = true;
        let runner = Runner { settings, site: self.site.clone() };
        match runner.config() {
            Ok((config, _)) => backend::each_run(&config, &runner.site, &body, &mut visit),
            Err(invalid) => panic!("{invalid}"),
        }
    }
}
