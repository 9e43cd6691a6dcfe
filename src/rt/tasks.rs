//! New rows of the task table.

use std::sync::Arc;

use super::ready::NOT_READY;
use super::slot::{TaskSlot, child_number};
use super::state::RunState;
use crate::run::board::{Announcements, Life, Status, TaskRow};
use crate::run::ids::{Place, TaskId};

impl RunState {
    /// Adds a task that can step. `parent` is none for the body of the test.
    pub(crate) fn add_task(
        &mut self,
        parent: Option<TaskId>,
        name: Option<Arc<str>>,
        place: Place,
    ) -> TaskId {
        let id = self.add_task_outside(parent, name, place);
        if let Some(parent) = parent {
            self.join_group(id, parent);
        }
        id
    }

    /// As [`add_task`](Self::add_task), in no group.
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
        let row = self.board.tasks.push(|| TaskRow {
            parent,
            nth,
            name: None,
            place,
            status: Status::Blocked,
            announced: Announcements::default(),
            children: 0,
            ready_at: NOT_READY,
            enabled: 0,
            woken: true,
            aborted: false,
            held: 0,
            route: None,
            life: Life::OUTSIDE,
        });
        row.parent = parent;
        row.nth = nth;
        row.name = name;
        row.place = place;
        row.children = 0;
        row.enabled = 0;
        // The row may be that of a task of an earlier run that did not end.
        if !row.announced.is_empty() {
            row.announced.clear();
        }
        // Its first step needs no announcement.
        row.woken = true;
        row.aborted = false;
        row.held = 0;
        row.route = None;
        row.life = Life::OUTSIDE;
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
