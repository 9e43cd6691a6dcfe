//! The engine of the real build: the same bodies on real threads.
//!
//! Each seed is one run: tasks start together, and seeded jitter shakes them at each operation.
//! A failure is real but cannot be replayed: its history and its generated programs are written to files.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::FutureExt;
use futures::future::abortable;

use crate::engine::config::Config;
use crate::engine::patience::Patience;
use crate::engine::persistence;
use crate::engine::results::{Results, Tally};
use crate::engine::runner::outcome::TestFuture;
use crate::engine::runner::{Site, TestBody, end_process};
use crate::report::{Finding, Report, Style, text};
use crate::run::ids::{Seed, TaskId};
use crate::run::panics;
use crate::run::program::ProgramRecord;
use crate::run::statistics::Statistics;
use crate::run::{Failure, Outcome, Run, TaskRecord};
use crate::seam::crew::block_on_and;
use crate::seam::jitter::SHAKES;
use crate::seam::stress::{InRun, StressRun, hear};

/// The time that tasks left over may take to end.
const PATIENCE: Duration = Duration::from_secs(1);
/// The same after a run had tasks that did not end.
const PATIENCE_LOST: Duration = Duration::from_millis(20);
/// The time that tasks of a spawner may wait for a thread, if there is no limit for hangs.
const STALL: Duration = Duration::from_secs(10);
/// A shorter wait may be that of a machine that is busy.
const STALL_LEAST: Duration = Duration::from_secs(1);
/// The note on a stress test without debug assertions.
const NOT_SHAKEN: &str = "built without debug assertions: threads are not shaken, so races are hardly found, an \
    abort does not end a task that never waits, and statics keep their values from run to run. To have all of it, \
    add to the command: --config profile.release.package.unpause.debug-assertions=true";

/// Runs `body` once for each seed on real threads and reports.
pub(crate) fn run(config: &Config, site: &Site, results: &Results, body: &dyn TestBody) -> Report {
    panics::install(hear);
    let mut report = Report {
        test: site.test.clone(),
        package: site.package.clone(),
        seeds: config.seed(0).map(|first| (first, config.last_seed().unwrap_or(first))),
        real: true,
        ..Report::default()
    };
    if !SHAKES {
        report.notes.push(NOT_SHAKEN.to_owned());
    }
    let keep = |report: &mut Report| {
        persistence::write_beside(report, site, config.out.as_deref());
    };
    let began = Instant::now();
    let watched = WatchedRun::default();
    std::thread::scope(|scope| {
        let limits = StressLimits { hang: config.hang, run: config.limit };
        if limits.shortest().is_some() {
            let (watched, report) = (&watched, report.clone());
            let end = move |report: &mut Report| {
                keep(report);
                results.end(report);
            };
            scope.spawn(move || watch(watched, report, limits, &end));
        }
        let _ended = EndWatchOnDrop(&watched);
        let show = ShownParts { histories: config.statistics, ..ShownParts::of(config) };
        let mut patience = PATIENCE;
        let mut conditions = Vec::new();
        let mut statistics = Statistics::new();
        report.runs = results.begin();
        for n in results.begin().. {
            let late = config.time.is_some_and(|time| began.elapsed() >= time);
            // A test without a run would be no test.
            let late = late && n > results.begin();
            let Some(seed) = config.seed(n).filter(|_| !late) else { break };
            report.runs += 1;
            let (run, left) = once(&watched, (site, seed), show, body, patience);
            if !left.is_empty() && patience == PATIENCE {
                patience = PATIENCE_LOST;
                report.warnings.push(not_ended(seed, &left));
            }
            run.conditions.iter().for_each(|condition| condition.add(&mut conditions));
            statistics.add(&run);
            if report.runs == results.begin() + 1 {
                report.warnings.extend(run.programs.iter().filter_map(ProgramRecord::warning));
            }
            if run.outcome != Outcome::Passed {
                report.finding = Some(Box::new(Finding::without_replay(run)));
                return keep(&mut report);
            }
            if results.are_written() {
                results.passed(n..n + 1, &mut Tally::of_run(&run, config.statistics));
            }
        }
        // One seed alone is run to look at it, and shows one run.
        let runs = report.runs;
        if let Some(tally) = results.counted() {
            conditions = tally.conditions();
            match tally.statistics() {
                Some(all) => statistics = all.clone(),
                None if config.statistics && statistics.runs < runs => {
                    report.warnings.push(partly_counted(statistics.runs, runs));
                }
                None => {}
            }
        }
        let failure = Failure::too_seldom(conditions, runs).filter(|_| report.runs > 1);
        let missed = failure.is_some() && !statistics.labels.is_empty();
        report.statistics = Some(statistics).filter(|_| config.statistics || missed);
        report.finding = failure.map(|failure| {
            let seed = Seed(config.seed(0).unwrap_or_default());
            Box::new(Finding::without_replay(Run::empty(seed, failure)))
        });
    });
    report
}

