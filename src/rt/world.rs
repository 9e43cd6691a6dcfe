//! What a primitive may ask of the run it is in.
//!
//! A [`World`] is one worker's simulated machine, used for one run after another and reached from
//! primitives through [`WORLD`]. Its functions borrow the state, do plain work and give the borrow
//! back: no user code (a `Drop`, a `Clone`, a waker, a strategy that calls primitives) ever runs
//! while the state is lent.
//!
//! [`World::choose`] is the only door for nondeterminism.

use std::cell::{Cell, RefCell, RefMut};
use std::sync::Arc;
use std::task::Waker;

use scoped_tls::scoped_thread_local;

use super::choose::Choice;
use super::deed::{Arrival, Deed};
use super::now;
use super::object::{Met, Object, Unusable, Waiter};
use super::panics::halt;
use super::seat::Signals;
use super::slot::Ticket;
use super::state::State;
use crate::run::choice::{Draw, Strategy};
use crate::run::event::{ValueKind, Values};
use crate::run::ids::{ObjectId, Place, Seed, TaskId};
use crate::run::op::{Access, Op};
use crate::run::{DrawRecord, Failure};

scoped_thread_local!(pub(crate) static WORLD: World);

/// One worker's simulated machine.
pub(crate) struct World {
    state: RefCell<State>,
    /// The seed of the run that is on; none in a search, whose runs have numbers instead.
    pub(super) seed: Cell<Option<Seed>>,
    pub(super) signals: Arc<Signals>,
}

impl World {
    pub(super) fn new(strategy: Box<dyn Strategy>, signals: Arc<Signals>) -> World {
        World { state: RefCell::new(State::new(strategy)), seed: Cell::new(None), signals }
    }

