//! Runs seeds until one fails, on as many threads as pay.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::Scope;
use std::time::{Duration, Instant};

use super::confirm;
use super::passed::Passed;
use super::reorder::ClosureCollector;
use super::session::Session;
use super::watchdog::WorkerJob;
use crate::report::{Origin, Searched};
use crate::rt::Worker;
use crate::run::ids::Seed;
use crate::run::program::ProgramRecord;
use crate::run::{Failure, Outcome, Run};

/// Seeds run for so long on the calling thread before others are started: starting a thread costs
/// about a hundredth of this.
const ALONE: Duration = Duration::from_millis(3);

/// After so many steps, or sixteen runs, a thread looks at the clock.
const LOOK: u64 = 4096;

/// The result of running the seeds.
#[derive(Default)]
pub(super) struct Explored {
    pub(super) runs: u64,
    pub(super) steps: u64,
    /// The failing run of the lowest seed, and the position of that seed.
    pub(super) found: Option<(u64, Run)>,
    /// The source of the decisions of that run, if not its seed alone.
    pub(super) origin: Option<Origin>,
    pub(super) warnings: Vec<String>,
    /// Counts over passed runs.
    pub(super) passed: Passed,
    /// The functions that the runs of a search entered and whose operations on shared memory are not seen.
    pub(super) unseen: BTreeSet<&'static str>,
    /// The progress of a search; none for a sampling strategy.
    pub(super) searched: Option<Searched>,
}

/// The state shared by the worker threads.
struct SharedProgress {
    /// The position of the next seed to run.
    next: AtomicU64,
    jobs: u64,
    /// The lowest position known to fail.
    lowest: AtomicU64,
    /// True if the time is up.
    late: AtomicBool,
    total: Mutex<Explored>,
}

impl SharedProgress {
    /// The positions of the next seeds of a thread. One at a time to begin with, so that a few long
    /// runs are shared out; then more, because threads with short runs would pass the counter to and
    /// fro.
    fn take(&self) -> Range<u64> {
        let count = match self.next.load(Ordering::SeqCst) {
            begun if self.jobs > 1 && begun < 64 * self.jobs => 1,
            _ => 16,
        };
        let first = self.next.fetch_add(count, Ordering::SeqCst);
        first..first + count
    }
}

/// Runs the seeds.
///
/// Threads take seeds in order, and one that fails is no reason to drop a lower one that is being
/// run, so the lowest failing seed does not depend on the number of threads.
pub(super) fn explore<'scope>(
    session: &'scope Session<'_>,
    scope: &'scope Scope<'scope, '_>,
) -> Explored {
    let began = Instant::now();
    let deadline = session.config.time.map(|time| began + time);
    let begin = session.results.begin();
    if let Some(first) = session.config.seed(begin) {
        let mut explored = first_seed(session, begin, Seed(first));
        if explored.found.is_some() {
            return explored;
        }
        session.results.passed(begin..begin + 1, &mut explored.passed.tally);
        let shared = std::sync::Arc::new(SharedProgress {
            next: AtomicU64::new(begin + 1),
            jobs: session.config.jobs as u64,
            lowest: AtomicU64::new(u64::MAX),
            late: AtomicBool::new(false),
            total: Mutex::new(explored),
        });
        let mut others = Vec::new();
        work(session, &shared, deadline, &mut |_| {
            if others.is_empty() && session.config.jobs > 1 && began.elapsed() > ALONE {
                for _ in 1..session.config.jobs {
                    let shared = shared.clone();
                    let run = move || work(session, &shared, deadline, &mut |_| {});
                    others.push(scope.spawn(run));
                }
            }
        });
        for other in others {
            if let Err(payload) = other.join() {
                std::panic::resume_unwind(payload);
            }
        }
        let mut total = shared.total.lock().unwrap_or_else(PoisonError::into_inner);
        return with_earlier(session, std::mem::take(&mut *total));
    }
    with_earlier(session, Explored { runs: begin, ..Explored::default() })
}

/// Replaces the counts by those over all seeds of the shard, earlier processes included, if results are written.
fn with_earlier(session: &Session<'_>, explored: Explored) -> Explored {
    match session.results.counted() {
        Some(tally) if explored.found.is_none() && tally.runs > 0 => {
            let (runs, steps) = (tally.runs, tally.steps);
            let passed = Passed { tally, ..explored.passed };
            Explored { runs, steps, passed, ..explored }
        }
        _ => explored,
    }
}

