//! The interface between primitives and the current run: values, objects and points.
//!
//! A [`World`] is the simulated machine of one worker. A world executes one run after another, and primitives reach it
//! through [`WORLD`]. The functions of a world borrow the state, do plain work and release the borrow. So no user code
//! (a `Drop`, a `Clone`, a waker, a strategy that calls primitives) ever runs while the state is borrowed. Locks, tasks
//! and histories are in `services.rs`.
//!
//! [`World::choose`] is the only source of nondeterminism.

use std::cell::{Cell, RefCell, RefMut};
use std::sync::Arc;
use std::task::Waker;

use scoped_tls::scoped_thread_local;

use super::Parts;
use super::beyond::Beyond;
use super::choose::Choice;
use super::now;
use super::object::{AnnouncementId, Lookup, Object, UnusableObject};
use super::panics::halt;
use super::pending::{PendingOp, Readiness};
use super::slot::Announcement;
use super::state::RunState;
use super::task_waker::Signals;
use crate::run::board::Announced;
use crate::run::board::Life;
use crate::run::choice::{Draw, Strategy};
use crate::run::event::{ValueKind, Values};
use crate::run::ids::{ObjectId, Place, Seed, TaskId};
use crate::run::op::{Access, Op};
use crate::run::{DrawRecord, Failure};

scoped_thread_local!(pub(crate) static WORLD: World);

/// The simulated machine of one worker.
pub(crate) struct World {
    state: RefCell<RunState>,
    /// The seed of the current run; `None` in a search, whose runs have numbers instead.
    pub(super) seed: Cell<Option<Seed>>,
    pub(super) beyond: Cell<Beyond>,
    /// The task whose values the running code drops, if known: see [`as_task`](World::as_task).
    pub(super) acts_as: Cell<Option<TaskId>>,
    /// True while the running code belongs to no task: a condition is evaluated. Accesses of this code to cells are no
    /// races.
    pub(super) observes: Cell<bool>,
    pub(super) signals: Arc<Signals>,
}

impl World {
    pub(super) fn new(strategy: Box<dyn Strategy>, signals: Arc<Signals>) -> World {
        let state = RefCell::new(RunState::new(strategy));
        let (seed, acts_as) = (Cell::new(None), Cell::new(None));
        let (beyond, observes) = (Cell::default(), Cell::new(false));
        World { state, seed, beyond, acts_as, observes, signals }
    }

