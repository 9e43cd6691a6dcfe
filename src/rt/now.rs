//! Where the run on this thread is: what every point asks and notes.
//!
//! Kept in the thread and not in the world, so that announcing an operation, asking for its turn and
//! doing it are a few loads and stores, without a call and without a borrow. The world takes it in
//! between two steps, or when it is asked for anything else in the step.

use std::cell::Cell;
use std::task::Waker;

use super::object::Waiter;
use super::slot::Ticket;
use crate::run::board::Announced;
use crate::run::event::Values;
use crate::run::ids::{ObjectId, Place, TaskId};
use crate::run::op::Op;

/// No announcement has this key.
pub(super) const NO_KEY: u32 = 0;

/// Marks the keys of announcements that wait for nothing and have no waker of their own.
const PLAIN: u32 = 1 << 31;

/// Stands where the key of an announcement stood that was done. No announcement has it.
const DONE: u32 = PLAIN - 1;

/// The key of an announcement that waits for nothing. A task makes one of them in a step, so the step
/// tells it apart.
#[inline]
pub(super) fn plain_key(step: u32) -> u32 {
    step | PLAIN
}

thread_local! {
    static NOW: Now = const { Now::new() };
}

/// Where a run is.
//
// What takes the time at a point is what it stores: a processor puts one word after the other into its
// cache, while it does four other things in that time. So there are no flags that are set and cleared,
// but keys that say which step they belong to; and what is written together is one word.
//
// In this order, and the operation in parts: what is written here in two stores and read soon after in
// one, or the other way round, keeps the processor waiting until it is in the cache. Fields that stand
// side by side there are not side by side here, so that the compiler does not make one of two.
#[repr(C)]
pub(crate) struct Now {
    /// The number of the run, 0 while none is on.
    run: Cell<u64>,
    /// The operation that the current task announced last, if it is one that needs no looking at.
    op: Cell<&'static Op>,
    /// Tells the waker of the task from those that combinators make of it.
    waker: Cell<usize>,
    place: Cell<Place>,
    /// The current task, and the [key](plain_key) of what it announces in this step.
    current: Cell<Waiter>,
    /// The object of the announcement, and in the upper half its key; [`NO_KEY`] if it was taken back.
    mark: Cell<u64>,
    /// The announcement of the current task whose turn it is in this step, if it waits for nothing and
    /// needs no looking at; [`NO_KEY`] if there is none; [`DONE`] if it was done and the world has not
    /// seen it.
    turn: Cell<u32>,
    /// With what values it was done.
    values: Cell<Values>,
}

impl Now {
    const fn new() -> Now {
        Now {
            run: Cell::new(0),
            op: Cell::new(Announced::NOTHING.op),
            waker: Cell::new(0),
            place: Cell::new(Announced::NOTHING.place),
            current: Cell::new(Waiter::new(TaskId::MAIN, PLAIN)),
            mark: Cell::new(0),
            turn: Cell::new(NO_KEY),
            values: Cell::new(Values::None),
        }
    }

    /// The run with this number begins, 0 if it is none. What an announcement or a deed says of itself is
    /// set with it.
    #[inline]
    fn begin(&self, run: u64) {
        self.run.set(run);
        self.waker.set(0);
        self.current.set(Waiter::new(TaskId::MAIN, PLAIN));
        self.mark.set(0);
        self.turn.set(NO_KEY);
    }

    /// The key of the operation that was announced last.
    #[inline]
    fn key(&self) -> u32 {
        (self.mark.get() >> 32) as u32
    }

    /// The current task is at a point: it will do this operation, which waits for nothing, when it
    /// steps next. `None` if the world must have a look: it is not the first operation that the task
    /// announces in this step, or some combinator gave it a waker of its own.
    #[inline]
    pub(super) fn announce(
        &self,
        op: &'static Op,
        object: Option<ObjectId>,
        place: Place,
        waker: &Waker,
    ) -> Option<Ticket> {
        let waiter = self.current.get();
        if waker.data().addr() != self.waker.get() || self.key() == waiter.key() {
            return None;
        }
        self.op.set(op);
        self.place.set(place);
        self.mark.set((u64::from(waiter.key()) << 32) | u64::from(bits(object)));
        Some(Ticket { run: self.run.get(), waiter })
    }
}

/// A number for an object, 0 for none.
#[inline]
fn bits(object: Option<ObjectId>) -> u32 {
    object.map_or(0, |object| object.index() as u32 + 1)
}

