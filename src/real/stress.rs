//! The tasks of one stress run on real threads.
//!
//! A run starts its tasks [together](super::start), delays each task at its points with a generator, and ends all tasks
//! at the first panic or failed check. A task takes part in the run while any thread polls it.

mod in_run;
mod this_thread;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use futures::future::AbortHandle;

pub(crate) use self::in_run::InRun;
use self::this_thread::PollGuard;
pub(super) use self::this_thread::current;
pub(crate) use self::this_thread::{
    add_history, add_program, beat, client, client_name, fail, hang_limit, hear, join_in,
    note_condition, seed,
};
use super::jitter::Shaker;
use super::spawning;
use super::start::{START, Starts};
use crate::run::ids::{Place, TaskId, TaskPath};
use crate::run::panics::{self, Panicked};
use crate::run::program::{ProgramRecord, ProgramSource};
use crate::run::recording::HistorySource;
use crate::run::{Condition, Failure, TaskRecord, panic_text};
use unpause_check::history::HistoryRecord;

/// One stress run.
pub(crate) struct StressRun {
    /// The name of the test.
    test: String,
    seed: u64,
    /// True if panics are printed when they happen.
    loud: bool,
    /// The time after which the run counts as hung, if none of its tasks makes progress.
    hang: Option<Duration>,
    /// The place in reports about its tasks, because real threads record no places.
    place: Place,
    /// True if the run has ended. Tasks that continue after the end no longer belong to the run.
    over: AtomicBool,
    state: Mutex<StressState>,
    pub(super) changed: Condvar,
}

#[derive(Default)]
pub(super) struct StressState {
    /// The tasks, by [`TaskId`]. The body is the first task.
    tasks: Vec<Task>,
    /// The start states of the tasks, by [`TaskId`].
    pub(super) starts: Starts,
    panics: Vec<(TaskId, Panicked)>,
    histories: Vec<Arc<dyn HistorySource>>,
    conditions: Vec<Condition>,
    programs: Vec<Arc<dyn ProgramSource>>,
    failure: Option<Failure>,
}

struct Task {
    record: TaskRecord,
    children: u32,
    abort: AbortHandle,
    ended: bool,
    /// The counter of the task's points and polls.
    moves: Arc<AtomicU64>,
}

/// One task of a stress run. The drop of a member marks the task as ended.
pub(crate) struct Member {
    pub(super) run: Arc<StressRun>,
    task: TaskId,
    /// The number of the task, which is unique in the process, and the name of the task.
    client: (u64, String),
    /// The seed of the task's generators.
    seed: u64,
    /// The counter of the task's points and polls.
    moves: Arc<AtomicU64>,
    /// The time at which the task starts by itself.
    deadline: OnceLock<Instant>,
}

/// The payload that unwinds a task whose check failed. This unwinding is not a panic of the program, so the hook is not
/// called.
struct CheckFailed;

impl std::fmt::Debug for StressRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StressRun").field("seed", &self.seed).finish_non_exhaustive()
    }
}

