//! Messages in flight; see the carriers of [`rt`](crate::rt). Messages in flight exist only in simulated runs.

use std::any::Any;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use super::time::Timer;
use super::wrapped::Wrapped;
use super::{Here, in_run};
use crate::rt::{AnnouncementId, Body, PendingOp, WORLD, World};
use crate::run::ids::TaskId;
use crate::run::in_flight::InFlight;
use crate::run::op::{Access, Op, clock, net};
use crate::seam::transport::{Arrival, Transport};

/// An announcement that is enabled while a condition holds.
// This is the latch of one arriving message, or of one call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Latch(AnnouncementId);

impl Latch {
    pub(super) fn of(announcement: AnnouncementId) -> Latch {
        Latch(announcement)
    }

    pub(super) fn announcement(self) -> AnnouncementId {
        self.0
    }

    /// Enables the announcement, or disables it.
    pub(crate) fn set(self, is_open: bool) {
        WORLD.with(|world| world.set_latch(self.0, is_open));
    }
}

/// A wait until the earliest arrival time of a message.
const TRAVEL: Op = Op::of_kind("travel", Access::Wait, clock::DUE);

/// A wait for earlier messages, or for the end of a cut.
const WAIT_BEHIND: Op = Op::of_kind("wait", Access::Peek, net::WAIT_BEHIND).quiet();

/// The body of a carrier that delivers a delayed message.
struct Travel<L: Transport> {
    over: Arc<L>,
    /// `None` after the message has arrived or was lost.
    number: Option<u64>,
    op: &'static Op,
    at: Arc<Wrapped>,
    here: Here,
    pending: PendingOp,
    timer: Option<Timer>,
}

/// Sends a message over a stream or a socket. Must be called in a run.
pub(crate) fn send<L: Transport>(
    over: &Arc<L>,
    message: L::Message,
    arrival: Arrival<'_>,
    here: Here,
) {
    debug_assert!(in_run());
    if let Some(time) = arrival.not_before {
        return send_later(over.clone(), message, (arrival, time), here);
    }
    WORLD.with(|world| {
        let announced = (arrival.op, arrival.at.id(here));
        let sent = world.send(arrival.route, announced, here, |id| {
            let (number, is_open) = over.take(message, Some(Latch(id)));
            (InFlight { over: over.clone(), number }, is_open)
        });
        if sent.is_shown {
            describe(world, &**over, sent.number, sent.task);
        }
    });
}

#[inline(never)]
fn send_later<L: Transport>(
    over: Arc<L>,
    message: L::Message,
    (arrival, time): (Arrival<'_>, Instant),
    here: Here,
) {
    let (pending, timer) = (PendingOp::new(arrival.op, here), Timer::new(&TRAVEL, time, here));
    let (number, _) = over.take(message, None);
    let (number, timer) = (Some(number), Some(timer));
    let (op, at) = (arrival.op, arrival.at.clone());
    let travel = Travel { over: over.clone(), number, op, at, here, pending, timer };
    WORLD.with(|world| {
        let (task, is_shown) = world.send_later(arrival.route, here, Box::pin(travel));
        if is_shown {
            number.into_iter().for_each(|number| describe(world, &*over, number, task));
        }
    });
}

#[cold]
fn describe<L: Transport>(world: &World, over: &L, number: u64, task: TaskId) {
    if let Some(text) = over.describe(number) {
        world.describe(task, text);
    }
}

impl<L: Transport> Unpin for Travel<L> {}

impl<L: Transport> Travel<L> {
    /// Returns `Ready` in the turn of the arrival.
    fn poll_arrival(&mut self, number: u64, cx: &mut Context<'_>) -> Poll<()> {
        let Travel { over, at, pending, timer, here, .. } = self;
        let Some(wait) = timer else { return pending.poll_turn(cx, &**at, None) };
        ready!(wait.poll(cx));
        *timer = None;
        // The message arrives in this step, or waits like a message without delay.
        let polled = pending.poll_waiting(cx, &**at);
        debug_assert!(polled.is_pending(), "it was not announced before");
        if !over.may_arrive(number, Latch(pending.announcement.id)) {
            at.record(&WAIT_BEHIND, here);
            return Poll::Pending;
        }
        WORLD.with(|world| world.take_turn_out_of_turn(pending));
        pending.announcement.close();
        Poll::Ready(())
    }
}

// This is a separate body and not a task with a result, because no task joins it.
impl<L: Transport> Body for Travel<L> {
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let number = self.number.expect("it is polled until it arrives");
        ready!(self.poll_arrival(number, cx));
        self.at.record(self.op, self.here);
        self.number = None;
        self.over.clone().arrive(number);
        Poll::Ready(())
    }

    fn clear(mut self: Pin<&mut Self>) {
        self.lose();
    }

    fn take(self: Pin<&mut Self>, _: &mut dyn Any) -> bool {
        false
    }
}

impl<L: Transport> Travel<L> {
    fn lose(&mut self) {
        self.number.take().into_iter().for_each(|number| self.over.lose(number));
        self.timer = None;
    }
}

impl<L: Transport> Drop for Travel<L> {
    fn drop(&mut self) {
        self.lose();
    }
}

/// Draws a net fault; see [`World::suffers`](crate::rt::World::suffers).
pub(crate) fn suffers(kind: usize, bound_and_budget: (u64, u8), why: &'static str) -> u64 {
    WORLD.with(|world| world.suffers(kind, bound_and_budget, why))
}

/// Draws a fault that some draws other than 0 do not cause; see [`World::suffers_if`](crate::rt::World::suffers_if).
pub(crate) fn suffers_if(
    kind: usize,
    bound_and_budget: (u64, u8),
    why: &'static str,
    is_fault: impl Fn(u64) -> bool,
) -> u64 {
    WORLD.with(|world| world.suffers_if(kind, bound_and_budget, why, is_fault))
}

/// Draws a rare fault; see [`World::suffers_rarely`](crate::rt::World::suffers_rarely).
pub(crate) fn suffers_rarely(kind: usize, rate_and_budget: (u64, u8), why: &'static str) -> bool {
    WORLD.with(|world| world.suffers_rarely(kind, rate_and_budget, why))
}
