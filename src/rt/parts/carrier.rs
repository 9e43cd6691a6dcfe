//! Carriers: each carrier is a task that models the arrival of a message. A message in flight is a candidate like any
//! task, so strategies, traces, searches and shrinking treat its arrival like every other step.

use crate::rt::body::BoxBody;
use crate::rt::object::AnnouncementId;
use crate::rt::part::Part;
use crate::rt::state::RunState;
use crate::rt::world::World;
use crate::run::board::Route;
use crate::run::event::Values;
use crate::run::ids::{ObjectId, Place, TaskId};
use crate::run::in_flight::InFlight;
use crate::run::op::{Access, Op};
use crate::run::untried::Untried;

const SEND: Op = Op::new("send", Access::Spawn);

/// The report text for a part of the program that a search does not see.
const BEYOND: &str = "more faults of one kind than one task may cause or suffer";

/// The number of fault kinds that [`World::suffers`] distinguishes.
const FAULT_KINDS: usize = 16;

/// The net faults that the tasks of a run have caused, by task and kind. The list may be shorter than the task list,
/// because it ends with the last task that caused a fault.
#[derive(Default)]
pub(in crate::rt) struct Suffered(Vec<[u8; FAULT_KINDS]>);

impl Part for Suffered {
    fn forget(&mut self) {
        self.0.clear();
    }
}

/// A message that was sent.
pub(crate) struct Sent {
    pub(crate) task: TaskId,
    pub(crate) number: u64,
    /// True if a description of the message is wanted.
    pub(crate) is_shown: bool,
}

impl World {
    /// Sends a message. The carrier has no future and announces its `arrival` on an object at once. `load` gets this
    /// announcement. `load` returns the holder of the message, and `true` if the message may arrive now. `load` must
    /// not use the run.
    pub(crate) fn send(
        &self,
        route: &'static Route,
        arrival: (&'static Op, ObjectId),
        place: Place,
        load: impl FnOnce(AnnouncementId) -> (InFlight, bool),
    ) -> Sent {
        let mut state = self.state();
        let task = state.add_carrier(route, place);
        let id = state.announce_for(task, arrival, place).id;
        let (in_flight, is_open) = load(id);
        let number = in_flight.number;
        state.slots.at_mut(task.index()).in_flight = Some(in_flight);
        if !is_open {
            state.set_enabled(id, false);
        }
        Sent { task, number, is_shown: state.record.is_shown }
    }

    /// Sends a message that is delayed: `body` announces its arrival. Returns the task, and `true` if a description of
    /// the message is wanted.
    pub(crate) fn send_later(
        &self,
        route: &'static Route,
        place: Place,
        body: BoxBody,
    ) -> (TaskId, bool) {
        let mut state = self.state();
        let task = state.add_carrier(route, place);
        state.take_body(task, Some(body));
        (task, state.record.is_shown)
    }

    /// Records the description of a message.
    pub(crate) fn describe(&self, task: TaskId, message: String) {
        self.state().record.messages.push((task, message));
    }

    /// Enables or disables an announcement.
    pub(crate) fn set_latch(&self, id: AnnouncementId, is_open: bool) {
        self.state().set_latch(id, is_open);
    }

    /// Draws a fault below `bound`, of the kind with this number. 0 means no fault. A task causes at most `budget`
    /// faults of a kind.
    pub(crate) fn suffers(
        &self,
        kind: usize,
        (bound, budget): (u64, u8),
        why: &'static str,
    ) -> u64 {
        self.suffers_if(kind, (bound, budget), why, |drawn| drawn != 0)
    }

    /// Like [`suffers`](Self::suffers), but for a fault that only one of `rate` possible draws causes.
    pub(crate) fn suffers_rarely(
        &self,
        kind: usize,
        (rate, budget): (u64, u8),
        why: &'static str,
    ) -> bool {
        self.suffers_if(kind, (rate, budget), why, |drawn| drawn == rate - 1) == rate - 1
    }

    /// Like [`suffers`](Self::suffers), but only the draws for which `is_fault` returns `true` count as faults.
    //
    // The budget is per task and not per run: otherwise the decisions of a task would depend on the decisions of other
    // tasks, and searches would not see this.
    pub(crate) fn suffers_if(
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
        if *state.suffered(task, kind) >= budget {
            // The draw is skipped, so a search must report that it is incomplete.
            state.leave_untried(Untried::Beyond(BEYOND));
            return 0;
        }
        drop(state);
        let drawn = self.draw(bound, why);
        *self.state().suffered(task, kind) += u8::from(is_fault(drawn));
        drawn
    }
}

impl RunState {
    /// Enables or disables an announcement. An announcement of the current task is enabled at the end of the step.
    pub(super) fn set_latch(&mut self, id: AnnouncementId, is_open: bool) {
        if id.task() != self.current() {
            self.set_enabled(id, is_open);
        } else if is_open {
            self.heard.push(id);
            self.needs_work();
        }
    }

    /// Returns the number of faults of a kind that a task has caused.
    fn suffered(&mut self, task: TaskId, kind: usize) -> &mut u8 {
        let Suffered(all) = self.parts.get_mut();
        all.resize(all.len().max(task.index() + 1), [0; FAULT_KINDS]);
        &mut all[task.index()][kind]
    }

    /// Adds a carrier: a task that no other task joins.
    fn add_carrier(&mut self, route: &'static Route, place: Place) -> TaskId {
        // The net belongs to no node.
        let task = self.add_task_outside(Some(self.current()), None, place);
        self.happened(&SEND, None, place, Values::Task(task));
        // An unfinished carrier is not reported.
        self.slots.at_mut(task.index()).detached = Some(0);
        self.board.tasks.at_mut(task.index()).route = Some(route);
        task
    }
}
