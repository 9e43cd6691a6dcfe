//! A session: the body of a test, its settings, and functions to run it once. All parts of the engine share it.

use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use super::job::WorkerJob;
use super::replays::Told;
use super::runs::{Next, for_each_run};
use super::watchdog::{Watchdog, WatchedWorker};
use super::{blocked_call, hook, left_threads, standstill};
use crate::engine::assignment::{Account, Assignment};
use crate::engine::config::{Config, LogMode};
use crate::engine::persistence;
use crate::engine::runner::{Site, TestBody};
use crate::engine::underway::RunNotes;
use crate::native;
use crate::report::Report;
use crate::rt::{RunLimits, TaskBody, WORLD, Weaker, Worker};
use crate::run::choice::Strategy;
use crate::run::ids::Seed;
use crate::run::memory_model::MemoryModel;
use crate::run::schedule::Schedule;
use crate::run::trace::{Header, Trace, format};
use crate::run::{Failure, Outcome, Run};
use crate::seam::quiet::silence;
use crate::strategy::search::Apart;

/// The maximum length of an inline trace in the output. For a longer trace, the output names its file.
const INLINE_MAX: usize = 400;

/// The number of steps that a run of plain threads may take after its step limit. Fewer operations are points in this
/// phase, so each step does much more.
const BEYOND: u32 = 2_000_000;

/// The divisor of the step limit in rehearsals of plain threads, after a rehearsal that reached the limit.
const SHORTER: u32 = 16;

/// A test in progress.
pub(crate) struct Session<'a> {
    pub(super) assignment: &'a Assignment<'a>,
    pub(super) config: &'a Config,
    pub(super) site: &'a Site,
    pub(super) body: &'a dyn TestBody,
    pub(super) watch: Watchdog,
    /// The number of rehearsals of the strategy.
    rehearsals: AtomicU32,
    /// The note about a run that blocked its thread, if any.
    stood_still: OnceLock<String>,
    /// The note about runs that started OS threads, if any.
    started_threads: OnceLock<String>,
    /// The messages about kept traces, for the report of a run that ends the process.
    told: Mutex<Told>,
}

impl<'a> Session<'a> {
    pub(super) fn new(assignment: &'a Assignment<'a>, body: &'a dyn TestBody) -> Session<'a> {
        let Assignment { config, site, .. } = *assignment;
        let (watch, rehearsals) = (Watchdog::new(site, config.hang), AtomicU32::new(0));
        let (stood_still, started_threads) = (OnceLock::new(), OnceLock::new());
        let told = Mutex::default();
        Session {
            assignment,
            config,
            site,
            body,
            watch,
            rehearsals,
            stood_still,
            started_threads,
            told,
        }
    }

    /// Returns this session with a log in which each run is noted before it begins, if `notes` is set.
    pub(super) fn noted_in(self, notes: Option<Arc<RunNotes>>) -> Session<'a> {
        Session { watch: self.watch.noted_in(notes), ..self }
    }

    pub(super) fn limits(&self) -> RunLimits {
        self.limits_as(self.config.strategy.is_search())
    }

    /// Returns the limits of a run of a search, or of a seed. The strategy of the test may be another one.
    pub(super) fn limits_as(&self, searched: bool) -> RunLimits {
        let (steps_max, clock) = (self.config.steps_max, self.config.clock);
        let faults = self.config.faults.clone();
        let runs_on = self.config.runs_on() && !searched;
        let beyond = if runs_on { BEYOND } else { 0 };
        let weaker = match self.config.memory {
            MemoryModel::C11 if !self.config.is_native() => Weaker::Choose,
            _ if searched => Weaker::Note,
            _ => Weaker::Nothing,
        };
        RunLimits { steps_max, beyond, hang: None, clock, faults, weaker, searched, what_if: None }
    }

    /// Returns the limits of a run that follows the decisions of a run with `steps` steps.
    pub(super) fn limits_following(&self, steps: usize) -> RunLimits {
        let limits = self.limits();
        // A run that ended at its step limit must end there in the replay, too.
        let continued = steps > limits.steps_max as usize;
        RunLimits { beyond: if continued { limits.beyond } else { 0 }, ..limits }
    }

    /// Returns `true` if a run with this failure has only reached a step limit at which runs end without a failure.
    pub(super) fn ends_at_limit(&self, failure: &Failure) -> bool {
        self.config.ends_at_limit() && matches!(failure, Failure::StepLimit { .. })
    }

