//! The state of a run: its tasks, the ready set, the pending operations, the events.
//!
//! This file contains plain data and its updates. The file calls no user code, so a borrow of the state may exist
//! around every function. Wakers and bodies that must be dropped are returned to the caller.
//!
//! A task can step if it was woken, was aborted, or has an enabled pending operation: see [`ready`](super::ready).

use std::task::Waker;

use super::Parts;
use super::body::BoxBody;
use super::choose::Chooser;
use super::lives::Lives;
use super::now;
use super::object::{AnnouncementId, Objects};
use super::polls::PollLog;
use super::ready::take_out;
use super::record::RunRecord;
use super::slot::{Announcement, TaskSlot};
use crate::rt::memory::Memory;
use crate::run::Failure;
use crate::run::board::{Announced, Announcements, Board, Contact, ContactMark, Status};
use crate::run::choice::Strategy;
use crate::run::event::{Event, Values};
use crate::run::ids::{ObjectId, Place, TaskId};
use crate::run::op::{Access, Op};
use crate::run::pool::Pool;

/// The first key. The value 0 is not a key.
const FIRST_KEY: u32 = 1;

/// The state of one run.
pub(crate) struct RunState {
    /// The object that answers the run's choices. Only [`World::choose`](super::World) and the functions near it use
    /// it.
    pub(super) chooser: Chooser,
    pub(crate) run: u64,
    pub(crate) board: Board,
    pub(crate) slots: Pool<TaskSlot>,
    pub(crate) objects: Objects,
    pub(crate) memory: Memory,
    pub(crate) record: RunRecord,
    pub(crate) failure: Option<Failure>,
    /// True if the body of the test has ended, or the run has failed.
    pub(crate) over: bool,
    /// Tasks spawned in this step, with their bodies; a lent task has none.
    pub(crate) inbox: Vec<(TaskId, Option<BoxBody>)>,
    /// Wakers of announcements inside combinators that have their own wakers. Invariant: sorted.
    pub(crate) foreign: Vec<(AnnouncementId, Waker)>,
    /// Announcements that were woken by their objects in this step.
    pub(super) heard: Vec<AnnouncementId>,
    /// The state of the run's parts: see [`part`](super::part).
    pub(super) parts: Parts,
    pub(super) lives: Lives,
    /// The polls of the current step, for combinators.
    pub(super) polls: PollLog,
    /// Locks acquired or released in this step.
    pub(super) dirty: Vec<ObjectId>,
    /// True if the step needs more work than to record one event and one announcement. The flag is set by
    /// [`needs_work`](Self::needs_work), and cleared by `leave_step`, which does the work.
    attention: bool,
    /// The number of tasks that were aborted and have not ended.
    pub(super) aborts: u32,
    /// True if a panic was kept for a handle.
    pub(super) has_panics: bool,
    /// True if the task of the last step can continue and did not yield, so that a step of another task is a
    /// preemption.
    pub(super) goes_on: bool,
    /// True if operations may take effect without their own point: see [`now::fuse`].
    pub(super) fuses: bool,
    /// The key of the next announcement that is stored here.
    next_key: u32,
    /// The last step with an announcement stored here, and the key of the first announcement in that step.
    fresh: (u32, u32),
}

impl RunState {
    pub(super) fn new(strategy: Box<dyn Strategy>) -> RunState {
        RunState {
            chooser: Chooser::new(strategy),
            run: 0,
            board: Board::default(),
            slots: Pool::default(),
            objects: Objects::default(),
            memory: Memory::default(),
            record: RunRecord::default(),
            failure: None,
            over: false,
            inbox: Vec::new(),
            foreign: Vec::new(),
            heard: Vec::new(),
            parts: Parts::default(),
            lives: Lives::default(),
            polls: PollLog::default(),
            dirty: Vec::new(),
            attention: true,
            aborts: 0,
            has_panics: false,
            goes_on: false,
            fuses: false,
            next_key: FIRST_KEY,
            fresh: (u32::MAX, FIRST_KEY),
        }
    }

