//! The watchdog detects a task that never returns to the scheduler: it hangs, or it is about to end the process.
//!
//! A hanging step cannot be interrupted, and its worker cannot report it. But a run is a function of its decisions.
//! Therefore the watchdog repeats the run on its own thread up to the hanging step. This repetition gives the trace,
//! the task and its pending operation. The watchdog then ends the process.
//!
//! The time during which a thread has no processor does not count.
//!
//! If a destructor panics while a panic unwinds, std aborts the process. The panic hook is called before the abort: it
//! hands the run to the watchdog, which reports it, and the thread waits.
//!
//! A plain thread can be interrupted. The run of the thread fails as hung on its own worker, and the process continues.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

use super::hook;
use super::job::WorkerJob;
use super::kept::KeptFinding;
use super::session::Session;
use super::times::Thread;
use crate::engine::assignment::Account;
use crate::engine::patience::Patience;
use crate::engine::persistence;
use crate::engine::runner::{Site, end_process};
use crate::engine::underway::{Note, RunNotes};
use crate::native;
use crate::report::{Finding, Origin, Style, text};
use crate::rt::{RunLimits, WORLD, Worker, in_run};
use crate::run::ids::{Seed, TaskId};
use crate::run::{Failure, Outcome, Run};
use crate::seam::beat::{self, Watcher};
use crate::seam::client;

/// The watchdog, with the workers that it observes.
pub(crate) struct Watchdog {
    site: Arc<Site>,
    /// The time limit of a step.
    hang: Option<Duration>,
    /// The notes in which each run is recorded before it begins, if an earlier process ended within a run.
    notes: Option<Arc<RunNotes>>,
    state: Mutex<WatchState>,
    ended: Condvar,
    /// True if a thread was interrupted. If this is true, a repeated hang gets a shorter time limit.
    interrupted: AtomicBool,
    /// The failure that is being explained.
    pub(super) explained: KeptFinding,
}

#[derive(Default)]
struct WatchState {
    ended: bool,
    watched: Vec<Arc<WatchedWorker>>,
}

/// The number of runs that a worker has begun, its current step, and its number of heartbeats.
type WorkerProgress = (u64, u32, u64);

/// A time at which the watchdog has checked a worker.
#[derive(Clone, Copy)]
struct WorkerTime {
    now: Duration,
    /// The time during which the worker's thread had no processor.
    queued: Duration,
}

impl WorkerTime {
    /// Returns the time since an earlier check, without the time during which the thread had no processor.
    fn since(self, before: WorkerTime) -> Duration {
        let queued = self.queued.saturating_sub(before.queued);
        self.now.saturating_sub(before.now).saturating_sub(queued)
    }
}

/// A worker that a watchdog observes.
pub(crate) struct WatchedWorker {
    thread: Thread,
    /// The current step of the worker.
    step: Arc<AtomicU32>,
    /// True while another worker of its thread executes a run, or while its thread waits for other threads. This worker
    /// then makes no progress, but does not hang.
    paused: AtomicBool,
    /// The number of heartbeats within the current step.
    beats: Arc<AtomicU64>,
    /// The number of runs that the worker has begun.
    pub(super) runs: AtomicU64,
    /// The seed of the current run.
    pub(super) seed: AtomicU64,
    job: Mutex<WorkerJob>,
    site: Arc<Site>,
    /// The notes for runs, with the line of this worker.
    notes: Option<(Arc<RunNotes>, usize)>,
    /// True if a watchdog observes the worker.
    is_guarded: bool,
    /// The current run, if it is about to end the process. The thread of this run then waits for the watchdog.
    dying: Mutex<Option<Box<Run>>>,
}

