//! Operations on their way through a point: announced, then done.
//!
//! What is here is called at every point. It is not generic where that can be, so that it is
//! compiled once, here, where it knows how the thread keeps its world, and not in every future of the
//! program. In a debug build nothing of it is inlined there, so that it is compiled as the profile of
//! this crate says.

use std::task::Waker;

use super::now;
use super::object::Object;
use super::slot::Ticket;
use super::world::WORLD;
use crate::event::{ValueKind, Values};
use crate::ids::{ObjectId, Place};
use crate::memory::Memory;
use crate::op::Op;

/// An operation, from its announcement until it is done.
#[derive(Clone, Copy)]
pub(crate) struct Deed {
    pub(crate) op: &'static Op,
    pub(crate) object: Option<ObjectId>,
    pub(crate) place: Place,
    pub(crate) ticket: Ticket,
}

impl Deed {
    /// One that has not been announced.
    #[inline]
    pub(crate) fn new(op: &'static Op, place: Place) -> Deed {
        Deed { op, object: None, place, ticket: Ticket::default() }
    }

    /// The current task is at a point: it will do this when it steps next and it can be done.
    /// It waits for nothing.
    //
    // Not inlined: it is the same for all operations, and there is one in every future.
    #[inline(never)]
    pub(crate) fn announce(&mut self, waker: &Waker) {
        match now::announce(self.op, self.object, self.place, waker) {
            Some(ticket) => self.ticket = ticket,
            None => WORLD.with(|world| world.announce(self, waker)),
        }
    }

    /// Reads the word of the object.
    #[inline(never)]
    pub(crate) fn load(&self) -> u64 {
        self.perform(|memory, object| {
            let bits = memory.load(object);
            (bits, Values::Read(bits))
        })
    }

    /// Writes the word of the object.
    #[inline(never)]
    pub(crate) fn store(&self, bits: u64) {
        self.perform(|memory, object| {
            memory.store(object, bits);
            ((), Values::Wrote(bits))
        });
    }

    /// Reads the word of the object and, if `change` gives one, writes another, in one. Returns the
    /// word read. `wanted` is for the trace, if there was none to write.
    pub(crate) fn change(&self, wanted: u64, change: impl FnOnce(u64) -> Option<u64>) -> u64 {
        self.perform(|memory, object| {
            let (old, new) = memory.change(object, change);
            let values = match new {
                Some(new) => Values::Changed(old, new),
                None => Values::Refused(old, wanted),
            };
            (old, values)
        })
    }

    #[inline(always)]
    fn perform<R>(&self, effect: impl FnOnce(&mut Memory, ObjectId) -> (R, Values)) -> R {
        WORLD.with(|world| {
            let mut state = world.retract_to_do(&self.ticket);
            let object = self.object.expect("an operation on memory has an object");
            let (result, values) = effect(&mut state.memory, object);
            state.happened(self.op, self.object, self.place, values);
            result
        })
    }

    /// Does an operation that has no effect on the memory.
    #[inline(never)]
    pub(crate) fn pass(&self) {
        WORLD.with(|world| {
            let mut state = world.retract_to_do(&self.ticket);
            state.happened(self.op, self.object, self.place, Values::None);
        });
    }
}

/// Whether an announced operation can be done.
pub(crate) enum Arrival {
    /// Now.
    Now,
    /// Not in this step.
    Later,
    /// Its future is being polled by another task, or in another run: it must be announced anew.
    Moved,
}

/// The row of an object in the run that is on. The first time, `initial` gives its word.
#[inline]
pub(crate) fn meet(
    object: &Object,
    values: ValueKind,
    place: Place,
    initial: impl FnOnce() -> u64,
) -> ObjectId {
    match object.in_run(now::run()) {
        Some(id) => id,
        None => WORLD.with(|world| world.meet(object, values, place, initial)),
    }
}
