//! The hand of the clock: a task of the run that moves the time, in runs whose time may move at any moment.
//!
//! Its pending operation is the move to the next deadline, which is enabled while there is one. So a strategy chooses
//! when the time moves, a trace has it as a step, and a search explores it like any other step.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::object::AnnouncementId;
use super::pending::{PendingOp, Readiness, object_id};
use super::timers::CLOCK;
use super::world::{WORLD, World};
use crate::run::event::{ValueKind, Values};
use crate::run::ids::Place;
use crate::run::op::{Access, Op, clock};

const MOVE: Op = Op::of_kind("move_time", Access::Wait, clock::MOVE);

/// The name of the task.
const NAME: &str = "clock";

/// The body of the task: it has no end.
struct Hand {
    pending: PendingOp,
}

impl Future for Hand {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let pending = &mut self.pending;
        WORLD.with(|world| {
            if pending.announcement.is_open() {
                match world.readiness(&pending.announcement, cx.waker()) {
                    Readiness::Ready => world.move_time(pending),
                    Readiness::Waiting | Readiness::Stale => return,
                }
                pending.announcement.close();
            }
            pending.object = Some(object_id(&CLOCK, ValueKind::Time, pending.place, || 0));
            world.announce(pending, cx.waker());
            world.set_hand(pending.announcement.id);
        });
        Poll::Pending
    }
}

impl World {
    /// Spawns the hand, as the first child of the body, which takes its first step.
    pub(super) fn spawn_hand(&self, place: Place) {
        let hand = Hand { pending: PendingOp::new(&MOVE, place) };
        let task = self.spawn_safe(Box::pin(super::TaskBody::new(hand)), Some(NAME.into()), place);
        self.state().timers.hand = Some(task);
        // It is not reported if it has not ended.
        self.detach(self.run(), task, true, false);
    }

    /// The announcement of the hand, which is enabled while there is a deadline to come.
    fn set_hand(&self, id: AnnouncementId) {
        let mut state = self.state();
        state.timers.hand_op = Some(id);
        state.attention = true;
    }

    /// Does the announced operation `pending`: moves the time to the next deadline.
    fn move_time(&self, pending: &PendingOp) {
        let mut state = self.retract_to_do(&pending.announcement);
        let (before, next) = (state.timers.now, state.timers.next());
        state.timers.now = next.unwrap_or(before);
        let values = Values::Changed(before, state.timers.now);
        state.happened(pending.op, pending.object, pending.place, values);
        state.hear_due();
    }
}
