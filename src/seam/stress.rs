//! The tasks of one stress run on real threads.
//!
//! A run gathers its tasks: they [start together](super::start), each is shaken by a generator of
//! its own, and the first panic or failed check ends them all. A task takes part while any
//! thread polls it.

use std::any::Any;
use std::cell::RefCell;
use std::future::Future;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures::future::AbortHandle;
use pin_project_lite::pin_project;

use super::jitter::{self, Shaker};
use super::start::{START, Starts, release};
use super::threads;
use crate::run::ids::{Place, TaskId, TaskPath};
use crate::run::panics::{self, PanicHandling, Panicked};
use crate::run::program::{ProgramRecord, ProgramSource};
use crate::run::recording::HistorySource;
use crate::run::{Condition, Failure, TaskRecord, panic_text};
use unpause_check::history::HistoryRecord;

thread_local! {
    static CURRENT: RefCell<Option<Arc<Member>>> = const { RefCell::new(None) };
    /// The panic before the last one that was noted on this thread.
    static BEFORE: RefCell<Option<Panicked>> = const { RefCell::new(None) };
}

/// One stress run.
pub(crate) struct StressRun {
    /// The name of its test.
    test: String,
    seed: u64,
    /// Panics are shown when they happen.
    loud: bool,
    /// The time for which none of its tasks may move.
    hang: Option<Duration>,
    /// The place that its tasks are reported with: real threads record none.
    place: Place,
    /// The run has ended. Tasks that go on nevertheless are no longer a part of it.
    over: AtomicBool,
    state: Mutex<StressState>,
    pub(super) changed: Condvar,
}

#[derive(Default)]
pub(super) struct StressState {
    /// By [`TaskId`], the body being the first.
    tasks: Vec<Task>,
    /// Also by [`TaskId`].
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
    /// Counts its points and polls.
    moves: Arc<AtomicU64>,
}

/// One task of a stress run. Its drop marks the task as ended.
pub(crate) struct Member {
    pub(super) run: Arc<StressRun>,
    task: TaskId,
    /// A number that no other task of the process has, and the task's name.
    client: (u64, String),
    /// The seed of its generators.
    seed: u64,
    /// Counts its points and polls.
    moves: Arc<AtomicU64>,
    /// The time at which it starts by itself.
    deadline: OnceLock<Instant>,
}

/// Unwinds a task whose check failed. Not a panic of the program: the hook is not called.
struct CheckFailed;

impl std::fmt::Debug for StressRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StressRun").field("seed", &self.seed).finish_non_exhaustive()
    }
}

impl StressRun {
    /// A run of `test` whose jitter comes from `seed`, and its body, which `abort` ends.
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

    /// A task spawned by `parent`, or the body.
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
        let record = TaskRecord { path, name: name.map(str::to_owned), place: self.place };
        let client = (threads::new_client(), record.to_string());
        // By the path, which does not depend on the order of two spawners.
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

    /// Lets every task start, aborts the tasks that have not ended, waits for them for at most `patience`.
    /// Returns the tasks that still have not ended. A task that no thread has polled never starts.
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

