//! The operations of a run that primitives use besides points and locks: for example, on tasks and histories.

use std::any::Any;
use std::sync::Arc;
use std::task::Waker;

use super::Parts;
use super::body::BoxBody;
use super::object::Object;
use super::slot::Announcement;
use super::state::RunState;
use super::world::World;
use crate::run::board::{CallMark, CallPoint, Contact, Life};
use crate::run::event::Values;
use crate::run::ids::{ObjectId, Place, TaskId};
use crate::run::op::{Access, Op};
use crate::run::panics::TaskPanic;
use crate::run::program::ProgramSource;
use crate::run::recording::HistorySource;
use crate::run::untried::Untried;
use crate::run::{Condition, FaultCount};

const SPAWN: Op = Op::new("spawn", Access::Spawn);
const ABORT: Op = Op::new("abort", Access::Abort);

/// The way in which a task ended.
#[derive(Debug)]
pub(crate) enum Ended {
    Completed,
    Cancelled,
    /// The task panicked with this payload, at this place.
    Panicked(Box<dyn Any + Send>, String),
}

impl World {
    // ---- operations without points

    /// Records an operation of the current task that took effect.
    pub(crate) fn record(
        &self,
        op: &'static Op,
        object: Option<ObjectId>,
        place: Place,
        values: Values,
    ) {
        self.state().happened(op, object, place, values);
    }

    /// Like [`record`](Self::record), but for a destructor, which must not add objects. Has no effect if the object is
    /// not part of this run.
    pub(crate) fn record_last(&self, op: &'static Op, object: &Object, place: Place) {
        let mut state = self.state();
        if let Some(object) = state.find_object(object) {
            state.happened(op, Some(object), place, Values::None);
        }
    }

    // ---- tasks

    /// Spawns a task. This call is not a point: the task is a candidate from the next point on. Returns the task and
    /// its path number.
    pub(crate) fn spawn(
        &self,
        body: BoxBody,
        name: Option<Arc<str>>,
        place: Place,
    ) -> (TaskId, u64) {
        let (task, number, uses_parts) = self.add_task(Some(body), name, place);
        if uses_parts {
            Parts::spawned(self, task, place);
        }
        (task, number)
    }

    /// Like [`spawn`](Self::spawn), but no faults are injected into the task.
    pub(super) fn spawn_safe(&self, body: BoxBody, name: Option<Arc<str>>, place: Place) -> TaskId {
        self.add_task(Some(body), name, place).0
    }

    /// Spawns a task whose future is a part of the body of the test and may borrow from it. A step of the task polls
    /// the body. The body must read [`World::client`] and poll only the part of that task. When this part is ready, the
    /// body must call [`World::end_lent`]. Returns the task and its path number.
    pub(crate) fn lend(&self, place: Place) -> (TaskId, u64) {
        let (task, number, uses_parts) = self.add_task(None, None, place);
        if uses_parts {
            Parts::spawned(self, task, place);
        }
        (task, number)
    }

    /// Adds a child of the current task. Returns its id, its path number, and whether the run uses a part.
    fn add_task(
        &self,
        body: Option<BoxBody>,
        name: Option<Arc<str>>,
        place: Place,
    ) -> (TaskId, u64, bool) {
        let mut state = self.state();
        let parent = state.current();
        let task = state.add_task(Some(parent), name, place);
        state.take_body(task, body);
        state.happened(&SPAWN, None, place, Values::Task(task));
        let number = state.slots[task.index()].number;
        (task, number, state.uses_any())
    }

