//! Operations on their way through a point: announced, then done.
//!
//! What is here is called at every point. It is not generic where that can be, so that it is
//! compiled once, here, where it knows how the thread keeps its world, and not in every future of the
//! program. In a debug build nothing of it is inlined there, so that it is compiled as the profile of
//! this crate says.

use std::task::Waker;

use super::now::{self, Now};
use super::object::Object;
use super::slot::Ticket;
use super::world::WORLD;
use crate::rt::memory;
use crate::run::event::{ValueKind, Values};
use crate::run::ids::{ObjectId, Place};
use crate::run::op::Op;

/// An operation, from its announcement until it is done. Its ticket is closed already when its turn had
/// come and the world need not have a look: then that it is done is noted in the thread.
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
    #[cfg_attr(debug_assertions, inline(never))]
    #[cfg_attr(not(debug_assertions), inline)]
    pub(crate) fn announce(&mut self, waker: &Waker) {
        now::with(|now| self.announce_at(now, waker));
    }

    // Not inlined: it is the same for all operations, and there is one in every future. Given what the
    // thread knows, because that is asked for by a call here, in a library, and not in a program.
    #[inline(never)]
    fn announce_at(&mut self, now: &Now, waker: &Waker) {
        match now.announce(self.op, self.object, self.place, waker) {
            Some(ticket) => self.ticket = ticket,
            None => self.announce_to_world(waker),
        }
    }

    /// The same, for what may have to wait or the thread does not take.
    #[inline(never)]
    pub(crate) fn announce_to_world(&mut self, waker: &Waker) {
        WORLD.with(|world| world.announce(self, waker));
    }

    /// Reads the word of the object.
    #[cfg_attr(debug_assertions, inline(never))]
    #[cfg_attr(not(debug_assertions), inline)]
    pub(crate) fn load(&self) -> u64 {
        self.perform(|bits| (bits, None, Values::Read(bits)))
    }

    /// Writes the word of the object.
    #[cfg_attr(debug_assertions, inline(never))]
    #[cfg_attr(not(debug_assertions), inline)]
    pub(crate) fn store(&self, bits: u64) {
        self.perform(|_| ((), Some(bits), Values::Wrote(bits)));
    }

    /// Reads the word of the object and, if `change` gives one, writes another, in one. Returns the
    /// word read. `wanted` is for the trace, if there was none to write.
    pub(crate) fn change(&self, wanted: u64, change: impl FnOnce(u64) -> Option<u64>) -> u64 {
        self.perform(|old| match change(old) {
            Some(new) => (old, Some(new), Values::Changed(old, new)),
            None => (old, None, Values::Refused(old, wanted)),
        })
    }

    /// `effect` is given the word of the object. It says the result, the new word if there is one, and
    /// what the trace is to have.
    #[inline(always)]
    fn perform<R>(&self, effect: impl FnOnce(u64) -> (R, Option<u64>, Values)) -> R {
        let near = self.object.filter(|object| memory::is_near(*object));
        match near {
            Some(object) if !self.ticket.is_open() => memory::near(object, |word| {
                let (result, new, values) = effect(word.get());
                if let Some(new) = new {
                    word.set(new);
                }
                now::do_turn(values);
                result
            }),
            _ => {
                let (result, new, values) = effect(self.begin_slowly());
                self.end_slowly(new, values);
                result
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn begin_slowly(&self) -> u64 {
        let object = self.object.expect("an operation on memory has an object");
        WORLD.with(|world| world.retract_to_do(&self.ticket).memory.load(object))
    }

    #[cold]
    #[inline(never)]
    fn end_slowly(&self, new: Option<u64>, values: Values) {
        WORLD.with(|world| {
            let mut state = world.state();
            if let (Some(object), Some(new)) = (self.object, new) {
                state.memory.store(object, new);
            }
            state.happened(self.op, self.object, self.place, values);
        });
    }

    /// Does an operation that has no effect on the memory.
    #[cfg_attr(debug_assertions, inline(never))]
    #[cfg_attr(not(debug_assertions), inline)]
    pub(crate) fn pass(&self) {
        match self.ticket.is_open() {
            false => now::do_turn(Values::None),
            true => self.pass_slowly(),
        }
    }

    #[cold]
    #[inline(never)]
    fn pass_slowly(&self) {
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
