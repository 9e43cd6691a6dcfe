//! Messages on their way; see [`rt`](crate::rt)'s carriers. There are none outside of simulated runs.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use super::time::Timer;
use super::{Here, in_run};
use crate::rt::{AnnouncementId, PendingOp, TaskBody, WORLD};
use crate::run::board::Route;
use crate::run::event::Values;
use crate::run::op::{Access, Op, clock};
use crate::seam::cargo::{Cargo, Way};

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
        WORLD.with(|world| world.set_latch(self.0, is_open));
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
pub(crate) fn carry<C: Cargo>(mut cargo: C, way: Way, route: Route, here: Here) {
    debug_assert!(in_run());
    WORLD.with(|world| {
        let mut pending = PendingOp::new(way.op, here);
        let timer = way.not_before.map(|time| Timer::new(&TRAVEL, time, here));
        let arrival = timer.is_none().then(|| (way.op, cargo.at().id(here)));
        let (task, announcement, is_shown) = world.add_carrier(route, arrival, here);
        if let Some(text) = if is_shown { cargo.describe() } else { None } {
            world.describe(task, text);
        }
        if let Some((_, object)) = arrival {
            (pending.object, pending.announcement) = (Some(object), announcement);
            if !cargo.may_arrive(Latch(announcement.id)) {
                world.set_latch(announcement.id, false);
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
        let Carrier { cargo: slot, way, pending, timer, here } = &mut *self;
        let cargo = slot.as_mut().expect("it is polled until it arrives");
        if let Some(wait) = timer {
            ready!(wait.poll(cx));
            *timer = None;
            // It arrives in this step, or waits as one that is not delayed.
            let polled = pending.poll_waiting(cx, cargo.at());
            debug_assert!(polled.is_pending(), "it was not announced before");
            if !cargo.may_arrive(Latch(pending.announcement.id)) {
                return Poll::Pending;
            }
            WORLD.with(|world| world.take_turn_out_of_turn(pending));
            pending.announcement.close();
        } else {
            ready!(pending.poll_turn(cx, cargo.at(), None));
        }
        cargo.at().now(here, || (), |()| (way.op, Values::None));
        if let Some(cargo) = slot.take() {
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
