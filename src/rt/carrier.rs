//! Carriers: tasks whose steps are messages that arrive. A message on its way is a candidate like any task, so strategies,
//! traces, searches and shrinking treat its arrival as they treat all steps.

use super::body::BoxBody;
use super::group::Group;
use super::object::AnnouncementId;
use super::slot::Announcement;
use super::world::World;
use crate::run::board::{Announced, Route};
use crate::run::event::Values;
use crate::run::ids::{ObjectId, Place, TaskId};
use crate::run::op::{Access, Op};
use crate::run::untried::Untried;

const SEND: Op = Op::new("send", Access::Spawn);

/// The part of a program that a search does not see.
const BEYOND: &str = "more faults of one kind than one task may cause or suffer";

/// The number of kinds of faults that [`World::suffers`] tells apart.
pub(crate) const FAULT_KINDS: usize = 16;

impl World {
    /// Adds a carrier, without a future yet. It announces its `arrival` on an object at once, unless it is delayed. Returns true
    /// besides if the message is to be described.
    pub(crate) fn add_carrier(
        &self,
        route: &'static Route,
        arrival: Option<(&'static Op, ObjectId)>,
        place: Place,
    ) -> (TaskId, Announcement, bool) {
        let mut state = self.state();
        // The net is no node's.
        let entered = state.groups.enter(Group::OUTSIDE);
        let parent = state.current();
        let task = state.add_task(Some(parent), None, place);
        state.groups.leave(entered);
        state.happened(&SEND, None, place, Values::Task(task));
        // Not reported if it has not ended.
        state.slots[task.index()].detached = Some(0);
        state.board.tasks.at_mut(task.index()).route = Some(route);
        let announced = arrival.map(|arrival| state.announce_for(task, arrival, place));
        (task, announced.unwrap_or_default(), state.record.is_shown)
    }

    /// Has the message of the current task arrive, in the turn of the arrival that [`add_carrier`](Self::add_carrier) announced.
    pub(crate) fn arrive(&self) {
        let mut state = self.state();
        let task = state.current();
        let row = state.board.tasks.at_mut(task.index());
        let Announced { op, object, place, enabled, .. } = row.announced.first;
        debug_assert!(row.announced.only().is_some() && enabled, "it has its turn");
        row.announced.take_first();
        row.enabled -= 1;
        state.happened(op, object, place, Values::None);
    }

    /// Sets the text of a message.
    pub(crate) fn describe(&self, task: TaskId, message: String) {
        self.state().record.messages.push((task, message));
    }

    /// Enables or disables an announcement.
    pub(crate) fn set_latch(&self, id: AnnouncementId, is_open: bool) {
        let mut state = self.state();
        if id.task() != state.current() {
            state.set_enabled(id, is_open);
            state.attention = true;
        } else if is_open {
            drop(state);
            self.hear(id);
        }
    }

    /// Sets the future of a carrier.
    pub(crate) fn set_carrier(&self, task: TaskId, body: BoxBody) {
        self.state().take_body(task, Some(body));
    }

    /// Draws a fault below `bound`, of the kind with this number: 0 is none. A task causes `budget` of a kind at most.
    pub(crate) fn suffers(
        &self,
        kind: usize,
        (bound, budget): (u64, u8),
        why: &'static str,
    ) -> u64 {
        self.suffers_if(kind, (bound, budget), why, |drawn| drawn != 0)
    }

    /// As [`suffers`](Self::suffers), a fault that one draw of `rate` has.
    pub(crate) fn suffers_rarely(
        &self,
        kind: usize,
        (rate, budget): (u64, u8),
        why: &'static str,
    ) -> bool {
        self.suffers_if(kind, (rate, budget), why, |drawn| drawn == rate - 1) == rate - 1
    }

    // By task and not by run: the decisions of a task would then depend on those of others, which no search sees.
    fn suffers_if(
        &self,
        kind: usize,
        (bound, budget): (u64, u8),
        why: &'static str,
        is_fault: impl Fn(u64) -> bool,
    ) -> u64 {
        if budget == 0 {
            return 0;
        }
        let mut state = self.state();
        let task = state.current();
        if state.slots.at_mut(task.index()).net_faults[kind] >= budget {
            // A search that never asks must say so.
            state.leave_untried(Untried::Beyond(BEYOND));
            return 0;
        }
        drop(state);
        let drawn = self.draw(bound, why);
        self.state().slots.at_mut(task.index()).net_faults[kind] += u8::from(is_fault(drawn));
        drawn
    }
}