    /// Removes the state of the last run. Returns wakers, which the caller must drop while the state is not borrowed.
    #[must_use]
    pub(crate) fn begin(&mut self, run: u64) -> Vec<(AnnouncementId, Waker)> {
        self.run = run;
        self.board.step = 0;
        self.board.current = TaskId::MAIN;
        self.board.tasks.clear();
        self.slots.clear();
        self.board.ready.clear();
        self.board.arrived.clear();
        self.objects.begin(run);
        self.memory.clear();
        self.board.events.clear();
        self.board.object_keys.clear();
        self.board.object_lives.clear();
        self.board.contacts.clear();
        self.board.time_moves.clear();
        self.board.ends_stalled = false;
        self.board.calls.clear();
        self.board.watches.clear();
        self.board.invariant_events.clear();
        self.record.clear();
        self.failure = None;
        self.over = false;
        self.heard.clear();
        self.lives.clear();
        self.polls.clear();
        self.dirty.clear();
        self.needs_work();
        self.aborts = 0;
        self.has_panics = false;
        self.goes_on = false;
        self.fuses = false;
        self.next_key = FIRST_KEY;
        self.fresh = (u32::MAX, FIRST_KEY);
        std::mem::take(&mut self.foreign)
    }

    pub(crate) fn current(&self) -> TaskId {
        self.board.current
    }

    /// Ends the run as failed. Only the first failure is kept.
    pub(crate) fn fail(&mut self, failure: Failure) {
        self.failure.get_or_insert(failure);
        self.end();
    }

    /// Makes the executor check for more work than one event and one announcement, at the end of the current step and
    /// at the beginning of the next step. Code that causes such work must call this.
    #[inline]
    pub(super) fn needs_work(&mut self) {
        self.attention = true;
    }

    /// Returns `true` if a step may need more work: see [`needs_work`](Self::needs_work).
    #[inline(always)]
    pub(super) fn has_work(&self) -> bool {
        self.attention
    }

    /// Records that the work so far is done. `more` is true if work remains.
    #[inline]
    pub(super) fn did_work(&mut self, more: bool) {
        self.attention = more;
    }

    pub(super) fn end(&mut self) {
        self.over = true;
        self.needs_work();
    }

    // ---- tasks

    /// Stores the body of a spawned task until the executor takes it at the end of the step.
    pub(crate) fn take_body(&mut self, task: TaskId, body: Option<BoxBody>) {
        self.inbox.push((task, body));
        self.needs_work();
    }

    #[inline]
    pub(crate) fn is_done(&self, task: TaskId) -> bool {
        self.board.tasks.at(task.index()).status == Status::Done
    }

    /// Records an effect of the current task on `target`.
    pub(crate) fn touch(&mut self, target: TaskId, contact: Contact) {
        self.board.contacts.push(ContactMark { target, contact });
        let (events, task) = (self.board.events.len(), self.current());
        self.memory.order(events, (target, task));
        self.memory.order(events, (task, target));
    }

    /// Aborts `task`, which then ends before its next step.
    pub(crate) fn abort(&mut self, task: TaskId) {
        let row = self.board.tasks.at_mut(task.index());
        if row.status != Status::Done && !std::mem::replace(&mut row.aborted, true) {
            self.aborts += 1;
            self.needs_work();
            self.insert_ready(task);
        }
    }

    /// Ends `task`, whose result is in `body`. Returns the body if the task is detached, and wakers that the caller
    /// must call. The task may have polled a future that it shares with other tasks. In that case, one of these tasks
    /// must poll the future now.
    #[must_use]
    pub(crate) fn end_task(
        &mut self,
        task: TaskId,
        body: Option<BoxBody>,
        cancelled: bool,
    ) -> (Option<BoxBody>, Vec<Waker>) {
        now::end();
        let mut wakers = Vec::new();
        self.close_task(task, cancelled, &mut wakers);
        let slot = self.slots.at_mut(task.index());
        if slot.detached.is_some() {
            return (body, wakers);
        }
        slot.ended = body;
        (None, wakers)
    }

