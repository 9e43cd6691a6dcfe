//! The engine of the real build: the same bodies on real threads.
//!
//! Each seed is one run: tasks start together, and seeded jitter shakes them at each operation.
//! What fails is real but cannot be replayed: its history and its generated programs are written to files.

use std::io::Write;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::FutureExt;
use futures::future::abortable;

use crate::config::Config;
use crate::ids::{Seed, TaskId};
use crate::panics;
use crate::patience::Patience;
use crate::persistence;
use crate::program::ProgramRecord;
use crate::report::{Finding, Report, Style, text};
use crate::results::Results;
use crate::run::{Failure, Outcome, Run, TaskRecord};
use crate::runner::outcome::TestFuture;
use crate::runner::{Site, TestBody};
use crate::seam::stress::{InRun, StressRun, hear};
use crate::statistics::Statistics;

/// How long tasks that were left over may take to end.
const PATIENCE: Duration = Duration::from_secs(1);
/// The same once a run had tasks that did not.
const PATIENCE_LOST: Duration = Duration::from_millis(20);
/// The exit code of a process that a hang ended: that of a panic.
const EXIT: i32 = 101;

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
    if let Some(source) = &config.replay {
        report.warnings.push(format!(
            "{source} was not replayed: real threads follow no trace; build with the feature `sim`"
        ));
    }
    if config.must_prove {
        report.warnings.push(
            "the test must prove something, and real threads prove nothing; build with the feature `sim`"
                .to_owned(),
        );
    }
    let keep = |report: &mut Report| {
        persistence::write_beside(report, site, config.out.as_deref());
    };
    let began = Instant::now();
    let watched = Watched::default();
    std::thread::scope(|scope| {
        if let Some(patience) = config.hang {
            let (watched, report) = (&watched, report.clone());
            let end = move |report: &mut Report| {
                keep(report);
                results.end(report);
            };
            scope.spawn(move || watch(watched, report, patience, &end));
        }
        let _ended = EndOnDrop(&watched);
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
            let (run, left) = once(&watched, (site, seed), config.backtrace, body, patience);
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
            results.passed(|| n + 1);
        }
        // One seed alone is run to look at it, and shows one run.
        let runs = report.runs - results.begin();
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
    watched: &Watched,
    (site, seed): (&Site, u64),
    loud: bool,
    body: &dyn TestBody,
    patience: Duration,
) -> (Run, Vec<TaskRecord>) {
    let mut ended = None;
    let at = (site, seed);
    body.begin(&mut |future| ended = Some(run_future(watched, at, loud, future, patience)));
    ended.expect("a body begins once")
}

fn run_future(
    watched: &Watched,
    (site, seed): (&Site, u64),
    loud: bool,
    body: TestFuture<'_>,
    patience: Duration,
) -> (Run, Vec<TaskRecord>) {
    let (body, abort) = abortable(AssertUnwindSafe(body).catch_unwind());
    let (stress, member) = StressRun::begin(&site.test, (seed, site.place), loud, abort.clone());
    watched.begin(seed, &stress);
    let body = InRun::new(Some(member.clone()), abort, body);
    let error = match futures::executor::block_on(body) {
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
    (run_of(seed, &stress, failure.map_or(Outcome::Passed, Outcome::Failed)), left)
}

/// The run of one seed, as it comes. Nothing watches it: real threads that hang do so for ever.
pub(crate) fn run_seed(config: &Config, site: &Site, body: &dyn TestBody, seed: Seed) -> Run {
    panics::install(hear);
    once(&Watched::default(), (site, seed.0), config.backtrace, body, PATIENCE).0
}

/// No search goes through what real threads can do.
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

fn run_of(seed: u64, stress: &StressRun, outcome: Outcome) -> Run {
    Run {
        seed: Seed(seed),
        strategy: "seeded jitter".to_owned(),
        outcome,
        tasks: stress.tasks(),
        objects: Vec::new(),
        steps: Vec::new(),
        draws: Vec::new(),
        events: Vec::new(),
        histories: stress.histories(),
        programs: stress.programs(),
        leaked: Vec::new(),
        stuck: Vec::new(),
        foreign: false,
        conditions: stress.conditions(),
    }
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
struct Watched {
    runs: AtomicU64,
    current: Mutex<Option<(u64, Arc<StressRun>)>>,
    ended: Mutex<bool>,
    end: Condvar,
}

impl Watched {
    fn begin(&self, seed: u64, run: &Arc<StressRun>) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        *current = Some((seed, run.clone()));
        self.runs.fetch_add(1, Ordering::Relaxed);
    }
}

/// Ends the watch when dropped.
struct EndOnDrop<'a>(&'a Watched);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        *self.0.ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.end.notify_all();
    }
}

/// Ends the process when one run takes longer than `patience`: real threads cannot be stopped. `end`
/// writes down what came of it.
fn watch(watched: &Watched, mut report: Report, patience: Duration, end: &dyn Fn(&mut Report)) {
    let mut ended = watched.ended.lock().unwrap_or_else(PoisonError::into_inner);
    let mut clock = Patience::new(patience);
    let (mut seen, mut since) = (0, Duration::ZERO);
    while !*ended {
        let (runs, now) = (watched.runs.load(Ordering::Relaxed), clock.look());
        if runs != seen {
            (seen, since) = (runs, now);
        }
        if now - since >= patience {
            let current = watched.current.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if let Some((seed, stress)) = current {
                let last = names(&stress.left());
                let seconds = patience.as_secs();
                let failure = Failure::Hang { task: TaskId::MAIN, last, seconds };
                report.runs = runs;
                report.finding = Some(Box::new(Finding::without_replay(run_of(
                    seed,
                    &stress,
                    Outcome::Failed(failure),
                ))));
                end(&mut report);
                // Not `eprint!`: a test harness may have taken that, and will not show it.
                let screen = text(&report, &Style::default());
                let _ = std::io::stderr().lock().write_all(screen.as_bytes());
                std::process::exit(EXIT);
            }
        }
        let waited = watched.end.wait_timeout(ended, clock.interval);
        ended = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
}
