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

use super::object::{Met, Object, Unusable, Waiter};
use super::panics::halt;
use super::slot::Ticket;
use super::state::State;
use super::waker::Signals;
use crate::choice::{Announced, Draw, Mismatch, Strategy};
use crate::event::{ValueKind, Values};
use crate::ids::{ObjectId, Place, TaskId};
use crate::memory::Memory;
use crate::op::{Access, Op};
use crate::run::{DrawRecord, Failure};

scoped_thread_local!(pub(crate) static WORLD: World);

/// Marks the keys of announcements that wait for nothing and have no waker of their own.
const PLAIN: u32 = 1 << 31;

/// Where a run is: what every point asks, kept where asking needs no borrow.
#[derive(Clone, Copy, Default)]
struct Now {
    run: u64,
    step: u32,
    task: u32,
    /// Tells the waker of the task from those that combinators make of it.
    waker: usize,
}

/// One worker's simulated machine.
pub(crate) struct World {
    now: Cell<Now>,
    /// The operation that the current task announced in this step, if it needs no looking at: kept
    /// here until the step is over, without a borrow.
    announced: Cell<Option<Announced>>,
    state: RefCell<State>,
    strategy: RefCell<Box<dyn Strategy>>,
    pub(super) signals: Arc<Signals>,
}

