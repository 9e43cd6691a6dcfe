//! Faults: events that the scheduler injects into a task or a future, at a moment of its choice.
//!
//! Each fault is a task of the run with a single step. A value that is drawn when the victim begins decides if the run
//! has it: 0 is none, so that shrinking removes what is not needed. Its moment is then a choice like any other: a trace
//! has it as a step, and a search tries each. A fault that every run had would come at last where all else is blocked,
//! and hide a wait without end.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake};

use super::clocks::Moment;
use super::ear::Ear;
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

/// The maximum number of faults of one kind that one task decides on. Not of a run: otherwise the
/// decisions of a task would depend on other tasks' decisions, unseen by searches.
const FAULTS_MAX: u32 = 2;

const STALL: Op = Op::of_kind("stall", Access::Tell, task::STALL);
const CANCEL: Op = Op::of_kind("cancel", Access::Tell, cancellation::CANCEL);
const PASS: Op = Op::of_kind("pass_deadline", Access::Tell, cancellation::CANCEL);
const COME_LATE: Op = Op::of_kind("come_late", Access::Peek, cancellation::COME_LATE);

/// The part of a program that a search does not see.
const BEYOND: &str = "more than two faults of one kind that one task may have or hand out";

thread_local! {
    /// True if a `compare_exchange_weak` of the current run may fail although it sees the expected value. Here and not
    /// in the world, because each such operation reads it.
    static WEAK: Cell<bool> = const { Cell::new(false) };
}

/// Returns `true` if a `compare_exchange_weak` of the current run may fail although it sees the expected value.
#[inline]
pub(crate) fn may_fail_weakly() -> bool {
    WEAK.get()
}

/// A fault to come.
enum Fault {
    /// A task is aborted.
    Abort(TaskId),
    /// A task takes no step any more.
    Stall(TaskId),
    /// All tasks of one spawner but one take no step any more.
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
    /// The number of `buggify!` passes so far, and the number that returned `true`.
    passes: u64,
    buggified: u32,
}

/// The result of a `buggify!`: a decision of the search, or a value derived from the seed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Buggify {
    Searched,
    Given(u64),
}

/// The faults of a run that may have some.
#[derive(Debug, Default)]
pub(in crate::rt) struct FaultState {
    /// The faults that it may have.
    wanted: Faults,
    /// The tasks that are faults.
    tasks: Vec<TaskId>,
    /// The faults that tasks have decided on, by task. Shorter than the list of tasks if it ends with tasks without
    /// decisions.
    counts: Vec<FaultCounts>,
    /// True if a task has stalled for good.
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
    /// The faults that a task has decided on.
    fn counts_of(&mut self, task: TaskId) -> &mut FaultCounts {
        if self.counts.len() <= task.index() {
            self.counts.resize(task.index() + 1, FaultCounts::default());
        }
        &mut self.counts[task.index()]
    }
}

/// A future that may be dropped or a timer that may expire at any moment, with the fault for it.
#[derive(Debug)]
pub(crate) struct Cancellation {
    object: Object,
    /// Called by the fault.
    ear: Arc<Ear>,
    /// True if the future has ended.
    is_over: AtomicBool,
}

impl Cancellation {
    /// Of a `future` or a `timer`.
    pub(crate) fn new(of: &'static str, place: Place) -> Arc<Cancellation> {
        let ear = WORLD.with(World::ear);
        ear.open();
        let object = Object::new(of, place, false);
        Arc::new(Cancellation { object, ear, is_over: AtomicBool::new(false) })
    }

    /// The object of its operations.
    pub(crate) fn object(&self) -> &Object {
        &self.object
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.ear.is_called()
    }

    /// Makes the fault enable the announcement of `pending`, which was just made.
    pub(crate) fn wait(&self, pending: &PendingOp) {
        self.ear.listen(pending);
    }

    /// Records that the future has ended: a fault that comes now is too late.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// The body of the task.
struct FaultBody {
    fault: Fault,
    place: Place,
}

impl Future for FaultBody {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        let FaultBody { fault, place } = &*self;
        WORLD.with(|world| match fault {
            Fault::Abort(task) => world.abort(world.run(), *task, place),
            Fault::Stall(task) => world.state().stall(*task, place),
            Fault::StallOthers => world.stall_others(place),
            Fault::Cancel(cancellation) => world.cancel(cancellation, place),
            Fault::Pass(timer, deadline) => world.pass_early(timer, *deadline, place),
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
            self.may_have(Fault::Abort(task), place);
        }
        match faults.progress {
            Progress::Any => {}
            Progress::LockFree | Progress::WaitFree(_) => {
                self.may_have(Fault::Stall(task), place);
            }
            // With the first task of its spawner that another one may obstruct.
            Progress::ObstructionFree => {
                let is_second = {
                    let state = self.state();
                    state.victims(state.current()).count() == 2
                };
                if is_second {
                    self.may_have(Fault::StallOthers, place);
                }
            }
        }
    }

    /// Decides if a future may be dropped at any of its points.
    pub(crate) fn may_cancel(&self, cancellation: &Arc<Cancellation>, place: Place) -> bool {
        self.may_have(Fault::Cancel(cancellation.clone()), place)
    }

