//! Time: the virtual clock of the run, and the system clock outside of runs.
//!
//! An instant of a run is the time since the start of the run, added to a base instant that is the same for all runs in
//! the process. So it can be compared with other instants, and converted from and to std instants. Instants of a node
//! contain the time that the node's clock has counted, and an offset for each life of the node: see [`Moment`].

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::Here;
use super::group::Group;
use super::point::RunObject;
use crate::real::timer::{FAR, RealTimer, add};
use crate::rt::{
    CLOCK, Cancellation, Moment, PendingOp, WORLD, World, in_run, is_by_hand, object_id,
};
use crate::run::Failure;
use crate::run::event::ValueKind;
use crate::run::ids::{ObjectId, Place};
use crate::run::op::{Access, Op, cancellation, clock};
use crate::seam::wakes_nobody;

const END: Op = Op::of_kind("end", Access::Tell, cancellation::END);

/// Returns the instant at which all runs begin.
fn start() -> Instant {
    static START: OnceLock<Instant> = OnceLock::new();
    *START.get_or_init(Instant::now)
}

/// The operation of a timer that is polled by hand.
const POLL_BY_HAND: Op = Op::of_kind("poll", Access::Peek, clock::READ);

/// The object of operations on the clock.
struct Clock;

impl RunObject for Clock {
    fn id_in_run(&self, place: Place) -> Option<ObjectId> {
        Some(clock_id(place))
    }
}

fn clock_id(place: Place) -> ObjectId {
    object_id(&CLOCK, ValueKind::Time, place, || 0)
}

/// Returns the time of the run, read by the operation `op`. Outside of runs, returns the system time.
pub(crate) fn now(op: &'static Op, here: Here) -> Instant {
    if !in_run() {
        return Instant::now();
    }
    let clock = clock_id(here);
    instant(WORLD.with(|world| world.read_clock(op, clock, here)))
}

/// Returns the wall clock. In a run, this is the clock of the node, which starts on a fixed day. Outside of runs, it is
/// the system clock.
pub(crate) fn wall(op: &'static Op, here: Here) -> SystemTime {
    if !in_run() {
        return SystemTime::now();
    }
    let clock = clock_id(here);
    let since = WORLD.with(|world| world.read_wall(op, clock, here));
    let (begin, by) = (UNIX_EPOCH + BEGIN, Duration::from_nanos(since.unsigned_abs()));
    if since < 0 { begin - by } else { begin + by }
}

/// The time from 1970 to the start of all runs, which is the first of January 2026.
const BEGIN: Duration = Duration::from_secs(1_767_225_600);

/// Returns the moment `after` from now, to which the operation `op` sets a timer. Returns a moment in about 30 years if
/// the clock cannot represent it.
pub(crate) fn deadline(op: &'static Op, after: Duration, here: Here) -> Instant {
    if !in_run() {
        return add(Instant::now(), after);
    }
    let clock = clock_id(here);
    let after = u64::try_from(after.as_nanos()).unwrap_or(FAR.as_nanos() as u64);
    instant(WORLD.with(|world| world.note_deadline(op, clock, after, here)))
}

/// Like [`deadline`], but always in true time, even if a node calls it.
pub(crate) fn true_deadline(op: &'static Op, after: Duration, here: Here) -> Instant {
    Group::outside().enter(|| deadline(op, after, here))
}

/// Like [`now`], but always in true time, even if a node calls it.
pub(crate) fn true_now(op: &'static Op, here: Here) -> Instant {
    Group::outside().enter(|| now(op, here))
}

/// Returns the time that the clock had counted at an instant of the current run. `None` outside of runs, and for an
/// instant before the run.
pub(crate) fn since_start(instant: Instant) -> Option<Duration> {
    let since = if in_run() { instant.checked_duration_since(start()) } else { None };
    since.map(|since| Duration::from_nanos(Moment::of(since).at))
}

/// Returns the times until the earliest and the latest timer for which tasks of the run wait.
pub(crate) fn timer_span() -> Option<(Duration, Duration)> {
    if in_run() { WORLD.with(World::timer_span) } else { None }
}

/// Fails the run if two instants belong to different clocks.
#[inline]
pub(crate) fn of_one_clock(one: Instant, other: Instant, here: Here) {
    if in_run() && one != other {
        let [one, other] = [moment(one), moment(other)];
        if one.life != other.life {
            refuse([one, other], here);
        }
    }
}

#[cold]
fn refuse(moments: [Moment; 2], here: Here) {
    let [one, other] = moments.map(|moment| WORLD.with(|world| world.clock_name(moment)));
    let message = format!(
        "an instant of {one} is compared with an instant of {other}: each life of a node has a clock of its own. \
         Compare instants of one life, send durations, or read the true time of the run with sim::time::truth()"
    );
    super::fail(|| Failure::Misuse { message, place: here.to_string() });
}

fn instant(moment: Moment) -> Instant {
    start() + moment.since_start()
}

/// Converts an instant to a moment. An instant before the run becomes the start of the run.
fn moment(instant: Instant) -> Moment {
    Moment::of(instant.saturating_duration_since(start()))
}

/// A timer, which completes when the time has reached its deadline. In a run, its wait is a point.
pub(crate) struct Timer {
    pending: PendingOp,
    deadline: Instant,
    /// The timer outside of runs.
    real: Option<RealTimer>,
    /// True for the timer of a time-out.
    races: bool,
    /// True if the chance to fire early was already drawn for the current deadline.
    is_decided: bool,
    /// The fault that may let the timer fire early, until it fires.
    chance: Option<Arc<Cancellation>>,
}

