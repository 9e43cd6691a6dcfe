//! Runs a test body under many seeds and reports the result.
//!
//! `#[sim::test]` uses a [`Runner`]. The engine of the build runs the seeds: under the scheduler, or on real threads.
//! The result is a [`Report`]. Only this module converts a report to text and fails the test.
//!
//! # Coverage
//!
//! A passing test is silent by default. `#[sim::test(coverage)]`, [`Runner::coverage`] or `SIM_COVERAGE=1` shows a line
//! of coverage although the harness hides the output of the test, and fills
//! [`Report::coverage`](crate::report::Report::coverage). The line contains the number of interleaving classes seen,
//! where orders that make no difference belong to one class. The line also contains the number of new classes in the
//! last hundred runs. In addition, it shows the probability of a new class in the next run, with its
//! [95 % interval](crate::run::coverage::Coverage::unseen_interval). Finally it lists the blind spots: objects without
//! contention, tasks never preempted, values never drawn. [`sometimes!`](macro@crate::sometimes) fails a test if an
//! interesting case never occurs, [`cover!`](macro@crate::cover) if it occurs in too few runs. `statistics`,
//! [`Runner::statistics`] or `SIM_STATISTICS=1` adds a table of the commands in generated programs and of the share
//! that ran concurrently. A missed `cover!` always shows this table.
//!
//! A recorded history is checked in the order of its run. With `#[sim::test(closure)]`, [`Runner::closure`] or
//! `SIM_CLOSURE=1` it is also checked, without further runs, in all other orders of its calls that no task could
//! distinguish. A violated order is run before it is reported. Therefore seeds find a bug even if it shows only when a
//! call begins or ends at a certain time.
//!
//! # Proofs
//!
//! With `closure`, the history is also checked without further runs in all other orders of its calls that no task could
//! distinguish. After the last class it reports `explored all N interleavings`, which is a proof: no interleaving of
//! the body fails. If its run limit is too small, it reports the number of runs, an estimate of the rest, and that this
//! is not a proof.
//!
//! ```
//! # if !sim::SIMULATED { return }
//! use std::sync::Arc;
//! use sim::{Mutex, Runner};
//!
//! let report = Runner::new().hermetic().strategy("exhaustive").run(async || {
//!     let total = Arc::new(Mutex::new(0));
//!     let tasks = [1, 2, 3].map(|n| {
//!         let total = total.clone();
//!         sim::spawn(async move { *total.lock().await += n })
//!     });
//!     for task in tasks {
//!         task.await.unwrap();
//!     }
//!     assert_eq!(*total.lock().await, 6);
//! });
//! assert!(report.searched.unwrap().is_proof());
//! assert_eq!(report.runs, 6);
//! ```
//!
//! A test with a search prints its result in a line that the test harness does not capture. Without a proof, the test
//! still passes by default. With `must_prove`, [`Runner::must_prove`] or `SIM_MUST_PROVE=1` it fails, so that a change
//! cannot lose the proof unnoticed.
//!
//! ```
//! #[sim::test(strategy = "exhaustive", must_prove)]
//! async fn a_swap_is_one_step() {
//!     let word = std::sync::Arc::new(sim::Atomic::new(0));
//!     let tasks = [1, 2].map(|n| {
//!         let word = word.clone();
//!         sim::spawn(async move { word.swap(n, sim::Ordering::SeqCst).await })
//!     });
//!     let mut first = 0;
//!     for task in tasks {
//!         first += usize::from(task.await.unwrap() == 0);
//!     }
//!     assert_eq!(first, 1);
//! }
//! # fn main() {}
//! ```
//!
//! Limits of the proof:
//!
//! - Tasks still running when the body returns are dropped, and what they would have done is not explored.
//!   Await them to include them in the proof.
//! - The search assumes that tasks share memory through sim only, and states this beside the proof
//!   ([`Searched::assumption`](crate::report::Searched::assumption)). Accesses to anything else (a channel of another
//!   crate, a std lock, a thread-local) are not operations, so steps that share only such an object count as
//!   independent. The search detects a wrong assumption in three cases. First, a task wakes another task through such
//!   an object. Second, a task waits for such an object when the run ends. Third, one of a hundred sampled runs behaves
//!   differently with its steps in another order. The search then restarts and explores each order of steps: many more
//!   runs, and a proof without the assumption. [`Searched::cause`](crate::report::Searched::cause) contains the reason
//!   and names the two steps whose order made the difference. The sampled runs rarely include a difference that only
//!   few orders show. For example, a test passes if it has six tasks with a std lock and an assertion that fails in one
//!   of their 720 orders. Branches of one `select!` count like tasks: if no branch does an operation in a poll, the
//!   search does not vary the order of that poll. `preemptions` and `delays` execute all orders and assume nothing.
//! - A complete search checks itself. The search samples a hundred runs, or fewer of plain threads with few choices. It
//!   looks up the class of each run among its explored classes, and repeats each run with its steps in another order of
//!   the class. A run that fails or belongs to an unknown class revokes the proof
//!   ([`Searched::audit`](crate::report::Searched::audit)). If a run behaves differently, the search restarts as above.
//! - One poll of a task is one step. A future that is polled once and then dropped does not take effect, and the
//!   branches of one `join!` are not interleaved with each other. A future that is polled [by
//!   hand](crate::task::by_hand), for example by `now_or_never`, takes effect within the step.
//! - The real-time order of the calls of a [`History`](crate::History) is checked in every variant that the steps of a
//!   run allow, without running the variants. If a variant is not linearizable, it is run, and this run is reported. In
//!   two cases each order gets its own run, which means many more runs. In the first case the body calls
//!   [`History::operations`](crate::History::operations), which distinguishes all orders. In the second case the calls
//!   have very many orders.
//! - The search tries every value that [`rand`](crate::rand) can draw, so keep the bounds small. A loop that polls a
//!   value has endless runs, which fail at the step limit. Await [`spin_until`](crate::spin_until) instead.
//!
//! A larger test can be explored within a bound. After half of its runs, `exhaustive` checks its estimate. If the other
//! half will not be enough, it gives that half to `preemptions` and reports the progress of both searches.
//! `preemptions` executes all runs without a preemption, then all with one, and so on. `delays` does the same for
//! departures from a round-robin scheduler, which are fewer if there are many tasks. `preemptions:2` stops after two
//! preemptions. Most bugs need one or two preemptions, and the first failing run that is found has the minimum number.
//! To reach runs with one more preemption, runs with the same prefix are repeated. These repetitions count against the
//! limit of the search, but are not included in the report. The report names the bound that was reached. If the bound
//! excluded nothing, the result is a proof, too, and it does not depend on the shared state of tasks. Equivalent orders
//! are not pruned, so `exhaustive` needs far fewer runs for a proof.
//!
//! ```
//! # if !sim::SIMULATED { return }
//! use std::sync::Arc;
//! use sim::{Atomic, Ordering::SeqCst, Runner};
//!
//! let report = Runner::new().hermetic().strategy("preemptions:1").run(async || {
//!     let count = Arc::new(Atomic::new(0));
//!     let tasks = [1, 2, 3].map(|_| {
//!         let count = count.clone();
//!         sim::spawn(async move { for _ in 0..3 { count.fetch_add(1, SeqCst).await; } })
//!     });
//!     for task in tasks {
//!         task.await.unwrap();
//!     }
//!     assert_eq!(count.load(SeqCst).await, 9);
//! });
//! assert!(report.passed());
//! assert_eq!(report.searched.unwrap().bound.unwrap().through, Some(1));
//! ```
//!
//! A failing run can have a proof, too. Shrinking minimises a cost: the steps, plus
//! [four steps](crate::run::schedule::Cost) for each preemption. The result never has more steps than the run that was
//! found. `prove = 100000`, [`Runner::prove`] or `SIM_PROVE` then tries all runs with fewer preemptions, if they are
//! not more than this number. If one of these runs fails in the same way, it replaces the trace, unless it is longer
//! than the run that was found. Otherwise the report says `no failing run has fewer than 2 preemptions`. For a failure
//! found by a search, the proof needs no setting.
//!
//! # Environment
//!
//! These variables override the settings of every test that is not [hermetic](Runner::hermetic):
//!
//! | variable | meaning | example |
//! |---|---|---|
//! | `SIM_SEED` | only this seed | `17` |
//! | `SIM_SEEDS` | the number of seeds, or a range; the default is 1000, or 100 on real threads | `5000`, `500..1000` |
//! | `SIM_STRATEGY` | the strategy; the default is `portfolio` | `random`, `exhaustive`, `preemptions:2` |
//! | `SIM_TIME` | time limit of the test; after it the test passes with fewer seeds | `500ms`, `5s`, `2m`, `1h` |
//! | `SIM_STEPS` | step limit of a run; a run with more steps fails, but a run of plain threads continues with few switches | `100000` |
//! | `SIM_REPLAY` | replays a trace and nothing else: a file, or the trace as text | `sim2:0,0.0x2` |
//! | `SIM_POINTS` | the operations of plain threads that are points | `all`, `default` |
//! | `SIM_ISOLATE` | the isolation of runs of plain threads: `process` gives each run its own process | `process`, `run` |
//! | `SIM_MEMORY` | the values that atomic loads may see: with `c11` each value that C++20 allows for the memory orderings in the program | `c11`, `sc` |
//! | `SIM_ARC` | `1`: reference-count operations of `Arc` are points in all runs of plain threads; `0`: in none | `1`, `0` |
//! | `SIM_CLOCK` | when the time of [`sim::time`](crate::time) advances: `last`: only when no task can step; `late:K`: also at most `K` times at any moment; `any`: at any moment | `last`, `late:K`, `any` |
//! | `SIM_CANCEL` | the names of the tasks that may be aborted at any point, with `*` for any text | `worker-*` |
//! | `SIM_CANCEL_SELECTS` | `1`: the deadlines of timeouts, and of timers in branches of `select!`, may pass at any moment | `1`, `0` |
//! | `SIM_BUGGIFY` | `1`: runs may execute code that is marked with [`buggify!`](macro@crate::buggify) | `1`, `0` |
//! | `SIM_PROGRESS` | the progress guarantee to test: tasks may stall forever at any point | `lock-free`, `obstruction-free`, `wait-free:N` |
//! | `SIM_CHANCES` | events that may happen at any moment: `timers` in plain threads; `spurious` and `weak` also in awaited tasks | `timers`, `spurious,weak`, `none` |
//! | `SIM_JOBS` | worker threads; the default is the number of cores | `4` |
//! | `SIM_SHARD` | every n-th seed, beginning with the k-th | `2/4` |
//! | `SIM_HANG` | time limit of a step, or on real threads the time limit without progress of any task; the default is 10 s, `0s` is no limit | `30s` |
//! | `SIM_LIMIT` | time limit of a run on real threads; the default is 60 s, `0s` is no limit | `5m` |
//! | `SIM_LOG` | the runs whose events `tracing` subscribers receive; `replay` and `all` also show the backtrace of the panic | `off`, `replay`, `all` |
//! | `SIM_COVERAGE` | shows the classes of interleavings that a passing test saw | `1`, `0` |
//! | `SIM_CLOSURE` | checks the recorded calls of each run in all orders that its steps allow | `1`, `0` |
//! | `SIM_PROVE` | maximum number of runs for the proof that no failing run has fewer preemptions; `0` is no proof | `100000` |
//! | `SIM_WHY` | maximum number of runs for the explanation of a failing run; the default is 3000, `0` is no explanation | `1000` |
//! | `SIM_MUST_PROVE` | fails a test whose search proves nothing | `1`, `0` |
//! | `SIM_SHRINK` | shrinks a failing run before it is shown | `1`, `0` |
//! | `SIM_STATISTICS` | shows the composition of the generated programs of a passing test | `1`, `0` |
//! | `SIM_OUT` | the folder for traces | `traces` |
//! | `SIM_RESULTS` | the folder for results; a later run of the same program continues from there | `results` |
//! | `SIM_CERTIFY` | writes the certificate of a search that proves a test into a file, or into a folder | `queue.certificate`, `certificates` |
//! | `SIM_OBSERVE` | executes the runs listed in a file, for `cargo unpause verify` | `runs.certificate` |
//! | `SIM_HTML` | also writes a failure as an HTML page beside its trace; the default on CI (variable `CI`) | `1`, `0` |
//! | `SIM_JSON` | writes the report of each test as JSON, even if it passes: beside its traces, into a folder, or into a file; `0` writes none, not even for a failure | `1`, `0`, `reports`, `report.json` |
//!
//! An invalid value is an error that names the variable, the value and the grammar. An unknown variable that begins
//! with `SIM_` causes a note.
//!
//! # Notes
//!
//! Some lines appear on standard error even if a test passes and its harness hides its output. These lines show unknown
//! variables, and stale kept traces with the command that removes them or records them again. The lines also show the
//! number of seeds run before the time limit, and histories that were recorded but never checked. Finally, they show
//! the result of a search, and all requested results of a replay, of coverage, or of statistics.
//!
//! # Settings of traces and results
//!
//! Some settings change what a run does: the clock, faults, the points of plain threads, the step limit and the hang
//! limit. A trace contains those settings if they differ from the defaults, so its replay needs no variable and no
//! argument. Settings in the trace override the settings of the test and the environment, and a replay warns about each
//! variable without effect. Only `SIM_HANG` overrides the trace, because a debugger needs more time. The printed
//! command also contains the settings, in the inline trace or in the trace file. A trace from an earlier version does
//! not contain its settings, and is replayed with the settings of the test.
//!
//! Results contain the same settings, and also the strategy and `closure`: a seed that passed without a fault may fail
//! with it. Results under other settings are refused, and `cargo unpause merge` does not combine them.