/// A question with a bounded answer.
pub(super) enum Choice<'a> {
    /// Which of the candidates steps: the answer is a position in `State::ready`.
    Task(&'a State),
    /// Which value a draw gives.
    Value(&'a Draw),
}

impl World {
    pub(super) fn new(strategy: Box<dyn Strategy>, signals: Arc<Signals>) -> World {
        World {
            now: Cell::default(),
            announced: Cell::new(None),
            state: RefCell::default(),
            strategy: RefCell::new(strategy),
            signals,
        }
    }

    pub(super) fn set_strategy(&self, strategy: Box<dyn Strategy>) -> Box<dyn Strategy> {
        self.strategy.replace(strategy)
    }

    pub(super) fn strategy(&self) -> RefMut<'_, Box<dyn Strategy>> {
        self.strategy.borrow_mut()
    }

    #[inline]
    pub(super) fn state(&self) -> RefMut<'_, State> {
        match self.state.try_borrow_mut() {
            Ok(state) => state,
            Err(_) => panic!("a strategy used a primitive of the run it was deciding"),
        }
    }

    /// Answers a choice. Every bit of nondeterminism of a run passes here.
    #[inline]
    pub(super) fn choose(&self, choice: Choice<'_>) -> Result<u64, Box<Failure>> {
        let Ok(mut strategy) = self.strategy.try_borrow_mut() else {
            panic!("a strategy drew a value from the run it was deciding");
        };
        let (answer, bound) = match choice {
            Choice::Task(state)
                if state.board.ready.len() == 1 && !strategy.sees_forced_steps() =>
            {
                return Ok(0);
            }
            Choice::Task(state) => {
                (strategy.pick(&state.view()).map(|i| i as u64), state.board.ready.len() as u64)
            }
            Choice::Value(draw) => (strategy.draw(draw), draw.bound),
        };
        match answer {
            Ok(answer) if answer < bound => Ok(answer),
            Ok(answer) => Err(Box::new(Failure::Misuse {
                message: format!("the strategy answered {answer} to a choice of {bound}"),
                place: String::new(),
            })),
            Err(Mismatch { step, expected, found }) => {
                Err(Box::new(Failure::Diverged { step, expected, found }))
            }
        }
    }

    /// A value below `bound` drawn from the decisions. Once the run is over there is nothing left
    /// to decide: destructors that draw get 0.
    pub(crate) fn draw(&self, bound: u64, why: &'static str) -> u64 {
        if self.state().over {
            return 0;
        }
        match self.choose(Choice::Value(&Draw { bound, why })) {
            Ok(value) => {
                let mut state = self.state();
                let step = state.board.step;
                state.record.draws.push(DrawRecord { step, value, bound });
                value
            }
            Err(failure) if std::thread::panicking() => {
                // A destructor: to unwind from here would abort the process.
                self.state().fail(*failure);
                0
            }
            Err(failure) => self.fail(*failure),
        }
    }

    /// Ends the run as failed, unwinding the current task.
    pub(crate) fn fail(&self, failure: Failure) -> ! {
        self.state().fail(failure);
        halt()
    }

    /// The number of the current run.
    pub(crate) fn run(&self) -> u64 {
        self.now.get().run
    }

    /// Wakes a task for something that is not of this library.
    pub(super) fn wake(&self, task: TaskId) {
        if let Ok(mut state) = self.state.try_borrow_mut() {
            state.wake(task);
        }
    }

    // ---- objects

    /// The object's row. The first time, `initial` gives its word.
    #[inline]
    pub(crate) fn meet(
        &self,
        object: &Object,
        values: ValueKind,
        place: Place,
        initial: impl FnOnce() -> u64,
    ) -> ObjectId {
        let mut state = self.state();
        match state.objects.meet(object, values, None) {
            Ok(Met::Known(id)) => id,
            Ok(Met::New(id)) => {
                state.memory.push(initial());
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
        let mut state = self.state();
        let creator = state.next_creation();
        if let Ok(Met::New(_)) = state.objects.meet(object, values, Some(creator)) {
            state.memory.push(initial);
        }
    }

    /// The word of an object, if the run knows it.
    pub(crate) fn peek(&self, object: &Object) -> Option<u64> {
        let state = self.state();
        state.objects.find(object).map(|id| state.memory.load(id))
    }

    // ---- points

    /// The current task is at a point: it will do the deed, which waits for nothing, when it steps
    /// next.
    #[inline]
    pub(crate) fn announce(&self, deed: &mut Deed, waker: &Waker) {
        let now = self.now.get();
        if waker.data().addr() != now.waker || self.announced.get().is_some() {
            return self.announce_slowly(deed, None, waker);
        }
        let Deed { op, object, place, .. } = *deed;
        // A task has one such announcement in a step, so the step tells it apart.
        let key = now.step | PLAIN;
        self.announced.set(Some(Announced { op, object, target: None, place, enabled: true, key }));
        let waiter = Waiter { task: TaskId(now.task), key };
        deed.ticket = Ticket { run: now.run, step: now.step, waiter };
    }

    /// Like [`announce`](Self::announce), for a deed that waits for a lock or, with a target, for
    /// the end of a task.
    #[cold]
    pub(crate) fn announce_slowly(&self, deed: &mut Deed, target: Option<TaskId>, waker: &Waker) {
        let mut state = self.state();
        deed.ticket = state.announce(deed.op, deed.object, target, deed.place);
        drop(state);
        self.look_at_waker(&deed.ticket, waker);
    }

    /// A number that another announcement changes.
    pub(crate) fn announced(&self) -> u32 {
        2 * self.state().announcements() + u32::from(self.announced.get().is_some())
    }

    /// What the current task announced in the step that is over.
    #[inline]
    pub(super) fn take_announced(&self) -> Option<Announced> {
        self.announced.take()
    }

    #[inline]
    fn look_at_waker(&self, ticket: &Ticket, waker: &Waker) {
        if waker.data().addr() != self.now.get().waker {
            self.keep_waker(ticket.waiter, waker);
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
                None
            }
        };
        drop(state);
        drop(old);
    }

    /// `task` is about to be polled.
    #[inline]
    pub(super) fn enter_step(&self, state: &mut State, task: TaskId, waker: &Waker) {
        let preempts = state.preempts(task);
        state.enter_step(task, preempts);
        let waker = waker.data().addr();
        self.now.set(Now { run: state.run, step: state.board.step, task: task.0, waker });
    }

    /// Whether the announcement's turn has come: its task was chosen after it was made, and it is
    /// enabled, which all operations but those that wait always are.
    #[inline]
    pub(crate) fn arrived(&self, deed: &Deed, waker: &Waker) -> Arrival {
        let (op, ticket) = (deed.op, &deed.ticket);
        let now = self.now.get();
        if ticket.run != now.run || ticket.waiter.task.0 != now.task {
            return Arrival::Moved;
        }
        if ticket.step != now.step && !matches!(op.access, Access::Lock | Access::Join) {
            return Arrival::Now;
        }
        self.arrived_slowly(ticket, waker)
    }

    #[cold]
    fn arrived_slowly(&self, ticket: &Ticket, waker: &Waker) -> Arrival {
        let state = self.state();
        let task = ticket.waiter.task;
        let row = &state.board.tasks[task.index()];
        let Some(announced) = row.announced.iter().find(|a| a.key == ticket.waiter.key) else {
            return Arrival::Moved;
        };
        // A lock may have been taken in this very step, by another branch of a `join!`.
        let free = announced.object.is_none_or(|o| state.objects.rows[o.index()].holder.is_none());
        let enabled = announced.enabled && (announced.op.access != Access::Lock || free);
        if enabled && ticket.step != state.board.step {
            return Arrival::Now;
        }
        drop(state);
        self.look_at_waker(ticket, waker);
        Arrival::Later
    }

    /// Does an announced operation on a word of memory.
    #[inline]
    pub(crate) fn perform<R>(
        &self,
        deed: &Deed,
        effect: impl FnOnce(&mut Memory, ObjectId) -> (R, Values),
    ) -> R {
        let mut state = self.retract_to_do(&deed.ticket);
        let object = deed.object.expect("an operation on memory has an object");
        let (result, values) = effect(&mut state.memory, object);
        state.happened(deed.op, deed.object, deed.place, values);
        result
    }

    /// The state, with an announcement that is being done now taken back.
    #[inline]
    pub(super) fn retract_to_do(&self, ticket: &Ticket) -> RefMut<'_, State> {
        let mut state = self.state();
        if state.retract_only(ticket.waiter) {
            return state;
        }
        drop(state);
        self.retract(ticket);
        self.state()
    }

    /// Does an announced operation that has no effect on the state.
    #[inline]
    pub(crate) fn pass(&self, deed: &Deed) {
        let mut state = self.retract_to_do(&deed.ticket);
        state.happened(deed.op, deed.object, deed.place, Values::None);
    }

    /// Completes the last event with the values its effect turned out to have.
    pub(crate) fn note(&self, values: Values) {
        if let Some(event) = self.state().board.events.last_mut() {
            event.values = values;
        }
    }

    /// Takes back an announcement whose future is dropped.
    pub(crate) fn retract(&self, ticket: &Ticket) {
        if let Some(announced) = self.announced.get() {
            let now = self.now.get();
            if announced.key == ticket.waiter.key && ticket.run == now.run {
                self.announced.set(None);
                return;
            }
        }
        let mut state = self.state();
        let waker = if ticket.run == state.run { state.retract(ticket.waiter).1 } else { None };
        drop(state);
        drop(waker);
    }
}