impl WatchedWorker {
    /// Records that the worker begins a run of this seed.
    #[inline]
    pub(super) fn begin(&self, seed: u64) {
        self.seed.store(seed, Ordering::Relaxed);
        // Only the worker writes this value, so the load and the store need not be one atomic operation.
        self.runs.store(self.runs.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        if let Some((notes, line)) = &self.notes {
            notes.note(*line, Note::Seed(Seed(seed)));
        }
    }

    /// Records that the worker begins a run of another job.
    pub(super) fn begin_job(&self, job: WorkerJob) {
        self.note(&job);
        *self.job.lock().unwrap_or_else(PoisonError::into_inner) = job;
        self.runs.fetch_add(1, Ordering::Relaxed);
    }

    /// Calls `wait`, which waits for runs of other workers.
    pub(super) fn paused<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.paused.store(true, Ordering::Relaxed);
        let waited = wait();
        self.paused.store(false, Ordering::Relaxed);
        waited
    }

    fn note(&self, job: &WorkerJob) {
        let Some((notes, line)) = &self.notes else { return };
        let seed = Seed(self.seed.load(Ordering::Relaxed));
        let note = match job {
            WorkerJob::Seeds(_) | WorkerJob::Search(_) => Note::Seed(seed),
            WorkerJob::Rehearse(_, n) => Note::Rehearsal(*n),
            WorkerJob::Replay(_)
            | WorkerJob::Again(_)
            | WorkerJob::Follow(_)
            | WorkerJob::Continue(..) => Note::From(seed),
        };
        notes.note(*line, note);
    }

    /// Returns the current job of the worker.
    pub(super) fn job(&self) -> WorkerJob {
        self.job.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the current run, if it is about to end the process.
    fn dying(&self) -> Option<Box<Run>> {
        self.dying.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn position(&self) -> (u64, u32) {
        (self.runs.load(Ordering::Relaxed), self.step.load(Ordering::Relaxed))
    }

    /// Returns the time of the worker's thread, at the watchdog time `now`.
    fn time(&self, now: Duration) -> WorkerTime {
        WorkerTime { now, queued: self.thread.queued() }
    }

    /// Returns a value that changes as long as the worker does not hang.
    fn progress(&self) -> WorkerProgress {
        let (runs, step) = self.position();
        (runs, step, self.beats.load(Ordering::Relaxed))
    }
}

/// The time before the first check of the workers.
pub(super) const FIRST: Duration = Duration::from_millis(5);

thread_local! {
    static HERE: RefCell<Option<Arc<WatchedWorker>>> = const { RefCell::new(None) };
}

/// Returns the current run number and step of this thread, if it executes a run.
pub(super) fn position() -> Option<(u64, u32)> {
    HERE.with(|here| here.borrow().as_ref().map(|watched| watched.position()))
}

/// Returns the test and the seed of this thread's run, in the format of the first line of a report.
pub(super) fn title() -> String {
    HERE.with(|here| match &*here.borrow() {
        Some(watched) => {
            let seed = watched.seed.load(Ordering::Relaxed);
            format!("{}  seed {seed}", watched.site.test)
        }
        None => "a run that is not known".to_owned(),
    })
}

/// Reports this thread's run, which is about to end the process, as a failure of its seed, and ends the process.
/// `message` contains the reason. Returns if no watchdog observes the thread.
pub(super) fn die(message: String, place: String) {
    let watched = HERE.with(|here| here.borrow().clone());
    let Some(watched) = watched.filter(|watched| watched.is_guarded && in_run()) else { return };
    let seed = Seed(watched.seed.load(Ordering::Relaxed));
    let task = TaskId(client() as u32);
    let failure = Failure::Crash { task, cause: "abort".to_owned(), message, place };
    let mut run = WORLD.with(|world| world.outline(seed, ""));
    run.outcome = Outcome::Failed(failure);
    *watched.dying.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(run));
    loop {
        std::thread::park();
    }
}

/// Returns a description of this thread's run, for a message before an abort.
pub(super) fn whereabouts() -> String {
    HERE.with(|here| match &*here.borrow() {
        Some(watched) => {
            let (seed, step) = (&watched.seed, &watched.step);
            let (seed, step) = (seed.load(Ordering::Relaxed), step.load(Ordering::Relaxed));
            let site = &watched.site;
            let job = watched.job.lock().unwrap_or_else(PoisonError::into_inner);
            match *job {
                WorkerJob::Seeds(_) | WorkerJob::Rehearse(..) | WorkerJob::Search(_) => format!(
                    "It was step {step} of seed {seed}. To run it again:\n\n  \
                     {}\n",
                    site.seed_command(seed),
                ),
                _ => format!(
                    "It was step {step} of a run derived from seed {seed} while that was \
                     replayed or shrunk. To repeat it:\n\n  {}\n",
                    site.search_command(),
                ),
            }
        }
        None => "The run is not known.".to_owned(),
    })
}

/// A guard that stops the observation of a worker on drop.
pub(crate) struct Unwatch<'a> {
    watch: &'a Watchdog,
    pub(super) watched: Arc<WatchedWorker>,
    before: Option<Arc<WatchedWorker>>,
    watcher_before: Watcher,
}