mod alone;
mod annotation;
mod clock_setting;
mod each;
mod ended;
mod existing;
mod fault_settings;
mod model;
mod native;
pub(crate) mod outcome;
mod plain;
mod seed_part;
mod settings;
mod site;
mod target;
mod terminal;
mod test;
mod told;
#[cfg(test)]
mod walk;

use std::any::TypeId;
use std::ffi::OsString;
use std::panic::Location;
use std::sync::Arc;

#[allow(unused_imports, reason = "seeds of runs on real threads mean no run")]
pub(crate) use self::alone::{ProcessEnd, Repeated, end, is_repetition};
pub(crate) use self::ended::end_process;
pub use self::existing::{ExistingTest, Verdict, test_existing};
pub use self::model::{ModelEnd, ModelVerdict, run_model};
pub(crate) use self::outcome::TestBody;
pub use self::outcome::TestResult;
pub(crate) use self::seed_part::SeedPart;
pub(crate) use self::site::{SetVariable, Site};
pub(crate) use self::terminal::style;
pub use self::terminal::{wants_color, width};
pub use self::test::{Attributes, TestSite, test, test_native};
pub(crate) use self::told::is_line_open;
pub use crate::engine::config::InvalidSetting;

use self::outcome::FunctionBody;
use self::seed_part::TestRun;
use crate::engine::assignment::Assignment;
use crate::engine::backend;
use crate::engine::config::{Config, Settings, idle_text};
use crate::engine::results::{MustFail, Results};
use crate::report::Report;
use crate::run::{Failure, Outcome};

