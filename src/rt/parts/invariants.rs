//! Invariants: conditions that must hold after every step.
//!
//! A condition is evaluated at the end of a step that changed an object that the condition has read in this run. The
//! condition of a waiting loop ([`watch`](super::watch)) works in the same way. A condition that reads no object is
//! evaluated after each step, and then no search is a proof. A condition that has read the time is evaluated after each
//! step, too, because the time also advances between steps, without an event. The same is true of a condition that has
//! read a count of messages: messages change it by operations on their links, which the condition has not read.
//!
//! # In a search
//!
//! Each read of the condition is an event of the step. So two steps conflict if one of them changes an object that the
//! condition read in the other. This rule is sufficient: if two consecutive steps do not conflict, each is followed by
//! an evaluation in both orders or in none, with the same values. The reason is that the set of objects that trigger an
//! evaluation never shrinks. Suppose that the set only contained the objects of the last evaluation. Then a step could
//! remove an object that the next step changes. In the other order, the change would trigger an evaluation, and no
//! event would show that the orders differ. For the same reason, the end of a condition reads all of these objects, by
//! the same operations as the condition.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::timers::CLOCK;
use super::watch::changed_object;
use crate::rt::now;
use crate::rt::panics::{self, Panicked};
use crate::rt::part::Part;
use crate::rt::state::RunState;
use crate::rt::world::World;
use crate::run::Failure;
use crate::run::board::Life;
use crate::run::event::{Event, Values};
use crate::run::ids::{ObjectId, Place};
use crate::run::op::{Access, Op, net, word};
use crate::run::untried::Untried;

/// The function that evaluates a condition.
pub(crate) type Condition = Box<dyn FnMut() -> bool + Send>;

/// The reason why a run with such a condition is not part of a proof.
const UNSEEN: &str = "the state that an invariant reads, which is no object of this library";

/// The conditions of a run.
#[derive(Default)]
pub(in crate::rt) struct Invariants {
    rows: Vec<InvariantRow>,
    /// The number of the next condition.
    next: u32,
}

struct InvariantRow {
    number: u32,
    name: String,
    place: Place,
    /// The condition; `None` while it is evaluated.
    condition: Option<Condition>,
    /// The operations by which the condition has read objects. The list only grows; it is empty before the first
    /// evaluation.
    reads: Vec<Read>,
    /// True if the condition has read the time, or a count of messages.
    is_always_due: bool,
    /// The number of events of the run that were considered.
    seen: usize,
}

