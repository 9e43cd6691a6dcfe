//! The hand of the clock: a task of the run that moves the time. It exists in runs whose time may
//! move while tasks can step.
//!
//! Its pending operation is the move to the next deadline, which is enabled while there is one. So a strategy chooses
//! when the time moves, a trace has it as a step, and a search explores it like any other step.
//!
//! If the number of its moves is bounded, it draws before each move of the time if that is one of its own. If not, it
//! rests until the time has moved because no task could step. A value that is drawn at the start decides if the run has
//! a hand at all: 0 is none. The guard must not contain a counter of moves, because a counter is no
//! operation: if a search swaps a move with another step, after which no task can step, it would
//! lose one of the two.

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
use crate::run::clock::ClockMode;
use crate::run::event::{ValueKind, Values};
use crate::run::ids::{Place, TaskId};
use crate::run::op::{Access, Op, clock};
use crate::run::untried::Untried;

const MOVE: Op = Op::of_kind("move_time", Access::Wait, clock::MOVE);
const REST: Op = Op::of_kind("rest", Access::Wait, clock::REST);

/// The name of the task.
const NAME: &str = "clock";

/// The hand of a run.
#[derive(Debug, Default)]
pub(in crate::rt) struct Hand {
    /// When the time of the run may move.
    mode: ClockMode,
    /// The hand, if the run has one: its time may move at any moment.
    task: Option<TaskId>,
    /// The announcement of the hand, from its first step on.
    op: Option<AnnouncementId>,
    /// True if that waits until the time has moved because no task could step.
    rests: bool,
    /// True if the hand has made all moves that it may make.
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

/// The body of the task.
struct Moves {
    pending: PendingOp,
    /// The number of its moves that are left. None: no bound, and the task has no end.
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
    /// Spawns the hand, if the run has one, as the first child of the body, which takes its first step.
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
        // It is not reported if it has not ended.
        self.detach(self.run(), task, true, false);
    }

    /// The announcement of the hand, which is enabled while there is a deadline to come or, if it rests, when the time
    /// has moved.
    fn set_hand(&self, id: AnnouncementId, rests: bool) {
        let mut state = self.state();
        let hand: &mut Hand = state.parts.get_mut();
        (hand.op, hand.rests) = (Some(id), rests);
        state.needs_work();
    }

    /// Records that the hand has made all moves that it may make.
    fn retire_hand(&self) {
        let mut state = self.state();
        let hand: &mut Hand = state.parts.get_mut();
        (hand.op, hand.is_retired) = (None, true);
        state.needs_work();
    }

    /// Does the announced operation `pending`: moves the time to the next deadline.
    fn move_time(&self, pending: &PendingOp) {
        let mut state = self.retract_to_do(&pending.announcement);
        let timers: &mut Timers = state.parts.get_mut();
        let before = timers.now;
        timers.now = timers.next().unwrap_or(before);
        let values = Values::Changed(before, timers.now);
        state.happened(pending.op, pending.object, pending.place, values);
        state.hear_due(pending.place);
    }

    /// Does the announced operation `pending`: the time has moved, and the hand may make the next move.
    fn end_rest(&self, pending: &PendingOp) {
        let mut state = self.retract_to_do(&pending.announcement);
        state.parts.get_mut::<Hand>().rests = false;
        state.happened(pending.op, pending.object, pending.place, Values::None);
    }
}

impl RunState {
    /// Returns `true` if the run has a hand: its time may move at any moment.
    pub(super) fn has_hand(&self) -> bool {
        self.parts.get::<Hand>().task.is_some()
    }

    /// At the end of a step, enables the hand if there is a deadline to come, and disables it otherwise.
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

    /// Ends the rest of the hand: the time moves because no task can step.
    pub(super) fn wake_hand(&mut self) {
        let Hand { op, rests, .. } = *self.parts.get();
        if let Some(hand) = op.filter(|_| rests) {
            self.set_enabled(hand, true);
        }
    }
}
