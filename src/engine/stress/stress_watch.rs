//! Two watchdogs for runs on real threads: one ends a run whose tasks no thread polls, the other ends the process.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::{account, failed_run, names};
use crate::engine::assignment::{Account, Assignment};
use crate::engine::patience::Patience;
use crate::engine::runner::{Site, end_process};
use crate::real::stress::StressRun;
use crate::report::{Finding, Style, text};
use crate::run::ids::{Seed, TaskId};
use crate::run::{Failure, TaskRecord};

/// The time limit for tasks that wait until a spawner polls them, if no hang limit is set.
const STALL: Duration = Duration::from_secs(10);
/// The minimum time limit, because a busy machine may cause shorter waits.
const STALL_LEAST: Duration = Duration::from_secs(1);

/// The current run, for the watchdog.
#[derive(Default)]
pub(super) struct WatchedRun {
    runs: AtomicU64,
    current: Mutex<Option<(Seed, Arc<StressRun>)>>,
    ended: Mutex<bool>,
    end: Condvar,
}

impl WatchedRun {
    pub(super) fn begin(&self, seed: Seed, run: &Arc<StressRun>) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        *current = Some((seed, run.clone()));
        self.runs.fetch_add(1, Ordering::Relaxed);
    }
}

/// A guard that ends the watchdog on drop.
pub(super) struct EndWatchOnDrop<'a>(pub(super) &'a WatchedRun);

impl Drop for EndWatchOnDrop<'_> {
    fn drop(&mut self) {
        *self.0.ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.end.notify_all();
    }
}

/// A check that ends a run from the thread of its body, when no thread polls the tasks that the run spawned.
///
/// This limit is shorter than the limit of the [watchdog](watch), because the thread of the body can end the run, but a
/// watchdog can only end the process.
pub(super) struct Stall {
    pub(super) clock: Patience,
    limit: Duration,
    progress: u64,
    since: Duration,
}

impl Stall {
    /// Creates the check for a run that must make progress within `hang`.
    pub(super) fn new(hang: Option<Duration>) -> Stall {
        let limit = hang.map_or(STALL, |hang| (hang / 2).max(STALL_LEAST));
        Stall { clock: Patience::new(limit), limit, progress: 0, since: Duration::ZERO }
    }

    /// Ends the run if tasks wait for the program's spawner to poll them, and no task has made progress for the time
    /// limit.
    pub(super) fn end(&mut self, stress: &StressRun, site: &Site) {
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

/// The time limits of a watchdog.
#[derive(Clone, Copy)]
pub(super) struct StressLimits {
    /// The time limit without progress of any task of a run.
    pub(super) hang: Option<Duration>,
    /// The time limit of a run.
    pub(super) run: Option<Duration>,
}

impl StressLimits {
    pub(super) fn shortest(self) -> Option<Duration> {
        self.hang.into_iter().chain(self.run).min()
    }
}

/// Ends the process if a run exceeds a limit, because real threads cannot be stopped. `shortest` is the shorter of the
/// limits.
pub(super) fn watch(
    assignment: &Assignment<'_>,
    watched: &WatchedRun,
    limits: StressLimits,
    shortest: Duration,
) {
    let mut ended = watched.ended.lock().unwrap_or_else(PoisonError::into_inner);
    let mut clock = Patience::new(shortest);
    // The current run and its progress, each with the time since when it is current.
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
                end(assignment, runs, seed, &stress, failure);
            }
        }
        let waited = watched.end.wait_timeout(ended, clock.interval);
        ended = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
}

/// Reports the failure of the current run and ends the process.
fn end(
    assignment: &Assignment<'_>,
    runs: u64,
    seed: Seed,
    stress: &StressRun,
    failure: Failure,
) -> ! {
    let unpolled = stress.unpolled();
    let warnings = match unpolled[..] {
        [] => Vec::new(),
        _ => vec![not_polled(&unpolled)],
    };
    let finding = Some(Finding::without_replay(failed_run(seed, stress, failure)));
    let report = assignment.report(Account { runs, finding, warnings, ..account() });
    end_process(&text(&report, &Style::default()))
}

/// Returns the failure if a run has exceeded a limit. The arguments are the time since the run began and the time since
/// one of its tasks last made progress.
fn exceeded(
    stress: &StressRun,
    limits: StressLimits,
    began: Duration,
    moved: Duration,
) -> Option<Failure> {
    let running = || names(&stress.left());
    if let Some(hang) = limits.hang.filter(|hang| moved >= *hang) {
        let (task, seconds) = (TaskId::MAIN, hang.as_secs());
        let (place, unseen) = (String::new(), Vec::new());
        return Some(Failure::Hang { task, last: running(), place, seconds, unseen });
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
