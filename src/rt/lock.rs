//! Locks: the holders of each lock, and the waiters that it enables and disables.

use super::object::ObjectRow;
use super::state::RunState;
use crate::run::Holder;
use crate::run::ids::{ObjectId, Place, TaskId};
use crate::run::op::Access;

/// The operations that a lock enables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Vacancy {
    /// No task holds it.
    Free,
    /// Some tasks share it, and more may.
    Shared,
    /// No task holds it, and a task queues to hold it alone.
    Reserved,
    /// A task holds it alone, or tasks share it and no other task may.
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
    /// One of the tasks that share it does so no longer: `task`, if it is among them.
    pub(super) fn end_share(&mut self, task: TaskId) {
        let own = self.sharers.iter().position(|sharer| sharer.task == task);
        // A guard may be dropped by another task than the one that made it.
        if let Some(at) = own.or(self.sharers.len().checked_sub(1)) {
            self.sharers.remove(at);
        }
    }

    /// The operations that it enables now, if it is a lock.
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

impl RunState {
    /// The current task takes the lock `object`, which admits it.
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

    /// The current task queues for the lock `object`: no task begins to share it before the current task has taken it.
    #[cfg_attr(not(unpause_native), allow(dead_code))]
    pub(crate) fn queue(&mut self, object: ObjectId) {
        let task = self.current();
        self.row(object).queued.push(task);
        self.mark_dirty(object);
    }

    /// The lock `object`, which a task has held alone, is free again.
    pub(crate) fn release(&mut self, object: ObjectId) {
        self.row(object).holder = None;
        self.mark_dirty(object);
    }

    /// One of the tasks that share the lock `object` gives it up: the current one, if it is among them.
    #[cfg_attr(not(unpause_native), allow(dead_code))]
    pub(crate) fn release_shared(&mut self, object: ObjectId) {
        let task = self.current();
        self.row(object).end_share(task);
        self.mark_dirty(object);
    }

    /// Has the waiters of a lock updated at the end of the step, because a lock that is taken and freed within one
    /// step then costs them nothing.
    pub(super) fn mark_dirty(&mut self, object: ObjectId) {
        let row = self.row(object);
        if !row.dirty {
            row.dirty = true;
            self.dirty.push(object);
            self.attention = true;
        }
    }

    pub(super) fn tell_waiters(&mut self, object: ObjectId) {
        let row = self.row(object);
        row.dirty = false;
        let vacancy = row.vacancy();
        if row.told == vacancy {
            // An announcement made between taking and freeing has read `told` as it is now, too.
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