    /// The state, with all that has happened so far.
    #[inline]
    pub(super) fn state(&self) -> RefMut<'_, State> {
        let mut state = self.unsettled();
        if now::is_done() {
            state.take_in_done();
        }
        state
    }

    /// The state without what the thread has [noted](now::do_turn) in the step that is being taken.
    #[inline]
    pub(super) fn unsettled(&self) -> RefMut<'_, State> {
        match self.state.try_borrow_mut() {
            Ok(state) => state,
            Err(_) => Self::lent(),
        }
    }

    #[cold]
    fn lent() -> ! {
        panic!("a strategy used a primitive of the run it was deciding")
    }

    /// A value below `bound` drawn from the decisions. Once the run is over there is nothing left
    /// to decide: destructors that draw get 0.
    pub(crate) fn draw(&self, bound: u64, why: &'static str) -> u64 {
        self.decide(bound, Choice::Value(&Draw { bound, why }))
    }

    /// A decision that is not explored: `value`, which is below `bound`, unless a trace is replayed.
    pub(crate) fn given(&self, bound: u64, value: u64, why: &'static str) -> u64 {
        self.decide(bound, Choice::Given(&Draw { bound, why }, value))
    }

    /// The seed of the run; none in a search.
    pub(crate) fn seed(&self) -> Option<Seed> {
        self.seed.get()
    }

    /// How many values have been drawn in the run, and the step it is in.
    pub(crate) fn position(&self) -> (usize, u32) {
        let state = self.state();
        (state.record.draws.len(), state.board.step)
    }

    fn decide(&self, bound: u64, choice: Choice<'_>) -> u64 {
        let mut state = self.unsettled();
        if state.over {
            return 0;
        }
        match World::choose(&mut state, choice) {
            Ok(value) => {
                let step = state.board.step;
                state.record.draws.push(DrawRecord { step, value, bound });
                value
            }
            Err(failure) if std::thread::panicking() => {
                // A destructor: to unwind from here would abort the process.
                state.fail(*failure);
                0
            }
            Err(failure) => {
                drop(state);
                self.fail(*failure)
            }
        }
    }

    /// Ends the run as failed, unwinding the current task.
    pub(crate) fn fail(&self, failure: Failure) -> ! {
        self.state().fail(failure);
        halt()
    }

    /// The number of the current run.
    pub(crate) fn run(&self) -> u64 {
        now::run()
    }

    /// Wakes a task for something that is not of this library.
    pub(super) fn wake(&self, task: TaskId) {
        if let Ok(mut state) = self.state.try_borrow_mut() {
            state.wake(task);
        }
    }

    // ---- objects

    /// The object's row. The first time, `initial` gives its word.
    pub(super) fn meet(
        &self,
        object: &Object,
        values: ValueKind,
        place: Place,
        initial: impl FnOnce() -> u64,
    ) -> ObjectId {
        let mut state = self.unsettled();
        match state.objects.meet(object, values, None) {
            Ok(Met::Known(id)) => id,
            Ok(Met::New(id)) => {
                state.add_object(id, initial());
                id
            }
            Err(unusable) => {
                drop(state);
                self.fail(misuse(object, unusable, place))
            }
        }
    }

    /// An object was created by the current task.
    pub(crate) fn created(&self, object: &Object, values: ValueKind, initial: u64) {
        let mut state = self.unsettled();
        let creator = state.next_creation();
        if let Ok(Met::New(id)) = state.objects.meet(object, values, Some(creator)) {
            state.add_object(id, initial);
        }
    }

    /// The word of an object, if the run knows it.
    pub(crate) fn peek(&self, object: &Object) -> Option<u64> {
        let state = self.state();
        state.objects.find(object).map(|id| state.memory.load(id))
    }

    // ---- points

    /// The current task is at a point: it will do the deed when it steps next and the deed can be
    /// done. For what [`now::announce`] does not take, and for a deed that waits for a lock.
    pub(crate) fn announce(&self, deed: &mut Deed, waker: &Waker) {
        let mut state = self.state();
        deed.ticket = state.announce(deed.op, deed.object, None, deed.place);
        drop(state);
        self.look_at_waker(deed.ticket.waiter, waker);
    }

    /// The current task will go on when `target` has ended.
    pub(crate) fn announce_join(
        &self,
        op: &'static Op,
        target: TaskId,
        place: Place,
        waker: &Waker,
    ) -> Ticket {
        let mut state = self.state();
        let ticket = state.announce(op, None, Some(target), place);
        drop(state);
        self.look_at_waker(ticket.waiter, waker);
        ticket
    }

    /// A number that another announcement changes.
    pub(crate) fn announced(&self) -> u32 {
        2 * self.state().announcements() + u32::from(now::has_announced())
    }

    #[inline]
    pub(super) fn look_at_waker(&self, waiter: Waiter, waker: &Waker) {
        if !now::is_own_waker(waker) {
            self.keep_waker(waiter, waker);
        }
    }

    /// Keeps the waker that a combinator gave to an announcement's future.
    #[cold]
    fn keep_waker(&self, waiter: Waiter, waker: &Waker) {
        let waker = waker.clone();
        let mut state = self.state();
        let old = match state.foreign.iter_mut().find(|(w, _)| *w == waiter) {
            Some((_, kept)) => Some(std::mem::replace(kept, waker)),
            None => {
                state.foreign.push((waiter, waker));
                state.attention = true;
                None
            }
        };
        drop(state);
        drop(old);
    }

    /// Whether the announcement's turn has come: its task was chosen after it was made, and it is
    /// enabled.
    #[cold]
    pub(crate) fn arrived(&self, ticket: &Ticket, waker: &Waker) -> Arrival {
        if ticket.run != now::run() || !now::is_current(ticket.waiter.task()) {
            return Arrival::Moved;
        }
        let state = self.state();
        let task = ticket.waiter.task();
        let row = &state.board.tasks[task.index()];
        let Some(announced) = row.announced.iter().find(|a| a.key == ticket.waiter.key()) else {
            return Arrival::Moved;
        };
        // A lock may have been taken in this very step, by another branch of a `join!`.
        let free = announced.object.is_none_or(|o| state.objects.rows[o.index()].holder.is_none());
        let open = announced.enabled || announced.passed_over;
        let enabled = open && (announced.op.access != Access::Lock || free);
        if enabled && !state.is_of_this_step(ticket.waiter.key()) {
            return Arrival::Now;
        }
        drop(state);
        self.look_at_waker(ticket.waiter, waker);
        Arrival::Later
    }

    /// The state, with an announcement that is being done now taken back.
    pub(super) fn retract_to_do(&self, ticket: &Ticket) -> RefMut<'_, State> {
        let mut state = self.state();
        let Some(waker) = state.retract(ticket.waiter) else { return state };
        drop(state);
        drop(waker);
        self.state()
    }

    /// Completes the last event with the values its effect turned out to have.
    pub(crate) fn note(&self, values: Values) {
        if now::is_done() {
            return now::do_turn(values);
        }
        if let Some(event) = self.state().board.events.last_mut() {
            event.values = values;
        }
    }

    /// Takes back an announcement whose future is dropped.
    pub(crate) fn retract(&self, ticket: &Ticket) {
        if now::retract(ticket) {
            return;
        }
        let mut state = self.state();
        let waker = if ticket.run == state.run { state.retract(ticket.waiter) } else { None };
        drop(state);
        drop(waker);
    }
}

fn misuse(object: &Object, unusable: Unusable, place: Place) -> Failure {
    let (kind, created) = (object.kind(), object.place());
    let message = match unusable {
        Unusable::OtherRun => format!(
            "the {kind} created at {created} was used by an earlier run, and each run must start \
             afresh: create it inside the test body (only atomics, and cells made with const_new, may stand \
             in a static)"
        ),
        Unusable::TooMany => format!(
            "the run has more than 16777215 shared objects, the last created at {created}: \
             create them once, outside of loops"
        ),
    };
    Failure::Misuse { message, place: place.to_string() }
}
