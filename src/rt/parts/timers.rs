//! Virtual time: the clock of a run, and the timers that wait for it.
//!
//! The time advances to the earliest deadline when no task can step. All operations with this deadline are then enabled
//! together, so that their order is a choice like any other. The run can also [advance](World::advance_by) its time.
//!
//! Plain threads have their own timers on the same time axis: `unpause-native` stores their time.

use std::panic::Location;
use std::task::Waker;
use std::time::Duration;

use super::node_clocks::Moment;
use crate::rt::now;
use crate::rt::object::{AnnouncementId, Object};
use crate::rt::part::Part;
use crate::rt::pending::{PendingOp, object_id};
use crate::rt::state::RunState;
use crate::rt::world::World;
use crate::run::board::Life;
use crate::run::board::{Contact, TimeMove};
use crate::run::event::{ValueKind, Values};
use crate::run::ids::{ObjectId, Place, TaskId};
use crate::run::op::{Access, Op, clock};
use crate::run::untried::Untried;

const SET: Op = Op::of_kind("set", Access::Peek, clock::SET);
const MOVE_TO: Op = Op::of_kind("move_time", Access::Act, clock::ADVANCE);
const FIND_PASSED: Op = Op::of_kind("find_passed", Access::Peek, clock::READ);
const PASSED: Op = Op::of_kind("passed", Access::Peek, clock::READ).quiet();
const UNSET: Op = Op::of_kind("unset", Access::Peek, clock::UNSET);

/// The clock. All runs share one object, so that its place is the same in each run.
pub(crate) static CLOCK: Object = Object::new("clock", Location::caller(), true);

/// The timer of an announcement that waits for a time or is due.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timer {
    id: AnnouncementId,
    /// The deadline, on the clock of a node.
    pub(super) until: Moment,
    /// The delay after the deadline, in nanoseconds, until the announcement is enabled.
    pub(super) late: u64,
    /// The time at which the announcement is enabled.
    pub(super) due: u64,
}

/// The timers of a run.
#[derive(Debug, Default)]
pub(in crate::rt) struct Timers {
    /// The time since the run began, in nanoseconds.
    pub(super) now: u64,
    pub(super) announced: Vec<Timer>,
    /// Tasks of slow nodes, each with the time until which it takes no step.
    pub(super) resting: Vec<(u64, TaskId)>,
    /// Tasks of plain threads, each with the time, in nanoseconds, for which it waits.
    waiting: Vec<(u64, TaskId)>,
}

impl Part for Timers {
    fn forget(&mut self) {
        self.now = 0;
        self.announced.clear();
        self.resting.clear();
        self.waiting.clear();
    }

    fn retracted(state: &mut RunState, id: AnnouncementId, at: (Option<ObjectId>, Place)) {
        state.forget_timer(id, at);
    }

    fn given_up(state: &mut RunState, id: AnnouncementId) {
        state.give_up_due(id);
    }

    fn unblock(state: &mut RunState) {
        state.advance_time();
    }

    fn judge(state: &mut RunState) {
        // A task that sleeps is not stuck.
        let RunState { parts, record, .. } = state;
        let timers: &Timers = parts.get();
        record.stuck.retain(|(task, _)| !timers.has(*task));
    }
}

impl Timers {
    /// Returns the earliest future deadline.
    pub(super) fn next(&self) -> Option<u64> {
        let deadlines = self.announced.iter().map(|timer| timer.due);
        let deadlines = deadlines.chain(self.resting.iter().map(|(until, _)| *until));
        deadlines.filter(|deadline| *deadline > self.now).min()
    }

    /// Returns the times until the earliest and the latest future deadline, in nanoseconds.
    fn span(&self) -> Option<(u64, u64)> {
        let deadlines = || self.announced.iter().map(|timer| timer.due);
        let to_come = || deadlines().filter(|deadline| *deadline > self.now);
        Some((to_come().min()? - self.now, to_come().max()? - self.now))
    }

    /// Returns `true` if the task waits for a time.
    fn has(&self, task: TaskId) -> bool {
        self.announced.iter().any(|timer| timer.id.task() == task)
    }