/// One run, and the tasks that did not end with it.
fn once(
    watched: &WatchedRun,
    at: (&Site, u64),
    show: ShownParts,
    body: &dyn TestBody,
    patience: Duration,
) -> (Run, Vec<TaskRecord>) {
    let mut ended = None;
    body.begin(&mut |future| ended = Some(run_future(watched, at, show, future, patience)));
    ended.expect("a body begins once")
}

impl ShownParts {
    fn of(config: &Config) -> ShownParts {
        ShownParts { panics: config.backtrace, histories: false, hang: config.hang }
    }
}

/// The parts of a run that are shown, and the limit for its hangs.
#[derive(Clone, Copy)]
struct ShownParts {
    /// Panics, when they happen.
    panics: bool,
    /// The histories also of a run that passes.
    histories: bool,
    /// The time limit without progress of any of its tasks.
    hang: Option<Duration>,
}

fn run_future(
    watched: &WatchedRun,
    (site, seed): (&Site, u64),
    show: ShownParts,
    body: TestFuture<'_>,
    patience: Duration,
) -> (Run, Vec<TaskRecord>) {
    let (body, abort) = abortable(AssertUnwindSafe(body).catch_unwind());
    let (stress, member) =
        StressRun::begin(&site.test, (seed, site.place), (show.panics, show.hang), abort.clone());
    watched.begin(seed, &stress);
    let body = InRun::new(Some(member.clone()), abort, body);
    let mut stall = Stall::new(show.hang);
    // The `block_on` of `futures` panics within another one.
    let error = match block_on_and(body, stall.clock.interval, || stall.end(&stress, site)) {
        Ok(Ok(error)) => error,
        Ok(Err(payload)) => {
            member.panicked(&*payload);
            None
        }
        // Another task failed.
        Err(_) => None,
    };
    drop(member);
    let left = stress.finish(patience);
    let failure = stress.failure().or_else(|| error.map(|message| Failure::Error { message }));
    let outcome = failure.map_or(Outcome::Passed, Outcome::Failed);
    // The table of statistics is shown if a condition about generated programs was missed, too.
    let read = show.histories || outcome != Outcome::Passed || stress.has_programs();
    (run_of(seed, &stress, outcome, read), left)
}

/// The run of one seed, not watched: real threads that hang do so for ever.
pub(crate) fn run_seed(config: &Config, site: &Site, body: &dyn TestBody, seed: Seed) -> Run {
    panics::install(hear);
    {
        let show = ShownParts { histories: true, ..ShownParts::of(config) };
        once(&WatchedRun::default(), (site, seed.0), show, body, PATIENCE).0
    }
}

/// Runs nothing: no search explores the interleavings of real threads.
pub(crate) fn each_run(
    _: &Config,
    site: &Site,
    _: &dyn TestBody,
    _: &mut dyn FnMut(Run),
) -> Report {
    Report {
        test: site.test.clone(),
        package: site.package.clone(),
        real: true,
        ..Report::default()
    }
}

/// The run of a seed. `histories` adds its histories in text, which takes longer than many runs.
fn run_of(seed: u64, stress: &StressRun, outcome: Outcome, histories: bool) -> Run {
    Run {
        seed: Seed(seed),
        strategy: "seeded jitter".to_owned(),
        outcome,
        tasks: stress.tasks(),
        objects: Vec::new(),
        steps: Vec::new(),
        draws: Vec::new(),
        events: Vec::new(),
        histories: if histories { stress.histories() } else { Vec::new() },
        programs: stress.programs(),
        leaked: Vec::new(),
        stuck: Vec::new(),
        foreign: false,
        conditions: stress.conditions(),
    }
}

fn partly_counted(counted: u64, runs: u64) -> String {
    format!(
        "statistics are of {counted} of {runs} runs: the other seeds were run before without them. Name another \
         folder for the results to have them of all seeds"
    )
}

fn not_ended(seed: u64, left: &[TaskRecord]) -> String {
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

/// The run that is on, for the watchdog.
#[derive(Default)]
struct WatchedRun {
    runs: AtomicU64,
    current: Mutex<Option<(u64, Arc<StressRun>)>>,
    ended: Mutex<bool>,
    end: Condvar,
}

impl WatchedRun {
    fn begin(&self, seed: u64, run: &Arc<StressRun>) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        *current = Some((seed, run.clone()));
        self.runs.fetch_add(1, Ordering::Relaxed);
    }
}

