//! Bells: the waiting side of condition variables.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use event_listener::{Event, EventListener};

use super::Here;
use super::point::RunObject;
use crate::rt::{AnnouncementId, Object, PendingOp, WORLD, in_run, object_id};
use crate::run::event::{ValueKind, Values};
use crate::run::ids::{ObjectId, Place};
use crate::run::op::{Access, Op, condvar};

const WAIT: Op = Op::of_kind("wait", Access::Tell, condvar::REGISTER);
const WAKE: Op = Op::of_kind("wake_up", Access::Wait, condvar::HEAR);
const NOTIFY_ONE: Op = Op::of_kind("notify_one", Access::Tell, condvar::NOTIFY_ONE);
const NOTIFY_ALL: Op = Op::of_kind("notify_all", Access::Tell, condvar::NOTIFY_ALL);
const LEAVE: Op = Op::of_kind("stop_waiting", Access::Tell, condvar::LEAVE);

/// The tasks that wait for a notification.
#[derive(Debug)]
pub(crate) struct Bell {
    object: Object,
    /// Those of the run, in the order in which they came.
    waiters: Mutex<Vec<Arc<Waiter>>>,
    /// Those outside of runs.
    event: Event,
}

#[derive(Debug, Default)]
pub(crate) struct Waiter(Mutex<WaiterState>);

#[derive(Debug, Default)]
struct WaiterState {
    is_notified: bool,
    /// The number of its task.
    task: u32,
    /// The announcement that waits.
    waits: Option<AnnouncementId>,
}

impl Waiter {
    fn state(&self) -> MutexGuard<'_, WaiterState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunObject for Bell {
    fn id_in_run(&self, place: Place) -> Option<ObjectId> {
        Some(object_id(&self.object, ValueKind::Opaque, place, || 0))
    }
}

impl Bell {
    pub(crate) fn new(here: Here) -> Bell {
        let object = Object::new("condvar", here, false);
        if in_run() {
            WORLD.with(|world| world.created(&object, ValueKind::Opaque, 0));
        }
        Bell { object, waiters: Mutex::default(), event: Event::new() }
    }

    /// Begins to wait, in the current step.
    pub(crate) fn listen(&self, here: Here) -> Listen<'_> {
        if !in_run() {
            return Listen::Real(self.event.listen());
        }
        let waiter = Arc::new(Waiter::default());
        let is_spurious = WORLD.with(|world| {
            waiter.state().task = world.client() as u32;
            self.note(&WAIT, here);
            world.wakes_spuriously()
        });
        self.waiters().push(waiter.clone());
        let pending = PendingOp::new(&WAKE, here);
        Listen::Run(RunListen { bell: self, waiter, pending, is_spurious, is_over: false })
    }

    /// Notifies one of those that wait.
    pub(crate) fn notify_one(&self, here: Here) {
        match in_run() {
            true => {
                self.note(&NOTIFY_ONE, here);
                self.pass_on();
            }
            false => {
                self.event.notify_additional(1);
            }
        }
    }

    /// Notifies all that wait.
    pub(crate) fn notify_all(&self, here: Here) {
        if !in_run() {
            self.event.notify(usize::MAX);
            return;
        }
        self.note(&NOTIFY_ALL, here);
        for waiter in std::mem::take(&mut *self.waiters()) {
            wake(&waiter);
        }
    }

    /// Notifies any one of those that wait: std promises no order.
    fn pass_on(&self) {
        let mut waiters = std::mem::take(&mut *self.waiters());
        // By task: the meaning of a number must not depend on the order in which they came.
        waiters.sort_by_key(|waiter| waiter.state().task);
        let chosen = match waiters.len() as u64 {
            0 => None,
            1 => Some(0),
            count => Some(super::draw(count, "the task that is notified") as usize),
        };
        if let Some(at) = chosen {
            wake(&waiters.remove(at));
        }
        *self.waiters() = waiters;
    }

    fn waiters(&self) -> MutexGuard<'_, Vec<Arc<Waiter>>> {
        self.waiters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, op: &'static Op, here: Here) {
        let object = self.id_in_run(here);
        WORLD.with(|world| world.record(op, object, here, Values::None));
    }
}

fn wake(waiter: &Waiter) {
    let mut state = waiter.state();
    state.is_notified = true;
    if let Some(id) = state.waits {
        WORLD.with(|world| world.enable(id));
    }
}

/// A task that waits for a notification.
pub(crate) enum Listen<'a> {
    Real(EventListener),
    Run(RunListen<'a>),
}

pub(crate) struct RunListen<'a> {
    bell: &'a Bell,
    waiter: Arc<Waiter>,
    pending: PendingOp,
    /// True if it may go on without a notification.
    is_spurious: bool,
    is_over: bool,
}

impl Future for Listen<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        match self.get_mut() {
            Listen::Real(listener) => Pin::new(listener).poll(cx),
            Listen::Run(listen) => listen.poll(cx),
        }
    }
}

impl RunListen<'_> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let RunListen { bell, waiter, pending, is_spurious, is_over } = self;
        let in_turn = pending.try_in_turn(|pending| WORLD.with(|world| world.take_turn(pending)));
        if !in_turn {
            let polled = pending.poll_waiting(cx, *bell);
            if polled.is_pending() {
                let id = pending.announcement.id;
                let mut state = waiter.state();
                // It may have been announced anew, by another task.
                let is_new = state.waits.replace(id) != Some(id);
                if is_new && (state.is_notified || *is_spurious) {
                    WORLD.with(|world| world.enable(id));
                }
                return Poll::Pending;
            }
            pending.perform_out_of_turn(|pending| {
                WORLD.with(|world| world.take_turn_out_of_turn(pending));
            });
        }
        *is_over = true;
        bell.waiters().retain(|other| !Arc::ptr_eq(other, waiter));
        bell.note(&WAKE, pending.place);
        Poll::Ready(())
    }
}

impl Drop for RunListen<'_> {
    fn drop(&mut self) {
        if self.is_over || !in_run() || self.bell.object.in_run(crate::rt::run()).is_none() {
            return;
        }
        self.bell.waiters().retain(|other| !Arc::ptr_eq(other, &self.waiter));
        self.bell.note(&LEAVE, self.pending.place);
        if self.waiter.state().is_notified {
            self.bell.pass_on();
        }
    }
}
