//! Operations on objects of other libraries, and the tasks that hold such objects.

use crate::rt::now;
use crate::rt::object::{AnnouncementId, Object};
use crate::rt::state::RunState;
use crate::rt::world::World;
use crate::run::Holder;
use crate::run::board::Contact;
use crate::run::event::{Event, ValueKind, Values};
use crate::run::ids::{ObjectId, Place, TaskId};
use crate::run::op::Op;
use crate::run::op::kind::{Kind, Span};

/// The change that an operation makes to the holders of an object, for deadlock reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Hold {
    /// The operation does not change the holders.
    Stays,
    /// From now on, the task holds the object or a part of it.
    Begins,
    /// This many parts of the object are released. The parts belong to the current task or, if it holds none, to other
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

    /// Like [`did_to`](Self::did_to), but has no effect if the run is over.
    pub(crate) fn did_before_end(&self, op: &'static Op, object: ObjectId, place: Place) {
        let mut state = self.state();
        if !state.over {
            state.happened(op, Some(object), place, Values::None);
        }
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

    /// Adds a part of an object to the parts that the current task holds.
    pub(crate) fn hold_one_more(&self, object: &Object, place: Place) {
        let mut state = self.state();
        if let Some(object) = state.find_object(object) {
            state.hold(object, Hold::Begins, place);
        }
    }

    /// Replaces the last operation of the run by the quiet operation `quiet`, if it is `op` in the current step and no
    /// recorded call began after it. Returns the index of its event.
    pub(crate) fn hide_last(
        &self,
        op: &'static Op,
        object: ObjectId,
        quiet: &'static Op,
    ) -> Option<usize> {
        let mut state = self.state();
        let board = &mut state.board;
        let at = board.events.len().checked_sub(1)?;
        let (step, task) = (board.step, board.current);
        let is_free = board.calls.last().is_none_or(|mark| mark.events <= at);
        let event = &mut board.events[at];
        let is_it = event.op == op
            && event.object == Some(object)
            && (event.step, event.task) == (step, task);
        if !is_it || !is_free {
            return None;
        }
        event.op = quiet;
        Some(at)
    }

    /// Returns `true` if another task has overtaken the event `at`. This means two things. After the event, the other
    /// task first changed another object, which the task of the event had used earlier in the same step. Later, the
    /// other task did an operation of the kind `tells` on the object of the event.
    //
    // The changed object orders the two tasks. So the result is the same in all runs that differ only in the order of
    // steps without conflicts.
    pub(crate) fn is_overtaken(&self, at: usize, tells: Kind) -> bool {
        let state = self.state();
        let events = &state.board.events;
        let Some(own) = events.get(at) else { return false };
        let is_of_step = |event: &&Event| (event.step, event.task) == (own.step, own.task);
        let earlier = events[..at].iter().rev().take_while(is_of_step);
        let others = earlier.filter(|event| event.object != own.object);
        let used: Vec<Effect> = others.filter_map(effect).collect();
        let mut changers: Vec<TaskId> = Vec::new();
        for event in events[at + 1..].iter().filter(|event| event.task != own.task) {
            let is_told = event.object == own.object && event.op.kind == Some(tells);
            if is_told && changers.contains(&event.task) {
                return true;
            }
            let changes = |effect| used.iter().any(|used| conflict(*used, effect));
            if effect(event).is_some_and(changes) {
                changers.push(event.task);
            }
        }
        false
    }
}

/// The object, the kind and the message numbers of an operation.
type Effect = (ObjectId, Kind, Span);

fn effect(event: &Event) -> Option<Effect> {
    let kind = event.op.kind.or_else(|| event.op.access.kind(event.is_look()))?;
    let span = match event.values {
        Values::Messages { from, to, .. } => Span { from, to },
        _ => Span::NONE,
    };
    Some((event.object?, kind, span))
}

fn conflict((a, kind, span): Effect, (b, other, other_span): Effect) -> bool {
    a == b && kind.conflicts(other) && !Kind::are_apart((kind, span), (other, other_span))
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
