//! Runs a test body under many seeds and reports.
//!
//! [`Runner`] is what `#[sim::test]` calls. The seeds are run by the engine of the build: under the
//! scheduler, or on real threads. The result is a [`Report`]; only this module makes text of it
//! and fails the test.
//!
//! # Coverage
//!
//! A passing test is silent by default. `#[sim::test(coverage)]`, [`Runner::coverage`] or
//! `SIM_COVERAGE=1` shows a line although the harness hides the output of the test, and fills
//! [`Report::coverage`](crate::report::Report::coverage). It has the number of classes of
//! interleavings seen, where orders that make no difference count as one; the number of new classes
//! in the last hundred runs; the probability that the next run is of a new class, with its [95 %
//! interval](crate::run::coverage::Coverage::unseen_interval); and the blind spots: objects without
//! contention, tasks never preempted, values never drawn. [`sometimes!`](macro@crate::sometimes)
//! fails a test if an interesting case never occurs, [`cover!`](macro@crate::cover) if it occurs in
//! too few runs. `statistics`, [`Runner::statistics`] or `SIM_STATISTICS=1` adds a table of the
//! commands of generated programs and of the share that ran concurrently; a missed `cover!` always
//! shows it.
//!
//! A recorded history is checked as it came in the run. With `#[sim::test(closure)]`,
//! [`Runner::closure`] or `SIM_CLOSURE=1` it is also checked in all orders of its calls that no
//! task could tell apart, without running them; a violated order is run before it is reported. So
//! seeds find a bug even if it shows only when a call begins or ends at a certain time.
//!
//! # Proofs
//!
//! `exhaustive` is no sampling strategy but a search: it makes one run of each class of runs that differ only in the
//! order of steps that do not conflict. After the last class it reports `explored all N interleavings`, which is a
//! proof: no interleaving of the body fails. If its limit of runs is too small, it reports the number of runs, that
//! this is not a proof, and an estimate of the rest.
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
//! A test with a search prints its result, a proof or not, in a line that the test harness does not capture. Without a
//! proof it still passes. With `must_prove`, [`Runner::must_prove`] or `SIM_MUST_PROVE=1` it fails, so that a change
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
//! - The search assumes that tasks share memory through sim only, and says so beside the proof
//!   ([`Searched::assumption`](crate::report::Searched::assumption)). Accesses to anything else (a channel of another
//!   crate, a lock of std, a thread-local) are not operations, so steps that share only such a thing count as
//!   independent. The search sees that the assumption is wrong if a task wakes another one through such a thing, if a
//!   task waits for it when the run ends, or if one of a hundred sampled runs shows something else with its steps in
//!   another order. It then starts again and explores each order of steps: many more runs, and a proof without the
//!   assumption. [`Searched::cause`](crate::report::Searched::cause) has the reason, and names the two steps whose
//!   order made the difference. A difference that few orders show is seldom among the sampled runs. A test with a lock
//!   of std in six tasks and an assertion that fails in one of their 720 orders passes. `preemptions` and `delays` make
//!   all orders and assume nothing.
//! - A complete search checks itself. It samples a hundred runs, looks up the class of each among
//!   its explored classes, and repeats each with its steps in another order of the class. A run
//!   that fails or is of an unknown class revokes the proof
//!   ([`Searched::audit`](crate::report::Searched::audit)); a run that behaves differently in the
//!   other order restarts the search, as above.
//! - One poll of a task is one step. A future that is polled once and then dropped does not take effect, and the
//!   branches of one `join!` are not interleaved with each other. A future that is polled [by
//!   hand](crate::task::by_hand), as by `now_or_never`, takes effect within the step.
//! - The real-time order of the calls of a [`History`](crate::History) is checked in every variant
//!   that the steps of a run allow, without running them; if an order is not linearizable, it is
//!   run, and that run is reported. If the body calls
//!   [`History::operations`](crate::History::operations), which distinguishes all orders, or if
//!   calls have very many orders, each order gets its own run: many more.
//! - Every value that [`rand`](crate::rand) can draw is tried: keep the bounds small. A loop that polls a value has
//!   endless runs, which fail at the step limit: await [`spin_until`](crate::spin_until) instead.
//!
//! A larger test can be explored within a bound. If the search has used half of its runs and estimates that the other
//! half will not be enough, it gives that half to `preemptions` by itself and reports the progress of both.
//! `preemptions` makes all runs without a preemption, then all with one, and so on; `delays` does the same for
//! departures from a round-robin scheduler, which are fewer if there are many tasks. `preemptions:2` stops after two.
//! Most bugs need one or two, and the first failing run that is found has the fewest of all. To
//! reach runs with one more, runs with the same prefix are repeated; these count against the limit
//! of the search, but are not included in the report. The report names the bound that was reached.
//! If it excluded nothing, this too is a proof, and it does not depend on shared state of the
//! tasks. Equivalent orders are not pruned, so for a proof `exhaustive` takes far fewer runs.
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
//! A failing run can have a proof, too. Shrinking minimizes the reading effort, never with more steps than were
//! found: few steps and few preemptions, each of which weighs as much as [four steps](crate::run::schedule::Cost).
//! With `prove = 100000`, [`Runner::prove`] or `SIM_PROVE` all runs with fewer preemptions are made, if there are not
//! more than that: either one of them fails in the same way and takes the place of the trace, unless it is longer
//! than the run that was found, or the screen says `no failing run has fewer than 2 preemptions`. For a failure found
//! by a search the proof needs no setting.
//!
//! # Environment
//!
//! These variables override the settings of every test that is not [hermetic](Runner::hermetic):
//!
//! | variable | meaning | example |
//! |---|---|---|
//! | `SIM_SEED` | only this seed | `17` |
//! | `SIM_SEEDS` | the number of seeds, or a range; the default is 1000, on real threads 100 | `5000`, `500..1000` |
//! | `SIM_STRATEGY` | the strategy; the default is `portfolio` | `random`, `exhaustive`, `preemptions:2` |
//! | `SIM_TIME` | time limit of the test, which passes with fewer seeds | `500ms`, `5s`, `2m`, `1h` |
//! | `SIM_STEPS` | maximum of steps in a run; a run that takes more fails, and a run of plain threads continues with few switches | `100000` |
//! | `SIM_REPLAY` | replays a trace and nothing else: a file, or the trace as text | `sim2:0,0.0x2` |
//! | `SIM_POINTS` | the operations of plain threads that are points | `all`, `default` |
//! | `SIM_ISOLATE` | what the runs of plain threads share: `process` gives each run a process of its own | `process`, `run` |
//! | `SIM_MEMORY` | the values that loads of atomics may see: with `c11` each value that C++20 allows for the memory orders in the program | `c11`, `sc` |
//! | `SIM_ARC` | the counts of `Arc` are points of all runs of plain threads, or of none | `1`, `0` |
//! | `SIM_CLOCK` | when the time of [`sim::time`](crate::time) moves: when no task can step, besides at most `K` times at any moment, or at any moment | `last`, `late:K`, `any` |
//! | `SIM_CANCEL` | the names of the tasks that may be aborted at any point, with `*` for any text | `worker-*` |
//! | `SIM_CANCEL_SELECTS` | true if the deadlines of time-outs, and of timers in branches of `select!`, may pass at any moment | `1`, `0` |
//! | `SIM_BUGGIFY` | true if code that is marked with [`buggify!`](macro@crate::buggify) may be executed | `1`, `0` |
//! | `SIM_PROGRESS` | the guarantee of progress to test: tasks may stall for good at any point | `lock-free`, `obstruction-free`, `wait-free:N` |
//! | `SIM_CHANCES` | events that may happen at any moment: `timers` to plain threads, `spurious` and `weak` to awaited tasks, too | `timers`, `spurious,weak`, `none` |
//! | `SIM_JOBS` | worker threads; the default is the number of cores | `4` |
//! | `SIM_SHARD` | every n-th seed, beginning with the k-th | `2/4` |
//! | `SIM_HANG` | time limit of a step, or of real threads on which no task moves; the default is 10 s, `0s` is no limit | `30s` |
//! | `SIM_LIMIT` | time limit of a run on real threads; the default is 60 s, `0s` is no limit | `5m` |
//! | `SIM_LOG` | runs that `tracing` subscribers receive; `replay` and `all` also show the backtrace of the panic | `off`, `replay`, `all` |
//! | `SIM_COVERAGE` | shows the classes of interleavings that a passing test saw | `1`, `0` |
//! | `SIM_CLOSURE` | checks the recorded calls of each run in all orders that its steps allow | `1`, `0` |
//! | `SIM_PROVE` | maximum of runs for the proof that no failing run has fewer preemptions; `0` is no proof | `100000` |
//! | `SIM_WHY` | maximum of runs that explain a failing run; the default is 3000, `0` is no explanation | `1000` |
//! | `SIM_MUST_PROVE` | fails a test whose search proves nothing | `1`, `0` |
//! | `SIM_SHRINK` | shrinks a failing run before it is shown | `1`, `0` |
//! | `SIM_STATISTICS` | shows the composition of the generated programs of a passing test | `1`, `0` |
//! | `SIM_OUT` | the folder for traces | `traces` |
//! | `SIM_RESULTS` | the folder for results; a later run of the same program continues from there | `results` |
//! | `SIM_CERTIFY` | writes the certificate of a search that proves a test into a file, or into a folder | `queue.certificate`, `certificates` |
//! | `SIM_OBSERVE` | makes the runs of a file, for `cargo unpause verify` | `runs.certificate` |
//! | `SIM_HTML` | writes a failure as a page for a browser, too, beside its trace; the default on CI (variable `CI`) | `1`, `0` |
//! | `SIM_JSON` | writes the report of each test as JSON, also if it passes: beside its traces, into a folder, or into a file; `0` writes none, not even of a failure | `1`, `0`, `reports`, `report.json` |
//!
//! A bad value is an error that names variable, value and grammar. An unknown variable that begins with `SIM_` is
//! noted.
//!
//! # Notes
//!
//! Some lines go to standard error although a test passes and its harness hides its output: unknown
//! variables; stale kept traces, with the command that removes them or records them anew; the
//! number of seeds run when the time was up; histories recorded but never checked; the result of a
//! search; and all requested results: of a replay, of coverage, of statistics.
//!
//! # Settings of traces and results
//!
//! Some settings change what a run does: the clock, faults, the points of plain threads, the limits
//! of steps and hangs. A trace has the settings that differ from the defaults, so that its replay
//! needs no variable and no argument: they override the settings of the test and the environment,
//! and a replay warns of each variable without effect. (`SIM_HANG` alone counts more than the
//! trace: a debugger needs time.) The command on the screen has them, too, in the inline trace or
//! in the file. A trace by an earlier version does not have its settings, and is replayed with the
//! settings of the test.
//!
//! Results have the same settings, besides the strategy and `closure`: a seed that passed without a fault has not
//! passed with it. Results under other settings are refused, and `cargo unpause merge` does not add them up.