    /// Ends the run as failed. The first failure counts.
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
        // This wakes tasks, which is code of the user's executor.
        aborts.iter().for_each(AbortHandle::abort);
    }

    /// The tasks that have not ended.
    pub(crate) fn left(&self) -> Vec<TaskRecord> {
        self.left_that(|_, _| true)
    }

    /// The tasks that wait for the program's spawner to poll them; tasks that are threads do come up.
    pub(crate) fn waiting_for_spawner(&self) -> Vec<TaskRecord> {
        if threads::SPAWNER.get().is_some() { self.unpolled() } else { Vec::new() }
    }

    /// The tasks that no thread has polled.
    pub(crate) fn unpolled(&self) -> Vec<TaskRecord> {
        self.left_that(|starts, task| !starts.has_arrived(task))
    }

    fn left_that(&self, is: impl Fn(&Starts, usize) -> bool) -> Vec<TaskRecord> {
        let state = self.lock();
        let tasks = state.tasks.iter().enumerate();
        let left = tasks.filter(|(n, task)| !task.ended && is(&state.starts, *n));
        left.map(|(_, task)| task.record.clone()).collect()
    }

    /// A number that grows whenever a task is spawned, polled or ends and, where points are
    /// disturbed, comes to a point.
    pub(crate) fn progress(&self) -> u64 {
        let state = self.lock();
        let of = |task: &Task| task.moves.load(Ordering::Relaxed) + 1 + u64::from(task.ended);
        state.tasks.iter().map(of).fold(0, u64::wrapping_add)
    }

    /// All tasks by [`TaskId`].
    pub(crate) fn tasks(&self) -> Vec<TaskRecord> {
        self.lock().tasks.iter().map(|task| task.record.clone()).collect()
    }

    /// The first failure: a check, or else a task that panicked.
    pub(crate) fn failure(&self) -> Option<Failure> {
        let state = self.lock();
        state.failure.clone().or_else(|| {
            let (task, Panicked { message, place }) = state.panics.first()?.clone();
            Some(Failure::Panic { task, message, place })
        })
    }

    /// The histories recorded so far, in text.
    pub(crate) fn histories(&self) -> Vec<HistoryRecord> {
        let sources = self.lock().histories.clone();
        sources.iter().map(|source| source.record()).collect()
    }

    /// The conditions counted so far.
    pub(crate) fn conditions(&self) -> Vec<Condition> {
        self.lock().conditions.clone()
    }

    /// Returns `true` if programs were generated.
    pub(crate) fn has_programs(&self) -> bool {
        !self.lock().programs.is_empty()
    }

    /// The programs that were generated so far, in text.
    pub(crate) fn programs(&self) -> Vec<ProgramRecord> {
        let sources = self.lock().programs.clone();
        sources.iter().map(|source| source.record()).collect()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, StressState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// ---- tasks

pin_project! {
    /// A future that takes part in a run, if it belongs to one, whenever it is polled.
    pub(crate) struct InRun<F> {
        member: Option<Arc<Member>>,
        // Kept here while the task is not polled.
        shaker: Option<Shaker>,
        started: bool,
        #[pin]
        future: Option<F>,
    }
}

/// The current task spawns another, ended by `abort`: if it takes part in a run, so does that one.
pub(crate) fn join_in(name: Option<&str>, abort: AbortHandle) -> Option<Arc<Member>> {
    let parent = current()?;
    Some(parent.run.add(Some(parent.task), name, abort))
}

impl<F> InRun<F> {
    /// The `future` of the task `member`; `abort` ends it.
    pub(crate) fn new(member: Option<Arc<Member>>, abort: AbortHandle, future: F) -> InRun<F> {
        let shaker = member.as_ref().map(|member| member.shaker(abort, 0));
        let started = member.as_ref().is_none_or(|member| member.task == TaskId::MAIN);
        InRun { member, shaker, started, future: Some(future) }
    }
}

impl<F: Future> Future for InRun<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let mut this = self.project();
        let poll = |future: Pin<&mut Option<F>>, cx: &mut Context<'_>| {
            future.as_pin_mut().expect("polled after it was ready").poll(cx)
        };
        let Some(member) = &*this.member else {
            return poll(this.future, cx);
        };
        if !*this.started {
            // Only a task of the program's own spawner gets here early, see `wait_for_start`.
            let deadline = member.arrive();
            if !member.may_start() && Instant::now() < deadline {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            *this.started = true;
        }
        member.moves.fetch_add(1, Ordering::Relaxed);
        let _entered = PollGuard::enter(member, this.shaker);
        let polled = poll(this.future.as_mut(), cx);
        if polled.is_ready() {
            // Destructors belong to the run too.
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| this.future.set(None))) {
                member.panicked(&*payload);
            }
        }
        // It waits or has ended: the tasks that it spawned may start.
        release();
        polled
    }
}

/// The current thread polls a task until dropped.
struct PollGuard<'a> {
    before: (Option<Arc<Member>>, Option<Shaker>),
    shaker: &'a mut Option<Shaker>,
}