/// The first seed is run twice, to see that a run is a function of its decisions.
fn first_seed(session: &Session<'_>, position: u64, seed: Seed) -> Explored {
    let mut passed = Passed::of_seeds(session.config);
    let (run, reordered) = session.quietly(|| run_seed(session, position, seed, &mut passed));
    let (runs, steps) = (position + 1, run.steps.len() as u64);
    let mut explored = Explored { runs, steps, passed, ..Explored::default() };
    if run.outcome != Outcome::Passed {
        explored.found = Some((position, run));
        return explored;
    }
    explored.warnings.extend(remarks(&run));
    if let Err(failure) = session.quietly(|| confirm::same_again(session, &run)) {
        explored.found = Some((position, Run { outcome: Outcome::Failed(failure), ..run }));
    } else if let Some(reordered) = reordered {
        explored.origin = Some(Origin::Reordered(reordered.seed));
        explored.found = Some((position, reordered));
    }
    explored
}

/// The run of one seed, and a run that fails with its calls in another order. Adds the run to `passed` if it
/// passed.
pub(super) fn run_seed(
    session: &Session<'_>,
    position: u64,
    seed: Seed,
    passed: &mut Passed,
) -> (Run, Option<Run>) {
    let chosen = session.config.strategy;
    let (mut closing, strategy) = ClosureCollector::of(session, chosen);
    let look = |worker: &Worker, has_passed: bool| {
        let reordered = has_passed.then(|| closing.check(session, worker, seed))?;
        passed.note(position, seed, chosen.name(), worker);
        passed.take_closure(&mut closing);
        reordered
    };
    session.run_and(strategy, chosen.name(), seed, WorkerJob::Seeds(chosen), look)
}

/// Returns warnings about a run that passed: tasks that were still running when the body ended, and programs that are
/// too large to check.
pub(super) fn remarks(run: &Run) -> impl Iterator<Item = String> {
    let leaks = run.leaked.iter().map(|task| {
        let task = &run.tasks[task.index()];
        format!(
            "task {task}, spawned at {}, had not ended when the test body did: await its handle, \
             or call detach() on it",
            task.place
        )
    });
    leaks.chain(run.programs.iter().filter_map(ProgramRecord::warning))
}

/// Runs seeds on this thread until there are none left. `between` is called now and then.
fn work(
    session: &Session<'_>,
    shared: &SharedProgress,
    deadline: Option<Instant>,
    between: &mut dyn FnMut(u64),
) {
    let mut batch = shared.take();
    // The first position of the batch that is not recorded in the results yet.
    let mut from = batch.start;
    if session.config.seed(batch.start).is_none() {
        // There is nothing left to run.
        return;
    }
    let strategy = session.config.strategy;
    let (mut closing, answers) = ClosureCollector::of(session, strategy);
    let mut worker = Worker::new(answers);
    let watched = session.watch.follow(worker.progress(), WorkerJob::Seeds(strategy), Seed(0));
    let limits = session.limits();
    let mut passed = Passed::of_seeds(session.config);
    let mut found = None;
    let (mut runs, mut steps) = (0, 0);
    // The number of steps when the clock was last read.
    let mut looked = 0;
    session.quietly(|| {
        while !shared.late.load(Ordering::Relaxed) {
            if batch.is_empty() {
                session.results.passed(from..batch.start, &mut passed.tally);
                batch = shared.take();
                from = batch.start;
            }
            let n = batch.start;
            if n > shared.lowest.load(Ordering::Relaxed) {
                break;
            }
            let Some(seed) = session.config.seed(n) else { break };
            watched.watched.begin(seed);
            session.prepare(&mut worker, &watched.watched, Seed(seed));
            let failure: Option<Failure> = session.once(&mut worker, Seed(seed), &limits);
            runs += 1;
            steps += worker.steps();
            let reordered = match failure {
                None => closing.check(session, &worker, Seed(seed)),
                Some(_) => None,
            };
            if failure.is_some() || reordered.is_some() {
                shared.lowest.fetch_min(n, Ordering::Relaxed);
                let own = reordered.is_none();
                let run = reordered.unwrap_or_else(|| worker.extract(Seed(seed), strategy.name()));
                found = Some((n, run, !own));
                worker.forget_histories();
                break;
            }
            passed.note(n, Seed(seed), strategy.name(), &worker);
            passed.take_closure(&mut closing);
            worker.forget_histories();
            batch.start += 1;
            if n % 16 == 0 || steps > looked + LOOK {
                looked = steps;
                between(n);
                if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                    shared.late.store(true, Ordering::Relaxed);
                }
            }
        }
        session.results.passed(from..batch.start, &mut passed.tally);
    });
    let mut total = shared.total.lock().unwrap_or_else(PoisonError::into_inner);
    total.runs += runs;
    total.steps += steps;
    total.passed.merge(passed);
    if let Some((n, run, reordered)) = found {
        if total.found.as_ref().is_none_or(|(other, _)| n < *other) {
            total.origin = reordered.then_some(Origin::Reordered(run.seed));
            total.found = Some((n, run));
        }
    }
}