    /// Returns the announcements that are due.
    fn due(&self) -> impl Iterator<Item = AnnouncementId> {
        self.announced.iter().filter(|timer| timer.due <= self.now).map(|timer| timer.id)
    }
}

impl RunState {
    /// Returns the timers of the run.
    pub(super) fn timers(&self) -> &Timers {
        self.parts.get()
    }

    fn timers_mut(&mut self) -> &mut Timers {
        self.parts.get_mut()
    }

    /// Records that the current task waits for a time. No run has the order in which the time comes while a task can
    /// step.
    fn note_wait_for_time(&mut self) {
        self.record.untried.insert(Untried::Time);
    }

    /// Advances the time from deadline to deadline, because no task can step.
    #[cold]
    fn advance_time(&mut self) {
        // The loop repeats, because a task that is due may be paused.
        while self.board.ready.is_empty() && self.move_time() {}
    }

    /// Advances the time to the earliest deadline, and enables the operations that wait for it. Returns `false` if no
    /// deadline exists.
    fn move_time(&mut self) -> bool {
        // If an operation is due but not enabled, its task passed it over. An advance of time does not help this task.
        let deadline = self.timers().next();
        let of_thread = self.timers().waiting.iter().map(|(time, _)| *time).min();
        match (deadline, of_thread) {
            (Some(deadline), other) if other.is_none_or(|other| deadline <= other) => {
                self.timers_mut().now = deadline;
                self.wake_hand();
                let to = Duration::from_nanos(deadline);
                self.board.time_moves.push(TimeMove { step: self.board.step, to });
                for at in 0..self.timers().announced.len() {
                    let Timer { due, id, .. } = self.timers().announced[at];
                    if due <= deadline {
                        self.set_enabled(id, true);
                    }
                }
                self.end_rests(None);
            }
            (_, Some(time)) => self.end_timers(time),
            (_, None) => return false,
        }
        true
    }

    /// Removes the deadline of an announcement that is retracted.
    fn forget_timer(&mut self, id: AnnouncementId, (object, place): (Option<ObjectId>, Place)) {
        if self.timers().announced.is_empty()
            || self.objects.find(&CLOCK, Life::OUTSIDE).is_some_and(|clock| object != Some(clock))
        {
            // The announcement waits for another object.
            return;
        }
        let Timers { now, announced, .. } = self.timers_mut();
        let Some(at) = announced.iter().position(|timer| timer.id == id) else { return };
        let timer = announced.swap_remove(at);
        let is_due = timer.due <= *now;
        if !self.has_hand() || self.over {
            return;
        }
        if !is_due {
            self.needs_work();
            self.happened(&UNSET, object, place, Values::Wrote(timer.until.at));
        } else if id.task() == self.current() {
            // The timer is removed here, so the end of its node would no longer find it.
            self.tells();
        } else {
            // The node ends. Before the time advanced, this would have cancelled the wait.
            self.happened(&FIND_PASSED, object, place, Values::Read(timer.until.at));
        }
    }

    /// Records that the current task drops an announcement after its deadline. Before that advance of the time, the
    /// task would have cancelled a wait. An operation that completes records this itself.
    fn give_up_due(&mut self, id: AnnouncementId) {
        if !self.has_hand() || self.over || id.task() != self.current() {
            return;
        }
        let Timers { now, announced, .. } = self.timers();
        let due = announced.iter().find(|timer| timer.id == id && timer.due <= *now);
        let announced = self.board.tasks.at(id.task().index()).announced.find(id.key()).copied();
        if let (Some(timer), Some(announced)) = (due.copied(), announced) {
            let values = Values::Read(timer.until.at);
            self.happened(&PASSED, announced.object, announced.place, values);
        }
    }

    /// Enables the announcements that are due, at the end of the step.
    pub(super) fn hear_due(&mut self, place: Place) {
        let RunState { parts, heard, .. } = self;
        heard.extend(parts.get::<Timers>().due());
        self.needs_work();
        self.end_rests(Some(place));
    }

