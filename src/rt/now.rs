//! Where the run on this thread is: what every point asks and notes.
//!
//! Kept in the thread and not in the world, so that announcing an operation and asking for its turn
//! are a few loads and stores, without a call and without a borrow. The world takes it in between
//! two steps.

use std::cell::Cell;
use std::task::Waker;

use super::object::Waiter;
use super::slot::Ticket;
use crate::choice::Announced;
use crate::ids::{ObjectId, Place, TaskId};
use crate::op::Op;

/// No announcement has this key.
pub(super) const NO_KEY: u32 = 0;

/// Marks the keys of announcements that wait for nothing and have no waker of their own.
const PLAIN: u32 = 1 << 31;

thread_local! {
    static NOW: Now = const { Now::new() };
}

/// Where a run is.
//
// In this order, and the operation in parts: what is written here in two stores and read soon after in
// one, or the other way round, keeps the processor waiting until it is in the cache. Fields that stand
// side by side there are not side by side here, so that the compiler does not make one of two.
#[repr(C)]
struct Now {
    /// The number of the run, 0 while none is on.
    run: Cell<u64>,
    /// The operation that the current task announced in this step, if it is one that needs no
    /// looking at.
    op: Cell<&'static Op>,
    /// Tells the waker of the task from those that combinators make of it.
    waker: Cell<usize>,
    place: Cell<Place>,
    step: Cell<u32>,
    object: Cell<Option<ObjectId>>,
    task: Cell<TaskId>,
    key: Cell<u32>,
    /// Whether there is such an operation.
    announces: Cell<bool>,
    /// The announcement that the current task did in this step and that is taken back when the step
    /// is over, together with noting the next one; [`NO_KEY`] if there is none.
    performed: Cell<u32>,
}

impl Now {
    const fn new() -> Now {
        Now {
            run: Cell::new(0),
            step: Cell::new(0),
            task: Cell::new(TaskId::MAIN),
            waker: Cell::new(0),
            announces: Cell::new(false),
            op: Cell::new(Announced::NOTHING.op),
            place: Cell::new(Announced::NOTHING.place),
            object: Cell::new(None),
            key: Cell::new(NO_KEY),
            performed: Cell::new(NO_KEY),
        }
    }

    fn replace(&self, other: &Now) -> Now {
        Now {
            run: Cell::new(self.run.replace(other.run.get())),
            step: Cell::new(self.step.replace(other.step.get())),
            task: Cell::new(self.task.replace(other.task.get())),
            waker: Cell::new(self.waker.replace(other.waker.get())),
            announces: Cell::new(self.announces.replace(other.announces.get())),
            op: Cell::new(self.op.replace(other.op.get())),
            place: Cell::new(self.place.replace(other.place.get())),
            object: Cell::new(self.object.replace(other.object.get())),
            key: Cell::new(self.key.replace(other.key.get())),
            performed: Cell::new(self.performed.replace(other.performed.get())),
        }
    }
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
    NOW.with(|now| now.task.get() == task)
}

/// Whether this is the waker that the executor gave to the current task.
#[inline]
pub(super) fn is_own_waker(waker: &Waker) -> bool {
    NOW.with(|now| now.waker.get() == waker.data().addr())
}

/// Whether the task that made an announcement was chosen since, so that it is the turn of an
/// operation that waits for nothing.
#[inline]
pub(crate) fn is_turn_of(ticket: &Ticket) -> bool {
    NOW.with(|now| {
        ticket.step != now.step.get()
            && ticket.waiter.task == now.task.get()
            && ticket.run == now.run.get()
    })
}

/// The current task is at a point: it will do this operation, which waits for nothing, when it
/// steps next. `None` if the world must have a look: it is not the first operation that the task
/// announces in this step, or some combinator gave it a waker of its own.
#[inline]
pub(crate) fn announce(
    op: &'static Op,
    object: Option<ObjectId>,
    place: Place,
    waker: &Waker,
) -> Option<Ticket> {
    NOW.with(|now| {
        if waker.data().addr() != now.waker.get() || now.announces.get() {
            return None;
        }
        // A task has one such announcement in a step, so the step tells it apart.
        let step = now.step.get();
        let key = step | PLAIN;
        now.announces.set(true);
        now.op.set(op);
        now.place.set(place);
        now.object.set(object);
        now.key.set(key);
        Some(Ticket { run: now.run.get(), step, waiter: Waiter { task: now.task.get(), key } })
    })
}

/// Whether the current task has announced an operation in this step that the world has not seen.
pub(super) fn has_announced() -> bool {
    unseen().is_some()
}

/// The operation that the current task has announced in this step and that the world has not seen.
pub(super) fn unseen() -> Option<Announced> {
    NOW.with(|now| now.announces.get()).then(announced)
}

/// Takes an announcement back that the world has not seen; false if it is not such a one.
pub(super) fn retract(ticket: &Ticket) -> bool {
    NOW.with(|now| {
        let key = now.key.get();
        let found = now.announces.get() && key == ticket.waiter.key && ticket.run == now.run.get();
        if found {
            now.announces.set(false);
        }
        found
    })
}

/// Notes that an announcement is done. False if one was already: the world must take this one back.
#[inline]
pub(super) fn perform(key: u32) -> bool {
    NOW.with(|now| {
        let first = now.performed.get() == NO_KEY;
        if first {
            now.performed.set(key);
        }
        first
    })
}

/// `task` is about to be polled.
#[inline]
pub(super) fn enter_step(step: u32, task: TaskId, waker: &Waker) {
    NOW.with(|now| {
        now.step.set(step);
        now.task.set(task);
        now.waker.set(waker.data().addr());
    });
}

/// The key of the announcement that the task did in the step that is over.
#[inline]
pub(super) fn take_performed() -> u32 {
    NOW.with(|now| now.performed.replace(NO_KEY))
}

/// Whether the task [`announced`] an operation in the step that is over. Asked once.
#[inline]
pub(super) fn take_announces() -> bool {
    NOW.with(|now| now.announces.replace(false))
}

/// The operation that was announced last.
#[inline]
pub(super) fn announced() -> Announced {
    NOW.with(|now| Announced {
        op: now.op.get(),
        object: now.object.get(),
        target: None,
        place: now.place.get(),
        enabled: true,
        key: now.key.get(),
    })
}

/// Does `act` as a part of the run with this number. A run may be on within another.
pub(super) fn during<T>(run: u64, act: impl FnOnce() -> T) -> T {
    /// Puts back what was, also when `act` panics.
    struct Before(Now);

    impl Drop for Before {
        fn drop(&mut self) {
            NOW.with(|now| now.replace(&self.0));
        }
    }

    let fresh = Now::new();
    fresh.run.set(run);
    let _before = Before(NOW.with(|now| now.replace(&fresh)));
    act()
}
