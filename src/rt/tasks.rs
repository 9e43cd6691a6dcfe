//! New rows of the task table.

use std::sync::Arc;

use super::slot::{TaskSlot, child_number};
use super::state::RunState;
use crate::run::board::{Status, TaskRow};
use crate::run::ids::{Place, TaskId};

impl RunState {
    /// Adds a task that can step. `parent` is `None` for the body of the test.
    pub(crate) fn add_task(
        &mut self,
        parent: Option<TaskId>,
        name: Option<Arc<str>>,
        place: Place,
    ) -> TaskId {
        let id = self.add_task_outside(parent, name, place);
        if let Some(parent) = parent {
            self.join_life(id, parent);
        }
        id
    }

    /// Like [`add_task`](Self::add_task), but outside of lives.
    #[inline]
    pub(super) fn add_task_outside(
        &mut self,
        parent: Option<TaskId>,
        name: Option<Arc<str>>,
        place: Place,
    ) -> TaskId {
        let id = TaskId(self.board.tasks.len() as u32);
        let nth = parent.map_or(0, |parent| {
            let children = &mut self.board.tasks.at_mut(parent.index()).children;
            *children += 1;
            *children - 1
        });
        let row = self.board.tasks.push(|| TaskRow::new(parent, nth, place));
        row.renew(parent, nth, place);
        row.name = name;
        row.status = Status::Ready;
        row.ready_at = self.board.ready.len() as u32;
        self.board.ready.push(id);
        self.board.arrived.push(id);
        let number =
            parent.map_or(0, |parent| child_number(self.slots[parent.index()].number, nth));
        let slot = self.slots.push(TaskSlot::default);
        slot.begin(number);
        id
    }
}