mod alone;
mod annotation;
mod clock;
mod each;
mod ended;
mod existing;
mod faults;
mod model;
mod native;
pub(crate) mod outcome;
mod part;
mod plain;
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
pub(crate) use self::alone::end;
pub(crate) use self::ended::end_process;
pub use self::existing::{ExistingTest, Verdict, test_existing};
pub use self::model::{ModelEnd, ModelVerdict, run_model};
pub(crate) use self::outcome::TestBody;
pub use self::outcome::TestResult;
pub(crate) use self::part::SeedPart;
pub(crate) use self::site::{SetVariable, Site};
pub(crate) use self::terminal::style;
pub use self::terminal::{wants_color, width};
pub use self::test::{Attributes, TestSite, test, test_native};
pub(crate) use self::told::is_line_open;
pub use crate::engine::config::InvalidSetting;

use self::outcome::FunctionBody;
use self::part::TestRun;
use crate::engine::assignment::Assignment;
use crate::engine::backend;
use crate::engine::config::{Config, Settings, idle_text};
use crate::engine::results::{MustFail, Results};
use crate::report::Report;
use crate::run::{Failure, Outcome};

/// Runs a test body under many seeds, one run each.
///
/// Each setting has a default. The environment (`SIM_SEED` and others, see [`runner`](self)) overrides all settings.
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
    /// A runner with the defaults: 1000 seeds (100 on real threads), the portfolio, at most a
    /// million steps for each run, as many threads as there are cores.
    #[track_caller]
    pub fn new() -> Runner {
        let site = Site::of_program(Location::caller());
        Runner { settings: Settings::default(), site }
    }

    pub(crate) fn of_site(site: Site, settings: Settings) -> Runner {
        Runner { settings, site }
    }

    /// Runs `body` once for each seed until one fails, shrinks that run and reports.
    ///
    /// The lowest failing seed is reported, whatever the number of threads.
    ///
    /// # Panics
    /// If a setting cannot be used; the text names it, its value and its grammar.
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

    /// Like [`run`](Self::run), of a plain closure whose `std::thread`s are stepped, as in a test with
    /// `#[sim::test(native)]`. One such run at a time is on in a process: the call waits for others.
    ///
    /// Each run begins anew: statics of the program have their first values, and memory that a run allocates ends with
    /// it. Values that the closure captures outlive the runs, so a test can gather values over all of them. They are
    /// outside of the program that is tested: their atomics and locks are not points. If a closure captures something,
    /// misuse of memory, such as a use after free, is not looked for. After the call the statics are as before it.
    ///
    /// # Panics
    /// If a setting cannot be used. If the program is not compiled by `cargo unpause test`, each run fails.
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
    /// A search that ends is a proof:
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
        let _only = native::of_closure(size_of::<B>() > 0 && !is_function);
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

    /// Like [`run`](Self::run).
    ///
    /// # Errors
    /// [`InvalidSetting`] if a setting, or a variable of the environment, cannot be used.
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

    /// The same with settings that were read. The results are written only if they are `kept`.
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
            return self.run_config(config, notes, body, must_fail, kept);
        }
        let part = SeedPart::of(&config, &results, &report);
        Ok(TestRun { report, shared, part })
    }

    /// Notes about settings that mean nothing in this build.
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

    /// The settings of the run, and notes about them.
    fn config(&self) -> Result<(Config, Vec<String>), InvalidSetting> {
        match self.site.hermetic {
            true => self.config_in(std::iter::empty()),
            false => self.config_in(std::env::vars_os()),
        }
    }

    /// The same in an environment of these variables.
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