/// Does `act` with what the thread knows of its run.
#[inline]
pub(super) fn with<R>(act: impl FnOnce(&Now) -> R) -> R {
    NOW.with(act)
}

/// Whether a run is on on this thread.
#[inline]
pub(crate) fn in_run() -> bool {
    run() != 0
}

/// The number of the run that is on on this thread, 0 if none is.
#[inline]
pub(crate) fn run() -> u64 {
    NOW.with(|now| now.run.get())
}

/// Whether this is the task that takes the step.
#[inline]
pub(super) fn is_current(task: TaskId) -> bool {
    NOW.with(|now| now.current.get().task() == task)
}

/// Whether this is the waker that the executor gave to the current task.
#[inline]
pub(super) fn is_own_waker(waker: &Waker) -> bool {
    NOW.with(|now| now.waker.get() == waker.data().addr())
}

// ---- a step

/// `task` is about to be polled. `turn` is the key of the announcement whose turn it is, [`NO_KEY`] if
/// the world must have a look.
#[inline]
pub(super) fn enter_step(step: u32, task: TaskId, turn: u32, waker: &Waker) {
    NOW.with(|now| {
        now.current.set(Waiter::new(task, plain_key(step)));
        now.turn.set(turn);
        now.waker.set(waker.data().addr());
    });
}

/// Whether it is the turn of an announcement: the task that made it was chosen since, and it waits for
/// nothing.
#[inline]
pub(crate) fn is_turn_of(ticket: &Ticket) -> bool {
    NOW.with(|now| ticket.waiter.key() == now.turn.get() && ticket.run == now.run.get())
}

/// The current task did the announcement whose turn it was. Said again, with other values, it counts once.
#[inline]
pub(super) fn do_turn(values: Values) {
    NOW.with(|now| {
        now.values.set(values);
        now.turn.set(DONE);
    });
}

/// Whether the announcement was done whose turn it was, and the world has not seen it.
#[inline]
pub(super) fn is_done() -> bool {
    NOW.with(|now| now.turn.get() == DONE)
}

/// Hands out the values of what was done last when its turn had come.
//
// Not returned: `with` puts what it returns into an `Option` first, and looks whether it is there.
#[inline(always)]
pub(super) fn with_done(see: impl FnOnce(Values)) {
    NOW.with(|now| see(now.values.get()));
}

/// The world has seen that the announcement was done.
pub(super) fn forget_done() {
    NOW.with(|now| now.turn.set(NO_KEY));
}

// ---- what was announced

/// Whether the task that took this step [`announced`] an operation in it.
#[inline]
pub(super) fn announces_in(step: u32) -> bool {
    NOW.with(|now| now.key() == plain_key(step))
}

/// The operation that was announced last.
#[inline]
pub(super) fn announced() -> Announced {
    NOW.with(|now| Announced {
        op: now.op.get(),
        object: (now.mark.get() as u32).checked_sub(1).map(ObjectId::new),
        target: None,
        place: now.place.get(),
        enabled: true,
        key: now.key(),
        passed_over: false,
    })
}

/// The current task has ended, or the run: what it announced last is announced no more, if its future was
/// forgotten without being dropped, and nothing has its turn.
pub(super) fn end() {
    NOW.with(|now| {
        now.mark.set(0);
        now.turn.set(NO_KEY);
    });
}

/// Whether the current task has announced an operation in this step that the world has not seen.
pub(super) fn has_announced() -> bool {
    NOW.with(|now| now.key() == now.current.get().key())
}

/// The operation that the current task has announced in this step and that the world has not seen.
pub(super) fn unseen() -> Option<Announced> {
    has_announced().then(announced)
}

/// Takes an announcement back that the world has not seen; false if it is not such a one.
pub(super) fn retract(ticket: &Ticket) -> bool {
    let found = ticket.run == run() && unseen().is_some_and(|a| a.key == ticket.waiter.key());
    if found {
        NOW.with(|now| now.mark.set(0));
    }
    found
}

// ---- a run

/// Does `act` as a part of the run with this number. There is none on on this thread: to start one within
/// another is refused.
pub(super) fn during<T>(run: u64, act: impl FnOnce() -> T) -> T {
    /// Ends the run, also when `act` panics.
    struct End;

    impl Drop for End {
        fn drop(&mut self) {
            NOW.with(|now| now.begin(0));
        }
    }

    debug_assert!(!in_run());
    let _end = End;
    NOW.with(|now| now.begin(run));
    act()
}