    /// Ends the current task, which was spawned by [`World::lend`].
    pub(crate) fn end_lent(&self) {
        let task = self.state().current();
        Parts::end_task(self, task);
        let mut state = self.state();
        if let Some(parent) = state.board.tasks[task.index()].parent {
            let events = state.board.events.len();
            state.memory.order(events, (task, parent));
        }
        let (_, wakers) = state.end_task(task, None, false);
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Returns the number of this world.
    pub(crate) fn number(&self) -> u64 {
        self.signals.world
    }

    /// Returns `true` if `task` has ended. The answer is recorded as a contact, because the current task uses the
    /// result without a join.
    pub(crate) fn has_ended(&self, task: TaskId) -> bool {
        let mut state = self.state();
        state.touch(task, Contact::Looked);
        state.is_done(task)
    }

    /// Joins `target`, which has ended. Returns its body. The caller takes the result from the body while the state is
    /// not borrowed. `announcement` is open if the join was announced.
    pub(crate) fn join(
        &self,
        announcement: &Announcement,
        op: &'static Op,
        target: TaskId,
        place: Place,
    ) -> (Ended, Option<BoxBody>) {
        let mut state = self.state();
        let waker = state.join(announcement, op, target, place);
        let slot = state.slots.at_mut(target.index());
        let ended = match slot.panic.take() {
            Some(panic) => {
                let (payload, place) = panic.into_parts();
                Ended::Panicked(payload, place)
            }
            None if slot.cancelled => Ended::Cancelled,
            None => Ended::Completed,
        };
        let body = slot.ended.take();
        drop(state);
        drop(waker);
        (ended, body)
    }

    /// Like [`join`](Self::join), but leaves the body to the handle of the task.
    pub(crate) fn join_only(
        &self,
        announcement: &Announcement,
        op: &'static Op,
        target: TaskId,
        place: Place,
    ) {
        let waker = self.state().join(announcement, op, target, place);
        drop(waker);
    }

    /// Aborts a task, which then ends before its next step. This call is not a point.
    pub(crate) fn abort(&self, run: u64, task: TaskId, place: Place) {
        let mut state = self.state();
        if run != state.run {
            return;
        }
        if state.is_done(task) {
            // In this run, the abort comes too late. In another run, the abort may come before the end of the task.
            state.touch(task, Contact::Looked);
            return;
        }
        state.abort(task);
        state.happened(&ABORT, None, place, Values::Task(task));
    }

    /// Detaches a task whose handle is dropped. `drops` is true if the result of the task has a destructor. The
    /// destructor runs here or at the end of the task, whichever is later, so this is recorded as a contact.
    pub(crate) fn detach(&self, run: u64, task: TaskId, for_good: bool, drops: bool) {
        let mut state = self.state();
        if run != state.run {
            return;
        }
        if drops {
            state.touch(task, Contact::Looked);
        }
        let step = state.board.step;
        let slot = &mut state.slots[task.index()];
        // A task that is detached on purpose counts as detached before the run began.
        slot.detached = Some(if for_good { 0 } else { step });
        let body = slot.ended.take();
        let panic = state.fail_if_unseen(task);
        drop(state);
        if body.is_some() || panic.is_some() {
            self.drop_unread(task, (body, panic));
        }
    }

    /// Calls `act`, which drops values of `task`. Like in tokio, their destructors have the identity of this task.
    pub(crate) fn as_task<R>(&self, task: TaskId, act: impl FnOnce() -> R) -> R {
        struct Restore<'a>(&'a World, Option<TaskId>);

        impl Drop for Restore<'_> {
            fn drop(&mut self) {
                self.0.acts_as.set(self.1);
            }
        }