impl std::fmt::Debug for Timer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Timer").finish_non_exhaustive()
    }
}

impl Timer {
    /// Creates a timer that waits by the operation `op`. The access of the operation is [`Access::Wait`].
    pub(crate) fn new(op: &'static Op, deadline: Instant, here: Here) -> Timer {
        let pending = PendingOp::new(op, here);
        Timer { pending, deadline, real: None, races: false, is_decided: false, chance: None }
    }

    /// Makes this the timer of a time-out.
    pub(crate) fn race(&mut self) {
        self.races = true;
    }

    /// Changes the deadline. In a run, the operation `op` is recorded if another task waits for the timer.
    pub(crate) fn reset(&mut self, op: &'static Op, deadline: Instant) {
        self.deadline = deadline;
        self.end_chance();
        self.is_decided = false;
        if let Some(real) = &mut self.real {
            real.reset(deadline);
        }
        if in_run() && self.pending.announcement.is_open() {
            WORLD.with(|world| world.wait_anew(op, &self.pending, moment(deadline)));
        }
    }

    /// Polls the timer. The timer must not be polled after completion.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Timer { pending, deadline, real, .. } = self;
        if !in_run() {
            return real.get_or_insert_with(|| RealTimer::new(*deadline)).poll(cx);
        }
        let in_turn = pending.try_in_turn(|pending| WORLD.with(|world| world.take_turn(pending)));
        if !in_turn && self.poll_out_of_turn(cx).is_pending() {
            return Poll::Pending;
        }
        WORLD.with(|world| world.reach(&self.pending));
        self.end_chance();
        Poll::Ready(())
    }

    /// Returns `Ready` if the deadline is reached, although it is not the turn of the operation.
    fn poll_out_of_turn(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if is_by_hand(cx.waker()) {
            if self.is_due_by_hand() {
                return Poll::Ready(());
            }
            if wakes_nobody(cx.waker()) {
                return Poll::Pending;
            }
        }
        let Timer { pending, deadline, races, is_decided, chance, .. } = self;
        let before = pending.announcement.is_open().then_some(pending.announcement.id);
        if pending.poll_waiting(cx, &Clock).is_pending() {
            let deadline = moment(*deadline);
            if before != Some(pending.announcement.id) {
                WORLD.with(|world| world.wait_until(pending, deadline));
            }
            if !std::mem::replace(is_decided, true) && WORLD.with(World::cancels_selects) {
                *chance = draw_chance(*races, deadline, pending.place);
            }
            return Poll::Pending;
        }
        pending.perform_out_of_turn(|pending| {
            WORLD.with(|world| world.take_turn_out_of_turn(pending));
        });
        Poll::Ready(())
    }

    /// Reads the clock by hand. If the deadline is reached, retracts the operation.
    #[cold]
    fn is_due_by_hand(&mut self) -> bool {
        let Timer { pending, deadline, .. } = self;
        let clock = clock_id(pending.place);
        let (at, deadline) = ((clock, pending.place), moment(*deadline));
        let is_due = WORLD.with(|world| world.has_reached(&POLL_BY_HAND, at, deadline));
        if is_due {
            pending.object = Some(clock);
            pending.begin_by_hand();
            pending.announcement.close();
        }
        is_due
    }

    /// Ends the chance that the timer fires early.
    fn end_chance(&mut self) {
        let Some(chance) = self.chance.take().filter(|_| in_run()) else { return };
        chance.end();
        WORLD.with(|world| world.record_last(&END, chance.object(), self.pending.place));
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.end_chance();
    }
}

/// Decides if the deadline for which the current task begins to wait may pass at any moment. A deadline may pass at any
/// moment if it is the deadline of a time-out, or in a branch of a `select!`.
fn draw_chance(races: bool, deadline: Moment, place: Place) -> Option<Arc<Cancellation>> {
    if !races && !WORLD.with(World::is_racing) {
        return None;
    }
    let chance = Cancellation::new("timer", place);
    let has = WORLD.with(|world| world.may_pass_early(&chance, deadline, place));
    if has {
        WORLD.with(|world| world.created(chance.object(), ValueKind::Opaque, 0));
    }
    has.then_some(chance)
}

/// An advance of the clock. In a run, it advances the time at a point. Outside of runs, it waits for the time to pass.
pub(crate) struct Advance {
    pending: PendingOp,
    by: Duration,
    /// The timer outside of runs.
    real: Option<RealTimer>,
}

impl Advance {
    pub(crate) fn new(op: &'static Op, by: Duration, here: Here) -> Advance {
        Advance { pending: PendingOp::new(op, here), by, real: None }
    }
}

impl Future for Advance {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Advance { pending, by, real } = &mut *self;
        if !in_run() {
            let end = || RealTimer::new(add(Instant::now(), *by));
            return real.get_or_insert_with(end).poll(cx);
        }
        let nanoseconds = u64::try_from(by.as_nanos()).unwrap_or(u64::MAX);
        let polled = match is_by_hand(cx.waker()) {
            true => {
                pending.object = Some(clock_id(pending.place));
                pending.begin_by_hand();
                Poll::Ready(())
            }
            // The operation is not in its turn here. The world advances the time while the announcement is open.
            false => pending.poll_waiting(cx, &Clock),
        };
        polled.map(|()| {
            pending.perform_out_of_turn(|pending| {
                WORLD.with(|world| world.advance_by(pending, nanoseconds));
            });
        })
    }
}
