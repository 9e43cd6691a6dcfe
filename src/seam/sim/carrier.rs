//! Messages on their way; see [`rt`](crate::rt)'s carriers. There are none outside of simulated runs.

use std::any::Any;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use super::time::Timer;
use super::{Here, in_run};
use crate::rt::{AnnouncementId, Body, PendingOp, WORLD, World};
use crate::run::board::Route;
use crate::run::op::{Access, Op, clock, net};
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

/// Waits for messages before it, or for the end of a cut.
const WAIT_BEHIND: Op = Op::of_kind("wait", Access::Peek, net::WAIT_BEHIND).quiet();

/// The body of a carrier.
struct Carrier<C> {
    cargo: Option<C>,
    way: Way,
    here: Here,
    /// Of one that is delayed.
    travel: Option<Box<Travel>>,
}

/// The wait of a carrier, and its arrival after it.
struct Travel {
    pending: PendingOp,
    timer: Option<Timer>,
}

/// Sends `cargo` on its way. `route` is for reports. In a run.
pub(crate) fn carry<C: Cargo>(mut cargo: C, way: Way, route: &'static Route, here: Here) {
    debug_assert!(in_run());
    WORLD.with(|world| {
        let travel = way.not_before.map(|time| {
            let (pending, timer) = (PendingOp::new(way.op, here), Timer::new(&TRAVEL, time, here));
            Box::new(Travel { pending, timer: Some(timer) })
        });
        let arrival = travel.is_none().then(|| (way.op, cargo.at().id(here)));
        let (task, announcement, is_shown) = world.add_carrier(route, arrival, here);
        if let Some(text) = if is_shown { cargo.describe() } else { None } {
            world.describe(task, text);
        }
        if travel.is_none() && !cargo.may_arrive(Latch(announcement.id)) {
            world.set_latch(announcement.id, false);
        }
        let carrier = Carrier { cargo: Some(cargo), way, here, travel };
        world.set_carrier(task, Box::pin(carrier));
    });
}

impl<C> Unpin for Carrier<C> {}

impl Travel {
    /// Ready in the turn of the arrival.
    fn poll<C: Cargo>(&mut self, cargo: &mut C, here: Here, cx: &mut Context<'_>) -> Poll<()> {
        let Travel { pending, timer } = self;
        let Some(wait) = timer else { return pending.poll_turn(cx, cargo.at(), None) };
        ready!(wait.poll(cx));
        *timer = None;
        // It arrives in this step, or waits as one that is not delayed.
        let polled = pending.poll_waiting(cx, cargo.at());
        debug_assert!(polled.is_pending(), "it was not announced before");
        if !cargo.may_arrive(Latch(pending.announcement.id)) {
            cargo.at().record(&WAIT_BEHIND, here);
            return Poll::Pending;
        }
        WORLD.with(|world| world.take_turn_out_of_turn(pending));
        pending.announcement.close();
        Poll::Ready(())
    }
}

// A body of its own, and no task with a result: nobody joins it.
impl<C: Cargo> Body for Carrier<C> {
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Carrier { cargo: slot, way, here, travel } = &mut *self;
        let cargo = slot.as_mut().expect("it is polled until it arrives");
        match travel {
            Some(travel) => {
                ready!(travel.poll(cargo, here, cx));
                cargo.at().record(way.op, here);
            }
            // Its one announcement is enabled: there is nothing else that it is polled for.
            None => WORLD.with(World::arrive),
        }
        if let Some(cargo) = slot.take() {
            cargo.arrive();
        }
        Poll::Ready(())
    }

    fn clear(mut self: Pin<&mut Self>) {
        self.cargo = None;
        self.travel = None;
    }

    fn take(self: Pin<&mut Self>, _: &mut dyn Any) -> bool {
        false
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