/// An object that a condition has read, and the operation. Each object has one row for each kind of operation.
type Read = (ObjectId, &'static Op);

/// The state of the run just before an evaluation.
struct Before {
    events: usize,
    draws: usize,
    contacts: usize,
    announcements: (u32, bool),
    by_hand: u32,
}

impl Part for Invariants {
    fn forget(&mut self) {
        // These conditions were added after the end of their run. The conditions are not dropped, because a destructor
        // might use the run.
        std::mem::forget(std::mem::take(self));
    }

    fn look(world: &World) {
        world.check_invariants();
    }

    fn settle(state: &mut RunState) {
        if !state.parts.get::<Invariants>().rows.is_empty() {
            state.needs_work();
        }
    }

    fn end(world: &World) {
        let invariants = std::mem::take(world.state().parts.get_mut::<Invariants>());
        drop(invariants);
    }
}

impl World {
    /// Adds a condition. The first evaluation of the condition is at the end of this step. Returns the number of the
    /// condition.
    pub(crate) fn add_invariant(&self, name: String, place: Place, condition: Condition) -> u32 {
        let mut state = self.state();
        let seen = state.board.events.len();
        let Invariants { next, rows } = state.parts.get_mut();
        let number = *next;
        *next += 1;
        let (condition, reads, is_always_due) = (Some(condition), Vec::new(), false);
        rows.push(InvariantRow { number, name, place, condition, reads, is_always_due, seen });
        state.needs_work();
        number
    }

    /// Removes a condition of this run, which must still hold.
    pub(crate) fn remove_invariant(&self, run: u64, number: u32) {
        let find = || {
            self.state().parts.get::<Invariants>().rows.iter().position(|row| row.number == number)
        };
        let Some(at) = find().filter(|_| now::run() == run) else { return };
        if !std::thread::panicking() {
            self.check_invariant(at);
        }
        let Some(at) = find() else { return };
        let row = {
            let state = &mut *self.state();
            let row = state.parts.get_mut::<Invariants>().rows.remove(at);
            if !state.over {
                let before = state.board.events.len();
                for &(object, op) in &row.reads {
                    state.happened(op, Some(object), row.place, Values::None);
                }
                state.board.add_invariant_events(before);
            }
            row
        };
        // The condition owns values of the test, whose destructors may use the run.
        drop(row);
    }

    /// Records that an object was read without a point. Destructors at the end of a run record nothing.
    pub(crate) fn looked(&self, object: ObjectId, place: Place, values: Values) {
        let mut state = self.state();
        if !state.over {
            state.happened(&Op::PEEK, Some(object), place, values);
        }
    }

    fn before(&self) -> Before {
        let state = self.state();
        Before {
            events: state.board.events.len(),
            draws: state.record.draws.len(),
            contacts: state.board.contacts.len(),
            announcements: (state.announcements(), now::has_announced()),
            by_hand: state.polls.by_hand,
        }
    }

    /// Returns the reads since `before`; `None` if the condition did anything else.
    fn looked_at(&self, before: &Before) -> Option<Vec<Read>> {
        let Before { events, draws, contacts, announcements, by_hand } = *before;
        let state = self.state();
        let mut all = Vec::new();
        for event in &state.board.events[events..] {
            let object = event.object.filter(|_| event.op.access == Access::Peek);
            let reads = event.is_look() || event.op.kind == Some(word::READ);
            let op = if *event.op == Op::PEEK { &Op::PEEK_OF_INVARIANT } else { event.op };
            add_read(&mut all, (object.filter(|_| reads)?, op));
        }
        let is_all = draws == state.record.draws.len()
            && contacts == state.board.contacts.len()
            && announcements == (state.announcements(), now::has_announced())
            && by_hand == state.polls.by_hand;
        is_all.then_some(all)
    }
}

/// Adds a read, unless there is a read of the same object by an operation of the same kind.
fn add_read(reads: &mut Vec<Read>, (object, op): Read) {
    if !reads.iter().any(|(on, by)| *on == object && by.kind == op.kind) {
        reads.push((object, op));
    }
}

impl InvariantRow {
    /// Returns `true` if the value of the condition may have changed.
    fn is_due(&mut self, events: &[Event]) -> bool {
        let mut changed = events[self.seen..].iter().filter_map(changed_object);
        self.seen = events.len();
        self.reads.is_empty()
            || self.is_always_due
            || changed.any(|object| self.reads.iter().any(|(read, _)| *read == object))
    }
}

impl World {
    /// Evaluates the conditions that the step may have changed. Fails the run at the first false condition.
    fn check_invariants(&self) {
        let mut at = 0;
        while self.check_invariant(at) {
            at += 1;
        }
    }

    /// Evaluates the condition at an index, if it is due. Returns `false` if the index has no condition, or the run is
    /// over.
    fn check_invariant(&self, at: usize) -> bool {
        let (number, mut condition) = {
            let state = &mut *self.state();
            let events = &state.board.events;
            let Invariants { rows, .. } = state.parts.get_mut();
            let Some(row) = rows.get_mut(at).filter(|_| !state.over) else {
                return false;
            };
            if !row.is_due(events) {
                return true;
            }
            let Some(condition) = row.condition.take() else { return true };
            (row.number, condition)
        };
        let before = self.before();
        self.observes.set(true);
        // The condition must not read the statics of the node that took the step.
        let holds = catch_unwind(AssertUnwindSafe(|| self.in_life(Life::OUTSIDE, &mut condition)));
        self.observes.set(false);
        let reads = self.looked_at(&before);
        let state = &mut *self.state();
        let (task, events) = (state.current(), state.board.events.len());
        state.board.add_invariant_events(before.events);
        let clock = state.objects.find(&CLOCK, Life::OUTSIDE);
        let Invariants { rows, .. } = state.parts.get_mut();
        let Some(row) = rows.iter_mut().find(|row| row.number == number) else { return true };
        row.condition = Some(condition);
        row.seen = events;
        let (name, place) = (row.name.clone(), row.place);
        let failure = match (holds, reads) {
            (Err(payload), _) => match panics::take(&*payload) {
                Some(Panicked { message, place }) => Failure::Panic { task, message, place },
                // An action of the condition has failed the run.
                None => return false,
            },
            (Ok(_), None) => {
                Failure::Misuse { message: does_more(&name), place: place.to_string() }
            }
            (Ok(false), _) => Failure::Invariant { name, task, place: place.to_string() },
            (Ok(true), Some(reads)) => {
                for read in reads {
                    row.is_always_due |=
                        Some(read.0) == clock || read.1.kind == Some(net::link::COUNT);
                    add_read(&mut row.reads, read);
                }
                for event in &mut state.board.events[before.events..] {
                    if *event.op == Op::PEEK {
                        event.op = &Op::PEEK_OF_INVARIANT;
                    }
                }
                if row.reads.is_empty() {
                    state.leave_untried(Untried::Unseen(UNSEEN));
                }
                return true;
            }
        };
        state.fail(failure);
        false
    }
}

fn does_more(name: &str) -> String {
    format!(
        "the invariant {name:?} does more than look: a condition that holds after every step has no point of its own, \
         draws nothing and changes nothing. Read objects with `peek()`"
    )
}
