//! Pending operations: they are announced at a point, and done later.
//!
//! These functions are called at every point. Where possible, they are not generic. Functions that are not generic are
//! compiled once in this crate, where the thread-local access is inlined, and not again in every future of the program.
//! A debug build does not inline them into the program, so that they are compiled with the profile of this crate. The
//! code of a point is in `seam/sim/point.rs`, with a table of the words.

use std::sync::atomic::Ordering;
use std::task::{Poll, Waker};

use super::Parts;
use super::memory::Weaker;
use super::memory::weak::{Asked, WordOp};
use super::now::{self, Now};
use super::object::Object;
use super::slot::Announcement;
use super::stores::Seen;
use super::world::WORLD;
use crate::rt::memory;
use crate::run::event::{ValueKind, Values};
use crate::run::ids::{ObjectId, Place};
use crate::run::memory_model::OrderMark;
use crate::run::op::Op;

/// The state of an operation, from its first poll until it is done.
///
/// While the operation is done in its turn, its announcement is already closed. In this case the thread records the
/// effect, and the world processes it later. If the announcement is still open, the world records the effect.
pub(crate) struct PendingOp {
    pub(crate) op: &'static Op,
    pub(crate) object: Option<ObjectId>,
    pub(crate) place: Place,
    pub(crate) announcement: Announcement,
}

impl PendingOp {
    /// Returns an operation that is not announced yet.
    #[inline]
    pub(crate) fn new(op: &'static Op, place: Place) -> PendingOp {
        PendingOp { op, object: None, place, announcement: Announcement::default() }
    }

    /// Announces the operation, which never has to wait: the current task performs it in its next step. Returns `Ready`
    /// if the operation is polled by hand, and thus takes effect now.
    #[cfg_attr(debug_assertions, inline(never))]
    #[cfg_attr(not(debug_assertions), inline)]
    pub(crate) fn announce(&mut self, waker: &Waker) -> Poll<()> {
        now::with(|now| self.announce_at(now, waker))
    }

    // Not inlined, because this code is the same for all operations, and every future would have a copy. `now` is an
    // argument, because the access to the thread-local is a call in a library, but not in a program.
    #[inline(never)]
    fn announce_at(&mut self, now: &Now, waker: &Waker) -> Poll<()> {
        match now.announce(self.op, self.object, self.place, waker) {
            Some(announcement) => self.announcement = announcement,
            None if now::may_be_at_once(waker) && (now::is_by_hand(waker) || self.is_fused()) => {
                self.begin_by_hand();
                return Poll::Ready(());
            }
            None => self.announce_to_world(waker),
        }
        Poll::Pending
    }

    /// Begins the operation by hand. The announcement is open, so the world records the effect.
    #[cold]
    pub(crate) fn begin_by_hand(&mut self) {
        WORLD.with(|world| {
            if self.announcement.is_open() {
                world.retract(&self.announcement);
            }
            world.state().polls.by_hand += 1;
        });
        self.announcement = now::announcement_by_hand();
    }

    /// Returns `true` if the operation belongs to the current step, because points are fused.
    #[cold]
    pub(crate) fn is_fused(&self) -> bool {
        now::is_fused() && WORLD.with(|world| Parts::fuses(&mut world.state(), self.op, self.place))
    }

    /// Announces the operation to the world, because it may have to wait or because the thread
    /// cannot record it.
    #[inline(never)]
    pub(crate) fn announce_to_world(&mut self, waker: &Waker) {
        WORLD.with(|world| world.announce(self, waker));
    }

    /// Reads the word of the object.
    #[cfg_attr(debug_assertions, inline(never))]
    #[cfg_attr(not(debug_assertions), inline)]
    pub(crate) fn load(&self, order: Ordering) -> u64 {
        let asked = Asked::to_read(order);
        match self.near_in_turn(asked) {
            Some(object) => memory::near(object, |word| {
                let bits = word.get();
                now::do_turn(Values::Read(bits));
                bits
            }),
            None => self.perform_slowly(asked, &|_| None, &|bits, _| Values::Read(bits)),
        }
    }

    /// Writes the word of the object.
    #[cfg_attr(debug_assertions, inline(never))]
    #[cfg_attr(not(debug_assertions), inline)]
    pub(crate) fn store(&self, bits: u64, order: Ordering) {
        let asked = Asked::to_write(order);
        match self.near_in_turn(asked) {
            Some(object) => memory::near(object, |word| {
                word.set(bits);
                now::do_turn(Values::Wrote(bits));
            }),
            None => {
                self.perform_slowly(asked, &|_| Some(bits), &|_, _| Values::Wrote(bits));
            }
        }
    }

