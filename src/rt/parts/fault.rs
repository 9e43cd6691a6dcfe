//! Faults: events that the scheduler injects into a task or a future, at a moment of its choice.
//!
//! Each fault is a task of the run with a single step. A value that is drawn when the victim begins decides if the run
//! has the fault. The value 0 means no fault, so shrinking removes unneeded faults. The moment of a fault is a choice
//! like any other: a trace contains it as a step, and a search tries each moment. If every run had the fault, it would
//! happen at the latest when all other tasks are blocked, and hide an endless wait.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake};

use super::ear::Ear;
use super::node_clocks::Moment;
use crate::rt::body::TaskBody;
use crate::rt::object::Object;
use crate::rt::part::Part;
use crate::rt::pending::PendingOp;
use crate::rt::state::RunState;
use crate::rt::worker::RunLimits;
use crate::rt::world::{WORLD, World};
use crate::run::FaultCount;
use crate::run::board::{Contact, Status, TaskRow};
use crate::run::event::Values;
use crate::run::faults::{Faults, Progress};
use crate::run::ids::{Place, TaskId};
use crate::run::op::{Access, Op, cancellation, task};
use crate::run::rng::mix;
use crate::run::untried::Untried;

/// The maximum number of faults of one kind that one task decides on. The limit is not per run: otherwise the decisions
/// of a task would depend on the decisions of other tasks, and searches would not see this.
const FAULTS_MAX: u32 = 2;

const STALL: Op = Op::of_kind("stall", Access::Tell, task::STALL);
const CANCEL: Op = Op::of_kind("cancel", Access::Tell, cancellation::CANCEL);
const PASS: Op = Op::of_kind("pass_deadline", Access::Tell, cancellation::CANCEL);
const COME_LATE: Op = Op::of_kind("come_late", Access::Peek, cancellation::COME_LATE);

/// The report text for a part of the program that a search does not see.
const BEYOND: &str = "more than two faults of one kind that one task may have or hand out";

thread_local! {
    /// True if a `compare_exchange_weak` of the current run may fail although it sees the expected value. The flag is
    /// here and not in the world, because each such operation reads it.
    static WEAK: Cell<bool> = const { Cell::new(false) };
}

/// Returns `true` if a `compare_exchange_weak` of the current run may fail although it sees the expected value.
#[inline]
pub(crate) fn may_fail_weakly() -> bool {
    WEAK.get()
}

/// A fault that can still happen.
enum TaskFault {
    /// A task is aborted.
    Abort(TaskId),
    /// A task stops taking steps.
    Stall(TaskId),
    /// All tasks of one spawner but one stop taking steps.
    StallOthers,
    /// A future is dropped.
    Cancel(Arc<Cancellation>),
    /// The deadline of a timer passes.
    Pass(Arc<Cancellation>, Moment),
}

/// The number of faults that a task has decided on, by kind.
#[derive(Clone, Copy, Debug, Default)]
struct FaultCounts {
    aborts: u32,
    stalls: u32,
    cancels: u32,
    deadlines: u32,
    spurious: u32,
    weak: u32,
    /// The number of executed `buggify!` calls so far, and the number of calls that returned `true`.
    passes: u64,
    buggified: u32,
}

/// The result of a `buggify!`: a decision of the search, or a value derived from the seed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Buggify {
    Searched,
    Given(u64),
}

/// The faults of a run that may have faults.
#[derive(Debug, Default)]
pub(in crate::rt) struct FaultState {
    /// The faults that the run may have.
    wanted: Faults,
    /// The tasks that represent faults.
    tasks: Vec<TaskId>,
    /// The faults that tasks have decided on, by task. The list may be shorter than the task list, because it ends with
    /// the last task that made a decision.
    counts: Vec<FaultCounts>,
    /// True if a task has stalled permanently.
    has_stalled: bool,
}

impl Part for FaultState {
    fn forget(&mut self) {
        self.wanted = Faults::default();
        self.tasks.clear();
        self.counts.clear();
        self.has_stalled = false;
    }

    fn begin(state: &mut RunState, limits: &RunLimits) {
        WEAK.set(limits.faults.weak);
        if limits.faults.are_any() {
            state.parts.get_mut::<FaultState>().wanted.clone_from(&limits.faults);
        }
    }