/// Runs a test body under many seeds, one run each.
///
/// Each setting has a default. Environment variables (`SIM_SEED` and others, see [`runner`](self)) override all
/// settings.
///
/// ```
/// use sim::{Atomic, Ordering::SeqCst, Runner};
///
/// let report = Runner::new().seeds(0..100).run(async || {
///     let flag = Atomic::new(false);
///     flag.store(true, SeqCst).await;
///     assert!(flag.load(SeqCst).await);
/// });
/// assert!(report.passed());
/// ```
#[derive(Clone, Debug)]
pub struct Runner {
    settings: Settings,
    site: Site,
}

impl Default for Runner {
    #[track_caller]
    fn default() -> Runner {
        Runner::new()
    }
}

impl Runner {
    /// Creates a runner with the defaults: 1000 seeds (100 on real threads), the portfolio strategy, at most a million
    /// steps per run, and as many threads as there are cores.
    #[track_caller]
    pub fn new() -> Runner {
        let site = Site::of_program(Location::caller());
        Runner { settings: Settings::default(), site }
    }

    pub(crate) fn of_site(site: Site, settings: Settings) -> Runner {
        Runner { settings, site }
    }

    /// Runs `body` once for each seed until a run fails, then shrinks this run and returns the report.
    ///
    /// The lowest failing seed is reported, for any number of threads.
    ///
    /// # Panics
    /// If a setting is invalid. The message names the setting, its value and its grammar.
    ///
    /// ```
    /// let runner = sim::Runner::new().hermetic().seeds(0..10);
    /// let report = runner.run(async || assert!(sim::rand::below(6) < 6));
    /// assert_eq!((report.passed(), report.runs), (true, 10));
    /// ```
    #[track_caller]
    pub fn run<B, R>(&self, body: B) -> Report
    where
        B: AsyncFn() -> R + Sync,
        R: TestResult,
    {
        match self.try_run(body) {
            Ok(report) => report,
            Err(invalid) => panic!("{invalid}"),
        }
    }