    /// Like [`end_task`](Self::end_task), but for any task, and leaves the body where it is. Adds the wakers to
    /// `wakers`.
    pub(super) fn close_task(&mut self, task: TaskId, cancelled: bool, wakers: &mut Vec<Waker>) {
        let row = self.board.tasks.at_mut(task.index());
        if !row.announced.is_empty() {
            self.retract_all(task, wakers);
        }
        self.remove_ready(task);
        let row = self.board.tasks.at_mut(task.index());
        row.status = Status::Done;
        // The task was aborted, and ended by itself in the same step.
        self.aborts -= u32::from(std::mem::take(&mut row.aborted));
        if task == TaskId::MAIN {
            self.end();
        }
        let slot = self.slots.at_mut(task.index());
        slot.cancelled = cancelled;
        for nth in 0..slot.joiners.len() {
            let joiner = self.slots.at(task.index()).joiners[nth];
            self.set_enabled(joiner, true);
        }
    }

    /// Retracts the announcements of `task`, and adds their stored wakers to `wakers`.
    #[cold]
    fn retract_all(&mut self, task: TaskId, wakers: &mut Vec<Waker>) {
        let left = |state: &RunState| {
            let mut left = state.board.tasks.at(task.index()).announced.iter();
            left.next().map(|announced| announced.key)
        };
        while let Some(key) = left(self) {
            wakers.extend(self.retract(AnnouncementId::new(task, key)));
        }
    }

    // ---- announcements

    /// Returns the number of announcements stored here so far, plus one. The thread stores the announcements that wait
    /// for nothing.
    pub(crate) fn announcements(&self) -> u32 {
        self.next_key
    }

    /// Announces `op`. The current task performs it in a later step, when it is enabled.
    #[inline]
    pub(crate) fn announce(
        &mut self,
        op: &'static Op,
        object: Option<ObjectId>,
        target: Option<TaskId>,
        place: Place,
    ) -> Announcement {
        let task = self.current();
        let key = self.next_key;
        self.next_key += 1;
        if self.fresh.0 != self.board.step {
            self.fresh = (self.board.step, key);
        }
        self.polls.polled(self.board.step, key);
        let id = AnnouncementId::new(task, key);
        let enabled = match (op.access, object, target) {
            (access, Some(object), _) if access.waits() => {
                let row = &mut self.objects.rows[object.index()];
                row.waiters.push((id, access));
                row.told.admits(access)
            }
            (Access::Join, _, Some(target)) => {
                self.slots.at_mut(target.index()).joiners.push(id);
                self.is_done(target)
            }
            (Access::Resume | Access::Wait, ..) => false,
            _ => true,
        };
        self.board.tasks.at_mut(task.index()).enabled += u32::from(enabled);
        let announced = Announced { op, object, target, place, enabled, key, passed_over: false };
        self.board.tasks.at_mut(task.index()).announced.push(announced);
        Announcement { run: self.run, id }
    }

