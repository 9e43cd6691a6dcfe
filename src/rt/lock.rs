//! Locks: the operations on them, the holders of each lock, and the waiters that a lock enables and disables.

use std::cell::RefMut;

use super::object::{Object, ObjectRow};
use super::pending::PendingOp;
use super::state::RunState;
use super::world::World;
use crate::run::Holder;
use crate::run::event::Values;
use crate::run::ids::{ObjectId, Place, TaskId};
use crate::run::op::{Access, Op};

const UNLOCK: Op = Op::new("unlock", Access::Unlock);

/// The operations that a lock enables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Vacancy {
    /// No task holds the lock.
    Free,
    /// Tasks share the lock, and more tasks may join them.
    Shared,
    /// No task holds the lock, and a task queues to hold it alone.
    Reserved,
    /// A task holds the lock alone, or tasks share it and no other task may join them.
    Held,
}

impl Vacancy {
    /// Returns `true` if an operation that acquires the lock need not wait.
    #[inline]
    pub(crate) fn admits(self, access: Access) -> bool {
        match access {
            Access::LockShared => matches!(self, Vacancy::Free | Vacancy::Shared),
            _ => matches!(self, Vacancy::Free | Vacancy::Reserved),
        }
    }
}

impl ObjectRow {
    /// Ends the share of `task`. If `task` does not share the lock, ends the share of another task.
    pub(super) fn end_share(&mut self, task: TaskId) {
        let own = self.sharers.iter().position(|sharer| sharer.task == task);
        // A guard may be dropped by a task that did not create it.
        if let Some(at) = own.or(self.sharers.len().checked_sub(1)) {
            self.sharers.remove(at);
        }
    }

    /// Returns the operations that the object enables now, if it is a lock.
    #[inline]
    pub(crate) fn vacancy(&self) -> Vacancy {
        match (self.holder.is_some(), self.sharers.is_empty(), self.queued.is_empty()) {
            (false, true, true) => Vacancy::Free,
            (false, false, true) => Vacancy::Shared,
            (false, true, false) => Vacancy::Reserved,
            (true, ..) | (false, false, false) => Vacancy::Held,
        }
    }
}

impl World {
    /// Acquires the lock of the announced operation.
    pub(crate) fn acquire(&self, pending: &PendingOp) {
        acquire(self.state(), pending);
    }

    /// Acquires the lock if it is the turn of the operation. The operation must be the only or the first announcement
    /// of its task. Returns `false`, with nothing changed, if the operation must wait, because another branch of the
    /// task may have acquired the lock.
    pub(crate) fn acquire_in_turn(&self, pending: &PendingOp) -> bool {
        let state = self.state();
        let first = &state.board.tasks.at(state.current().index()).announced.first;
        let is_first = first.key == pending.announcement.id.key() && first.enabled;
        let admits = |object: ObjectId| {
            state.objects.rows[object.index()].vacancy().admits(pending.op.access)
        };
        let turns = is_first && pending.object.is_some_and(admits);
        if turns {
            acquire(state, pending);
        }
        turns
    }

    /// Acquires the lock if it is free. Returns `true` if this call acquired the lock.
    pub(crate) fn try_acquire(&self, pending: &PendingOp) -> bool {
        let object = pending.object.expect("a lock is an object");
        try_acquire(self.retract_to_do(&pending.announcement), pending.op, object, pending.place)
    }

    /// Like [`try_acquire`](Self::try_acquire), but without an announcement.
    pub(crate) fn acquire_by_hand(&self, op: &'static Op, object: ObjectId, place: Place) -> bool {
        let mut state = self.state();
        state.polls.by_hand += 1;
        try_acquire(state, op, object, place)
    }

    /// Acquires a lock as an effect of the current step, if it is free. Records nothing otherwise.
    #[cfg_attr(not(unpause_native), allow(dead_code))]
    pub(crate) fn acquire_in_step(&self, op: &'static Op, object: ObjectId, place: Place) -> bool {
        let mut state = self.state();
        let is_free = state.row(object).vacancy().admits(Access::Lock);
        is_free && try_acquire(state, op, object, place)
    }

    /// Releases the lock. This call is not a point. Has no effect if the object is not part of this run.
    pub(crate) fn release(&self, object: &Object) {
        let mut state = self.state();
        let Some(id) = state.find_object(object) else {
            return;
        };
        let Some(holder) = state.row(id).holder else {
            return;
        };
        state.release(id);
        state.happened(&UNLOCK, Some(id), holder.place, Values::None);
    }

    /// Releases the lock `object` of memory outside of this library: `op` has [`Access::Unlock`] or
    /// [`Access::UnlockShared`]. This call is not a point. Has no effect if the lock is not held in this way.
    #[cfg_attr(not(unpause_native), allow(dead_code))]
    pub(crate) fn give_up(&self, op: &'static Op, object: ObjectId, place: Place) {
        let mut state = self.state();
        let row = state.row(object);
        match op.access {
            Access::UnlockShared if !row.sharers.is_empty() => state.release_shared(object),
            Access::Unlock if row.holder.is_some() => state.release(object),
            _ => return,
        }
        state.happened(op, Some(object), place, Values::None);
    }