    /// Returns `true` if a run has failed, and has not only reached a step limit at which runs end without a failure.
    pub(super) fn fails(&self, run: &Run) -> bool {
        matches!(&run.outcome, Outcome::Failed(failure) if !self.ends_at_limit(failure))
    }

    /// Returns the limits of a rehearsal. A rehearsal ends at the step limit, because a strategy learns nothing from
    /// further steps.
    pub(super) fn limits_of_rehearsal(&self) -> RunLimits {
        RunLimits { beyond: 0, ..self.limits() }
    }

    // A test without plain threads leaves the state of plain threads alone: at the same time, another test of the
    // process may use it.

    /// Returns `true` if the body is a closure that has captured values, which outlive a run.
    pub(super) fn has_captured(&self) -> bool {
        if self.config.is_native() { native::has_captured() } else { self.body.has_captured() }
    }

    /// Returns `true` if, since the last call, a run of plain threads treated a memory order as `SeqCst`.
    pub(super) fn take_strengthened(&self) -> bool {
        self.config.is_native() && native::take_strengthened()
    }

    /// Makes future runs of plain threads show these differences: the instructions of locks, and the counts of `Arc`s.
    pub(super) fn show(&self, apart: Apart) {
        if self.config.is_native() {
            native::step_instructions(apart.locks);
            native::note_references(apart.references);
        }
    }

    /// Sets the time at which runs of plain threads beyond their step limit end.
    pub(super) fn set_deadline(&self, deadline: Option<Instant>) {
        if self.config.is_native() {
            native::set_deadline(deadline);
        }
    }

    /// Runs the body once on `worker`.
    #[inline]
    pub(super) fn once(
        &self,
        worker: &mut Worker,
        seed: Seed,
        limits: &RunLimits,
    ) -> Option<Failure> {
        let _child = native::ends_child();
        // This value is dropped after the body, because values of the body may use thread-locals of the run.
        let _polled = native::begin_polled();
        let mut failure = None;
        self.body.begin(&mut |body| {
            let main = pin!(TaskBody::new(async move {
                if let Some(message) = body.await {
                    WORLD.with(|world| world.fail(Failure::Error { message }));
                }
            }));
            failure = worker.run(seed, limits, self.site.place, main);
        });
        if let Some(place) = native::take_started() {
            self.note_started(&place);
        }
        failure
    }

    /// Like [`once`](Self::once), for a run that does not count, such as a rehearsal or a repetition. The run does not
    /// change the values that a closure has captured.
    pub(super) fn once_more(
        &self,
        worker: &mut Worker,
        seed: Seed,
        limits: &RunLimits,
    ) -> Option<Failure> {
        let _spared = native::spare_captured();
        self.once(worker, seed, limits)
    }

    /// Prepares the strategy of `worker` for a seed.
    #[inline]
    pub(super) fn prepare(&self, worker: &mut Worker, watched: &WatchedWorker, seed: Seed) {
        worker.prepare(seed);
        self.rehearse(worker, watched);
    }

    /// Executes the rehearsals for the strategy of `worker`. The outcome of a rehearsal is ignored, because a rehearsal
    /// is not the run of a seed.
    pub(super) fn rehearse(&self, worker: &mut Worker, watched: &WatchedWorker) {
        if worker.rehearsals() == 0 {
            return;
        }
        // The number is the same on all threads.
        self.rehearsals.fetch_max(worker.rehearsals(), Ordering::Relaxed);
        let job = watched.job();
        let begin = &mut |n| watched.begin_job(WorkerJob::Rehearse(Box::new(job.clone()), n));
        let count = worker.rehearsals();
        self.quietly(|| self.rehearse_first(worker, count, begin));
        watched.begin_job(job);
    }

    /// Executes the first `count` rehearsals. Calls `begin` with the number of each rehearsal before it begins.
    pub(super) fn rehearse_first(
        &self,
        worker: &mut Worker,
        count: u32,
        begin: &mut dyn FnMut(u32),
    ) {
        let mut limits = self.limits_of_rehearsal();
        for_each_run(worker, 0..u64::from(count), |worker, n| {
            begin(n as u32);
            let failure = self.once_more(worker, Seed(n), &limits);
            let is_long = matches!(failure, Some(Failure::StepLimit { .. }));
            if is_long && self.config.is_native() {
                // If a rehearsal is too long, usually all runs are, and each takes seconds. The other rehearsals are
                // shorter but not omitted: otherwise the strategy would rehearse in the runs of the next seeds.
                limits.steps_max = (self.config.steps_max / SHORTER).max(1);
            }
            Next::Again
        });
    }

