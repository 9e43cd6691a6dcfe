//! Bells: the waiting side of condition variables.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake};
use unpause_ordered::sort_by_key;

use event_listener::{Event, EventListener};

use super::Here;
use super::point::RunObject;
use crate::rt::{Ear, Object, PendingOp, WORLD, in_run, is_by_hand, made, object_id};
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
    /// The waiters of the run, in the order of their arrival.
    waiters: Mutex<Vec<Arc<Ear>>>,
    /// The waiters outside of runs.
    event: Event,
}

impl RunObject for Bell {
    fn id_in_run(&self, place: Place) -> Option<ObjectId> {
        Some(object_id(&self.object, ValueKind::Opaque, place, || 0))
    }
}

impl Bell {
    pub(crate) fn new(here: Here) -> Bell {
        let object = made(Object::new("condvar", here, false), ValueKind::Opaque, 0);
        Bell { object, waiters: Mutex::default(), event: Event::new() }
    }

    /// Begins to wait, in the current step.
    pub(crate) fn listen(&self, here: Here) -> Listen<'_> {
        if !in_run() {
            return Listen::Real(self.event.listen());
        }
        self.note(&WAIT, here);
        let (waiter, is_spurious) = WORLD.with(|world| (world.ear(), world.wakes_spuriously()));
        waiter.open();
        self.waiters().push(waiter.clone());
        let pending = PendingOp::new(&WAKE, here);
        Listen::Run(RunListen { bell: self, waiter, pending, is_spurious, is_over: false })
    }

    /// Notifies one of the waiting tasks.
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

    /// Notifies all waiting tasks.
    pub(crate) fn notify_all(&self, here: Here) {
        if !in_run() {
            self.event.notify(usize::MAX);
            return;
        }
        self.note(&NOTIFY_ALL, here);
        std::mem::take(&mut *self.waiters()).iter().for_each(Ear::wake_by_ref);
    }

    /// Notifies any one of the waiting tasks, because std promises no order.
    fn pass_on(&self) {
        let mut waiters = std::mem::take(&mut *self.waiters());
        // The waiters are sorted by task, because the meaning of a number must not depend on the
        // order of arrival.
        sort_by_key(&mut waiters, |waiter| waiter.task());
        let chosen = match waiters.len() as u64 {
            0 => None,
            1 => Some(0),
            count => Some(super::draw(count, "the task that is notified") as usize),
        };
        if let Some(at) = chosen {
            waiters.remove(at).wake();
        }
        *self.waiters() = waiters;
    }

    fn waiters(&self) -> MutexGuard<'_, Vec<Arc<Ear>>> {
        self.waiters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, op: &'static Op, here: Here) {
        let object = self.id_in_run(here);
        WORLD.with(|world| world.record(op, object, here, Values::None));
    }
}

/// A task that waits for a notification.
pub(crate) enum Listen<'a> {
    Real(EventListener),
    Run(RunListen<'a>),
}

pub(crate) struct RunListen<'a> {
    bell: &'a Bell,
    /// The waker that a notification calls.
    waiter: Arc<Ear>,
    pending: PendingOp,
    /// True if the task may continue without a notification.
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
        if is_by_hand(cx.waker()) && *is_spurious {
            waiter.wake_by_ref();
        }
        if pending.poll_turn(cx, *bell, Some(waiter)).is_pending() {
            if is_by_hand(cx.waker()) {
                bell.note(&Op::LOOK_BY_HAND, pending.place);
            }
            if *is_spurious {
                WORLD.with(|world| world.hear(pending.announcement.id));
            }
            return Poll::Pending;
        }
        *is_over = true;
        bell.waiters().retain(|other| !Arc::ptr_eq(other, waiter));
        bell.note(&WAKE, pending.place);
        Poll::Ready(())
    }
}

impl Drop for RunListen<'_> {
    fn drop(&mut self) {
        if self.is_over || !in_run() || !self.bell.object.is_of(crate::rt::run()) {
            return;
        }
        self.bell.waiters().retain(|other| !Arc::ptr_eq(other, &self.waiter));
        self.bell.note(&LEAVE, self.pending.place);
        if self.waiter.is_called() {
            self.bell.pass_on();
        }
    }
}