    fn spawned(world: &World, task: TaskId, place: Place) {
        let in_danger = world.state().faults().wanted.befall_tasks();
        if in_danger {
            world.endanger(task, place);
        }
    }

    fn unblock(state: &mut RunState) {
        if state.board.ready.is_empty() && state.waits_for_stalled_only() {
            state.board.ends_stalled = true;
            state.end();
        }
    }

    fn end(_: &World) {
        WEAK.set(false);
    }
}

impl FaultState {
    /// Returns the faults that a task has decided on.
    fn counts_of(&mut self, task: TaskId) -> &mut FaultCounts {
        if self.counts.len() <= task.index() {
            self.counts.resize(task.index() + 1, FaultCounts::default());
        }
        &mut self.counts[task.index()]
    }
}

/// A future that may be dropped, or a timer that may expire, at any moment, together with the fault for this.
#[derive(Debug)]
pub(crate) struct Cancellation {
    object: Object,
    /// The ear that the fault calls.
    ear: Arc<Ear>,
    /// True if the future has ended.
    is_over: AtomicBool,
}

impl Cancellation {
    /// Returns a cancellation of a `future` or a `timer`.
    pub(crate) fn new(of: &'static str, place: Place) -> Arc<Cancellation> {
        let ear = WORLD.with(World::ear);
        ear.open();
        let object = Object::new(of, place, false);
        Arc::new(Cancellation { object, ear, is_over: AtomicBool::new(false) })
    }

    /// Returns the object that represents the cancellation in the run.
    pub(crate) fn object(&self) -> &Object {
        &self.object
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.ear.is_called()
    }

    /// Makes the fault enable the announcement of `pending`, which was just created.
    pub(crate) fn wait(&self, pending: &PendingOp) {
        self.ear.listen(pending);
    }

    /// Records that the future has ended, so that a later fault has no effect.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// The future of a fault task.
struct FaultBody {
    fault: TaskFault,
    place: Place,
}

impl Future for FaultBody {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        let FaultBody { fault, place } = &*self;
        WORLD.with(|world| match fault {
            TaskFault::Abort(task) => world.abort(world.run(), *task, place),
            TaskFault::Stall(task) => world.state().stall(*task, place),
            TaskFault::StallOthers => world.stall_others(place),
            TaskFault::Cancel(cancellation) => world.cancel(cancellation, place),
            TaskFault::Pass(timer, deadline) => world.pass_early(timer, *deadline, place),
        });
        Poll::Ready(())
    }
}

impl World {
    /// Decides which faults a task that was just spawned may have.
    #[cold]
    fn endanger(&self, task: TaskId, place: Place) {
        let (faults, name) = {
            let state = self.state();
            (state.faults().wanted.clone(), state.board.tasks[task.index()].name.clone())
        };
        if faults.cancels(name.as_deref()) {
            self.may_have(TaskFault::Abort(task), place);
        }
        match faults.progress {
            Progress::Any => {}
            Progress::LockFree | Progress::WaitFree(_) => {
                self.may_have(TaskFault::Stall(task), place);
            }
            // This fault is decided at the second task of a spawner, because from then on a task can obstruct another
            // task.
            Progress::ObstructionFree => {
                let is_second = {
                    let state = self.state();
                    state.victims(state.current()).count() == 2
                };
                if is_second {
                    self.may_have(TaskFault::StallOthers, place);
                }
            }
        }
    }

    /// Decides if a future may be dropped at any of its points.
    pub(crate) fn may_cancel(&self, cancellation: &Arc<Cancellation>, place: Place) -> bool {
        self.may_have(TaskFault::Cancel(cancellation.clone()), place)
    }

    /// Returns `true` if the deadlines of time-outs and of `select!` branches may pass at any moment.
    pub(crate) fn cancels_selects(&self) -> bool {
        self.state().faults().wanted.selects
    }

    /// Decides if the deadline of a timer may pass at any moment.
    pub(crate) fn may_pass_early(
        &self,
        timer: &Arc<Cancellation>,
        deadline: Moment,
        place: Place,
    ) -> bool {
        self.may_have(TaskFault::Pass(timer.clone(), deadline), place)
    }