    /// Wakes the tasks that wait until `time` or an earlier time.
    fn end_timers(&mut self, time: u64) {
        let mut due: Vec<TaskId> = Vec::new();
        self.timers_mut().waiting.retain(|(until, task)| {
            let is_due = *until <= time;
            due.extend(is_due.then_some(*task));
            !is_due
        });
        for task in due {
            self.touch(task, Contact::TimedOut);
            if !self.enable_resume(task) && !self.let_go(task) {
                self.wake(task);
            }
        }
    }

    /// Releases a task that is held until a change, even if nothing has changed. Returns `false` if the task is not
    /// held.
    fn let_go(&mut self, task: TaskId) -> bool {
        let Some(key) = self.board.watches.let_go(task) else { return false };
        self.set_enabled(AnnouncementId::new(task, key), true);
        true
    }

    /// Enables the resumption that a task has announced. Returns `false` if the task has announced none.
    fn enable_resume(&mut self, task: TaskId) -> bool {
        let announced = &self.board.tasks.at(task.index()).announced;
        let resume = announced.iter().find(|announced| announced.op.access == Access::Resume);
        let Some(key) = resume.map(|announced| announced.key) else { return false };
        self.set_enabled(AnnouncementId::new(task, key), true);
        true
    }
}

/// The functions of the clock for `sim::time`.
impl World {
    /// Returns the times until the earliest and the latest timer of all waiting tasks; `None` if no task waits for a
    /// timer.
    pub(crate) fn timer_span(&self) -> Option<(Duration, Duration)> {
        let (first, last) = self.state().timers().span()?;
        Some((Duration::from_nanos(first), Duration::from_nanos(last)))
    }

    /// Reads the clock of the running code.
    pub(crate) fn read_clock(&self, op: &'static Op, clock: ObjectId, place: Place) -> Moment {
        let mut state = self.state();
        let now = state.local_now();
        state.happened(op, Some(clock), place, Values::Read(now.at));
        now
    }

    /// Records that a timer is set. The deadline of the timer is `after` nanoseconds from now on the clock of the
    /// running code. Returns the deadline.
    pub(crate) fn note_deadline(
        &self,
        op: &'static Op,
        clock: ObjectId,
        after: u64,
        place: Place,
    ) -> Moment {
        let mut state = self.state();
        let mut deadline = state.local_now();
        deadline.at = deadline.at.saturating_add(after);
        state.happened(op, Some(clock), place, Values::Wrote(deadline.at));
        deadline
    }

    /// Returns `true` if the time, as read by the operation `op`, has reached `deadline`.
    pub(crate) fn has_reached(
        &self,
        op: &'static Op,
        (clock, place): (ObjectId, Place),
        deadline: Moment,
    ) -> bool {
        let mut state = self.state();
        let now = state.timers().now;
        state.happened(op, Some(clock), place, Values::Read(now));
        now >= state.due(deadline)
    }

    /// Makes the operation `pending`, which was just announced, become enabled at the time `until`.
    pub(crate) fn wait_until(&self, pending: &PendingOp, until: Moment) {
        let late = self.draw_lateness();
        let mut state = self.state();
        let id = pending.announcement.id;
        let due = state.due(until).saturating_add(late);
        state.timers_mut().announced.push(Timer { id, until, late, due });
        let (clock, place) = (pending.object, pending.place);
        let is_due = due <= state.timers().now;
        let may_move = state.has_hand();
        if is_due || may_move {
            state.needs_work();
        }
        if may_move {
            state.tells();
        }
        if is_due {
            state.heard.push(id);
        } else if !may_move {
            state.note_wait_for_time();
        }
        // Before the time advanced, the task would have begun to wait.
        match (may_move, is_due) {
            (true, true) => state.happened(&PASSED, clock, place, Values::Read(until.at)),
            (true, false) => state.happened(&SET, clock, place, Values::Wrote(until.at)),
            (false, _) => {}
        }
    }