    /// Announces `op` on an object as the first step of a task that was just added. `op` does not wait for the object.
    pub(super) fn announce_for(
        &mut self,
        task: TaskId,
        (op, object): (&'static Op, ObjectId),
        place: Place,
    ) -> Announcement {
        let key = self.next_key;
        self.next_key += 1;
        let (object, target) = (Some(object), None);
        let announced =
            Announced { op, object, target, place, enabled: true, key, passed_over: false };
        let row = self.board.tasks.at_mut(task.index());
        row.announced.push(announced);
        (row.enabled, row.woken) = (1, false);
        Announcement { run: self.run, id: AnnouncementId::new(task, key) }
    }

    /// Returns `true` if the announcement with this key was added in the current step. The result covers announcements
    /// stored here; the thread stores its own announcement until the end of its step.
    pub(crate) fn is_of_this_step(&self, key: u32) -> bool {
        let (step, first) = self.fresh;
        step == self.board.step && (first..self.next_key).contains(&key)
    }

    /// Marks older announcements of the current task that were enabled in its step but not polled. Such announcements
    /// no longer make the task a candidate.
    pub(super) fn pass_over(&mut self) {
        let (step, first) = self.fresh;
        let fresh = if step == self.board.step { first..self.next_key } else { 0..0 };
        // Another branch acquired or released the lock in this step, so its waiters are updated next.
        let objects = &self.objects;
        let is_updated_next = |announced: &Announced| {
            let object = announced.object.filter(|_| announced.op.access.waits());
            object.is_some_and(|object| objects.rows[object.index()].dirty)
        };
        let row = self.board.tasks.at_mut(self.board.current.index());
        if row.enabled == 0 {
            // No announcement is enabled, so nothing can be passed over.
            return;
        }
        let Announcements { first, more } = &mut row.announced;
        for announced in std::iter::once(first).chain(more) {
            let is_old = announced.is_something() && !fresh.contains(&announced.key);
            if is_old && announced.enabled && !is_updated_next(announced) {
                (announced.enabled, announced.passed_over) = (false, true);
                row.enabled -= 1;
            }
        }
    }

    /// Retracts an announcement, because its operation is done now, or because its future was dropped. Returns the
    /// waker stored for the announcement.
    #[inline]
    pub(crate) fn retract(&mut self, id: AnnouncementId) -> Option<Waker> {
        let row = self.board.tasks.at_mut(id.task().index());
        let announced = row.announced.remove(id.key())?;
        row.enabled -= u32::from(announced.enabled);
        match (announced.op.access, announced.object, announced.target) {
            (access, Some(object), _) if access.waits() => {
                let waiters = &mut self.objects.rows[object.index()].waiters;
                if let Some(at) = waiters.iter().position(|(waiter, _)| *waiter == id) {
                    take_out(waiters, at);
                }
            }
            (Access::Join, _, Some(target)) => {
                self.slots.at_mut(target.index()).joiners.retain(|joiner| *joiner != id);
            }
            (Access::Wait, ..) => self.end_wait(id, announced.object, announced.place),
            _ => {}
        }
        let waker = self.take_foreign(id);
        // Another task dropped the future, so the task that announced the operation may be stuck now.
        if id.task() != self.current() {
            self.touch(id.task(), Contact::Disarmed);
            if !self.can_step(id.task()) {
                self.remove_ready(id.task());
            }
        }
        waker
    }

    /// Notifies the parts that a waiting operation was retracted.
    #[inline]
    pub(super) fn end_wait(&mut self, id: AnnouncementId, object: Option<ObjectId>, place: Place) {
        Parts::retracted(self, id, (object, place));
    }

    /// Records an operation of the current task that took effect.
    #[inline]
    pub(crate) fn happened(
        &mut self,
        op: &'static Op,
        object: Option<ObjectId>,
        place: Place,
        values: Values,
    ) {
        let Board { step, current: task, events, .. } = &mut self.board;
        events.push(Event { step: *step, task: *task, object, op, place, values });
    }

    /// Enables or disables an announcement.
    pub(super) fn set_enabled(&mut self, id: AnnouncementId, enabled: bool) {
        let (task, key) = (id.task(), id.key());
        let row = self.board.tasks.at_mut(task.index());
        let Some(announced) = row.announced.find_mut(key) else { return };
        announced.passed_over &= enabled;
        if announced.enabled == enabled || announced.passed_over {
            return;
        }
        announced.enabled = enabled;
        if enabled {
            row.enabled += 1;
            self.insert_ready(task);
        } else {
            row.enabled -= 1;
            if !self.can_step(task) {
                self.remove_ready(task);
            }
        }
    }
}