    /// Returns the state, including the effect that the thread has recorded in the current step.
    #[inline]
    pub(super) fn state(&self) -> RefMut<'_, RunState> {
        let mut state = self.unsettled();
        if now::is_done() {
            state.take_in_done();
        }
        state
    }

    /// Returns the state without the effect that the thread has [recorded](now::do_turn) in the current step.
    #[inline]
    pub(super) fn unsettled(&self) -> RefMut<'_, RunState> {
        match self.state.try_borrow_mut() {
            Ok(state) => state,
            Err(_) => Self::lent(),
        }
    }

    #[cold]
    fn lent() -> ! {
        panic!("a strategy used a primitive of the run it was deciding")
    }

    /// Draws a value below `bound` from the decisions. Returns 0 after the end of the run, for destructors that draw.
    pub(crate) fn draw(&self, bound: u64, why: &'static str) -> u64 {
        self.decide(bound, Choice::Value(&Draw { bound, why }))
    }

    /// Returns a decision that is not explored: the result is `value`, which is below `bound`, unless a trace is
    /// replayed.
    pub(crate) fn given(&self, bound: u64, value: u64, why: &'static str) -> u64 {
        self.decide(bound, Choice::Given(&Draw { bound, why }, value))
    }

    /// Returns the seed of the run; `None` in a search.
    pub(crate) fn seed(&self) -> Option<Seed> {
        self.seed.get()
    }

    /// Returns the number of values drawn in the run, and its current step.
    pub(crate) fn position(&self) -> (usize, u32) {
        let state = self.state();
        (state.record.draws.len(), state.board.step)
    }

    fn decide(&self, bound: u64, choice: Choice<'_>) -> u64 {
        let mut state = self.unsettled();
        if state.over {
            return 0;
        }
        let (given, why) = match &choice {
            Choice::Given(draw, _) => (true, draw.why),
            Choice::Value(draw) => (false, draw.why),
            Choice::Task => (false, ""),
        };
        match World::choose(&mut state, choice) {
            Ok(value) => {
                let step = state.board.step;
                state.record.draws.push(DrawRecord { step, value, bound, given, why });
                value
            }
            Err(failure) if std::thread::panicking() => {
                // This is a call from a destructor: unwinding would abort the process.
                state.fail(*failure);
                0
            }
            Err(failure) => {
                drop(state);
                self.fail(*failure)
            }
        }
    }

    /// Ends the run as failed, and unwinds the current task.
    pub(crate) fn fail(&self, failure: Failure) -> ! {
        self.state().fail(failure);
        halt()
    }

    /// Returns the number of the current run.
    pub(crate) fn run(&self) -> u64 {
        now::run()
    }

    /// Wakes a task for a future of another library.
    pub(super) fn wake(&self, task: TaskId) {
        if let Ok(mut state) = self.state.try_borrow_mut() {
            // The operation of the step took effect before this wake.
            if now::is_done() {
                state.take_in_done();
            }
            state.wake_by(task);
        }
    }

    // ---- objects

    /// Returns the object's id. The first use adds the object, with the word `initial()`.
    pub(super) fn object_id(
        &self,
        object: &Object,
        values: ValueKind,
        place: Place,
        initial: impl FnOnce() -> u64,
    ) -> ObjectId {
        let mut state = self.unsettled();
        let node = state.life_for(object);
        match state.objects.find_or_add(object, values, None, node) {
            Ok(Lookup::Known(id)) => id,
            Ok(Lookup::New(id)) => {
                state.name_after(id, node);
                state.add_object(id, initial());
                id
            }
            Err(unusable) => {
                drop(state);
                self.refuse(object, unusable, place)
            }
        }
    }

    /// Fails the run, because the run cannot use the object.
    pub(super) fn refuse(&self, object: &Object, unusable: UnusableObject, place: Place) -> ! {
        self.fail(misuse(object, unusable, place))
    }

    /// Adds an object that the current task creates. Returns `None` if the run has too many objects; the first use of
    /// the object then fails the run.
    pub(crate) fn created(
        &self,
        object: &Object,
        values: ValueKind,
        initial: u64,
    ) -> Option<ObjectId> {
        let mut state = self.unsettled();
        let creator = Some(state.next_creation());
        match state.objects.find_or_add(object, values, creator, Life::OUTSIDE) {
            Ok(Lookup::New(id)) => {
                state.add_object(id, initial);
                state.own(id);
                Some(id)
            }
            _ => None,
        }
    }

    /// Like [`created`](Self::created), but for an object outside of lives. Any task may be the first to use an object
    /// with a `key`. So the body counts as its creator, and the set of objects does not depend on the order of first
    /// uses. Keys do not collide with the numbers of the body's own objects, which are below 2^31.
    pub(crate) fn created_for_all(&self, object: &Object, values: ValueKind, key: Option<u32>) {
        const KEYED: u32 = 1 << 31;
        let mut state = self.unsettled();
        let keyed = key.map(|key| (TaskId::MAIN, KEYED | key));
        let creator = Some(keyed.unwrap_or_else(|| state.next_creation()));
        let added = state.objects.find_or_add(object, values, creator, Life::OUTSIDE);
        if let Ok(Lookup::New(id)) = added {
            state.add_object(id, 0);
        }
    }

    /// Returns the word of an object, if the run knows the object.
    pub(crate) fn peek(&self, object: &Object) -> Option<u64> {
        let state = self.state();
        state.find_object(object).map(|id| state.memory.load(id))
    }

    /// Returns the word of an object in the run.
    pub(crate) fn word(&self, object: ObjectId) -> u64 {
        self.state().memory.load(object)
    }

    /// Returns the number of an object in the run, if the run knows the object.
    pub(crate) fn known(&self, object: &Object) -> Option<ObjectId> {
        self.unsettled().find_object(object)
    }

    // ---- points

    /// Announces an operation of the current task. The task performs it in a later step, when it is enabled. This
    /// function is for operations that wait for a lock, and for operations that [`Now::announce`](now::Now::announce)
    /// does not accept.
    pub(crate) fn announce(&self, pending: &mut PendingOp, waker: &Waker) {
        let mut state = self.state();
        pending.announcement = state.announce(pending.op, pending.object, None, pending.place);
        drop(state);
        self.keep_foreign_waker(pending.announcement.id, waker);
    }

    /// Announces that the current task waits for the end of `target`.
    pub(crate) fn announce_join(
        &self,
        op: &'static Op,
        target: TaskId,
        place: Place,
        waker: &Waker,
    ) -> Announcement {
        let mut state = self.state();
        let announcement = state.announce(op, None, Some(target), place);
        drop(state);
        self.keep_foreign_waker(announcement.id, waker);
        announcement
    }

    /// Returns a number that changes with each announcement.
    pub(crate) fn announced(&self) -> u32 {
        2 * self.state().announcements() + u32::from(now::has_announced())
    }

    #[inline]
    pub(super) fn keep_foreign_waker(&self, id: AnnouncementId, waker: &Waker) {
        if !now::is_own_waker(waker) {
            self.keep_waker(id, waker);
        }
    }

    /// Stores the waker that a combinator passed to the future of an announcement.
    #[cold]
    fn keep_waker(&self, id: AnnouncementId, waker: &Waker) {
        let waker = waker.clone();
        let mut state = self.state();
        let old = match state.find_foreign(id) {
            Ok(at) => Some(std::mem::replace(&mut state.foreign[at].1, waker)),
            Err(at) => {
                state.foreign.insert(at, (id, waker));
                state.needs_work();
                None
            }
        };
        drop(state);
        drop(old);
    }

    /// Checks if an announced operation can be done now: it is enabled, and its task was chosen after the announcement.
    #[cold]
    pub(crate) fn readiness(&self, announcement: &Announcement, waker: &Waker) -> Readiness {
        if announcement.run != now::run() || !now::is_current(announcement.id.task()) {
            return Readiness::Stale;
        }
        let mut state = self.state();
        let (task, step) = (announcement.id.task(), state.board.step);
        state.polls.polled(step, announcement.id.key());
        let row = &state.board.tasks[task.index()];
        let Some(announced) = row.announced.find(announcement.id.key()) else {
            return Readiness::Stale;
        };
        // Another branch of a `join!` may have acquired the lock in this very step.
        let access = announced.op.access;
        let admits = |object: ObjectId| state.objects.rows[object.index()].vacancy().admits(access);
        let open = announced.enabled || announced.passed_over;
        let enabled = open && (!access.waits() || announced.object.is_none_or(admits));
        if enabled && !state.is_of_this_step(announcement.id.key()) {
            return if state.polls.renews(step) { Readiness::Stale } else { Readiness::Ready };
        }
        drop(state);
        self.keep_foreign_waker(announcement.id, waker);
        Readiness::Waiting
    }

    /// Retracts an announcement whose operation is done now. Returns the state.
    pub(super) fn retract_to_do(&self, announcement: &Announcement) -> RefMut<'_, RunState> {
        let mut state = self.state();
        let Some(waker) = state.retract(announcement.id) else { return state };
        drop(state);
        drop(waker);
        self.state()
    }

    /// Begins the announced operation if the strategy has chosen it. In that case, retracts its announcement.
    pub(crate) fn take_turn(&self, pending: &PendingOp) -> bool {
        let mut state = self.state();
        let (task, id) = (state.current(), pending.announcement.id);
        let is_plain = state.foreign.is_empty();
        let row = state.board.tasks.at_mut(task.index());
        let first = &row.announced.first;
        if first.key != id.key() || !first.enabled {
            return false;
        }
        let Announced { op, object, place, .. } = *first;
        if is_plain && matches!(op.access, Access::Act | Access::Wait) {
            // This is the usual case of `retract`.
            row.announced.take_first();
            row.enabled -= 1;
            if op.access == Access::Wait {
                state.end_wait(id, object, place);
            }
            return true;
        }
        let waker = state.retract(id);
        drop(state);
        drop(waker);
        true
    }

    /// Like [`take_turn`](Self::take_turn), but after a poll that returned `Ready`.
    pub(crate) fn take_turn_out_of_turn(&self, pending: &PendingOp) {
        drop(self.retract_to_do(&pending.announcement));
    }

    /// Sets the values of the last event, which are unknown before its effect.
    pub(crate) fn set_values(&self, values: Values) {
        if now::is_done() {
            return now::do_turn(values);
        }
        if let Some(event) = self.state().board.events.last_mut() {
            event.values = values;
        }
    }

    /// Retracts an announcement whose future is dropped.
    pub(crate) fn retract(&self, announcement: &Announcement) {
        if now::retract(announcement) {
            return;
        }
        let mut state = self.state();
        let mut waker = None;
        if announcement.run == state.run {
            Parts::given_up(&mut state, announcement.id);
            waker = state.retract(announcement.id);
        }
        drop(state);
        drop(waker);
    }
}

fn misuse(object: &Object, unusable: UnusableObject, place: Place) -> Failure {
    let (kind, created) = (object.kind(), object.place());
    let message = match unusable {
        UnusableObject::OtherRun => format!(
            "the {kind} created at {created} was used by an earlier run, and each run must start \
             afresh: create it inside the test body (only atomics, and cells made with const_new, may stand \
             in a static)"
        ),
        UnusableObject::TooMany => format!(
            "the run has more than 16777215 shared objects, the last created at {created}: \
             create them once, outside of loops"
        ),
    };
    Failure::Misuse { message, place: place.to_string() }
}
