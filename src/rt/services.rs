//! What primitives may ask of a run besides points: locks, tasks, histories.

use std::cell::RefMut;
use std::sync::Arc;
use std::task::Waker;

use super::body::BoxBody;
use super::deed::Deed;
use super::object::Object;
use super::slot::Ticket;
use super::state::State;
use super::world::World;
use crate::run::Condition;
use crate::run::board::{CallMark, CallPoint, Contact};
use crate::run::event::Values;
use crate::run::ids::{ObjectId, Place, TaskId};
use crate::run::op::{Access, Op};
use crate::run::program::ProgramSource;
use crate::run::recording::HistorySource;

const SPAWN: Op = Op::new("spawn", Access::Spawn);
const ABORT: Op = Op::new("abort", Access::Abort);
const UNLOCK: Op = Op::new("unlock", Access::Unlock);

/// How a task ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ended {
    Completed,
    Cancelled,
}

impl World {
    // ---- locks

    /// Takes the lock that the announced operation asked for.
    pub(crate) fn acquire(&self, deed: &Deed) {
        acquire(self.state(), deed);
    }

    /// The same if it is the turn of the operation, which has announced itself alone or first. False, with
    /// nothing changed, if it has to wait: another branch of the task may have the lock since.
    pub(crate) fn acquire_in_turn(&self, deed: &Deed) -> bool {
        let state = self.state();
        let first = &state.board.tasks.at(state.current().index()).announced.first;
        let is_first = first.key == deed.ticket.waiter.key() && first.enabled;
        let is_free = |object: ObjectId| state.objects.rows[object.index()].holder.is_none();
        let turns = is_first && deed.object.is_some_and(is_free);
        if turns {
            acquire(state, deed);
        }
        turns
    }

    /// Takes the lock if it is free.
    pub(crate) fn try_acquire(&self, deed: &Deed) -> bool {
        let mut state = self.retract_to_do(&deed.ticket);
        let object = deed.object.expect("a lock is an object");
        let free = state.row(object).holder.is_none();
        if free {
            state.acquire(object, deed.place);
        }
        let values = if free { Values::None } else { Values::Failed };
        state.happened(deed.op, deed.object, deed.place, values);
        free
    }

    /// Frees the lock. Not a point; nothing happens if the object is not of this run.
    pub(crate) fn release(&self, object: &Object) {
        let mut state = self.state();
        let Some(id) = state.objects.find(object) else {
            return;
        };
        let Some(holder) = state.row(id).holder else {
            return;
        };
        state.release(id);
        state.happened(&UNLOCK, Some(id), holder.place, Values::None);
    }

    // ---- tasks

    /// Spawns a task. Not a point: it is a candidate at the next one.
    pub(crate) fn spawn(&self, body: BoxBody, name: Option<Arc<str>>, place: Place) -> TaskId {
        let mut state = self.state();
        let parent = state.current();
        let task = state.add_task(Some(parent), name, place);
        state.take_body(task, Some(body));
        state.happened(&SPAWN, None, place, Values::Task(task));
        task
    }

    /// Spawns a task whose future is a part of the body of the test: it may borrow from it. When the
    /// task steps the body is polled, as the [`client`](World::client) that the task is, and has to
    /// poll that part of itself and nothing else; when that is ready it says [`World::end_lent`].
    pub(crate) fn lend(&self, place: Place) -> TaskId {
        let mut state = self.state();
        let parent = state.current();
        let task = state.add_task(Some(parent), None, place);
        state.take_body(task, None);
        state.happened(&SPAWN, None, place, Values::Task(task));
        task
    }

    /// The current task, which was [lent](World::lend), has ended.
    pub(crate) fn end_lent(&self) {
        let mut state = self.state();
        let task = state.current();
        let (_, wakers) = state.end_task(task, None, false);
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// The number of this world.
    pub(crate) fn number(&self) -> u64 {
        self.signals.world
    }

    /// Whether `task` has ended; the current task acts on it, and it is no join.
    pub(crate) fn has_ended(&self, task: TaskId) -> bool {
        let mut state = self.state();
        state.touch(task, Contact::Looked);
        state.is_done(task)
    }

    /// Joins `target`, which has ended; the result is handed out to be taken apart without a borrow.
    /// The ticket is that of the announcement, open if there was one.
    pub(crate) fn join(
        &self,
        ticket: &Ticket,
        op: &'static Op,
        target: TaskId,
        place: Place,
    ) -> (Ended, Option<BoxBody>) {
        let mut state = self.state();
        debug_assert!(state.is_done(target));
        let waker = if ticket.is_open() { state.retract(ticket.waiter) } else { None };
        state.happened(op, None, place, Values::Task(target));
        let slot = state.slots.at_mut(target.index());
        let ended = if slot.cancelled { Ended::Cancelled } else { Ended::Completed };
        let body = slot.ended.take();
        drop(state);
        drop(waker);
        (ended, body)
    }

    /// Asks a task to end before its next step. Not a point.
    pub(crate) fn abort(&self, run: u64, task: TaskId, place: Place) {
        let mut state = self.state();
        if run != state.run {
            return;
        }
        if state.is_done(task) {
            // Too late, which it need not have been.
            state.touch(task, Contact::Looked);
            return;
        }
        state.abort(task);
        state.happened(&ABORT, None, place, Values::Task(task));
    }

    /// The handle of a task was given up. `drops` tells whether it matters when the result of the task is
    /// dropped: here, or when the task ends, whichever comes later.
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
        // Given up on purpose counts as given up before the run began.
        slot.detached = Some(if for_good { 0 } else { step });
        let body = slot.ended.take();
        drop(state);
        drop(body);
    }

    // ---- histories

    /// The clock of histories: how many operations have taken effect.
    pub(crate) fn clock(&self) -> u64 {
        self.state().board.events.len() as u64
    }

    /// The number of the first operation of the task with this number, as [`World::client`] gives
    /// it, since `mark` operations had been done.
    pub(crate) fn first_access_since(&self, mark: u64, task: u64) -> Option<u64> {
        let state = self.state();
        let later = state.board.events.get(mark as usize..)?;
        later.iter().position(|event| u64::from(event.task.0) == task).map(|at| mark + at as u64)
    }

    /// The number of the current task.
    pub(crate) fn client(&self) -> u64 {
        u64::from(self.state().current().0)
    }

    /// The name of the current task.
    pub(crate) fn client_name(&self) -> String {
        let state = self.state();
        let mut task = state.current();
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

    /// A call of the current task got to a point.
    pub(crate) fn mark_call(&self, history: usize, point: CallPoint) {
        let mut state = self.state();
        let (task, events) = (state.current(), state.board.events.len());
        state.board.calls.push(CallMark { task, history, point, events });
    }

    /// A generated program belongs to this run.
    pub(crate) fn add_program(&self, program: Arc<dyn ProgramSource>) {
        self.state().record.programs.push(program);
    }

    /// A history belongs to this run. Returns its number in it.
    pub(crate) fn add_history(&self, history: Arc<dyn HistorySource>) -> usize {
        let mut state = self.state();
        state.record.histories.push(history);
        state.record.histories.len() - 1
    }

    /// A condition was asked about.
    pub(crate) fn note_condition(&self, condition: Condition) {
        condition.note(&mut self.state().record.conditions);
    }
}

fn acquire(mut state: RefMut<'_, State>, deed: &Deed) {
    let waker = state.retract(deed.ticket.waiter);
    state.acquire(deed.object.expect("a lock is an object"), deed.place);
    state.happened(deed.op, deed.object, deed.place, Values::None);
    drop(state);
    drop(waker);
}