impl Drop for Unwatch<'_> {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            before.paused.store(false, Ordering::Relaxed);
        }
        hook::forget_position();
        HERE.with(|here| *here.borrow_mut() = self.before.take());
        beat::watch(std::mem::take(&mut self.watcher_before));
        if let Some((notes, line)) = &self.watched.notes {
            notes.close(*line);
        }
        self.watch.lock().watched.retain(|other| !Arc::ptr_eq(other, &self.watched));
    }
}

/// A guard that ends the watchdog on drop.
pub(crate) struct EndWatchdogOnDrop<'a>(&'a Watchdog);

impl Drop for EndWatchdogOnDrop<'_> {
    fn drop(&mut self) {
        self.0.lock().ended = true;
        self.0.ended.notify_all();
    }
}

impl Watchdog {
    /// Creates a watchdog without workers.
    pub(super) fn new(site: &Site, hang: Option<Duration>) -> Watchdog {
        let site = Arc::new(site.clone());
        let (state, ended, interrupted) =
            (Mutex::default(), Condvar::new(), AtomicBool::new(false));
        let explained = KeptFinding::default();
        Watchdog { site, hang, notes: None, state, ended, interrupted, explained }
    }

    /// Returns this watchdog with notes about each run.
    pub(super) fn noted_in(self, notes: Option<Arc<RunNotes>>) -> Watchdog {
        Watchdog { notes, ..self }
    }

    /// Returns the notes about runs, if any.
    pub(super) fn notes(&self) -> Option<Arc<RunNotes>> {
        self.notes.clone()
    }

    /// Keeps other threads from locking the state until the result is dropped.
    pub(super) fn hold(&self) -> impl Sized + '_ {
        self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, WatchState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the time limit of a step of a worker. A repeated hang has a shorter limit, so that it can be shrunk.
    fn patience(&self, watched: &WatchedWorker, patience: Duration) -> Duration {
        const LEAST: Duration = Duration::from_millis(100);
        let again = self.interrupted.load(Ordering::Relaxed)
            && matches!(watched.job(), WorkerJob::Again(_) | WorkerJob::Follow(_));
        if again { (patience / 20).max(LEAST).min(patience) } else { patience }
    }

    /// Returns the current step of the run that a thread executes, if any.
    pub(super) fn step_of(&self, thread: &Thread) -> Option<u32> {
        let is_it = |watched: &&Arc<WatchedWorker>| {
            watched.thread.is(thread) && !watched.paused.load(Ordering::Relaxed)
        };
        let step = |watched: &Arc<WatchedWorker>| watched.step.load(Ordering::Relaxed);
        self.lock().watched.iter().find(is_it).map(step)
    }

