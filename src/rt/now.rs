//! The position of the run on this thread: the state that every point reads and writes.
//!
//! This state is thread-local and not in the world. So a point is a few loads and stores, without a call and without a
//! borrow. The world processes the changes between two steps, or at the first call of the world in the step.

use std::cell::Cell;
use std::task::Waker;

use super::object::{AnnouncementId, BY_NODE};
use super::slot::Announcement;
use crate::run::board::Announced;
use crate::run::event::Values;
use crate::run::ids::{ObjectId, Place, TaskId};
use crate::run::op::Op;

/// A key that no announcement has.
pub(super) const NO_KEY: u32 = 0;

/// Marks the keys of announcements that wait for nothing and have no waker of their own.
const PLAIN: u32 = 1 << 31;

/// Replaces the key of an announcement when its operation is done. No announcement has this key.
const DONE: u32 = PLAIN - 1;

/// The key of an operation that is polled by hand, while it takes effect: the operation was not announced. No
/// announcement has this key.
const BY_HAND: u32 = PLAIN - 2;

/// A run number that no run has.
const NO_RUN: u64 = u64::MAX;

/// A waker address that no task has, because nothing is allocated there.
const NO_WAKER: usize = usize::MAX;

/// Returns the key of an announcement that waits for nothing. A task creates at most one such announcement in a step,
/// so the step identifies it.
#[inline]
pub(super) fn plain_key(step: u32) -> u32 {
    step | PLAIN
}

thread_local! {
    static NOW: Now = const { Now::new() };
}

/// The way in which an operation that waits for nothing takes effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    /// Through a point.
    Point,
    /// In the poll, because the future is polled by hand.
    ByHand,
    /// The operation takes effect in the poll that announces it, if a part of the run requests this.
    Fused,
}

/// The position of a run.
//
// The cost of a point is its stores: a processor commits one store at a time, and executes four other instructions in
// the same time. Therefore no flag is set and cleared. Instead, keys contain their step, and fields that are written
// together are one word.
//
// The order of the fields matters, and the operation is split into several fields. A load stalls until recent stores
// are in the cache, if it covers two of them, or a part of one. Fields that are adjacent on the board are not adjacent
// here, so that the compiler does not merge two accesses into one.
#[repr(C)]
pub(crate) struct Now {
    /// The number of the current run, or 0 outside of runs.
    run: Cell<u64>,
    /// The operation that the current task announced last, if the thread could record it.
    op: Cell<&'static Op>,
    /// The address that distinguishes the task's own waker from the wakers of combinators.
    waker: Cell<usize>,
    place: Cell<Place>,
    /// The current task, and the [key](plain_key) of its announcement in this step.
    current: Cell<AnnouncementId>,
    /// The object of the announcement and, in the upper half, its key. The key is [`NO_KEY`] if the announcement was
    /// retracted.
    mark: Cell<u64>,
    /// The key of the announcement whose turn it is in this step, if the thread can decide this, else [`NO_KEY`]. The
    /// value is [`DONE`] if the operation is done and the world has not seen it.
    turn: Cell<u32>,
    /// The values of the last operation that was done.
    values: Cell<Values>,
    /// The way in which operations take effect: see [`by_hand`] and [`fuse`].
    way: Cell<Way>,
    /// The number of the run for objects of statics: see [`statics`].
    statics: Cell<u64>,
    /// The address of the task's own waker while its points are [fused](fuse). During that time, `waker` has an address
    /// that no task has.
    fused: Cell<usize>,
}

impl Now {
    const fn new() -> Now {
        Now {
            run: Cell::new(0),
            op: Cell::new(Announced::NOTHING.op),
            waker: Cell::new(0),
            place: Cell::new(Announced::NOTHING.place),
            current: Cell::new(AnnouncementId::new(TaskId::MAIN, PLAIN)),
            mark: Cell::new(0),
            turn: Cell::new(NO_KEY),
            values: Cell::new(Values::None),
            way: Cell::new(Way::Point),
            fused: Cell::new(NO_WAKER),
            statics: Cell::new(NO_RUN),
        }
    }

    /// Begins the run with this number, or ends the current run if the number is 0. Does not reset the parts of an
    /// announcement and the values, because they are written before they are read.
    #[inline]
    fn begin(&self, run: u64) {
        self.run.set(run);
        self.waker.set(0);
        self.current.set(AnnouncementId::new(TaskId::MAIN, PLAIN));
        self.mark.set(0);
        self.turn.set(NO_KEY);
        self.statics.set(if run == 0 { NO_RUN } else { run | BY_NODE });
    }