    /// Atomically reads the word of the object and, if `change` returns a new word, writes the new word. Returns the
    /// word that was read. `wanted` is the expected word that the trace shows if nothing is written.
    pub(crate) fn change(
        &self,
        asked: Asked,
        wanted: u64,
        change: impl Fn(u64) -> Option<u64>,
    ) -> u64 {
        match self.near_in_turn(asked) {
            Some(object) => memory::near(object, |word| {
                let old = word.get();
                let new = change(old);
                if let Some(new) = new {
                    word.set(new);
                }
                now::do_turn(Values::of_change(old, new, wanted));
                old
            }),
            None => {
                self.perform_slowly(asked, &change, &|old, new| Values::of_change(old, new, wanted))
            }
        }
    }

    /// Records `values` of an operation that takes effect on memory outside of the run.
    #[cfg_attr(not(unpause_native), allow(dead_code))]
    pub(crate) fn record_foreign(&self, values: Values) {
        let asked = Asked::to_read(Ordering::SeqCst);
        match self.near_in_turn(asked) {
            Some(_) => now::do_turn(values),
            None => _ = self.perform_slowly(asked, &|_| None, &|_, _| values),
        }
    }

    /// Returns the object, if the thread can record the effect of the operation. The thread can record it if the word
    /// of the object is thread-local, and the operation is done in its turn on the newest store.
    #[inline(always)]
    fn near_in_turn(&self, asked: Asked) -> Option<ObjectId> {
        let is_on_newest = || !asked.is_weaker() || memory::weaker() == Weaker::Nothing;
        self.object.filter(|object| {
            memory::is_near(*object) && !self.announcement.is_open() && is_on_newest()
        })
    }

    /// Performs the operation, if the world must record the effect, or if the operation may choose a store. `change`
    /// returns the word that replaces the given word, if the operation writes. `values` returns the values for the
    /// trace. Returns the word that the operation has seen.
    #[cold]
    #[inline(never)]
    fn perform_slowly(
        &self,
        asked: Asked,
        change: &dyn Fn(u64) -> Option<u64>,
        values: &dyn Fn(u64, Option<u64>) -> Values,
    ) -> u64 {
        let object = self.object.expect("an operation on memory has an object");
        WORLD.with(|world| {
            let (word, (asked, fence)) = {
                let state = world.retract_to_do(&self.announcement);
                (state.memory.load(object), state.memory.with_raised(asked, self.place))
            };
            let op = WordOp { object: Some(object), access: self.op.access, asked, change };
            let Seen { old, new, missed, order } = world.choose_store(&op, word, fence);
            let mut state = world.state();
            if let (Some(new), None) = (new, missed) {
                state.memory.store(object, new);
            }
            state.happened(self.op, self.object, self.place, values(old, new));
            if let Some(order) = order {
                let event = state.board.events.len() - 1;
                state.record.orders.push(OrderMark { event, order });
            }
            if let Some(op) = missed {
                state.happened(op, self.object, self.place, Values::Read(word));
            }
            old
        })
    }

    /// Orders the previous operations of the task before its next operations, in a run with weak memory.
    pub(crate) fn fence(&self, order: Ordering) {
        let may_order = order != Ordering::SeqCst || self.announcement.is_open();
        let asked = Asked::to_write(order);
        let taken = may_order.then(|| WORLD.with(|world| world.fence(asked, self.place)));
        self.finish();
        if let Some(order) = taken.flatten() {
            WORLD.with(|world| world.mark_order(order));
        }
    }

    /// Records the operation as done. It has no effect on the memory, or the caller performs the effect.
    #[cfg_attr(debug_assertions, inline(never))]
    #[cfg_attr(not(debug_assertions), inline)]
    pub(crate) fn finish(&self) {
        match self.announcement.is_open() {
            false => now::do_turn(Values::None),
            true => self.finish_slowly(),
        }
    }

    #[cold]
    #[inline(never)]
    fn finish_slowly(&self) {
        WORLD.with(|world| {
            let mut state = world.retract_to_do(&self.announcement);
            state.happened(self.op, self.object, self.place, Values::None);
        });
    }
}

/// The state of an announced operation when its future is polled.
pub(crate) enum Readiness {
    /// The operation can be done now.
    Ready,
    /// The operation cannot be done in this step.
    Waiting,
    /// The operation must be announced again: another task or another run polls its future, or the poll is the first
    /// poll of a `select!`.
    Stale,
}

/// Returns the id of an object in the current run. The first use adds the object, with the word `initial()`.
#[inline]
pub(crate) fn object_id(
    object: &Object,
    values: ValueKind,
    place: Place,
    initial: impl FnOnce() -> u64,
) -> ObjectId {
    match object.in_run(now::run(), now::statics()) {
        Some(id) => id,
        None => WORLD.with(|world| world.object_id(object, values, place, initial)),
    }
}

/// Adds an object that was just created to the current run. The running code owns it. An object that is created outside
/// of runs belongs to no node.
pub(crate) fn made(object: Object, values: ValueKind, initial: u64) -> Object {
    if !now::in_run() {
        return object.shared();
    }
    WORLD.with(|world| world.created(&object, values, initial));
    object
}
