//! Locks: the holder of each lock, and the waiters that it enables and disables.

use super::state::RunState;
use crate::run::Holder;
use crate::run::ids::{ObjectId, Place};

impl RunState {
    /// The current task takes the free lock `object`.
    pub(crate) fn acquire(&mut self, object: ObjectId, place: Place) {
        let holder = Holder { task: self.current(), step: self.board.step, place };
        self.row(object).holder = Some(holder);
        self.mark_dirty(object);
    }

    /// The lock `object` is free again.
    pub(crate) fn release(&mut self, object: ObjectId) {
        self.row(object).holder = None;
        self.mark_dirty(object);
    }

    /// Has the waiters of a lock updated at the end of the step, because a lock that is taken and freed within one
    /// step then costs them nothing.
    fn mark_dirty(&mut self, object: ObjectId) {
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
        let free = row.holder.is_none();
        if row.told_free == free {
            // An announcement made between taking and freeing has read `told_free` as it is now, too.
            return;
        }
        row.told_free = free;
        let waiters = std::mem::take(&mut row.waiters);
        for waiter in &waiters {
            self.set_enabled(*waiter, free);
        }
        self.row(object).waiters = waiters;
    }
}
