//! The settings of a [`Runner`]: one method each.

use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use super::Runner;
use crate::engine::config::{JsonFiles, ProofRuns, WhyRuns};
use crate::strategy::{Numbered, Strategy};

impl Runner {
    /// The name under which traces are kept and reports speak. By default made of the file and the
    /// line of the call of [`Runner::new`].
    ///
    /// Runners in one program need different names if they write [results](Self::results).
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Runner {
        self.site.test = name.into();
        self
    }

    /// Run these seeds, the end not included.
    #[must_use]
    pub fn seeds(mut self, seeds: Range<u64>) -> Runner {
        self.settings.seeds = Some(seeds);
        self.settings.seed = None;
        self
    }

    /// Run just this seed.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Runner {
        self.settings.seed = Some(seed);
        self
    }

    /// The strategy that answers the choices: a name of [`STRATEGIES`](crate::strategy::STRATEGIES) or of
    /// [`SEARCHES`](crate::strategy::SEARCHES).
    ///
    /// A search continues until it is complete, or complete within its bound; [`seeds`](Self::seeds) then limits the
    /// number of its runs (the end of the range; a million by default), and a seed is the number of a run.
    /// [`Report::searched`](crate::report::Report::searched) has its progress. A search of async code is divided among
    /// [threads](Self::jobs): its runs, their numbers and the reported failure are the same for any number of them.
    ///
    /// Half-way through the runs that it may take, `exhaustive` reads its estimate of the number of all runs. If
    /// the estimate is higher, the other half goes to `preemptions`: all runs with no preemption, then all with
    /// one, and so on. These find bugs in early steps, which the search reaches last, and
    /// [`Searched::fallback`](crate::report::Searched::fallback) has the bound that was reached. It is not a proof, as
    /// before. A [time](Self::time) that is up before half of the runs leaves nothing for it: allow fewer runs, or name
    /// `preemptions`.
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

    /// A [`Strategy`] of your own answers the choices. `name` appears in reports and traces, and
    /// must differ from the names of registered strategies. `create` makes one for each worker
    /// thread, and for each seed that is run alone: all must behave alike, so that a seed is one
    /// run. `SIM_STRATEGY` names another one for a single run of the test.
    ///
    /// Shrinking, replays, proofs and traces work as with any strategy: they take decisions, not seeds.
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

    /// Steps of a run, at least 1. A longer run fails, and a run of plain threads first continues with few switches.
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

    /// Stop after this time even if seeds are left. The seed in progress is finished.
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

    /// The number of threads that run seeds or make parts of a search, at least 1. The report does not depend on it.
    /// Plain threads have as many processes: copies of this one, which begin after 50 ms. If the closure has captured
    /// memory, or if each run has a process of its own, there is one.
    #[must_use]
    pub fn jobs(mut self, jobs: usize) -> Runner {
        self.settings.jobs = Some(jobs.max(1));
        self
    }

    /// The time limit of one step, after which the process is ended as hung; zero for no limit. On real
    /// threads, it limits the time in which no task of a run is polled, spawned, ends or reaches a point
    /// (points are seen only where they are [disturbed](crate#the-two-builds)). The default is 10 seconds.
    #[must_use]
    pub fn hang(mut self, time: Duration) -> Runner {
        self.settings.hang = Some(time);
        self
    }

    /// The time limit of a run on real threads, if it makes progress. After it the process is ended. Zero for
    /// no limit. The default is 60 seconds. In a simulated run, [`max_steps`](Self::max_steps) is the limit.
    #[must_use]
    pub fn limit(mut self, time: Duration) -> Runner {
        self.settings.limit = Some(time);
        self
    }

    /// Replay this and run no seed: a trace file, or an inline trace `sim2:…`. The settings of the trace override
    /// this runner's; the report warns of each variable without effect. In a real build it is an error.
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

    /// Write traces into `<folder>/<test>` instead of `target/sim/<package>/<test>`.
    #[must_use]
    pub fn out(mut self, folder: impl Into<PathBuf>) -> Runner {
        self.settings.out = Some(folder.into());
        self
    }

    /// Write down in this folder which seeds passed, in a file for each test and shard. A later run of the same seeds
    /// by the same program continues from there; `cargo unpause merge` puts shards together. Another program, or other
    /// settings, is an [`InvalidSetting`](crate::engine::runner::InvalidSetting): use another folder.
    ///
    /// Conditions over all runs, such as [`sometimes!`](macro@crate::sometimes), are judged by the run that reaches
    /// the last seed, with the counts of earlier runs. A shard, and a run that ends earlier, only warn.
    #[must_use]
    pub fn results(mut self, folder: impl Into<PathBuf>) -> Runner {
        self.settings.results = Some(folder.into());
        self
    }

    /// Write the report of each test as JSON, also if it passes: into a file, if the path ends with `.json`, else into
    /// a folder, in a file for each test. Without this a failure that leaves a trace has such a file beside the trace.
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

    /// Write the certificate of a search that proves the test: into a file, if the path ends with `.certificate`, else
    /// into a folder, in a file for each test. `cargo unpause verify FILE` checks it without any code of the search.
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

    /// Write a failure as a page for a browser, too, beside its trace: [`report::page`](crate::report::page()). This is
    /// the default on CI, where the variable `CI` is set.
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

    /// Count the classes of interleavings, and what was never tried:
    /// [`Report::coverage`](crate::report::Report::coverage). Costs about as much as the runs, and memory for each
    /// class.
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

    /// Check the recorded calls of each run in all orders that its steps allow, not only in the
    /// order of the run (*history closure*): [`Report::closure`](crate::report::Report::closure).
    ///
    /// A checker of linearizability reads only which calls returned before others began. If no task notices this
    /// order, a run represents all histories that differ only in it. A violated history is run once, to confirm
    /// it, and reported as a failure of the seed. Up to 1000 orders of each history are checked; none where the
    /// body reads a history ([`History::operations`](crate::History::operations)), because it may act on it.
    ///
    /// A run costs about twice as much (1.4 to 3.7 times, for the nine programs with a history of the corpus
    /// in `sim-tests`), and a test without a history is slower for nothing. It pays where a call is wrong
    /// only if others come at certain times around it: for one of the nine, where a bug takes 2.4 seeds on
    /// average instead of 7.7. An exhaustive search always does this, those within a bound never do.
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

    /// Prove of a failing run, when it has been shrunk, that no run of the same program with the same
    /// values drawn fails in the same way with fewer preemptions, by a search of at most so many runs
    /// (of 1000 steps on average); 0 for no proof. A run with fewer takes its place, unless it has more steps
    /// than the run that was found. The default is no proof, and 10,000 runs if the strategy is a search.
    /// [`Finding::proof`] has the result.
    ///
    /// Costs up to as many runs as the argument. The shrinker minimises steps *and* preemptions
    /// ([`Cost`](crate::run::schedule::Cost)), and does not try all runs: the proof is for users who need the fewest
    /// preemptions, with certainty. On real threads it means nothing.
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

    /// Fail a test that proves nothing, even if none of its runs does:
    /// [`Report::searched`](crate::report::Report::searched) must be a [proof](crate::report::Searched::is_proof). The
    /// [strategy](Self::strategy) must be a search. A replay need not prove anything; neither need real threads.
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

    /// Makes a failing run smaller before it is reported; on by default. Without it, the failing run is replayed and
    /// reported as it is, and nothing is [proven](Self::prove) of it or [explained](Self::why).
    #[must_use]
    pub fn shrink(mut self, wanted: bool) -> Runner {
        self.settings.shrink = Some(wanted);
        self
    }

    /// Explains a failing run, when it has been shrunk, by at most so many other runs of the same program with the same
    /// values drawn, and 2,000,000 steps; 0 for no explanation. The default is 3000.
    /// [`Finding::why`](crate::report::Finding::why) has the result.
    ///
    /// Only a failing test makes these runs. Not explained are failures without a program of their own, such as a
    /// misuse, runs that reach their step limit, and runs with the memory `c11`.
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

    /// Count what generated programs were made of and how much of it ran at the same time:
    /// [`Report::statistics`](crate::report::Report::statistics). Costs about as much as the runs.
    #[must_use]
    pub fn statistics(mut self, wanted: bool) -> Runner {
        self.settings.statistics = Some(wanted);
        self
    }

    /// Do not look at the environment. No variable can then replay a failing run: the report names the call to add to
    /// the runner instead.
    #[must_use]
    pub fn hermetic(mut self) -> Runner {
        self.site.hermetic = true;
        self
    }
}