    /// Like [`give_up`](Self::give_up), but for an announced operation.
    #[cfg_attr(not(unpause_native), allow(dead_code))]
    pub(crate) fn give_up_in_turn(&self, pending: &PendingOp) {
        drop(self.retract_to_do(&pending.announcement));
        let object = pending.object.expect("a lock is an object");
        self.give_up(pending.op, object, pending.place);
    }

    /// Records `op` instead of an announced operation, which is done.
    #[cfg_attr(not(unpause_native), allow(dead_code))]
    pub(crate) fn do_in_turn(&self, pending: &PendingOp, op: &'static Op) {
        let mut state = self.retract_to_do(&pending.announcement);
        state.happened(op, pending.object, pending.place, Values::None);
    }

    /// Makes the current task the holder of the lock `object`, if no task holds it.
    #[cfg_attr(not(unpause_native), allow(dead_code))]
    pub(crate) fn hold_lock(&self, object: ObjectId, place: Place) {
        let mut state = self.state();
        if state.row(object).vacancy().admits(Access::Lock) {
            state.acquire(object, Access::Lock, place);
        }
    }

    /// Performs an announced operation that queues for a lock: until the current task has acquired the lock, no other
    /// task begins to share it.
    #[cfg_attr(not(unpause_native), allow(dead_code))]
    pub(crate) fn queue_in_turn(&self, pending: &PendingOp) {
        let mut state = self.retract_to_do(&pending.announcement);
        let object = pending.object.expect("a lock is an object");
        state.queue(object);
        state.happened(pending.op, Some(object), pending.place, Values::None);
    }

    /// Corrects the state of the lock `object` of memory outside of this library. The lock then enables at least the
    /// operations of `vacancy`.
    #[cfg_attr(not(unpause_native), allow(dead_code))]
    pub(crate) fn vacate(&self, object: ObjectId, vacancy: Vacancy) {
        let mut state = self.state();
        let row = state.row(object);
        if vacancy != Vacancy::Held {
            row.holder = None;
        }
        if vacancy == Vacancy::Free {
            row.sharers.clear();
        }
        state.mark_dirty(object);
    }
}

impl RunState {
    /// Makes the current task acquire the lock `object`, which admits it.
    pub(crate) fn acquire(&mut self, object: ObjectId, access: Access, place: Place) {
        let holder = Holder { task: self.current(), step: self.board.step, place };
        let row = self.row(object);
        match access {
            Access::LockShared => row.sharers.push(holder),
            _ => {
                row.queued.retain(|queued| *queued != holder.task);
                row.holder = Some(holder);
            }
        }
        self.mark_dirty(object);
    }

    /// Makes the current task queue for the lock `object`: until the current task has acquired it, no other task begins
    /// to share it.
    #[cfg_attr(not(unpause_native), allow(dead_code))]
    pub(crate) fn queue(&mut self, object: ObjectId) {
        let task = self.current();
        self.row(object).queued.push(task);
        self.mark_dirty(object);
    }

    /// Releases the lock `object`, which a task has held alone.
    pub(crate) fn release(&mut self, object: ObjectId) {
        self.row(object).holder = None;
        self.mark_dirty(object);
    }

    /// Releases one share of the lock `object`: the share of the current task, or another one if the current task has
    /// none.
    #[cfg_attr(not(unpause_native), allow(dead_code))]
    pub(crate) fn release_shared(&mut self, object: ObjectId) {
        let task = self.current();
        self.row(object).end_share(task);
        self.mark_dirty(object);
    }

    /// Marks a lock as changed: its waiters are updated at the end of the step. So a lock that is acquired and released
    /// within one step causes no updates.
    pub(super) fn mark_dirty(&mut self, object: ObjectId) {
        let row = self.row(object);
        if !row.dirty {
            row.dirty = true;
            self.dirty.push(object);
            self.needs_work();
        }
    }

    pub(super) fn tell_waiters(&mut self, object: ObjectId) {
        let row = self.row(object);
        row.dirty = false;
        let vacancy = row.vacancy();
        if row.told == vacancy {
            // The field is up to date, because an announcement between the acquisition and the release has already used
            // it.
            return;
        }
        row.told = vacancy;
        let waiters = std::mem::take(&mut row.waiters);
        for (waiter, access) in &waiters {
            self.set_enabled(*waiter, vacancy.admits(*access));
        }
        self.row(object).waiters = waiters;
    }
}

fn try_acquire(
    mut state: RefMut<'_, RunState>,
    op: &'static Op,
    object: ObjectId,
    place: Place,
) -> bool {
    let free = state.row(object).vacancy().admits(Access::Lock);
    if free {
        state.acquire(object, Access::Lock, place);
    }
    let values = if free { Values::None } else { Values::Failed };
    state.happened(op, Some(object), place, values);
    free
}

fn acquire(mut state: RefMut<'_, RunState>, pending: &PendingOp) {
    let waker = state.retract(pending.announcement.id);
    let object = pending.object.expect("a lock is an object");
    state.acquire(object, pending.op.access, pending.place);
    state.happened(pending.op, pending.object, pending.place, Values::None);
    drop(state);
    drop(waker);
}