    /// Executes one run under a strategy created for it, and returns the run as data. The run does not count.
    pub(super) fn run_with(
        &self,
        strategy: Box<dyn Strategy>,
        name: &str,
        seed: Seed,
        job: WorkerJob,
    ) -> Run {
        let _spared = native::spare_captured();
        self.run_here(strategy, name, seed, job)
    }

    /// Like [`run_with`](Self::run_with), for a run that counts.
    fn run_here(&self, strategy: Box<dyn Strategy>, name: &str, seed: Seed, job: WorkerJob) -> Run {
        let mut worker = Worker::new(strategy);
        let limits = job.steps().map_or_else(|| self.limits(), |n| self.limits_following(n));
        // A second run of the same decisions is only compared with the first, so its messages are not shown.
        if !matches!(job, WorkerJob::Again(_)) {
            worker.show_messages();
        }
        let watched = self.watch.follow(worker.progress(), job, seed);
        self.prepare(&mut worker, &watched.watched, seed);
        self.once(&mut worker, seed, &limits);
        let mut run = worker.extract(seed, name);
        native::complete(&mut run);
        worker.forget_histories();
        run
    }

    /// Replays a trace strictly. Returns the run.
    pub(super) fn replay(&self, trace: &Trace) -> Run {
        let job = WorkerJob::Replay(Arc::new(trace.clone()));
        self.run_with(job.strategy(), "replay", trace.header.seed, job)
    }

    /// Replays the trace that the user has requested, strictly. Returns the run, which is the run of the test.
    pub(super) fn replay_requested(&self, trace: &Trace) -> Run {
        let job = WorkerJob::Replay(Arc::new(trace.clone()));
        self.run_here(job.strategy(), "replay", trace.header.seed, job)
    }

    /// Executes a run that follows a trace as far as it fits.
    pub(super) fn follow_trace(&self, trace: &Trace) -> Run {
        let job = WorkerJob::Follow(Arc::new(Schedule::from_trace(trace)));
        self.run_with(job.strategy(), "follow", trace.header.seed, job)
    }

    /// Calls `act` with `tracing` subscribers active in its runs and, if requested, the panic hook. For a panic in the
    /// standard library, or about a missing runtime, the [callers](hook::callers) are kept.
    pub(super) fn loudly<T>(&self, act: impl FnOnce() -> T) -> T {
        let act = || native::noting_calls(|| hook::tracing_calls(act));
        match (self.config.log, self.config.backtrace) {
            (LogMode::Off, _) => self.quietly(act),
            (_, true) => hook::loudly(act),
            (_, false) => act(),
        }
    }

    /// Calls `act` with `tracing` disabled in runs, unless all runs are logged.
    pub(super) fn quietly<T>(&self, act: impl FnOnce() -> T) -> T {
        // Needed only if a subscriber exists. Setting a default subscriber makes every later event slower.
        if self.config.log == LogMode::All || !tracing::dispatcher::has_been_set() {
            return act();
        }
        tracing::dispatcher::with_default(silence(), act)
    }

    // ---- reports

    /// Returns the report of this test.
    pub(super) fn report(&self, mut account: Account) -> Report {
        let rehearsals = self.rehearsals.load(Ordering::Relaxed);
        account.notes.extend(self.stood_still.get().cloned());
        account.notes.extend(self.started_threads.get().cloned());
        self.assignment.report(Account { rehearsals, ..account })
    }

    /// Calls `act`, which executes a run, and stores a note if the run blocks the thread. The run is then repeated
    /// once, to find the call. Plain threads are excluded, because they may block: they make system calls, or wait for
    /// a process.
    pub(super) fn seeing_standstill(&self, act: impl Fn() -> Run) -> Run {
        if self.config.is_native() || self.config.log == LogMode::All {
            return act();
        }
        let (done, stood) = standstill::during(&act);
        // Only the first note is kept.
        if let Some(stood) = stood.filter(|_| self.stood_still.get().is_none()) {
            let repeats = stood < standstill::REPEATED;
            let call = repeats.then(|| blocked_call::named(&self.watch, act));
            let call = call.and_then(|(run, call)| Some(call?.text(&run)));
            let note = standstill::note(&self.site.test, stood, call.as_deref());
            let _ = self.stood_still.set(note);
        }
        done
    }

    /// Stores the messages about kept traces.
    pub(super) fn tell(&self, told: Told) {
        *self.told.lock().unwrap_or_else(PoisonError::into_inner) = told;
    }