    /// Decides if a `compare_exchange_weak` fails although it sees the expected value.
    #[cold]
    pub(crate) fn fails_weakly(&self) -> bool {
        self.decides(|counts| &mut counts.weak, "a spurious failure")
    }

    /// Decides if a wait that begins now may end without a notification.
    pub(crate) fn wakes_spuriously(&self) -> bool {
        let is_possible = self.state().faults().wanted.spurious;
        is_possible && self.decides(|counts| &mut counts.spurious, "a spurious wake-up")
    }

    /// Returns the decision mode of the `buggify!` place with this name, for the current execution by the current task.
    /// `None` if the run has no such decisions.
    ///
    /// A seed enables a quarter of the places. At an enabled place, a quarter of the executions return `true`. The
    /// value is not from the strategy, so that the strategy has the same random stream with and without these
    /// decisions. A search tries both values, for two decisions of each task.
    pub(crate) fn buggify(&self, name: &str) -> Option<Buggify> {
        let mut state = self.state();
        if !state.faults().wanted.buggify || state.over {
            return None;
        }
        let task = state.current();
        let number = state.slots.at(task.index()).number;
        let counts = state.faults_mut().counts_of(task);
        let (passes, has_been) = (counts.passes, counts.buggified);
        counts.passes += 1;
        let Some(seed) = self.seed() else {
            if has_been < FAULTS_MAX {
                return Some(Buggify::Searched);
            }
            state.leave_untried(Untried::Beyond(BEYOND));
            return Some(Buggify::Given(0));
        };
        let place = name.bytes().fold(mix(seed.0, 1), |hash, byte| mix(hash, u64::from(byte)));
        let is_true = place % 4 == 0 && mix(mix(place, number), passes) % 4 == 0;
        Some(Buggify::Given(u64::from(is_true)))
    }

    /// Counts an execution of a place by the current task.
    pub(crate) fn buggified(&self, name: &'static str, is_true: bool) {
        let mut state = self.state();
        let task = state.current();
        state.faults_mut().counts_of(task).buggified += u32::from(is_true);
        let count = FaultCount { kind: name, times: 1, met: u64::from(is_true) };
        state.tells();
        count.add(&mut state.record.faults);
    }

    /// Decides if the run has a fault of the kind in `count`.
    fn decides(&self, count: fn(&mut FaultCounts) -> &mut u32, why: &'static str) -> bool {
        let mut state = self.state();
        let task = state.current();
        if *count(state.faults_mut().counts_of(task)) >= FAULTS_MAX {
            // The draw is skipped, so a search must report that it is incomplete.
            state.leave_untried(Untried::Beyond(BEYOND));
            return false;
        }
        drop(state);
        let has = self.draw(2, why) == 1;
        *count(self.state().faults_mut().counts_of(task)) += u32::from(has);
        has
    }

    /// Decides if the run has this fault. If so, spawns its task and returns `true`.
    fn may_have(&self, fault: TaskFault, place: Place) -> bool {
        type Count = fn(&mut FaultCounts) -> &mut u32;
        let (why, name, count): (_, _, Count) = match fault {
            TaskFault::Abort(_) => ("an abort", "canceller", |counts| &mut counts.aborts),
            TaskFault::Cancel(_) => ("a cancellation", "canceller", |counts| &mut counts.cancels),
            TaskFault::Pass(..) => {
                ("an early deadline", "time-out", |counts| &mut counts.deadlines)
            }
            TaskFault::Stall(_) | TaskFault::StallOthers => {
                ("a stall", "staller", |counts| &mut counts.stalls)
            }
        };
        if !self.decides(count, why) {
            return false;
        }
        let victim = match fault {
            TaskFault::Abort(task) | TaskFault::Stall(task) => task,
            TaskFault::StallOthers | TaskFault::Cancel(_) | TaskFault::Pass(..) => {
                self.state().current()
            }
        };
        let body = Box::pin(TaskBody::new(FaultBody { fault, place }));
        let task = self.spawn_safe(body, Some(name.into()), place);
        {
            let mut state = self.state();
            state.faults_mut().tasks.push(task);
            state.board.tasks.at_mut(task.index()).fault_of = Some(victim);
        }
        // An unfinished fault is not reported.
        self.detach(self.run(), task, true, false);
        true
    }

