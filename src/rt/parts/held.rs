//! Operations on objects of other libraries, and the tasks that hold such objects.

use crate::rt::now;
use crate::rt::object::{AnnouncementId, Object};
use crate::rt::state::RunState;
use crate::rt::world::World;
use crate::run::Holder;
use crate::run::board::Contact;
use crate::run::event::{ValueKind, Values};
use crate::run::ids::{ObjectId, Place};
use crate::run::op::Op;

/// The change that an operation makes to the holders of an object, for deadlock reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Hold {
    /// No change.
    Stays,
    /// From now on, the task holds the object or a part of it.
    Begins,
    /// This many parts of the object are released. They are parts of the current task or, if it holds none, of other
    /// holders.
    Ends(u32),
}

impl World {
    /// Records an operation of the current task that took effect.
    #[inline]
    pub(crate) fn did(
        &self,
        op: &'static Op,
        object: ObjectId,
        place: Place,
        (values, hold): (Values, Hold),
    ) {
        match (values, hold) {
            (Values::None, Hold::Stays) => self.did_to(op, object, place),
            _ => self.did_with(op, object, place, (values, hold)),
        }
    }

    #[inline(never)]
    fn did_with(
        &self,
        op: &'static Op,
        object: ObjectId,
        place: Place,
        (values, hold): (Values, Hold),
    ) {
        let mut state = self.state();
        if hold != Hold::Stays {
            state.hold(object, hold, place);
        }
        state.happened(op, Some(object), place, values);
    }

    /// Like [`did`](Self::did), but for an operation that has no values and changes no holder.
    #[inline(never)]
    pub(crate) fn did_to(&self, op: &'static Op, object: ObjectId, place: Place) {
        self.state().happened(op, Some(object), place, Values::None);
    }

    /// Like [`did_to`](Self::did_to), but for an object that may be new in the run.
    #[inline]
    pub(crate) fn did_alone(&self, op: &'static Op, object: &Object, place: Place) {
        let mut state = self.state();
        match object.in_run(state.run, now::statics()) {
            Some(id) => state.happened(op, Some(id), place, Values::None),
            None => {
                drop(state);
                let id = self.object_id(object, ValueKind::Unsigned, place, || 0);
                self.did_to(op, id, place);
            }
        }
    }

    /// Like [`did_alone`](Self::did_alone), but for several operations.
    #[inline(never)]
    pub(crate) fn did_all(&self, deeds: &[Option<(&Object, &'static Op)>], place: Place) {
        let mut state = self.state();
        for (object, op) in deeds.iter().flatten() {
            match object.in_run(state.run, now::statics()) {
                Some(id) => state.happened(op, Some(id), place, Values::None),
                None => {
                    drop(state);
                    self.did_alone(op, object, place);
                    state = self.state();
                }
            }
        }
    }

    /// Adds an object of this kind outside of lives. The operation `op` of the current task creates it. Enables the
    /// announcements that `each` passes to its argument.
    #[inline]
    pub(crate) fn create_by(
        &self,
        op: &'static Op,
        kind: &'static str,
        place: Place,
        each: impl FnOnce(&mut dyn FnMut(AnnouncementId)),
    ) -> ObjectId {
        let mut state = self.state();
        let creator = state.next_creation();
        match state.objects.add_of_run(kind, place, creator) {
            Ok(id) => {
                state.add_object(id, 0);
                state.happened(op, Some(id), place, Values::None);
                each(&mut |announcement| state.set_latch(announcement, true));
                id
            }
            Err(unusable) => {
                drop(state);
                self.refuse(&Object::new(kind, place, false), unusable, place)
            }
        }
    }

    /// Records that the current task left one of the program's own wakers in an object.
    pub(crate) fn left_waker(&self) {
        let mut state = self.state();
        let task = state.current();
        state.touch(task, Contact::LeftWaker);
    }

    /// Like [`did`](Self::did), but for a destructor, which must not add objects. Has no effect if the object is not
    /// part of this run.
    pub(crate) fn did_last(&self, op: &'static Op, object: &Object, place: Place, hold: Hold) {
        let mut state = self.state();
        if let Some(object) = state.find_object(object) {
            state.hold(object, hold, place);
            state.happened(op, Some(object), place, Values::None);
        }
    }

    /// Like [`did_last`](Self::did_last), for an object that the task need not hold.
    pub(crate) fn did_last_alone(&self, op: &'static Op, object: &Object, place: Place) {
        let mut state = self.state();
        if let Some(object) = state.find_object(object) {
            state.happened(op, Some(object), place, Values::None);
        }
    }

    /// Removes the last operation of the run, if it is this operation in the current step and nothing refers to it.
    pub(crate) fn forget(&self, op: &'static Op, object: ObjectId) -> bool {
        let mut state = self.state();
        let board = &mut state.board;
        let is_last = board.events.last().is_some_and(|event| {
            event.op == op
                && event.object == Some(object)
                && (event.step, event.task) == (board.step, board.current)
        });
        let is_free = board.calls.last().is_none_or(|mark| mark.events < board.events.len());
        if is_last && is_free {
            board.events.pop();
            state.polls.forgotten += 1;
        }
        is_last && is_free
    }
}

impl RunState {
    /// Changes the holders of an object.
    fn hold(&mut self, object: ObjectId, hold: Hold, place: Place) {
        let task = self.current();
        match hold {
            Hold::Stays => {}
            Hold::Begins => {
                let holder = Holder { task, step: self.board.step, place };
                self.row(object).sharers.push(holder);
            }
            Hold::Ends(parts) => (0..parts).for_each(|_| self.row(object).end_share(task)),
        }
    }
}
