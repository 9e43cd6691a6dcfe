//! The engine of the real build: runs the same bodies on real threads.
//!
//! Each seed is one run: tasks start together, and seeded jitter delays them at each operation. A failure is real but
//! cannot be replayed. The history and the generated programs of the failing run are written to files.

mod stress_watch;

use std::panic::AssertUnwindSafe;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::abortable;

use self::stress_watch::{EndWatchOnDrop, Stall, StressLimits, WatchedRun, watch};
use crate::engine::assignment::{Account, Assignment};
use crate::engine::config::Config;
use crate::engine::results::{Results, Tally};
use crate::engine::runner::outcome::TestFuture;
use crate::engine::runner::{Site, TestBody};
use crate::engine::seeds::{self, Explored, Found, SeedTurn, remarks, unchecked};
use crate::real::crew::block_on_and;
use crate::real::jitter::SHAKES;
use crate::real::own::Owning;
use crate::real::stress::{InRun, StressRun, hear};
use crate::report::{Finding, Origin, Report};
use crate::run::ids::{Place, Seed};
use crate::run::panics;
use crate::run::statistics::Statistics;
use crate::run::threads::ThreadFacts;
use crate::run::{Failure, Outcome, Run, TaskRecord};
use crate::seam::budget;

/// The time limit for remaining tasks to end after the body.
const PATIENCE: Duration = Duration::from_secs(1);
/// The time limit for remaining tasks after an earlier run had tasks that did not end.
const PATIENCE_LOST: Duration = Duration::from_millis(20);
/// The note on a stress test without debug assertions.
const NOT_SHAKEN: &str = "built without debug assertions: threads are not shaken, so races are hardly found, an \
    abort does not end a task that never waits, and statics keep their values from run to run. To have all of it, \
    add to the command: --config profile.release.package.unpause.debug-assertions=true";

/// Runs `body` once for each seed on real threads and reports.
pub(crate) fn run(assignment: &Assignment<'_>, body: &dyn TestBody) -> Report {
    panics::install(hear);
    let config = assignment.config;
    let limits = StressLimits { hang: config.hang, run: config.limit };
    let watched = WatchedRun::default();
    let account = std::thread::scope(|scope| {
        if let Some(shortest) = limits.shortest() {
            let watched = &watched;
            scope.spawn(move || watch(assignment, watched, limits, shortest));
        }
        let _ended = EndWatchOnDrop(&watched);
        explore(assignment, &watched, body)
    });
    assignment.report(account)
}

/// Returns the account of a test on real threads without runs.
fn account() -> Account {
    let notes = if SHAKES { Vec::new() } else { vec![NOT_SHAKEN.to_owned()] };
    Account { notes, ..Account::default() }
}

/// Runs the seeds on one thread. The tasks of a run have their own threads.
fn explore(assignment: &Assignment<'_>, watched: &WatchedRun, body: &dyn TestBody) -> Account {
    let statistics = Mutex::default();
    // Each seed is recorded immediately, because a later run may end the process.
    let explored = seeds::explore(assignment, 1, 1, &|seeds| {
        let mut runner = StressRunner::new(assignment, watched, body, &statistics);
        seeds.run_each(|turn, own| runner.run(turn, own));
    });
    let statistics = statistics.into_inner().unwrap_or_else(PoisonError::into_inner);
    match explored.found {
        Some(found) => Account {
            runs: found.position + 1,
            finding: Some(Finding::of(found.run, found.origin)),
            warnings: explored.warnings,
            notes: [account().notes, explored.notes].concat(),
            ..Account::default()
        },
        None => passed(assignment, explored, statistics),
    }
}

/// Returns the account of passing runs, with the statistics of this process's runs. The statistics are collected during
/// the runs, because a run cannot be repeated later.
fn passed(assignment: &Assignment<'_>, mut explored: Explored, own: Statistics) -> Account {
    let (wanted, tally) = (assignment.config.statistics, &mut explored.tally);
    if wanted && tally.statistics.is_none() && own.runs < tally.runs {
        explored.warnings.push(partly_counted(own.runs, tally.runs));
    }
    let missed = assignment.missed(tally).is_some();
    let statistics = tally.statistics.take().unwrap_or(own);
    let shown = wanted || missed && !statistics.labels.is_empty();
    tally.statistics = Some(statistics).filter(|_| shown);
    let passed = Account::passed(explored);
    Account { notes: [account().notes, passed.notes].concat(), ..passed }
}

/// A worker that runs seeds on real threads.
struct StressRunner<'a> {
    assignment: &'a Assignment<'a>,
    watched: &'a WatchedRun,
    body: &'a dyn TestBody,
    /// The time limit for remaining tasks to end after the body.
    patience: Duration,
    statistics: &'a Mutex<Statistics>,
}

impl<'a> StressRunner<'a> {
    fn new(
        assignment: &'a Assignment<'a>,
        watched: &'a WatchedRun,
        body: &'a dyn TestBody,
        statistics: &'a Mutex<Statistics>,
    ) -> StressRunner<'a> {
        StressRunner { assignment, watched, body, patience: PATIENCE, statistics }
    }

    /// Runs a seed. Counts the run if it passes; otherwise returns it.
    fn run(&mut self, turn: SeedTurn, own: &mut Explored) -> Option<Box<Found>> {
        let Assignment { config, site, .. } = *self.assignment;
        let show = ShownParts { histories: config.statistics, ..ShownParts::of(config) };
        let at = (site, turn.seed);
        let StressEnd { run, left, unchecked: places } =
            once(self.watched, at, show, self.body, self.patience);
        if !left.is_empty() && self.patience == PATIENCE {
            self.patience = PATIENCE_LOST;
            own.warnings.push(not_ended(turn.seed, &left));
        }
        if turn.first {
            own.warnings.extend(remarks(&run));
            own.notes.extend(unchecked(&site.test, places));
        }
        if run.outcome != Outcome::Passed {
            let (position, origin) = (turn.position, Origin::Seed(turn.seed));
            return Some(Box::new(Found { position, run, origin }));
        }
        own.tally.merge(Tally::of_run(&run, config.statistics));
        self.statistics.lock().unwrap_or_else(PoisonError::into_inner).add(&run);
        None
    }
}