    /// Stalls all other tasks with the same spawner as the current task, except one.
    fn stall_others(&self, place: Place) {
        let (spawner, victims) = {
            let mut state = self.state();
            let current = state.current();
            let spawner = state.board.tasks[current.index()].parent.unwrap_or_default();
            state.touch(spawner, Contact::Counted);
            let mut victims: Vec<TaskId> = state.victims(spawner).collect();
            victims.iter().for_each(|task| state.touch(*task, Contact::Looked));
            victims.retain(|task| !state.is_done(*task));
            (spawner, victims)
        };
        debug_assert!(!victims.contains(&spawner));
        if victims.len() < 2 {
            return;
        }
        let spared = self.draw(victims.len() as u64, "the task that goes on") as usize;
        for (at, task) in victims.into_iter().enumerate() {
            if at != spared {
                self.state().stall(task, place);
            }
        }
    }

    /// Advances the time to the deadline of a timer. Every timer due by then fires, too.
    fn pass_early(&self, timer: &Cancellation, deadline: Moment, place: Place) {
        let is_late = timer.is_over.load(Ordering::Relaxed);
        let op = if is_late { &COME_LATE } else { &PASS };
        self.record_last(op, &timer.object, place);
        if !is_late {
            self.move_time_to(deadline, place);
        }
    }

    fn cancel(&self, cancellation: &Cancellation, place: Place) {
        let is_late = cancellation.is_over.load(Ordering::Relaxed);
        let op = if is_late { &COME_LATE } else { &CANCEL };
        self.record_last(op, &cancellation.object, place);
        if !is_late {
            cancellation.ear.wake_by_ref();
        }
    }
}

impl RunState {
    fn faults(&self) -> &FaultState {
        self.parts.get()
    }

    fn faults_mut(&mut self) -> &mut FaultState {
        self.parts.get_mut()
    }

    /// Returns the tasks spawned by `spawner`, except faults and the clock.
    fn victims(&self, spawner: TaskId) -> impl Iterator<Item = TaskId> + '_ {
        let tasks = (1..self.board.tasks.len()).map(|index| TaskId(index as u32));
        tasks.filter(move |task| {
            let is_own = self.board.tasks[task.index()].parent == Some(spawner);
            is_own && self.is_victim(*task)
        })
    }

    /// Returns `true` for a spawned task that is neither a fault nor the clock.
    pub(super) fn is_victim(&self, task: TaskId) -> bool {
        task != TaskId::MAIN
            && !self.faults().tasks.contains(&task)
            && !self.slots.at(task.index()).is_of_run
    }

    /// Prevents `task` from taking further steps.
    fn stall(&mut self, task: TaskId, place: Place) {
        if self.is_done(task) {
            self.touch(task, Contact::Looked);
            return;
        }
        self.remove_ready(task);
        self.board.tasks.at_mut(task.index()).held |= TaskRow::STALLED;
        self.faults_mut().has_stalled = true;
        self.happened(&STALL, None, place, Values::Task(task));
    }

    /// Returns `true` if each remaining task has stalled, or waits for a stalled task. The run is then over, and has
    /// passed.
    fn waits_for_stalled_only(&self) -> bool {
        if !self.faults().has_stalled {
            return false;
        }
        let count = self.board.tasks.len();
        let has_stalled = |index: usize| self.board.tasks[index].held & TaskRow::STALLED != 0;
        let mut excused: Vec<bool> = (0..count).map(has_stalled).collect();
        // Each round adds a task, or is the last round.
        loop {
            let waits_for_one = |index: &usize| {
                let row = &self.board.tasks[*index];
                let mut targets = row.announced.iter().filter_map(|announced| announced.target);
                targets.any(|target| excused[target.index()])
            };
            let added: Vec<usize> =
                (0..count).filter(|index| !excused[*index]).filter(waits_for_one).collect();
            if added.is_empty() {
                break;
            }
            added.into_iter().for_each(|index| excused[index] = true);
        }
        let is_left = |index: usize| self.board.tasks[index].status != Status::Done;
        (0..count).all(|index| !is_left(index) || excused[index])
    }
}
