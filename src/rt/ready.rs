//! The ready set: the tasks that were woken or aborted, or have an enabled pending operation.
//!
//! `ready` lists the tasks in no meaningful order. Each row stores its position in `ready`, so that insertion and
//! removal take constant time.

use super::state::RunState;
use crate::run::board::{Status, TaskRow};
use crate::run::ids::TaskId;

/// The value of `TaskRow::ready_at` for a task that is not in `ready`.
pub(super) const NOT_READY: u32 = u32::MAX;

impl RunState {
    #[inline]
    pub(super) fn can_step(&self, task: TaskId) -> bool {
        can_step(self.board.tasks.at(task.index()))
    }

    #[inline]
    pub(super) fn insert_ready(&mut self, task: TaskId) {
        let row = self.board.tasks.at_mut(task.index());
        if row.ready_at == NOT_READY && row.held == 0 {
            row.ready_at = self.board.ready.len() as u32;
            row.status = Status::Ready;
            self.board.ready.push(task);
            self.board.arrived.push(task);
        }
    }

    #[inline]
    pub(super) fn remove_ready(&mut self, task: TaskId) {
        let row = self.board.tasks.at_mut(task.index());
        let at = row.ready_at as usize;
        if row.ready_at != NOT_READY {
            row.ready_at = NOT_READY;
            row.status = Status::Blocked;
            take_out(&mut self.board.ready, at);
            if let Some(moved) = self.board.ready.get(at) {
                self.board.tasks.at_mut(moved.index()).ready_at = at as u32;
            }
        }
    }
}

/// Removes an item of a list, and moves the last item to its position.
//
// Not `swap_remove`: in a build with debug assertions, it checks the alignment of two pointers, which takes longer than
// this whole function.
#[inline]
pub(super) fn take_out<T: Copy>(list: &mut Vec<T>, at: usize) {
    let last = list.pop();
    if let (Some(place), Some(last)) = (list.get_mut(at), last) {
        *place = last;
    }
}

#[inline]
pub(super) fn can_step(row: &TaskRow) -> bool {
    (row.enabled > 0 || row.woken || row.aborted) && row.held == 0
}