/// A run after its end.
struct StressEnd {
    run: Run,
    /// The tasks that did not end with the run.
    left: Vec<TaskRecord>,
    /// The source locations of histories that were recorded but neither checked nor read.
    unchecked: Vec<Place>,
}

fn once(
    watched: &WatchedRun,
    at: (&Site, Seed),
    show: ShownParts,
    body: &dyn TestBody,
    patience: Duration,
) -> StressEnd {
    let mut ended = None;
    let mut run = |future: TestFuture<'_>| {
        ended = Some(run_future(watched, at, show, future, patience));
    };
    budget::without_tokio(|| body.begin(&mut run));
    ended.expect("a body begins once")
}

impl ShownParts {
    fn of(config: &Config) -> ShownParts {
        ShownParts { panics: config.backtrace, histories: false, hang: config.hang }
    }
}

/// The optional outputs of a run, and the time limit for its hangs.
#[derive(Clone, Copy)]
struct ShownParts {
    /// True if panics are shown when they happen.
    panics: bool,
    /// True if the histories of a passing run are also returned.
    histories: bool,
    /// The time limit without progress of any of its tasks.
    hang: Option<Duration>,
}

fn run_future(
    watched: &WatchedRun,
    (site, seed): (&Site, Seed),
    show: ShownParts,
    body: TestFuture<'_>,
    patience: Duration,
) -> StressEnd {
    let (body, abort) = abortable(AssertUnwindSafe(body).catch_unwind());
    let (stress, member) =
        StressRun::begin(&site.test, (seed.0, site.place), (show.panics, show.hang), abort.clone());
    watched.begin(seed, &stress);
    let body = InRun::new(Some(member.clone()), abort, Owning::new(body));
    let mut stall = Stall::new(show.hang);
    // The function `block_on` of `futures` panics if it is nested, so `block_on_and` is used.
    let error = match block_on_and(body, stall.clock.interval, || stall.end(&stress, site)) {
        Ok(Ok(error)) => error,
        Ok(Err(payload)) => {
            member.panicked(&*payload);
            None
        }
        // The body was aborted, because another task failed.
        Err(_) => None,
    };
    drop(member);
    let left = stress.finish(patience);
    let failure = stress.failure().or_else(|| error.map(|message| Failure::Error { message }));
    let outcome = failure.map_or(Outcome::Passed, Outcome::Failed);
    // A missed condition about generated programs also shows the table of statistics.
    let read = show.histories || outcome != Outcome::Passed || stress.has_programs();
    StressEnd { run: run_of(seed, &stress, outcome, read), left, unchecked: stress.unchecked() }
}

/// Executes the run of one seed without a watchdog, so a hanging run never ends.
pub(crate) fn run_seed(config: &Config, site: &Site, body: &dyn TestBody, seed: Seed) -> Run {
    panics::install(hear);
    let show = ShownParts { histories: true, ..ShownParts::of(config) };
    once(&WatchedRun::default(), (site, seed), show, body, PATIENCE).run
}

/// Runs nothing, because no search explores the interleavings of real threads.
pub(crate) fn each_run(
    config: &Config,
    site: &Site,
    _: &dyn TestBody,
    _: &mut dyn FnMut(Run),
) -> Report {
    Assignment::new(config, site, &Results::nowhere()).report(Account::default())
}

/// Returns the failing run of a seed, with its histories.
fn failed_run(seed: Seed, stress: &StressRun, failure: Failure) -> Run {
    run_of(seed, stress, Outcome::Failed(failure), true)
}

/// Returns the run of a seed. `histories` adds its histories as text, which takes longer than many runs.
fn run_of(seed: Seed, stress: &StressRun, outcome: Outcome, histories: bool) -> Run {
    Run {
        seed,
        strategy: Run::JITTER.to_owned(),
        outcome,
        tasks: stress.tasks(),
        objects: Vec::new(),
        steps: Vec::new(),
        draws: Vec::new(),
        events: Vec::new(),
        calls: Vec::new(),
        threads: ThreadFacts::default(),
        histories: if histories { stress.histories() } else { Vec::new() },
        programs: stress.programs(),
        leaked: Vec::new(),
        stuck: Vec::new(),
        circle: Vec::new(),
        foreign: false,
        time_moves: Vec::new(),
        orders: Vec::new(),
        output: String::new(),
        panics: Vec::new(),
        conditions: stress.conditions(),
        faults: Vec::new(),
    }
}

fn partly_counted(counted: u64, runs: u64) -> String {
    format!(
        "statistics are of {counted} of {runs} runs: the other seeds were run before without them. Name another \
         folder for the results to have them of all seeds"
    )
}

fn not_ended(seed: Seed, left: &[TaskRecord]) -> String {
    let (s, it) = if left.len() == 1 { ("", "it goes") } else { ("s", "they go") };
    format!(
        "task{s} {} of the run of seed {seed} did not end within {} s after the test body did, \
         although aborted, and {it} on beside later runs: a task on real threads ends only at an \
         await; have the body wait for its tasks",
        names(left),
        PATIENCE.as_secs(),
    )
}

fn names(tasks: &[TaskRecord]) -> String {
    tasks.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