/// Ends the watch when dropped.
struct EndWatchOnDrop<'a>(&'a WatchedRun);

impl Drop for EndWatchOnDrop<'_> {
    fn drop(&mut self) {
        *self.0.ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.end.notify_all();
    }
}

/// Ends a run from the thread of its body when no thread polls the tasks that it spawned.
///
/// Strikes earlier than the [watchdog](watch): the thread of the body can end the run, a watchdog only the process.
struct Stall {
    clock: Patience,
    limit: Duration,
    progress: u64,
    since: Duration,
}

impl Stall {
    /// For a run that must make progress within `hang`.
    fn new(hang: Option<Duration>) -> Stall {
        let limit = hang.map_or(STALL, |hang| (hang / 2).max(STALL_LEAST));
        Stall { clock: Patience::new(limit), limit, progress: 0, since: Duration::ZERO }
    }

    /// Ends the run if tasks wait for the program's spawner to poll them, and no task has made progress for the limit.
    fn end(&mut self, stress: &StressRun, site: &Site) {
        let (now, progress) = (self.clock.elapsed(), stress.progress());
        if progress != self.progress {
            (self.progress, self.since) = (progress, now);
        }
        if now - self.since < self.limit {
            return;
        }
        let unpolled = stress.waiting_for_spawner();
        if !unpolled.is_empty() {
            let message = not_polled(&unpolled);
            stress.fails(Failure::Misuse { message, place: site.place.to_string() });
        }
    }
}

/// The limits of a watchdog.
#[derive(Clone, Copy)]
struct StressLimits {
    /// For any task of a run to move.
    hang: Option<Duration>,
    /// For a run to end.
    run: Option<Duration>,
}

impl StressLimits {
    fn shortest(self) -> Option<Duration> {
        self.hang.into_iter().chain(self.run).min()
    }
}

/// Ends the process when a run takes too long or makes no progress, because real threads cannot be stopped. `end`
/// writes the results.
fn watch(
    watched: &WatchedRun,
    mut report: Report,
    limits: StressLimits,
    end: &dyn Fn(&mut Report),
) {
    let mut ended = watched.ended.lock().unwrap_or_else(PoisonError::into_inner);
    let mut clock = Patience::new(limits.shortest().unwrap_or(PATIENCE));
    // The run and how far it is, and since when.
    let (mut seen, mut began) = (0, Duration::ZERO);
    let (mut moved, mut moved_at) = (0, Duration::ZERO);
    while !*ended {
        let (runs, now) = (watched.runs.load(Ordering::Relaxed), clock.elapsed());
        let current = watched.current.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let progress = current.as_ref().map_or(0, |(_, stress)| stress.progress());
        if runs != seen {
            (seen, began, moved_at) = (runs, now, now);
        }
        if progress != moved {
            (moved, moved_at) = (progress, now);
        }
        if let Some((seed, stress)) = current {
            if let Some(failure) = exceeded(&stress, limits, now - began, now - moved_at) {
                let unpolled = stress.unpolled();
                if !unpolled.is_empty() {
                    report.warnings.push(not_polled(&unpolled));
                }
                report.runs = runs;
                let run = run_of(seed, &stress, Outcome::Failed(failure), true);
                report.finding = Some(Box::new(Finding::without_replay(run)));
                end(&mut report);
                end_process(&text(&report, &Style::default()));
            }
        }
        let waited = watched.end.wait_timeout(ended, clock.interval);
        ended = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
}

/// The limit that a run has exceeded which began, and of which a task moved last, so long ago.
fn exceeded(
    stress: &StressRun,
    limits: StressLimits,
    began: Duration,
    moved: Duration,
) -> Option<Failure> {
    let running = || names(&stress.left());
    if let Some(hang) = limits.hang.filter(|hang| moved >= *hang) {
        let (task, seconds) = (TaskId::MAIN, hang.as_secs());
        return Some(Failure::Hang { task, last: running(), seconds });
    }
    let run = limits.run.filter(|run| began >= *run)?;
    Some(Failure::TimeLimit { running: running(), seconds: run.as_secs() })
}

fn not_polled(tasks: &[TaskRecord]) -> String {
    format!(
        "no thread of the spawner polls {}: a stress test blocks the thread that calls the Runner, so the spawner must \
         not need that thread. Call the Runner from outside of the runtime, or give the runtime more threads",
        names(tasks)
    )
}