impl<'a> PollGuard<'a> {
    fn enter(member: &Arc<Member>, shaker: &'a mut Option<Shaker>) -> PollGuard<'a> {
        let outer = CURRENT.with(|current| current.replace(Some(member.clone())));
        let before = (outer, jitter::set(shaker.take()));
        PollGuard { before, shaker }
    }
}

impl Drop for PollGuard<'_> {
    fn drop(&mut self) {
        let (member, shaker) = std::mem::take(&mut self.before);
        // Bound, not dropped inside: it may be the last of its run.
        let _member = CURRENT.with(|current| current.replace(member));
        *self.shaker = jitter::set(shaker);
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

    /// A generator of the task, which `abort` ends.
    fn shaker(&self, abort: AbortHandle, nth: u64) -> Shaker {
        Shaker::new(self.seed.wrapping_add(nth), abort, self.moves.clone())
    }

    /// Drops a value that the task left over, as a part of the task: its destructor belongs to the run.
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
        // A task that no thread will ever poll is not waited for.
        let _ = state.starts.arrive(self.task.index());
        drop(state);
        self.run.changed.notify_all();
    }
}

// ---- the task that this thread polls

pub(super) fn current() -> Option<Arc<Member>> {
    CURRENT.with(|current| current.borrow().clone())
}

/// A number for the current task, if it takes part in a stress run.
pub(crate) fn client() -> Option<u64> {
    current().map(|member| member.client.0)
}

/// The name of the current task, if it takes part in a stress run.
pub(crate) fn client_name() -> Option<String> {
    current().map(|member| member.client.1.clone())
}

/// Adds a history that begins to the stress run of this thread. Returns its number there.
pub(crate) fn add_history(history: Arc<dyn HistorySource>) -> Option<usize> {
    let member = current()?;
    let mut state = member.run.lock();
    state.histories.push(history);
    Some(state.histories.len() - 1)
}

/// Counts a condition in the stress run of this thread, if there is one.
pub(crate) fn note_condition(condition: Condition) {
    if let Some(member) = current() {
        condition.note(&mut member.run.lock().conditions);
    }
}

/// Adds a generated program that begins to the stress run of this thread.
pub(crate) fn add_program(program: Arc<dyn ProgramSource>) {
    if let Some(member) = current() {
        member.run.lock().programs.push(program);
    }
}

/// The time for which no task of the stress run of this thread may move; none without a run or a limit.
pub(crate) fn hang_limit() -> Option<Duration> {
    current().and_then(|member| member.run.hang)
}

/// Reports progress within a long step of the task of this thread.
pub(crate) fn beat() {
    if let Some(member) = current() {
        member.moves.fetch_add(1, Ordering::Relaxed);
    }
}

/// The seed of the stress run of this thread; 0 if there is none.
pub(crate) fn seed() -> u64 {
    current().map_or(0, |member| member.run.seed)
}

/// Fails and ends the stress run of this thread, if there is one, and unwinds.
pub(crate) fn fail(failure: impl FnOnce() -> Failure) {
    if let Some(member) = current() {
        let failure = failure();
        member.run.fails(failure);
        std::panic::resume_unwind(Box::new(CheckFailed));
    }
}

/// Handles a panic for the panic hook of the process.
pub(crate) fn hear(info: &std::panic::PanicHookInfo<'_>) -> PanicHandling {
    // A panic may come while the thread ends, when nothing is left of it to ask.
    let Ok(Some(member)) = CURRENT.try_with(|current| current.borrow().clone()) else {
        return PanicHandling::Foreign;
    };
    if member.run.is_over() {
        return PanicHandling::Foreign;
    }
    let panicked = panics::panicked(info);
    if panics::aborts(&panicked) {
        tell(&member);
        return PanicHandling::Taken;
    }
    let before = panics::note(panicked);
    BEFORE.with(|last| *last.borrow_mut() = before);
    if member.run.loud { PanicHandling::Shown } else { PanicHandling::Taken }
}

/// Prints the panics that were recorded on this thread, because the process aborts now. Not with `eprint!`: a test
/// harness may have captured that, and has no time to show it.
fn tell(member: &Member) {
    let show = |panicked: Option<Panicked>| match panicked {
        Some(Panicked { message, place }) => format!("{message:?} at {place}"),
        None => "unknown".to_owned(),
    };
    let (run, task) = (&member.run, &member.client.1);
    let (first, second) = (show(BEFORE.with(RefCell::take)), show(panics::take()));
    let text = format!(
        "\nsim: a destructor panicked while a panic unwound, and the process aborts.\n\
         first:  {first}\nsecond: {second}\n\
         It was task {task} in the run of seed {} of {} on real threads.\n",
        run.seed, run.test,
    );
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}