    /// Like [`run`](Self::run), but for a plain closure whose `std::thread`s are controlled by the scheduler, as in a
    /// test with `#[sim::test(native)]`. A process executes one such call at a time, so this call waits for other calls
    /// to end.
    ///
    /// Each run starts fresh: statics of the program have their initial values, and memory that a run allocates is
    /// freed at its end. Values that the closure captures outlive the runs, so a test can collect values over all runs.
    /// The captured values do not see rehearsals, repetitions and shrinking, which are in processes of their own. The
    /// captured values are not a part of the tested program: their atomics and locks are not points. If the closure
    /// captures something, misuse of memory, such as a use after free, is not detected. After the call, the statics
    /// have the same values as before.
    ///
    /// # Panics
    /// If a setting is invalid. If the program is not compiled by `cargo unpause test`, each run fails.
    ///
    /// ```no_run
    /// use std::collections::BTreeSet;
    /// use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
    /// use std::sync::{Arc, Mutex};
    ///
    /// let seen = Arc::new(Mutex::new(BTreeSet::new()));
    /// let of_runs = seen.clone();
    /// let report = sim::Runner::new().strategy("exhaustive").run_native(move || {
    ///     let number = Arc::new(AtomicU32::new(0));
    ///     let stored = number.clone();
    ///     let thread = std::thread::spawn(move || stored.store(1, SeqCst));
    ///     of_runs.lock().unwrap().insert(number.load(SeqCst));
    ///     thread.join().unwrap();
    /// });
    /// assert!(report.passed());
    /// assert_eq!(*seen.lock().unwrap(), BTreeSet::from([0, 1]));
    /// ```
    ///
    /// A complete search is a proof:
    ///
    /// ```no_run
    /// let runner = sim::Runner::new().strategy("exhaustive");
    /// let report = runner.run_native(|| {
    ///     let thread = std::thread::spawn(|| 1);
    ///     assert_eq!(thread.join().unwrap(), 1);
    /// });
    /// assert!(report.searched.unwrap().is_proof());
    /// ```
    #[track_caller]
    pub fn run_native<B, R>(&self, body: B) -> Report
    where
        B: Fn() -> R + Send + Sync + 'static,
        R: TestResult + 'static,
    {
        let is_function = TypeId::of::<B>() == TypeId::of::<fn() -> R>();
        let body = Arc::new(body);
        let _only = native::of_closure(None, size_of::<B>() > 0 && !is_function, None);
        let body = FunctionBody::new(async || {
            let body = body.clone();
            native::run(None, move || body(), false).await
        });
        let mut settings = self.settings.clone();
        settings.kind.native = true;
        let runner = Runner { settings, site: self.site.clone() };
        match runner.try_run_body(&body, &MustFail::No) {
            Ok(ran) => ran.report,
            Err(invalid) => panic!("{invalid}"),
        }
    }

