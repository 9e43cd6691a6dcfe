//! The settings of a [`Runner`], with one method for each setting.

use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use super::Runner;
use crate::engine::config::{JsonFiles, ProofRuns, WhyRuns};
use crate::strategy::{Numbered, Strategy};

impl Runner {
    /// Sets the name for traces and reports. The default consists of the file and the line of the [`Runner::new`] call.
    ///
    /// Runners in one program need different names if they write [results](Self::results).
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Runner {
        self.site.test = name.into();
        self
    }

    /// Sets the seeds to run. The end is exclusive.
    #[must_use]
    pub fn seeds(mut self, seeds: Range<u64>) -> Runner {
        self.settings.seeds = Some(seeds);
        self.settings.seed = None;
        self
    }

    /// Runs only this seed.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Runner {
        self.settings.seed = Some(seed);
        self
    }

    /// Sets the strategy that makes the decisions: a name in [`STRATEGIES`](crate::strategy::STRATEGIES) or in
    /// [`SEARCHES`](crate::strategy::SEARCHES).
    ///
    /// A search continues until it is complete, or complete within its bound. [`seeds`](Self::seeds) then limits the
    /// number of its runs (the end of the range; a million by default), and a seed is the number of a run.
    /// [`Report::searched`](crate::report::Report::searched) contains its progress. A search of async code is divided
    /// among [threads](Self::jobs). The runs of the search, their numbers and the reported failure do not depend on the
    /// number of threads.
    ///
    /// After half of its allowed runs, `exhaustive` checks its estimate of the total number of runs. If the estimate
    /// exceeds the limit, the other half goes to `preemptions`: all runs with no preemption, then all with one, and so
    /// on. These runs find bugs in early steps, which the search reaches last.
    /// [`Searched::fallback`](crate::report::Searched::fallback) contains the bound that was reached. The result is not
    /// a proof. If a [time](Self::time) limit ends the search before half of the runs, this fallback does not start:
    /// allow fewer runs, or name `preemptions`.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use sim::{Atomic, Ordering::SeqCst, Runner};
    ///
    /// // Two tasks add to a counter, in one operation or in two.
    /// async fn adds(at_once: bool) {
    ///     let counter = Arc::new(Atomic::new(0u64));
    ///     let tasks = [0, 1].map(|_| {
    ///         let counter = counter.clone();
    ///         sim::spawn(async move {
    ///             if at_once {
    ///                 counter.fetch_add(1, SeqCst).await;
    ///             } else {
    ///                 let old = counter.load(SeqCst).await;
    ///                 counter.store(old + 1, SeqCst).await;
    ///             }
    ///         })
    ///     });
    ///     for task in tasks {
    ///         task.await.unwrap();
    ///     }
    ///     assert_eq!(counter.load(SeqCst).await, 2);
    /// }
    ///
    /// # if !sim::SIMULATED { return }
    /// let search = Runner::new().hermetic().strategy("exhaustive");
    /// let proof = search.run(async || adds(true).await);
    /// assert!(proof.passed() && proof.searched.unwrap().is_proof());
    /// assert_eq!(proof.runs, 2);
    ///
    /// # let search = search.out(std::env::temp_dir().join("sim-docs"));
    /// assert!(!search.run(async || adds(false).await).passed());
    /// ```
    #[must_use]
    pub fn strategy(mut self, name: impl Into<String>) -> Runner {
        self.settings.strategy = Some(name.into());
        self
    }

    /// Uses your own [`Strategy`] for the decisions. `name` appears in reports and traces, and must differ from the
    /// names of registered strategies. `create` is called for each worker thread, and for each seed that is run alone.
    /// All instances must behave alike, so that a seed always gives the same run. `SIM_STRATEGY` selects another
    /// strategy for one execution of the test.
    ///
    /// Shrinking, replays, proofs and traces work as with any strategy, because they use decisions and not seeds.
    ///
    /// ```
    /// use sim::run::ids::Seed;
    /// use sim::strategy::{Draw, Mismatch, Strategy, View};
    /// use sim::{Atomic, Ordering::SeqCst, Runner};
    /// use std::sync::Arc;
    ///
    /// /// The oldest task steps, and from the step that the seed names on the youngest.
    /// struct OneSwitch(u32);
    ///
    /// impl Strategy for OneSwitch {
    ///     fn begin(&mut self, seed: Seed) {
    ///         self.0 = seed.0 as u32;
    ///     }
    ///     fn pick(&mut self, view: &View<'_>) -> Result<usize, Mismatch> {
    ///         let tasks = view.candidates().iter().enumerate();
    ///         Ok(match view.step() < self.0 {
    ///             true => tasks.min_by_key(|(_, task)| **task).unwrap().0,
    ///             false => tasks.max_by_key(|(_, task)| **task).unwrap().0,
    ///         })
    ///     }
    ///     fn draw(&mut self, _: &Draw) -> Result<u64, Mismatch> {
    ///         Ok(0)
    ///     }
    /// }
    ///
    /// # if !sim::SIMULATED { return }
    /// let runner = Runner::new().hermetic().seeds(0..20);
    /// # let runner = runner.out(std::env::temp_dir().join("sim-docs"));
    /// let report = runner.strategy_with("one-switch", || Box::new(OneSwitch(0))).run(async || {
    ///     let count = Arc::new(Atomic::new(0));
    ///     let tasks = [0, 1].map(|_| {
    ///         let count = count.clone();
    ///         sim::spawn(async move {
    ///             let old = count.load(SeqCst).await;
    ///             count.store(old + 1, SeqCst).await;
    ///         })
    ///     });
    ///     for task in tasks {
    ///         task.await.unwrap();
    ///     }
    ///     assert_eq!(count.load(SeqCst).await, 2);
    /// });
    /// assert!(!report.passed());
    /// ```
    #[must_use]
    pub fn strategy_with(
        mut self,
        name: &'static str,
        create: fn() -> Box<dyn Strategy>,
    ) -> Runner {
        self.settings.strategy = Some(name.to_owned());
        self.settings.kind.own_strategy = Some(Numbered { name, create });
        self
    }

    /// Sets the step limit of a run, at least 1. A longer run fails; a run of plain threads first continues with few
    /// switches.
    ///
    /// ```
    /// use sim::run::{Failure, Outcome};
    ///
    /// # if !sim::SIMULATED { return }
    /// let runner = sim::Runner::new().hermetic().max_steps(100);
    /// # let runner = runner.out(std::env::temp_dir().join("sim-docs"));
    /// let report = runner.run(async || {
    ///     for _ in 0..1000 {
    ///         sim::task::yield_now().await;
    ///     }
    /// });
    /// let outcome = report.finding.unwrap().run.outcome;
    /// assert!(matches!(outcome, Outcome::Failed(Failure::StepLimit { steps: 100, .. })));
    /// ```
    #[must_use]
    pub fn max_steps(mut self, steps: u32) -> Runner {
        self.settings.max_steps = Some(steps);
        self
    }

    /// Sets a time limit after which no further seed starts. The seed in progress is finished.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let runner = sim::Runner::new().hermetic().seeds(0..1_000_000_000);
    /// let report = runner.time(Duration::from_millis(20)).run(async || ());
    /// assert!(report.passed());
    /// ```
    #[must_use]
    pub fn time(mut self, time: Duration) -> Runner {
        self.settings.time = Some(time);
        self
    }

    /// Sets the number of threads that run seeds or parts of a search, at least 1. The report does not depend on it.
    /// Plain threads use this many processes instead: copies of this process, which start after 50 ms. If the closure
    /// has captured memory, or if each run has its own process, only one process is used.
    #[must_use]
    pub fn jobs(mut self, jobs: usize) -> Runner {
        self.settings.jobs = Some(jobs.max(1));
        self
    }

    /// Sets the time limit of one step. After it, the process is ended as hung; zero means no limit. On real threads it
    /// limits the time in which no task of a run is polled, spawned, ends or reaches a point. Points are seen only
    /// where they are [disturbed](crate#the-two-builds). The default is 10 seconds.
    #[must_use]
    pub fn hang(mut self, time: Duration) -> Runner {
        self.settings.hang = Some(time);
        self
    }

    /// Sets the time limit of a run on real threads, even if the run makes progress. After it, the process is ended;
    /// zero means no limit. The default is 60 seconds. In a simulated run, [`max_steps`](Self::max_steps) is the limit.
    #[must_use]
    pub fn limit(mut self, time: Duration) -> Runner {
        self.settings.limit = Some(time);
        self
    }

    /// Replays a trace instead of running seeds: a trace file, or an inline trace `sim2:…`. The settings of the trace
    /// override this runner's, and the report warns about each variable without effect. In a real build it is an error.
    ///
    /// ```
    /// # if !sim::SIMULATED { return }
    /// let runner = sim::Runner::new().hermetic().replay("sim2:0x2");
    /// let report = runner.run(async || sim::task::yield_now().await);
    /// assert_eq!((report.passed(), report.runs, report.steps), (true, 1, 2));
    /// ```
    #[must_use]
    pub fn replay(mut self, source: impl Into<String>) -> Runner {
        self.settings.replay = Some(source.into());
        self
    }

    /// Writes traces into `<folder>/<test>` instead of `target/sim/<package>/<test>`.
    #[must_use]
    pub fn out(mut self, folder: impl Into<PathBuf>) -> Runner {
        self.settings.out = Some(folder.into());
        self
    }

    /// Records in this folder which seeds passed, in a file for each test and shard. A later run of the same seeds by
    /// the same program continues from there, and `cargo unpause merge` combines shards. If the program or the settings
    /// differ, the result is an [`InvalidSetting`](crate::engine::runner::InvalidSetting) error: use another folder.
    ///
    /// Conditions over all runs, such as [`sometimes!`](macro@crate::sometimes), are judged when the last seed is
    /// reached, with the counts of earlier runs. A shard, or a run that ends earlier, only warns.
    #[must_use]
    pub fn results(mut self, folder: impl Into<PathBuf>) -> Runner {
        self.settings.results = Some(folder.into());
        self
    }

    /// Writes the report of each test as JSON, even if it passes. If the path ends with `.json`, it is a file, else a
    /// folder with a file for each test. By default, a failure that leaves a trace has such a file beside the trace.
    ///
    /// ```
    /// let file = std::env::temp_dir().join("sim-docs/of-a-pass.json");
    /// sim::Runner::new().hermetic().seeds(0..1).json(&file).run(async || ());
    /// assert!(std::fs::read_to_string(file).unwrap().contains("\"unpause pass\""));
    /// ```
    #[must_use]
    pub fn json(mut self, path: impl Into<PathBuf>) -> Runner {
        self.settings.json = Some(JsonFiles::At(path.into()));
        self
    }

    /// Writes the certificate of a search that proves the test, also within a bound: into a file that ends with
    /// `.certificate`, else into a folder. `cargo unpause verify FILE` checks it without any code of the search.
    ///
    /// ```
    /// # if !sim::SIMULATED { return }
    /// let file = std::env::temp_dir().join("sim-docs/of-a-proof.certificate");
    /// let runner = sim::Runner::new().hermetic().strategy("exhaustive").certify(&file);
    /// runner.run(async || sim::task::yield_now().await);
    /// assert!(std::fs::read_to_string(file).unwrap().starts_with("{\"certificate\":1,"));
    /// ```
    #[must_use]
    pub fn certify(mut self, path: impl Into<PathBuf>) -> Runner {
        self.settings.certify = Some(path.into());
        self
    }

    /// Also writes a failure as an HTML page, beside its trace: [`report::page`](crate::report::page()). The page is
    /// written by default on CI, where the variable `CI` is set.
    ///
    /// ```
    /// let folder = std::env::temp_dir().join("sim-docs/page");
    /// let runner = sim::Runner::new().hermetic().seeds(0..1).out(&folder).html(true);
    /// let report = runner.run(async || assert_eq!(1, 2, "planted"));
    /// let page = report.finding.unwrap().page_file.unwrap();
    /// assert!(std::fs::read_to_string(page).unwrap().contains("planted"));
    /// ```
    #[must_use]
    pub fn html(mut self, html: bool) -> Runner {
        self.settings.html = Some(html);
        self
    }

    /// Counts interleaving classes and blind spots: [`Report::coverage`](crate::report::Report::coverage). Costs about
    /// as much time as the runs, and memory for each class.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use sim::{Atomic, Ordering::SeqCst};
    ///
    /// let report = sim::Runner::new().hermetic().coverage(true).run(async || {
    ///     let word = Arc::new(Atomic::new(0));
    ///     let other = word.clone();
    ///     let task = sim::spawn(async move { other.store(1, SeqCst).await });
    ///     word.store(2, SeqCst).await;
    ///     task.await.unwrap();
    /// });
    /// // The stores conflict, so their two orders are two classes.
    /// assert!(!sim::SIMULATED || report.coverage.unwrap().classes == 2);
    /// ```
    #[must_use]
    pub fn coverage(mut self, wanted: bool) -> Runner {
        self.settings.coverage = Some(wanted);
        self
    }

    /// Checks the recorded calls of each run in all orders that its steps allow, not only in the order of the run
    /// (*history closure*): [`Report::closure`](crate::report::Report::closure).
    ///
    /// A linearizability checker uses only which calls returned before others began. If no task notices this order, a
    /// run represents all histories that differ only in this order. A violated history is run once for confirmation,
    /// and then reported as a failure of the seed. Up to 1000 orders of each history are checked. If the body reads a
    /// history ([`History::operations`](crate::History::operations)), no other order is checked, because the body may
    /// depend on it.
    ///
    /// A run costs about twice as much (1.4 to 3.7 times, for the nine programs with a history in the corpus of
    /// `sim-tests`). A test without a history only becomes slower. The setting helps if a call is wrong only when other
    /// calls happen at certain times around it. For example, one of the nine programs has a bug that takes 2.4 seeds on
    /// average instead of 7.7. An exhaustive search always does this check, bounded searches never do.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use sim::check::models::{Register, RegisterOp, RegisterRet};
    /// use sim::{Atomic, History, Ordering::SeqCst, Runner};
    ///
    /// // The writer stores into one word, the reader looks at another: who was first?
    /// async fn apart() {
    ///     let words = Arc::new([Atomic::new(0), Atomic::new(0)]);
    ///     let history = History::new(Register::default());
    ///     let (writer, to) = (words.clone(), history.clone());
    ///     let write = sim::spawn(async move {
    ///         let store = async { writer[0].store(1, SeqCst).await; RegisterRet::Done };
    ///         to.call(RegisterOp::Write(1), store).await;
    ///     });
    ///     let load = async { RegisterRet::Value(words[1].load(SeqCst).await) };
    ///     history.call(RegisterOp::Read, load).await;
    ///     write.await.unwrap();
    ///     history.assert_linearizable();
    /// }
    ///
    /// # let out = std::env::temp_dir().join("sim-docs");
    /// # let runner = Runner::new().hermetic().out(out);
    /// // One run is enough, in whatever order it came.
    /// let report = runner.closure(true).seed(0).run(apart);
    /// assert!(!sim::SIMULATED || !report.passed());
    /// ```
    #[must_use]
    pub fn closure(mut self, wanted: bool) -> Runner {
        self.settings.closure = Some(wanted);
        self
    }

    /// Sets the maximum number of runs (of 1000 steps on average) for a proof about a failing run, after shrinking; 0
    /// for no proof. The proof shows that no run of the same program with the same drawn values fails in the same way
    /// with fewer preemptions. If such a run exists, it replaces the failing run, unless it has more steps than the run
    /// that was found. The default is 0, or 10,000 if the strategy is a search. [`Finding::proof`] contains the result.
    ///
    /// The shrinker minimises steps *and* preemptions ([`Cost`](crate::run::schedule::Cost)), but does not try all
    /// runs. The proof is for users who need the minimum number of preemptions with certainty. No effect on real
    /// threads.
    ///
    /// [`Finding::proof`]: crate::report::Finding::proof
    ///
    /// ```
    /// use std::sync::Arc;
    /// use sim::{Atomic, Ordering::SeqCst, Runner};
    ///
    /// # let out = std::env::temp_dir().join("sim-docs");
    /// # let runner = Runner::new().hermetic().out(out);
    /// let report = runner.seeds(0..100).prove(1000).run(async || {
    ///     let counter = Arc::new(Atomic::new(0));
    ///     sim::map_concurrently(0..2, |_| {
    ///         let counter = counter.clone();
    ///         async move {
    ///             let value = counter.load(SeqCst).await;
    ///             counter.store(value + 1, SeqCst).await;
    ///         }
    ///     })
    ///     .await;
    ///     assert_eq!(counter.load(SeqCst).await, 2);
    /// });
    /// if sim::SIMULATED {
    ///     let proof = report.finding.unwrap().proof.unwrap();
    ///     assert!(proof.complete);
    ///     assert_eq!(proof.fewest, 1);
    /// }
    /// ```
    #[must_use]
    pub fn prove(mut self, runs: u64) -> Runner {
        self.settings.prove = Some(ProofRuns(runs));
        self
    }

    /// Fails a test that proves nothing, even if no run fails: [`Report::searched`](crate::report::Report::searched)
    /// must be a [proof](crate::report::Searched::is_proof). The [strategy](Self::strategy) must be a search. Replays
    /// and real threads are exempt.
    ///
    /// ```
    /// use sim::run::{Failure, Outcome};
    /// use sim::{Atomic, Ordering::SeqCst, Runner};
    ///
    /// async fn stores() {
    ///     let word = std::sync::Arc::new(Atomic::new(0));
    ///     for value in 0..4 {
    ///         let word = word.clone();
    ///         sim::spawn(async move { word.store(value, SeqCst).await }).detach();
    ///     }
    ///     word.load(SeqCst).await;
    /// }
    ///
    /// # if !sim::SIMULATED { return }
    /// let must = Runner::new().hermetic().strategy("exhaustive").must_prove(true);
    /// assert!(must.run(stores).passed());
    /// // Three runs are not enough.
    /// let report = must.seeds(0..3).run(stores);
    /// assert!(!report.passed());
    /// let outcome = report.finding.unwrap().run.outcome;
    /// assert!(matches!(outcome, Outcome::Failed(Failure::Unproven { .. })));
    /// ```
    #[must_use]
    pub fn must_prove(mut self, wanted: bool) -> Runner {
        self.settings.must_prove = Some(wanted);
        self
    }

    /// Sets whether a failing run is shrunk before it is reported; on by default. Without shrinking, the failing run is
    /// replayed and reported unchanged, without a [proof](Self::prove) and without an [explanation](Self::why).
    #[must_use]
    pub fn shrink(mut self, wanted: bool) -> Runner {
        self.settings.shrink = Some(wanted);
        self
    }

    /// Sets the maximum number of runs that explain a failing run after shrinking; 0 for no explanation. These runs use
    /// the same program and the same drawn values, and together at most 2,000,000 steps. The default is 3000.
    /// [`Finding::why`](crate::report::Finding::why) contains the result.
    ///
    /// Only a failing test executes these runs. There is no explanation for failures outside the program, such as a
    /// misuse, for runs that reach their step limit, and for runs in which a load saw an old store.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use sim::{Atomic, Ordering::SeqCst, Runner};
    ///
    /// # let out = std::env::temp_dir().join("sim-docs");
    /// # let runner = Runner::new().hermetic().out(out);
    /// let report = runner.why(1000).run(async || {
    ///     let counter = Arc::new(Atomic::new(0));
    ///     sim::map_concurrently(0..2, |_| {
    ///         let counter = counter.clone();
    ///         async move {
    ///             let value = counter.load(SeqCst).await;
    ///             counter.store(value + 1, SeqCst).await;
    ///         }
    ///     })
    ///     .await;
    ///     assert_eq!(counter.load(SeqCst).await, 2);
    /// });
    /// if sim::SIMULATED {
    ///     let why = report.finding.unwrap().why.unwrap();
    ///     // Some schedules pass, and after the switch between load and store nearly all fail.
    ///     assert!(why.chances[0].share < 0.5);
    ///     assert_eq!(why.marks.len(), 1);
    /// }
    /// ```
    #[must_use]
    pub fn why(mut self, runs: u64) -> Runner {
        self.settings.why = Some(WhyRuns(runs));
        self
    }

    /// Counts the commands of generated programs and the share that ran concurrently:
    /// [`Report::statistics`](crate::report::Report::statistics). Costs about as much as the runs.
    #[must_use]
    pub fn statistics(mut self, wanted: bool) -> Runner {
        self.settings.statistics = Some(wanted);
        self
    }

    /// Ignores the environment. No variable can then replay a failing run, so the report names the call to add to the
    /// runner instead.
    #[must_use]
    pub fn hermetic(mut self) -> Runner {
        self.site.hermetic = true;
        self
    }
}