    /// Returns `true` if the deadlines that time-outs and branches of `select!` wait for may pass at any moment.
    pub(crate) fn cancels_selects(&self) -> bool {
        self.state().faults().wanted.selects
    }

    /// Decides if the deadline of the timer may pass at any moment.
    pub(crate) fn may_pass_early(
        &self,
        timer: &Arc<Cancellation>,
        deadline: Moment,
        place: Place,
    ) -> bool {
        self.may_have(Fault::Pass(timer.clone(), deadline), place)
    }

    /// Decides if a `compare_exchange_weak` fails although it sees the expected value.
    #[cold]
    pub(crate) fn fails_weakly(&self) -> bool {
        self.decides(|counts| &mut counts.weak, "a spurious failure")
    }

    /// Decides if the wait that begins may end without a notification.
    pub(crate) fn wakes_spuriously(&self) -> bool {
        let is_possible = self.state().faults().wanted.spurious;
        is_possible && self.decides(|counts| &mut counts.spurious, "a spurious wake-up")
    }

    /// The decision mode of the place with this name, for the pass of the current task; `None` if
    /// the run has no such decisions.
    ///
    /// A seed switches a quarter of the places on. There a quarter of the passes are true. The value is not the
    /// strategy's, which then has the same stream with and without these decisions. A search tries both, for two of
    /// each task.
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

    /// Counts the pass of a place by the current task.
    pub(crate) fn buggified(&self, name: &'static str, is_true: bool) {
        let mut state = self.state();
        let task = state.current();
        state.faults_mut().counts_of(task).buggified += u32::from(is_true);
        let count = FaultCount { kind: name, times: 1, met: u64::from(is_true) };
        state.tells();
        count.add(&mut state.record.faults);
    }

    /// Decides if the run has a fault of the kind that `count` counts.
    fn decides(&self, count: fn(&mut FaultCounts) -> &mut u32, why: &'static str) -> bool {
        let mut state = self.state();
        let task = state.current();
        if *count(state.faults_mut().counts_of(task)) >= FAULTS_MAX {
            // A search that never asks must say so.
            state.leave_untried(Untried::Beyond(BEYOND));
            return false;
        }
        drop(state);
        let has = self.draw(2, why) == 1;
        *count(self.state().faults_mut().counts_of(task)) += u32::from(has);
        has
    }

    /// Decides if the run has this fault, and spawns its task then. Returns `true` if it has.
    fn may_have(&self, fault: Fault, place: Place) -> bool {
        type Count = fn(&mut FaultCounts) -> &mut u32;
        let (why, name, count): (_, _, Count) = match fault {
            Fault::Abort(_) => ("an abort", "canceller", |counts| &mut counts.aborts),
            Fault::Cancel(_) => ("a cancellation", "canceller", |counts| &mut counts.cancels),
            Fault::Pass(..) => ("an early deadline", "time-out", |counts| &mut counts.deadlines),
            Fault::Stall(_) | Fault::StallOthers => {
                ("a stall", "staller", |counts| &mut counts.stalls)
            }
        };
        if !self.decides(count, why) {
            return false;
        }
        let victim = match fault {
            Fault::Abort(task) | Fault::Stall(task) => task,
            Fault::StallOthers | Fault::Cancel(_) | Fault::Pass(..) => self.state().current(),
        };
        let body = Box::pin(TaskBody::new(FaultBody { fault, place }));
        let task = self.spawn_safe(body, Some(name.into()), place);
        {
            let mut state = self.state();
            state.faults_mut().tasks.push(task);
            state.board.tasks.at_mut(task.index()).fault_of = Some(victim);
        }
        // It is not reported if it has not ended.
        self.detach(self.run(), task, true, false);
        true
    }

    /// Stalls all other tasks that have the same spawner as the current task, except one.
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

    /// The time has come for a timer. All that is due by then is due, too.
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

    /// The tasks spawned by `spawner` that are no faults and not the clock.
    fn victims(&self, spawner: TaskId) -> impl Iterator<Item = TaskId> + '_ {
        let tasks = (1..self.board.tasks.len()).map(|index| TaskId(index as u32));
        tasks.filter(move |task| {
            let is_own = self.board.tasks[task.index()].parent == Some(spawner);
            is_own && self.is_victim(*task)
        })
    }

    /// Returns `true` for a task that was spawned and is no fault and not the clock.
    pub(super) fn is_victim(&self, task: TaskId) -> bool {
        task != TaskId::MAIN
            && !self.faults().tasks.contains(&task)
            && !self.slots.at(task.index()).is_of_run
    }

    /// Has `task` take no step any more.
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

    /// Returns `true` if each remaining task has stalled, or waits for a stalled task: the run is
    /// over, and passed.
    fn waits_for_stalled_only(&self) -> bool {
        if !self.faults().has_stalled {
            return false;
        }
        let count = self.board.tasks.len();
        let has_stalled = |index: usize| self.board.tasks[index].held & TaskRow::STALLED != 0;
        let mut excused: Vec<bool> = (0..count).map(has_stalled).collect();
        // Each round adds a task, or it is the last.
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