    pub(super) fn end_on_drop(&self) -> EndWatchdogOnDrop<'_> {
        EndWatchdogOnDrop(self)
    }

    /// Observes a worker of the current thread. `step` contains its current step. `seed` is the seed of its first run,
    /// or the seed from which the replayed run was derived.
    pub(super) fn follow(&self, step: Arc<AtomicU32>, job: WorkerJob, seed: Seed) -> Unwatch<'_> {
        let (runs, seed, job) = (AtomicU64::new(0), AtomicU64::new(seed.0), Mutex::new(job));
        let notes = self.notes.clone().map(|notes| (notes.clone(), notes.open()));
        let (beats, site) = (Arc::<AtomicU64>::default(), self.site.clone());
        let paused = AtomicBool::new(false);
        let (is_guarded, dying) = (self.hang.is_some(), Mutex::default());
        let watched = WatchedWorker {
            thread: Thread::current(),
            step,
            paused,
            beats: beats.clone(),
            runs,
            seed,
            job,
            site,
            notes,
            is_guarded,
            dying,
        };
        let watched = Arc::new(watched);
        watched.note(&watched.job());
        self.lock().watched.push(watched.clone());
        hook::forget_position();
        let before = HERE.with(|here| here.borrow_mut().replace(watched.clone()));
        if let Some(before) = &before {
            before.paused.store(true, Ordering::Relaxed);
        }
        let watcher_before = beat::watch(Watcher { beats: Some(beats), hang: self.hang });
        Unwatch { watch: self, watched, before, watcher_before }
    }
}