    /// Moves the deadline of the announced operation `pending` to `until`. Records `op` if another task waits for the
    /// operation. The new deadline may be late, like the deadline of a new timer.
    pub(crate) fn wait_anew(&self, op: &'static Op, pending: &PendingOp, until: Moment) {
        let id = pending.announcement.id;
        let is_of_run = pending.announcement.run == now::run();
        if !is_of_run || !self.state().timers().announced.iter().any(|timer| timer.id == id) {
            return;
        }
        let late = self.draw_lateness();
        let mut state = self.state();
        let due = state.due(until).saturating_add(late);
        let mut timers = state.timers_mut().announced.iter_mut();
        let Some(found) = timers.find(|timer| timer.id == id) else { return };
        *found = Timer { id, until, late, due };
        let mut waker = None;
        if due <= state.timers().now {
            state.heard.push(id);
            state.needs_work();
            // If a mock polled the operation by hand, its waker is called in the reset, as in tokio.
            waker = state.take_foreign(id);
        } else {
            state.set_enabled(id, false);
        }
        if state.has_hand() {
            state.needs_work();
        }
        if id.task() != state.current() || state.has_hand() {
            state.happened(op, pending.object, pending.place, Values::None);
        }
        drop(state);
        waker.into_iter().for_each(Waker::wake);
    }

    /// Records that the operation `pending`, which waited for the time, is done.
    pub(crate) fn reach(&self, pending: &PendingOp) {
        let mut state = self.state();
        let now = state.timers().now;
        state.happened(pending.op, pending.object, pending.place, Values::Read(now));
    }

    /// Advances the time to `deadline`, although tasks can step, unless the deadline has passed.
    pub(super) fn move_time_to(&self, deadline: Moment, place: Place) {
        let clock = Some(object_id(&CLOCK, ValueKind::Time, place, || 0));
        let mut state = self.state();
        let (before, deadline) = (state.timers().now, state.due(deadline));
        if deadline <= before {
            state.happened(&FIND_PASSED, clock, place, Values::Read(before));
            return;
        }
        state.timers_mut().now = deadline;
        state.happened(&MOVE_TO, clock, place, Values::Changed(before, deadline));
        state.hear_due(place);
    }

    /// Performs the announced operation `pending`: advances the time by `nanoseconds`.
    pub(crate) fn advance_by(&self, pending: &PendingOp, nanoseconds: u64) {
        let mut state = self.retract_to_do(&pending.announcement);
        let before = state.timers().now;
        let now = before.saturating_add(nanoseconds);
        state.timers_mut().now = now;
        let values = Values::Changed(before, now);
        state.happened(pending.op, pending.object, pending.place, values);
        state.hear_due(pending.place);
    }
}

#[cfg_attr(not(unpause_native), allow(dead_code))]
impl World {
    /// Wakes the current task at `time`, if no task can step before that time.
    pub(crate) fn set_timer(&self, time: u64) {
        let mut state = self.state();
        let task = state.current();
        state.touch(task, Contact::Sleeps);
        state.timers_mut().waiting.push((time, task));
    }

    /// Advances the time to `time`, because a timer of the current task expires although other tasks can step. Timers
    /// that are due earlier expire, too.
    pub(crate) fn pass_time(&self, time: u64) {
        let mut state = self.state();
        let task = state.current();
        state.touch(task, Contact::TimedOut);
        state.end_timers(time);
    }

    /// Lets a task continue that has announced a [resumption](crate::run::op::Access::Resume).
    pub(crate) fn resume(&self, task: TaskId) {
        self.state().enable_resume(task);
    }

    /// Records that the current task waits for a time that does not come while another task can step.
    pub(crate) fn note_wait_for_time(&self) {
        self.state().note_wait_for_time();
    }

    /// Removes the timer of the current task. Returns `false` if the task has no timer.
    pub(crate) fn clear_timer(&self) -> bool {
        let mut state = self.state();
        let task = state.current();
        let waiting = &mut state.timers_mut().waiting;
        let before = waiting.len();
        waiting.retain(|(_, waiting)| *waiting != task);
        waiting.len() < before
    }
}