/// An operation, from its announcement until it is done.
#[derive(Clone, Copy)]
pub(crate) struct Deed {
    pub(crate) op: &'static Op,
    pub(crate) object: Option<ObjectId>,
    pub(crate) place: Place,
    pub(crate) ticket: Ticket,
}

impl Deed {
    /// One that has not been announced.
    #[inline]
    pub(crate) fn new(op: &'static Op, place: Place) -> Deed {
        Deed { op, object: None, place, ticket: Ticket::default() }
    }
}

/// Whether an announced operation can be done.
pub(crate) enum Arrival {
    /// Now.
    Now,
    /// Not in this step.
    Later,
    /// Its future is being polled by another task, or in another run: it must be announced anew.
    Moved,
}

fn misuse(object: &Object, unusable: Unusable, place: Place) -> Failure {
    let (kind, created) = (object.kind(), object.place());
    let message = match unusable {
        Unusable::OtherRun => format!(
            "the {kind} created at {created} was used by an earlier run, and each run must start \
             afresh: create it inside the test body (only atomics and cells may stand in a static)"
        ),
        Unusable::TooMany => format!(
            "the run has more than 16777215 shared objects, the last created at {created}: \
             create them once, outside of loops"
        ),
    };
    Failure::Misuse { message, place: place.to_string() }
}