        let _restore = Restore(self, self.acts_as.replace(Some(task)));
        act()
    }

    /// Returns the path number of the task whose identity the running code has; 0 for the body.
    pub(crate) fn identity(&self) -> u64 {
        let state = self.state();
        let task = self.acts_as.get().unwrap_or_else(|| state.current());
        state.slots[task.index()].number
    }

    // ---- histories

    /// Returns the clock of histories: the number of operations that have taken effect.
    pub(crate) fn clock(&self) -> u64 {
        self.state().board.events.len() as u64
    }

    /// Returns the index of the first event at or after index `mark` that belongs to `task`, a number from
    /// [`World::client`]. Reads of invariants do not count.
    pub(crate) fn first_access_since(&self, mark: u64, task: u64) -> Option<u64> {
        let board = &self.state().board;
        let mut later = mark as usize..board.events.len();
        let is_own =
            |at: &usize| u64::from(board.events[*at].task.0) == task && !board.is_of_invariant(*at);
        later.find(is_own).map(|at| at as u64)
    }

    /// Returns `true` if an operation took effect at or after index `mark`. Reads of invariants do not count.
    pub(crate) fn moved_since(&self, mark: u64) -> bool {
        let board = &self.state().board;
        (mark as usize..board.events.len()).any(|at| !board.is_of_invariant(at))
    }

    /// Returns the number of the current task.
    pub(crate) fn client(&self) -> u64 {
        u64::from(self.state().current().0)
    }

    /// Returns the path number of the current task; 0 for the body.
    pub(crate) fn current_number(&self) -> u64 {
        let state = self.state();
        state.slots[state.current().index()].number
    }

    /// Returns the name of the current task.
    pub(crate) fn client_name(&self) -> String {
        let task = self.state().current();
        self.name_of(task)
    }

    /// Returns the name of a task.
    pub(super) fn name_of(&self, mut task: TaskId) -> String {
        let state = self.state();
        let is_main = task == TaskId::MAIN;
        let name = state.board.tasks[task.index()].name.clone();
        let mut path = Vec::new();
        while let Some(parent) = state.board.tasks[task.index()].parent {
            path.push(state.board.tasks[task.index()].nth.to_string());
            task = parent;
        }
        drop(state);
        path.push("0".to_owned());
        path.reverse();
        let path = path.join(".");
        match name {
            Some(name) => format!("{path} {name}"),
            None if is_main => "main".to_owned(),
            None => path,
        }
    }

    /// Records that a call of the current task reached `point`.
    pub(crate) fn mark_call(&self, history: usize, point: CallPoint) {
        let mut state = self.state();
        let (task, events) = (state.current(), state.board.events.len());
        state.board.calls.push(CallMark { task, history, point, events });
    }

    /// Returns the histories of the run so far.
    #[cfg_attr(not(unpause_native), allow(dead_code))]
    pub(crate) fn histories(&self) -> Vec<Arc<dyn HistorySource>> {
        self.state().record.histories.clone()
    }

    /// Returns the generated programs of the run so far.
    #[cfg_attr(not(unpause_native), allow(dead_code))]
    pub(crate) fn programs(&self) -> Vec<Arc<dyn ProgramSource>> {
        self.state().record.programs.clone()
    }

    /// Returns `true` if the run contains this task.
    #[cfg_attr(not(unpause_native), allow(dead_code))]
    pub(crate) fn knows(&self, task: TaskId) -> bool {
        task.index() < self.state().board.tasks.len()
    }

    /// Adds a generated program to the run.
    pub(crate) fn add_program(&self, program: Arc<dyn ProgramSource>) {
        let mut state = self.state();
        state.tells();
        state.record.programs.push(program);
    }

    /// Adds a history to the run. Returns its number.
    pub(crate) fn add_history(&self, history: Arc<dyn HistorySource>) -> usize {
        let mut state = self.state();
        state.tells();
        state.record.histories.push(history);
        state.record.histories.len() - 1
    }

    /// Stores the output of the plain threads of the run.
    #[cfg_attr(not(unpause_native), allow(dead_code))]
    pub(crate) fn note_output(&self, output: String) {
        self.state().record.output = output;
    }

    /// Stores the panics of the plain threads of the run.
    #[cfg_attr(not(unpause_native), allow(dead_code))]
    pub(crate) fn note_panics(&self, panics: Vec<TaskPanic>) {
        self.state().record.panics = panics;
    }

    /// Records that the run entered a function with unseen operations on shared memory.
    #[cfg_attr(not(unpause_native), allow(dead_code))]
    pub(crate) fn note_unseen(&self, function: &'static str) {
        self.note_untried(Untried::Function(function));
    }

    /// Records that the run has done something that searches do not explore completely.
    pub(crate) fn note_untried(&self, part: Untried) {
        self.state().leave_untried(part);
    }

    /// Records that the current task makes a change that leaves no event and outlives its node.
    pub(crate) fn tells(&self) {
        self.state().tells();
    }

    /// Records that the program may have observed the order of added nodes.
    pub(crate) fn shows_order_of_nodes(&self) {
        let mut state = self.state();
        let task = state.current();
        state.touch(task, Contact::SawOrderOfNodes);
    }

    /// Counts a fault that a nemesis began, or that affected something.
    pub(crate) fn note_fault(&self, count: FaultCount) {
        let mut state = self.state();
        state.tells();
        count.add(&mut state.record.faults);
    }

    /// Counts one evaluation of a condition.
    pub(crate) fn note_condition(&self, condition: Condition) {
        let mut state = self.state();
        state.tells();
        condition.note(&mut state.record.conditions);
    }
}

impl RunState {
    /// Records that the current task adds data to the run that remains after the end of its node.
    pub(super) fn tells(&mut self) {
        let task = self.current();
        if self.board.tasks.at(task.index()).life != Life::OUTSIDE {
            self.touch(task, Contact::Told);
        }
    }

    /// Records that the current task has done something that searches do not explore completely.
    pub(super) fn leave_untried(&mut self, part: Untried) {
        self.tells();
        self.record.untried.insert(part);
    }

    /// Records that the current task joins `target`, which has ended. Returns the waker stored for the announcement.
    fn join(
        &mut self,
        announcement: &Announcement,
        op: &'static Op,
        target: TaskId,
        place: Place,
    ) -> Option<Waker> {
        debug_assert!(self.is_done(target));
        let waker = if announcement.is_open() { self.retract(announcement.id) } else { None };
        self.happened(op, None, place, Values::Task(target));
        waker
    }
}