    /// Like [`run`](Self::run), but returns an error for an invalid setting.
    ///
    /// # Errors
    /// [`InvalidSetting`] if a setting or an environment variable is invalid.
    ///
    /// ```
    /// # if !sim::SIMULATED { return }
    /// let runner = sim::Runner::new().hermetic().strategy("alphabetical");
    /// let error = runner.try_run(async || ()).unwrap_err();
    /// assert_eq!(error.name, "strategy");
    /// ```
    #[track_caller]
    pub fn try_run<B, R>(&self, body: B) -> Result<Report, InvalidSetting>
    where
        B: AsyncFn() -> R + Sync,
        R: TestResult,
    {
        Ok(self.try_run_body(&FunctionBody::new(body), &MustFail::No)?.report)
    }

    #[track_caller]
    fn try_run_body(
        &self,
        body: &dyn TestBody,
        must_fail: &MustFail,
    ) -> Result<TestRun, InvalidSetting> {
        let (config, notes) = self.config()?;
        self.run_config(config, notes, body, must_fail, true)
    }

    /// Runs the body with a resolved configuration. Results are written only if `kept` is true.
    #[track_caller]
    fn run_config(
        &self,
        config: Config,
        mut notes: Vec<String>,
        body: &dyn TestBody,
        must_fail: &MustFail,
        kept: bool,
    ) -> Result<TestRun, InvalidSetting> {
        let apart = config.apart().map(|config| (config, notes.clone()));
        config.prepare_native();
        let site = self.site.clone().with_variables_of(&config);
        notes.extend(self.idle()?);
        if config.borrows() {
            let (_, seeds) = config.seeds();
            notes.push(format!(
                "{} has no seed of its own in this shard, because there are {seeds} in all: it ran a seed of another \
                 shard instead of passing without a run",
                self.site.test
            ));
        }
        let results = match kept {
            true => Results::open(&config, &site, must_fail)?,
            false => Results::nowhere(),
        };
        let assignment = Assignment { notes, ..Assignment::new(&config, &site, &results) };
        let report = backend::run(&assignment, body);
        let shared = apart.is_some();
        if let Some((config, mut notes)) = apart.filter(|_| is_not_repeatable(&report)) {
            notes.push(format!(
                "{}: its runs are not repeatable in one process, so each run has had a process of its own, as with \
                 SIM_ISOLATE=process",
                self.site.test
            ));
            crate::engine::persistence::supersede_json(&report, &site, &config);
            return self.run_config(config, notes, body, must_fail, kept);
        }
        let part = SeedPart::of(&config, &results, &report);
        Ok(TestRun { report, shared, part })
    }

