//! Runs seeds until one fails, on as many threads as pay.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::Scope;
use std::time::{Duration, Instant};

use super::confirm;
use super::session::Session;
use super::watchdog::Job;
use crate::ids::Seed;
use crate::rt::Worker;
use crate::run::{Failure, Outcome, Run};
use crate::runner::TestResult;

/// Seeds run for so long on the calling thread before others are started: starting a thread costs
/// about a hundredth of this.
const ALONE: Duration = Duration::from_millis(3);

/// What came of running the seeds.
#[derive(Default)]
pub(super) struct Explored {
    pub(super) runs: u64,
    pub(super) steps: u64,
    /// The failing run of the lowest seed, and the position of that seed.
    pub(super) found: Option<(u64, Run)>,
    pub(super) warnings: Vec<String>,
}

/// What the threads share.
struct Shared {
    /// The position of the next seed to run.
    next: AtomicU64,
    /// The lowest position known to fail.
    lowest: AtomicU64,
    /// Whether the time is up.
    late: AtomicBool,
    total: Mutex<Explored>,
}

impl Shared {
    /// The positions of the next seeds of a thread. One at a time to begin with, so that a few long
    /// runs are shared out; then more, because threads with short runs would pass the counter to and
    /// fro.
    fn take(&self, jobs: usize) -> Range<u64> {
        let count = match self.next.load(Ordering::Relaxed) {
            _ if jobs == 1 => 1,
            begun if begun < 64 * jobs as u64 => 1,
            _ => 16,
        };
        let first = self.next.fetch_add(count, Ordering::Relaxed);
        first..first + count
    }
}

/// Runs the seeds.
///
/// Threads take seeds in order, and one that fails is no reason to drop a lower one that is being
/// run, so the lowest failing seed does not depend on the number of threads.
pub(super) fn explore<'scope, B, R>(
    session: &'scope Session<'_, B>,
    scope: &'scope Scope<'scope, '_>,
) -> Explored
where
    B: AsyncFn() -> R + Sync,
    R: TestResult,
{
    let began = Instant::now();
    let deadline = session.config.time.map(|time| began + time);
    if let Some(first) = session.config.seed(0) {
        let explored = first_seed(session, Seed(first));
        if explored.found.is_some() {
            return explored;
        }
        let shared = std::sync::Arc::new(Shared {
            next: AtomicU64::new(1),
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
        return std::mem::take(&mut *total);
    }
    Explored::default()
}

/// The first seed is run twice, to see that a run is a function of its decisions.
fn first_seed<B, R>(session: &Session<'_, B>, seed: Seed) -> Explored
where
    B: AsyncFn() -> R + Sync,
    R: TestResult,
{
    let job = Job::Seeds(session.config.strategy);
    let run = session
        .quietly(|| session.run_with(job.strategy(), session.config.strategy.name(), seed, job));
    let mut explored = Explored { runs: 1, steps: run.steps.len() as u64, ..Explored::default() };
    if run.outcome != Outcome::Passed {
        explored.found = Some((0, run));
        return explored;
    }
    for task in &run.leaked {
        let task = &run.tasks[task.index()];
        explored.warnings.push(format!(
            "task {task}, spawned at {}, had not ended when the test body did: await its handle, \
             or call detach() on it",
            task.place
        ));
    }
    if let Err(failure) = session.quietly(|| confirm::same_again(session, &run)) {
        explored.found = Some((0, Run { outcome: Outcome::Failed(failure), ..run }));
    }
    explored
}

/// Runs seeds on this thread until there are none left. `between` is called now and then.
fn work<B, R>(
    session: &Session<'_, B>,
    shared: &Shared,
    deadline: Option<Instant>,
    between: &mut dyn FnMut(u64),
) where
    B: AsyncFn() -> R + Sync,
    R: TestResult,
{
    let strategy = session.config.strategy;
    let mut worker = Worker::new(strategy.create());
    let watched = session.watch.follow(worker.progress(), Job::Seeds(strategy), Seed(0));
    session.rehearse(&mut worker, &watched.watched);
    let limits = session.limits();
    let (mut runs, mut steps, mut found) = (0, 0, None);
    session.quietly(|| {
        let mut batch = 0..0;
        while !shared.late.load(Ordering::Relaxed) {
            if batch.is_empty() {
                batch = shared.take(session.config.jobs);
            }
            let Some(n) = batch.next() else { break };
            if n > shared.lowest.load(Ordering::Relaxed) {
                break;
            }
            let Some(seed) = session.config.seed(n) else { break };
            watched.watched.begin(seed);
            let failure: Option<Failure> = session.once(&mut worker, Seed(seed), &limits);
            runs += 1;
            steps += worker.steps();
            if failure.is_some() {
                shared.lowest.fetch_min(n, Ordering::Relaxed);
                found = Some((n, worker.extract(Seed(seed), strategy.name())));
                break;
            }
            worker.forget_histories();
            if n % 16 == 0 {
                between(n);
                if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                    shared.late.store(true, Ordering::Relaxed);
                }
            }
        }
    });
    let mut total = shared.total.lock().unwrap_or_else(PoisonError::into_inner);
    total.runs += runs;
    total.steps += steps;
    if let Some((n, run)) = found {
        if total.found.as_ref().is_none_or(|(other, _)| n < *other) {
            total.found = Some((n, run));
        }
    }
}