/// Checks the workers regularly until the watchdog ends. If a worker hangs, interrupts it or ends the process.
pub(super) fn watch(session: &Session<'_>, patience: Duration) {
    let mut clock = Patience::new(patience);
    // For each worker: its progress, and the time in its own clock when this progress was first seen.
    let mut seen: Vec<(Arc<WatchedWorker>, WorkerProgress, WorkerTime)> = Vec::new();
    // The time of the first unsuccessful attempt to interrupt a hanging thread.
    let mut refused: Option<Duration> = None;
    let mut state = session.watch.lock();
    if !state.ended {
        // Most tests end before the first check, which reads files of the system.
        let waited = session.watch.ended.wait_timeout(state, FIRST.min(clock.interval));
        state = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
    while !state.ended {
        let now = clock.elapsed();
        let runs = |watched: &&Arc<WatchedWorker>| !watched.paused.load(Ordering::Relaxed);
        let running: Vec<_> = state.watched.iter().filter(runs).cloned().collect();
        let dying = running.iter().find_map(|watched| Some((watched.clone(), watched.dying()?)));
        if let Some((watched, run)) = dying {
            drop(state);
            end(session, &watched, *run);
        }
        seen.retain(|(old, ..)| running.iter().any(|new| Arc::ptr_eq(old, new)));
        let mut hung = None;
        for watched in &running {
            let position = watched.progress();
            match seen.iter_mut().find(|(old, ..)| Arc::ptr_eq(old, watched)) {
                Some((_, at, _)) if *at == position => {}
                Some((_, at, since)) => (*at, *since) = (position, watched.time(now)),
                None => seen.push((watched.clone(), position, watched.time(now))),
            }
        }
        for (watched, position, since) in &seen {
            let limit = session.watch.patience(watched, patience);
            let may_hang = now.saturating_sub(since.now) >= limit;
            if may_hang && watched.time(now).since(*since) >= limit {
                hung = Some((watched.clone(), *position));
            }
        }
        if let Some((watched, position)) = hung {
            // The lock is released, because the worker acquires it at the end of its run.
            drop(state);
            match native::interrupt(&|| watched.progress() == position) {
                Some(true) => {
                    session.watch.interrupted.store(true, Ordering::Relaxed);
                    seen.retain(|(other, ..)| !Arc::ptr_eq(other, &watched));
                    refused = None;
                }
                Some(false) if now - *refused.get_or_insert(now) < patience => {}
                _ => end_hung(session, &watched, position.1, patience),
            }
            state = session.watch.lock();
        } else {
            refused = None;
        }
        let waited = session.watch.ended.wait_timeout(state, clock.interval);
        state = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
}

/// Reports the hang and ends the process.
fn end_hung(session: &Session<'_>, watched: &WatchedWorker, step: u32, patience: Duration) -> ! {
    let job = watched.job();
    let seed = seed_of(watched, &job);
    std::thread::scope(|scope| {
        let (send, receive) = mpsc::channel();
        scope.spawn(move || {
            let run = run_to_hang(session, watched, &job, seed, (step, patience.as_secs()));
            // The receiver no longer exists if the repetition took longer than its limit.
            let _ = send.send(run);
        });
        let run = receive.recv_timeout(patience).unwrap_or_else(|_| lost(seed, patience));
        end(session, watched, run)
    })
}

/// Reports the run of a worker that cannot continue, and ends the process.
fn end(session: &Session<'_>, watched: &WatchedWorker, mut run: Run) -> ! {
    session.watch.explained.end(session, &run);
    let job = watched.job();
    let seed = seed_of(watched, &job);
    run.strategy = session.config.strategy.name().to_owned();
    let warnings = Vec::from_iter(job.meeting(session.config.replay.is_some()).map(str::to_owned));
    let (trace_file, trace_error) = session.write(&session.trace(&run));
    let replay = trace_file.as_deref().map(|file| session.site.replay_command(file, true));
    let replayed =
        session.config.replay.as_ref().map(|source| persistence::origin(source, session.site));
    let from = replayed.clone().unwrap_or(Origin::Seed(seed));
    let finding = Finding { trace_file, trace_error, replay, ..Finding::of(run, from) };
    let report = session.report(session.told().before(Account {
        runs: watched.runs.load(Ordering::Relaxed),
        steps: watched.step.load(Ordering::Relaxed).into(),
        finding: Some(finding),
        replayed,
        warnings,
        ..Account::default()
    }));
    end_process(&text(&report, &Style::default()))
}

/// Returns the seed of the current run of a worker.
fn seed_of(watched: &WatchedWorker, job: &WorkerJob) -> Seed {
    match job {
        WorkerJob::Rehearse(_, n) => Seed((*n).into()),
        _ => Seed(watched.seed.load(Ordering::Relaxed)),
    }
}

/// Repeats a run up to the hanging step.
fn run_to_hang(
    session: &Session<'_>,
    watched: &WatchedWorker,
    job: &WorkerJob,
    seed: Seed,
    hang: (u32, u64),
) -> Run {
    let mut worker = Worker::new(job.strategy());
    worker.prepare(Seed(watched.seed.load(Ordering::Relaxed)));
    let rehearsed = match job {
        WorkerJob::Rehearse(_, n) => *n,
        _ => worker.rehearsals(),
    };
    session.rehearse_first(&mut worker, rehearsed, &mut |_| {});
    session.once(&mut worker, seed, &RunLimits { hang: Some(hang), ..session.limits() });
    worker.extract(seed, session.config.strategy.name())
}

/// Returns the run to report if the replay did not reach the hang again.
fn lost(seed: Seed, patience: Duration) -> Run {
    let last = "unknown: the run did not come to the same step again".to_owned();
    let task = crate::run::ids::TaskId::MAIN;
    let (place, seconds) = (String::new(), patience.as_secs());
    Run::empty(seed, Failure::Hang { task, last, place, seconds, unseen: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_without_a_processor_is_no_time_of_a_step() {
        let second = Duration::from_secs(1);
        let begin = WorkerTime { now: second, queued: 4 * second };
        // A thread that runs, or waits for something other than a processor.
        let stood = WorkerTime { now: 12 * second, queued: 4 * second };
        assert_eq!(stood.since(begin), 11 * second);
        let starved = WorkerTime { now: 12 * second, queued: 14 * second };
        assert_eq!(starved.since(begin), second);
        // If the watchdog itself was delayed, its clock is late.
        assert_eq!(WorkerTime { queued: 99 * second, ..stood }.since(begin), Duration::ZERO);
    }
}
