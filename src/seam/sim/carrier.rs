//! Messages on their way; see [`rt`](crate::rt)'s carriers. There are none outside of simulated runs.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use super::time::Timer;
use super::wrapped::Wrapped;
use super::{Here, in_run};
use crate::rt::{AnnouncementId, PendingOp, TaskBody, WORLD};
use crate::run::board::Route;
use crate::run::event::Values;
use crate::run::op::{Access, Op, clock};

/// A message on its way.
pub(crate) trait Cargo: Send + 'static {
    /// Returns `true` if it may arrive. If not, `latch` is opened when it may.
    fn may_arrive(&mut self, latch: Latch) -> bool;

    /// Arrives, in the step of its carrier.
    fn arrive(self);
}

/// The way of a message.
#[derive(Debug)]
pub(crate) struct Way {
    /// The operation by which it arrives, and its object.
    pub(crate) op: &'static Op,
    pub(crate) at: Arc<Wrapped>,
    /// The time before which it does not arrive; none if that is any.
    pub(crate) not_before: Option<Instant>,
}

/// An announcement that is enabled while something is so.
// Of one message that arrives, or of one call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Latch(AnnouncementId);

impl Latch {
    pub(super) fn of(announcement: AnnouncementId) -> Latch {
        Latch(announcement)
    }

    /// Enables the announcement, or disables it.
    pub(crate) fn set(self, is_open: bool) {
        WORLD.with(|world| world.set_gate(self.0, is_open));
    }
}

/// Waits for the time before which a message does not arrive.
const TRAVEL: Op = Op::of_kind("travel", Access::Wait, clock::DUE);

struct Carrier<C> {
    cargo: Option<C>,
    way: Way,
    pending: PendingOp,
    timer: Option<Timer>,
    here: Here,
}

/// Sends `cargo` on its way. `route` is for reports. In a run.
pub(crate) fn carry<C: Cargo>(mut cargo: C, way: Way, route: Arc<Route>, here: Here) {
    debug_assert!(in_run());
    WORLD.with(|world| {
        let task = world.add_carrier(route, here);
        let mut pending = PendingOp::new(way.op, here);
        let timer = way.not_before.map(|time| Timer::new(&TRAVEL, time, here));
        if timer.is_none() {
            let object = way.at.id(here);
            let announcement = world.announce_arrival(task, way.op, object, here);
            (pending.object, pending.announcement) = (Some(object), announcement);
            if !cargo.may_arrive(Latch(announcement.id)) {
                world.set_gate(announcement.id, false);
            }
        }
        let carrier = Carrier { cargo: Some(cargo), way, pending, timer, here };
        world.set_carrier(task, Box::pin(TaskBody::new(carrier)));
    });
}

impl<C> Unpin for Carrier<C> {}

impl<C: Cargo> Future for Carrier<C> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Carrier { cargo, way, pending, timer, here } = &mut *self;
        if let Some(wait) = timer {
            ready!(wait.poll(cx));
            *timer = None;
            // It arrives in this step, or waits as one that is not delayed.
            let polled = pending.poll_waiting(cx, &*way.at);
            debug_assert!(polled.is_pending(), "it was not announced before");
            let id = pending.announcement.id;
            if !cargo.as_mut().is_some_and(|cargo| cargo.may_arrive(Latch(id))) {
                return Poll::Pending;
            }
            WORLD.with(|world| world.take_turn_out_of_turn(pending));
            pending.announcement.close();
        } else {
            ready!(pending.poll_turn(cx, &*way.at, None));
        }
        way.at.now(here, || (), |()| (way.op, Values::None));
        if let Some(cargo) = cargo.take() {
            cargo.arrive();
        }
        Poll::Ready(())
    }
}

/// Draws a fault of the net; see [`World::suffers`](crate::rt::World::suffers).
pub(crate) fn suffers(kind: usize, bound_and_budget: (u64, u8), why: &'static str) -> u64 {
    WORLD.with(|world| world.suffers(kind, bound_and_budget, why))
}

/// Draws a rare fault; see [`World::suffers_rarely`](crate::rt::World::suffers_rarely).
pub(crate) fn suffers_rarely(kind: usize, rate_and_budget: (u64, u8), why: &'static str) -> bool {
    WORLD.with(|world| world.suffers_rarely(kind, rate_and_budget, why))
}
