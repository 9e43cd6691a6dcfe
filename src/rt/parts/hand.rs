//! The hand of the clock: a task of the run that advances the time. The hand exists in runs whose time may advance
//! while tasks can step.
//!
//! The pending operation of the hand is the move to the next deadline. The operation is enabled while a deadline
//! exists. So a strategy chooses when the time advances, a trace contains the move as a step, and a search explores it
//! like any other step.
//!
//! If the number of its moves is bounded, the hand draws a value before each move of the time. The value decides if the
//! hand makes this move. If not, the hand rests until the time has advanced because no task could step. A value that is
//! drawn at the start decides if the run has a hand at all; 0 means that it has no hand. The guard must not contain a
//! counter of moves, because a counter is not an operation. If a search swapped a move with another step, after which
//! no task can step, it would lose one of the two orders.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::timers::{CLOCK, Timers};
use crate::rt::body::TaskBody;
use crate::rt::object::AnnouncementId;
use crate::rt::part::Part;
use crate::rt::pending::{PendingOp, Readiness, object_id};
use crate::rt::state::RunState;
use crate::rt::worker::RunLimits;
use crate::rt::world::{WORLD, World};
use crate::run::clock_mode::ClockMode;
use crate::run::event::{ValueKind, Values};
use crate::run::ids::{Place, TaskId};
use crate::run::op::{Access, Op, clock};
use crate::run::untried::Untried;

const MOVE: Op = Op::of_kind("move_time", Access::Wait, clock::MOVE);
const REST: Op = Op::of_kind("rest", Access::Wait, clock::REST);

/// The name of the task.
const NAME: &str = "clock";

/// The state of the hand in a run.
#[derive(Debug, Default)]
pub(in crate::rt) struct Hand {
    /// The conditions under which the time of the run may advance.
    mode: ClockMode,
    /// The task of the hand, if the run has a hand: its time may advance at any moment.
    task: Option<TaskId>,
    /// The announcement of the hand, after its first step has begun.
    op: Option<AnnouncementId>,
    /// True if the announcement waits until the time has advanced because no task could step.
    rests: bool,
    /// True if the hand has made all its moves.
    is_retired: bool,
}

impl Part for Hand {
    fn forget(&mut self) {
        *self = Hand::default();
    }

    fn begin(state: &mut RunState, limits: &RunLimits) {
        if limits.clock != ClockMode::Last {
            state.parts.get_mut::<Hand>().mode = limits.clock;
        }
    }

    fn begin_body(world: &World) {
        let mode = world.state().parts.get::<Hand>().mode;
        world.spawn_hand(mode, CLOCK.place());
    }

    fn settle(state: &mut RunState) {
        if state.board.step == 0 {
            // The body spawns the hand in its first step.
            state.needs_work();
        }
        state.update_hand();
    }
}

/// The future of the hand task.
struct Moves {
    pending: PendingOp,
    /// The number of moves left. `None` if moves are not bounded; the task then has no end.
    left: Option<u32>,
}

impl Future for Moves {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Moves { pending, left } = &mut *self;
        WORLD.with(|world| {
            if pending.announcement.is_open() {
                match world.readiness(&pending.announcement, cx.waker()) {
                    Readiness::Ready if pending.op == &MOVE => {
                        world.move_time(pending);
                        *left = left.map(|left| left - 1);
                    }
                    Readiness::Ready => world.end_rest(pending),
                    Readiness::Waiting | Readiness::Stale => return Poll::Pending,
                }
                pending.announcement.close();
            }
            let moves = match left {
                None => true,
                Some(0) => {
                    world.retire_hand();
                    return Poll::Ready(());
                }
                Some(_) => world.draw(2, "an early move of the time") == 1,
            };
            pending.op = if moves { &MOVE } else { &REST };
            pending.object = Some(object_id(&CLOCK, ValueKind::Time, pending.place, || 0));
            world.announce(pending, cx.waker());
            world.set_hand(pending.announcement.id, !moves);
            Poll::Pending
        })
    }
}

impl World {
    /// Spawns the hand, if the run has one. The hand is the first child of the body, which is in its first step.
    fn spawn_hand(&self, mode: ClockMode, place: Place) {
        let left = match mode {
            ClockMode::Last => return,
            ClockMode::Late(_) if self.draw(2, "early moves of the time") == 0 => return,
            ClockMode::Late(moves) => Some(moves),
            ClockMode::Any => None,
        };
        let hand = Moves { pending: PendingOp::new(&MOVE, place), left };
        let task = self.spawn_safe(Box::pin(TaskBody::new(hand)), Some(NAME.into()), place);
        let mut state = self.state();
        state.parts.get_mut::<Hand>().task = Some(task);
        state.slots.at_mut(task.index()).is_of_run = true;
        drop(state);
        // An unfinished hand is not reported.
        self.detach(self.run(), task, true, false);
    }

    /// Sets the announcement of the hand. The hand is enabled while there is a future deadline or, if the hand `rests`,
    /// after the time has advanced.
    fn set_hand(&self, id: AnnouncementId, rests: bool) {
        let mut state = self.state();
        let hand: &mut Hand = state.parts.get_mut();
        (hand.op, hand.rests) = (Some(id), rests);
        state.needs_work();
    }

    /// Records that the hand has made all its moves.
    fn retire_hand(&self) {
        let mut state = self.state();
        let hand: &mut Hand = state.parts.get_mut();
        (hand.op, hand.is_retired) = (None, true);
        state.needs_work();
    }

    /// Performs the announced operation `pending`: advances the time to the next deadline.
    fn move_time(&self, pending: &PendingOp) {
        let mut state = self.retract_to_do(&pending.announcement);
        let timers: &mut Timers = state.parts.get_mut();
        let before = timers.now;
        timers.now = timers.next().unwrap_or(before);
        let values = Values::Changed(before, timers.now);
        state.happened(pending.op, pending.object, pending.place, values);
        state.hear_due(pending.place);
    }

    /// Performs the announced operation `pending`: the time has advanced, so the hand may make the next move.
    fn end_rest(&self, pending: &PendingOp) {
        let mut state = self.retract_to_do(&pending.announcement);
        state.parts.get_mut::<Hand>().rests = false;
        state.happened(pending.op, pending.object, pending.place, Values::None);
    }
}

impl RunState {
    /// Returns `true` if the run has a hand: its time may advance at any moment.
    pub(super) fn has_hand(&self) -> bool {
        self.parts.get::<Hand>().task.is_some()
    }

    /// At the end of a step, enables the hand if there is a future deadline, and disables it otherwise.
    fn update_hand(&mut self) {
        let Hand { op, rests, is_retired, .. } = *self.parts.get();
        match op {
            Some(hand) if !rests => {
                let has_deadline = self.timers().next().is_some();
                self.set_enabled(hand, has_deadline);
            }
            None if is_retired && self.timers().next().is_some() => {
                self.record.untried.insert(Untried::Beyond(ClockMode::BEYOND));
            }
            _ => {}
        }
    }

    /// Ends the rest of the hand, because the time advances when no task can step.
    pub(super) fn wake_hand(&mut self) {
        let Hand { op, rests, .. } = *self.parts.get();
        if let Some(hand) = op.filter(|_| rests) {
            self.set_enabled(hand, true);
        }
    }
}