impl StressRun {
    /// Returns a run of `test`, with jitter that is drawn from `seed`, and the body of the run, which `abort` ends.
    pub(crate) fn begin(
        test: &str,
        (seed, place): (u64, Place),
        (loud, hang): (bool, Option<Duration>),
        abort: AbortHandle,
    ) -> (Arc<StressRun>, Arc<Member>) {
        let run = Arc::new(StressRun {
            test: test.to_owned(),
            seed,
            loud,
            hang,
            place,
            over: AtomicBool::new(false),
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let body = run.add(None, None, abort);
        body.arrive();
        (run, body)
    }

    /// Adds a task spawned by `parent`, or the body.
    fn add(
        self: &Arc<StressRun>,
        parent: Option<TaskId>,
        name: Option<&str>,
        abort: AbortHandle,
    ) -> Arc<Member> {
        let mut state = self.lock();
        let task = TaskId(u32::try_from(state.tasks.len()).expect("fewer than 2^32 tasks"));
        let path = match parent.map(|parent| &mut state.tasks[parent.index()]) {
            None => TaskPath::main(),
            Some(parent) => {
                parent.children += 1;
                parent.record.path.child(parent.children - 1)
            }
        };
        let record = TaskRecord {
            path,
            name: name.map(str::to_owned),
            place: self.place,
            node: None,
            from: None,
            message: None,
        };
        let client = (spawning::new_client(), record.to_string());
        // The seed is derived from the path, which does not depend on the order of two spawners.
        let mix =
            |seed: u64, nth: &u32| (seed ^ u64::from(*nth)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let seed = record
            .path
            .segments()
            .iter()
            .fold(self.seed, |seed, nth| mix(seed, nth).rotate_left(29));
        let moves = Arc::new(AtomicU64::new(0));
        state.tasks.push(Task { record, children: 0, abort, ended: false, moves: moves.clone() });
        state.starts.add();
        let deadline = OnceLock::new();
        Arc::new(Member { run: self.clone(), task, client, seed, moves, deadline })
    }

    /// Lets every task start, aborts the tasks that have not ended, and waits for them for at most `patience`. Returns
    /// the tasks that still have not ended, except tasks that no thread has polled: such a task never starts.
    pub(crate) fn finish(&self, patience: Duration) -> Vec<TaskRecord> {
        self.abort_all();
        let left = |state: &mut StressState| state.tasks.iter().any(|task| !task.ended);
        drop(self.changed.wait_timeout_while(self.lock(), patience, left));
        self.over.store(true, Ordering::Release);
        self.left_that(|starts, task| starts.has_arrived(task))
    }

    /// Returns `true` if the run has ended.
    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Ends the run as failed. Only the first failure is kept.
    pub(crate) fn fails(&self, failure: Failure) {
        self.lock().failure.get_or_insert(failure);
        self.abort_all();
    }

    fn abort_all(&self) {
        let mut state = self.lock();
        state.starts.open();
        let aborts: Vec<AbortHandle> = state.tasks.iter().map(|task| task.abort.clone()).collect();
        drop(state);
        self.changed.notify_all();
        // An abort wakes tasks, and thereby runs code of the user's executor.
        aborts.iter().for_each(AbortHandle::abort);
    }

    /// Returns the tasks that have not ended.
    pub(crate) fn left(&self) -> Vec<TaskRecord> {
        self.left_that(|_, _| true)
    }

    /// Returns the tasks that wait for the program's spawner to poll them. The list is empty if tasks are threads,
    /// because threads always start.
    pub(crate) fn waiting_for_spawner(&self) -> Vec<TaskRecord> {
        if spawning::SPAWNER.get().is_some() { self.unpolled() } else { Vec::new() }
    }

    /// Returns the tasks that no thread has polled.
    pub(crate) fn unpolled(&self) -> Vec<TaskRecord> {
        self.left_that(|starts, task| !starts.has_arrived(task))
    }

    fn left_that(&self, is: impl Fn(&Starts, usize) -> bool) -> Vec<TaskRecord> {
        let state = self.lock();
        let tasks = state.tasks.iter().enumerate();
        let left = tasks.filter(|(n, task)| !task.ended && is(&state.starts, *n));
        left.map(|(_, task)| task.record.clone()).collect()
    }

    /// Returns a number that grows whenever a task is spawned, polled or ends. If points are disturbed, it also grows
    /// at each point.
    pub(crate) fn progress(&self) -> u64 {
        let state = self.lock();
        let of = |task: &Task| task.moves.load(Ordering::Relaxed) + 1 + u64::from(task.ended);
        state.tasks.iter().map(of).fold(0, u64::wrapping_add)
    }

    /// Returns all tasks by [`TaskId`].
    pub(crate) fn tasks(&self) -> Vec<TaskRecord> {
        self.lock().tasks.iter().map(|task| task.record.clone()).collect()
    }

    /// Returns the first failed check, or else the first panic of a task.
    pub(crate) fn failure(&self) -> Option<Failure> {
        let state = self.lock();
        state.failure.clone().or_else(|| {
            let (task, Panicked { message, place }) = state.panics.first()?.clone();
            Some(Failure::Panic { task, message, place })
        })
    }

    /// Returns the places of histories that were recorded, but neither checked nor read.
    pub(crate) fn unchecked(&self) -> Vec<Place> {
        let sources = self.lock().histories.clone();
        sources.iter().filter_map(|source| source.unchecked()).collect()
    }

    /// Returns the histories recorded so far, as text.
    pub(crate) fn histories(&self) -> Vec<HistoryRecord> {
        let sources = self.lock().histories.clone();
        sources.iter().map(|source| source.record()).collect()
    }

    /// Returns the conditions counted so far.
    pub(crate) fn conditions(&self) -> Vec<Condition> {
        self.lock().conditions.clone()
    }

    /// Returns `true` if programs were generated.
    pub(crate) fn has_programs(&self) -> bool {
        !self.lock().programs.is_empty()
    }

    /// Returns the programs generated so far, as text.
    pub(crate) fn programs(&self) -> Vec<ProgramRecord> {
        let sources = self.lock().programs.clone();
        sources.iter().map(|source| source.record()).collect()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, StressState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Member {
    fn may_start(&self) -> bool {
        self.run.lock().starts.may_start(self.task.index())
    }

    /// Marks the task as polled by a thread. Returns the time at which it starts by itself.
    fn arrive(&self) -> Instant {
        if self.run.lock().starts.arrive(self.task.index()) {
            self.run.changed.notify_all();
        }
        *self.deadline.get_or_init(|| Instant::now() + START)
    }

    /// Blocks the thread until the task may start.
    pub(crate) fn wait_for_start(&self) {
        self.arrive();
        let early = |state: &mut StressState| !state.starts.may_start(self.task.index());
        drop(self.run.changed.wait_timeout_while(self.run.lock(), START, early));
    }

    /// Returns a generator for the task, which `abort` ends.
    fn shaker(&self, abort: AbortHandle, nth: u64) -> Shaker {
        Shaker::new(self.seed.wrapping_add(nth), abort, self.moves.clone())
    }

    /// Drops a remaining value of the task as a part of the task, because the destructor belongs to the run.
    pub(crate) fn drops<T>(self: &Arc<Member>, abort: AbortHandle, value: T) {
        let mut shaker = Some(self.shaker(abort, 1));
        let _entered = PollGuard::enter(self, &mut shaker);
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
            self.panicked(&*payload);
        }
    }

    /// Fails and ends the run after the task panicked on this thread.
    pub(crate) fn panicked(&self, payload: &(dyn Any + Send)) {
        let noted = panics::take();
        if payload.is::<CheckFailed>() {
            return;
        }
        let unknown = || Panicked { message: panic_text(payload), place: String::new() };
        self.run.lock().panics.push((self.task, noted.unwrap_or_else(unknown)));
        self.run.abort_all();
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let mut state = self.run.lock();
        state.tasks[self.task.index()].ended = true;
        // The run does not wait for a task that no thread will ever poll.
        let _ = state.starts.arrive(self.task.index());
        drop(state);
        self.run.changed.notify_all();
    }
}