    /// Returns the key of the operation that was announced last.
    #[inline]
    fn key(&self) -> u32 {
        (self.mark.get() >> 32) as u32
    }

    /// Announces an operation that waits for nothing: the current task performs it in its next step. Returns `None` if
    /// the world must record the announcement. The world must record it if the task has announced another operation in
    /// this step, or if a combinator passed its own waker.
    #[inline]
    pub(super) fn announce(
        &self,
        op: &'static Op,
        object: Option<ObjectId>,
        place: Place,
        waker: &Waker,
    ) -> Option<Announcement> {
        let id = self.current.get();
        if waker.data().addr() != self.waker.get() || self.key() == id.key() {
            return None;
        }
        self.op.set(op);
        self.place.set(place);
        self.mark.set((u64::from(id.key()) << 32) | u64::from(bits(object)));
        Some(Announcement { run: self.run.get(), id })
    }
}

/// Returns a number for an object, or 0 for `None`.
#[inline]
fn bits(object: Option<ObjectId>) -> u32 {
    object.map_or(0, |object| object.index() as u32 + 1)
}

/// Calls `act` with the position of this thread's run.
#[inline]
pub(super) fn with<R>(act: impl FnOnce(&Now) -> R) -> R {
    NOW.with(act)
}

/// Returns `true` inside a run.
#[inline]
pub(crate) fn in_run() -> bool {
    run() != 0
}

/// Returns the number of the current run of this thread, or 0 outside of runs.
#[inline]
pub(crate) fn run() -> u64 {
    NOW.with(|now| now.run.get())
}

/// Returns the number of the current run in the slots of objects of which each node has its own. While the run has
/// nodes, returns a number that no run has, so that the world searches for the row.
#[inline]
pub(crate) fn statics() -> u64 {
    NOW.with(|now| now.statics.get())
}

/// Records that the run has nodes from now on.
pub(super) fn has_nodes() {
    NOW.with(|now| now.statics.set(NO_RUN));
}

/// Returns `true` for the task that takes the current step.
#[inline]
pub(super) fn is_current(task: TaskId) -> bool {
    NOW.with(|now| now.current.get().task() == task)
}

/// Returns `true` for the waker that the executor passed to the current task.
#[inline]
pub(super) fn is_own_waker(waker: &Waker) -> bool {
    NOW.with(|now| {
        let own = waker.data().addr();
        now.waker.get() == own || now.fused.get() == own
    })
}

// ---- a step

/// Enters a step that polls `task`. `turn` is the key of the announcement whose turn it is, or [`NO_KEY`] if the world
/// must decide it.
#[inline]
pub(super) fn enter_step(step: u32, task: TaskId, turn: u32, waker: &Waker) {
    NOW.with(|now| {
        now.current.set(AnnouncementId::new(task, plain_key(step)));
        now.turn.set(turn);
        now.waker.set(waker.data().addr());
    });
}

/// Like [`enter_step`], but for a task that has no future and no waker.
#[inline]
pub(super) fn enter_step_unpolled(step: u32, task: TaskId) {
    NOW.with(|now| {
        now.current.set(AnnouncementId::new(task, plain_key(step)));
        now.turn.set(NO_KEY);
        now.waker.set(NO_WAKER);
    });
}

/// Returns `true` if it is the turn of an announcement: the strategy has chosen its task, and the announcement waits
/// for nothing.
#[inline]
pub(crate) fn is_turn_of(announcement: &Announcement) -> bool {
    NOW.with(|now| announcement.id.key() == now.turn.get() && announcement.run == now.run.get())
}

/// Marks the operation whose turn it is as done. A second call replaces the values.
#[inline]
pub(super) fn do_turn(values: Values) {
    NOW.with(|now| {
        now.values.set(values);
        now.turn.set(DONE);
    });
}

/// Returns `true` if the operation whose turn it was is done, and the world has not seen this yet.
#[inline]
pub(super) fn is_done() -> bool {
    NOW.with(|now| now.turn.get() == DONE)
}

/// Calls `see` with the values of the last operation that was done in its turn.
//
// The values are not returned, because `with` would wrap them in an `Option` and check it.
#[inline(always)]
pub(super) fn with_done(see: impl FnOnce(Values)) {
    NOW.with(|now| see(now.values.get()));
}

/// Marks the operation that was done as seen by the world.
pub(super) fn forget_done() {
    forget_turn();
}

/// Makes the world decide, for the rest of the step, whose turn it is. Before this call, the world must have seen all
/// operations that were done.
pub(super) fn forget_turn() {
    NOW.with(|now| now.turn.set(NO_KEY));
}