    /// Returns the messages about kept traces.
    pub(super) fn told(&self) -> Told {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Stores a note about a run that started an OS thread at this place.
    #[cold]
    fn note_started(&self, place: &str) {
        // Only the first note is kept.
        let _ = self.started_threads.set(left_threads::note_started(&self.site.test, place));
    }

    /// Stores a note about the OS threads that the runs have left, if any.
    pub(super) fn note_threads_left(&self, left: usize) {
        if left > 0 {
            let _ = self.started_threads.set(left_threads::note_left(&self.site.test, left));
        }
    }

    /// Returns the trace of a run of this test.
    pub(super) fn trace(&self, run: &Run) -> Trace {
        let verdict = match &run.outcome {
            Outcome::Passed => "passed".to_owned(),
            Outcome::Failed(failure) => crate::report::one_line(failure, run),
        };
        let arguments = self.site.cargo_arguments();
        let mut header = Header {
            test: self.site.title(),
            package: self.site.package_and_version(),
            seed: run.seed,
            strategy: self.config.strategy.name().to_owned(),
            settings: Some(self.config.in_traces()),
            cargo: None,
            verdict,
        };
        if header.usual_arguments().unwrap_or_default() != arguments {
            header.cargo = Some(arguments);
        }
        Trace::of(run, header)
    }

    /// Writes a trace. Returns the path of its file, or the error if it could not be written.
    pub(super) fn write(&self, trace: &Trace) -> (Option<String>, Option<String>) {
        match persistence::write(trace, self.site, self.config.out.as_deref()) {
            Ok(path) => (Some(path.display().to_string()), None),
            Err(error) => (None, Some(error.to_string())),
        }
    }

    /// Returns the command that replays the trace in `file`. A short trace is inline in the command, without its
    /// settings if the test already has them.
    pub(super) fn replay_command(&self, trace: Trace, file: &str) -> String {
        let inline = self.inline(trace);
        let short = inline.len() <= INLINE_MAX || file.is_empty();
        let source = if short { &inline } else { file };
        self.site.replay_command(source, true)
    }

    /// Returns the command that replays a run without a file. `None` if the trace of the run is too long for a command.
    pub(super) fn short_replay_command(&self, run: &Run) -> Option<String> {
        let inline = self.inline(self.trace(run));
        (inline.len() <= INLINE_MAX).then(|| self.site.replay_command(&inline, true))
    }

    fn inline(&self, mut trace: Trace) -> String {
        if !self.config.must_be_in_traces() {
            trace.header.settings = None;
        }
        format::inline(&trace)
    }
}

#[cfg(test)]
mod tests {
    use std::panic::Location;

    use super::*;
    use crate::engine::config::{Settings, TestKind};
    use crate::engine::results::Results;
    use crate::engine::runner::outcome::FunctionBody;
    use crate::engine::simulate::explore::SeedRunner;
    use crate::run::ids::TaskId;
    use crate::sync::Ordering::SeqCst;

    #[test]
    fn a_seed_is_the_same_run_among_others_if_rehearsals_are_too_long() {
        crate::engine::simulate::hook::install();
        let body = FunctionBody::new(async || {
            let word = Arc::new(crate::Atomic::new(0));
            let add = |_| {
                let word = word.clone();
                crate::spawn(async move {
                    for _ in 0..10 {
                        word.fetch_add(1, SeqCst).await;
                    }
                })
            };
            let tasks: Vec<_> = (0..4).map(add).collect();
            for task in tasks {
                task.await.unwrap();
            }
        });
        // Only plain threads continue after the step limit.
        let kind = TestKind { native: true, ..TestKind::default() };
        let (strategy, max_steps) = (Some("urw".to_owned()), Some(20));
        let settings = Settings { strategy, max_steps, kind, ..Settings::default() };
        let config = settings.resolve().expect("the settings are valid");
        let (site, results) = (Site::of_program(Location::caller()), Results::nowhere());
        let assignment = Assignment::new(&config, &site, &results);
        let session = Session::new(&assignment, &body);
        let last_of = |seeds: std::ops::Range<u64>| -> Vec<TaskId> {
            let mut runner = SeedRunner::new(&session);
            let mut tasks = Vec::new();
            for seed in seeds.map(Seed) {
                assert!(runner.make(seed).is_none());
                tasks = runner.extract(seed).steps.iter().map(|step| step.task).collect();
                runner.worker.forget_histories();
            }
            tasks
        };
        assert_eq!(last_of(0..4), last_of(3..4));
    }
}