    /// Returns notes about settings that have no effect in this build.
    fn idle(&self) -> Result<Vec<String>, InvalidSetting> {
        if crate::seam::SIMULATED {
            return Ok(Vec::new());
        }
        let arguments: Vec<_> =
            self.settings.idle_on_threads().iter().map(|names| names.0).collect();
        let mut notes: Vec<String> = Vec::new();
        notes.extend(idle_text(&arguments).map(|text| format!("{}: {text}", self.site.test)));
        if !self.site.hermetic {
            let (environment, _) = Settings::from_environment(std::env::vars_os())?;
            let variables: Vec<_> =
                environment.idle_on_threads().iter().map(|names| names.1).collect();
            notes.extend(idle_text(&variables));
        }
        Ok(notes)
    }

    /// Returns the settings of the run, and notes about them.
    fn config(&self) -> Result<(Config, Vec<String>), InvalidSetting> {
        match self.site.hermetic {
            true => self.config_in(std::iter::empty()),
            false => self.config_in(std::env::vars_os()),
        }
    }

    /// Returns the configuration of this runner with these environment variables.
    fn config_in(
        &self,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<(Config, Vec<String>), InvalidSetting> {
        let (environment, notes) = Settings::from_environment(environment)?;
        let own = self.site.defaults()?.overridden_by(self.settings.clone());
        let settings = own.clone().overridden_by(environment);
        Ok((settings.resolve()?.of_test(own), notes))
    }
}

/// Returns `true` if the failing run of a report differed when its decisions were repeated.
fn is_not_repeatable(report: &Report) -> bool {
    let finding = report.finding.as_deref().filter(|_| report.replayed.is_none());
    finding.is_some_and(|finding| match &finding.run.outcome {
        Outcome::Failed(failure) => {
            matches!(failure, Failure::Diverged { .. } | Failure::NonDeterminism { .. })
        }
        Outcome::Passed => false,
    })
}