// ---- polls by hand

/// Calls `poll`, which polls futures by hand: operations take effect at once, in the current step.
pub(crate) fn by_hand<R>(poll: impl FnOnce() -> R) -> R {
    /// Restores the setting and the waker of the task, also when `poll` panics.
    struct Restore(Way, usize);

    impl Drop for Restore {
        fn drop(&mut self) {
            NOW.with(|now| {
                now.way.set(self.0);
                now.waker.set(self.1);
            });
        }
    }

    // No waker may count as the task's own waker, so that a point needs no other check.
    let _restore =
        NOW.with(|now| Restore(now.way.replace(Way::ByHand), now.waker.replace(NO_WAKER)));
    poll()
}

/// Returns `true` if a future with this waker is polled by hand: within [`by_hand`], or with a no-op waker, which has
/// no data.
#[inline]
pub(crate) fn is_by_hand(waker: &Waker) -> bool {
    waker.data().is_null() || NOW.with(|now| now.way.get() == Way::ByHand)
}

/// Returns `true` if an operation with this waker [may take effect](is_by_hand) in the poll: by hand, or because points
/// are [fused](fuse).
#[inline]
pub(crate) fn may_be_at_once(waker: &Waker) -> bool {
    waker.data().is_null() || NOW.with(|now| now.way.get() != Way::Point)
}

/// Makes the world decide, for each operation in this step, if it has a point. The step has already begun. The caller
/// must end this mode with [`unfuse`].
#[cold]
pub(super) fn fuse() {
    // No waker may count as the task's own waker, so that a point needs no other check.
    NOW.with(|now| {
        now.way.set(Way::Fused);
        now.fused.set(now.waker.replace(NO_WAKER));
    });
}

/// Ends the mode of [`fuse`].
#[cold]
pub(super) fn unfuse() {
    NOW.with(|now| {
        now.way.set(Way::Point);
        now.fused.set(NO_WAKER);
    });
}

/// Returns `true` if points are [fused](fuse).
pub(super) fn is_fused() -> bool {
    NOW.with(|now| now.way.get() == Way::Fused)
}

/// Returns the announcement of an operation of the current task that takes effect by hand. The announcement is not on
/// the board.
pub(super) fn announcement_by_hand() -> Announcement {
    NOW.with(|now| Announcement {
        run: now.run.get(),
        id: AnnouncementId::new(now.current.get().task(), BY_HAND),
    })
}

// ---- the announcement

/// Returns `true` if the task that took this step [`announced`] an operation in it.
#[inline]
pub(super) fn announces_in(step: u32) -> bool {
    NOW.with(|now| now.key() == plain_key(step))
}

/// Returns the operation that was announced last.
#[inline]
pub(super) fn announced() -> Announced {
    NOW.with(|now| Announced {
        op: now.op.get(),
        object: (now.mark.get() as u32).checked_sub(1).map(ObjectId::new),
        target: None,
        place: now.place.get(),
        enabled: true,
        key: now.key(),
        passed_over: false,
    })
}

/// Clears the announcement and the turn, at the end of a task or of the run. The announcement must be cleared because a
/// forgotten future has not retracted it.
pub(super) fn end() {
    NOW.with(|now| {
        now.mark.set(0);
        now.turn.set(NO_KEY);
    });
}

/// Returns `true` if the current task has announced an operation in this step that the world has not seen.
pub(super) fn has_announced() -> bool {
    NOW.with(|now| now.key() == now.current.get().key())
}

/// Returns the operation that the current task has announced in this step, if the world has not seen it.
pub(super) fn unseen() -> Option<Announced> {
    has_announced().then(announced)
}

/// Retracts an announcement that the world has not seen. Returns `false`, with nothing changed, for any other
/// announcement.
pub(super) fn retract(announcement: &Announcement) -> bool {
    let found =
        announcement.run == run() && unseen().is_some_and(|a| a.key == announcement.id.key());
    if found {
        NOW.with(|now| now.mark.set(0));
    }
    found
}

// ---- a run

/// Calls `act` as a part of the run with this number. No other run may be active on this thread; the callers reject
/// nested runs.
pub(super) fn during<T>(run: u64, act: impl FnOnce() -> T) -> T {
    /// Ends the run, also when `act` panics.
    struct EndRun;

    impl Drop for EndRun {
        fn drop(&mut self) {
            NOW.with(|now| now.begin(0));
        }
    }

    debug_assert!(!in_run());
    let _end = EndRun;
    NOW.with(|now| now.begin(run));
    act()
}
