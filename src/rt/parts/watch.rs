//! Tasks that wait until something changes.
//!
//! Suppose that the condition of a spin loop was false. It stays false until one of the objects that it read has
//! changed. Therefore the condition is polled again at once, up to its first point, but the operation that it announces
//! there is held. The task is not a candidate until an operation of another task has changed one of these objects. (The
//! assume/await transformation of model checkers; Kokologiannakis, Ren, Vafeiadis: Dynamic Partial Order Reductions for
//! Spinloops, FMCAD 2021.) Release and the next read are one step. If no task changes any of these objects, the run is
//! a deadlock.
//!
//! A hold is valid for conditions that only read. A condition is not held if its last poll did more, or read values
//! that the run does not see.

use std::task::Waker;

use crate::rt::memory::{self, Weaker};
use crate::rt::now;
use crate::rt::object::AnnouncementId;
use crate::rt::part::Part;
use crate::rt::state::RunState;
use crate::rt::world::{WORLD, World};
use crate::run::board::Board;
use crate::run::event::{Event, Values};
use crate::run::ids::{ObjectId, Place};
use crate::run::memory_model::MISSED;
use crate::run::op::kind::{Kind, WATCH};
use crate::run::op::{Access, Op};
use crate::run::store_choice::is_store_choice;
use crate::run::watches::Watch;
use unpause_orders::Round;

/// The waits for changes. The state of the waits is on the board, because strategies read it.
#[derive(Default)]
pub(in crate::rt) struct Watches;

impl Part for Watches {
    fn forget(&mut self) {}

    fn settle(state: &mut RunState) {
        if !state.board.watches.is_empty() {
            // The order of the candidates is part of the meaning of a seed, so the current task is removed first.
            state.remove_current();
            state.update_watches();
            state.needs_work();
        }
    }
}

/// The objects that one evaluation of a condition reads.
#[derive(Debug, Default)]
pub(crate) struct ReadSet {
    objects: Vec<ObjectId>,
    /// True if one of these objects has changed since it was read.
    changed: bool,
    /// True if the condition did anything besides reads.
    more: bool,
    /// True if the condition did anything besides loads of atomics that chose a store.
    beside_loads: bool,
    /// The number of loads of atomics, and the event of the last load.
    loads: u32,
    last_load: usize,
    /// The number of events of the task before the evaluation, in a search that chooses the stores of the run.
    clock: Option<u32>,
    /// The numbers of events, drawn values and contacts in the run before the last poll of the condition.
    events: usize,
    draws: usize,
    contacts: usize,
    /// The key of the next announcement, and a flag that is true if the world has not seen an existing announcement.
    announcements: (u32, bool),
    /// The number of operations of the run that took effect by hand.
    by_hand: u32,
}

impl ReadSet {
    /// Returns `true` if the condition read an object and did nothing else.
    pub(crate) fn is_all(&self) -> bool {
        !self.more && !self.objects.is_empty()
    }
}

/// The changes that end the wait for the next evaluation of a false condition.
#[derive(Clone, Debug)]
pub(crate) enum Awaited {
    /// A change of this object, whose store the only load has read. The number is the number of events of the task.
    Word(ObjectId, u32),
    /// Another store for one of these loads.
    Round(Round),
}

/// A read of the newest store of an atomic, on which the choice of another load depends.
const LOOK_BESIDE: Op = Op::PEEK.quiet();

/// An announcement that is held until one of the watched objects changes, or until this value is dropped.
#[derive(Debug)]
pub(crate) struct HeldOp {
    run: u64,
    /// The step of the announcement.
    step: u32,
    id: AnnouncementId,
}

impl World {
    /// Begins an evaluation of a condition.
    pub(crate) fn begin_reads(&self) -> ReadSet {
        let mut state = self.state();
        let (events, task) = (state.board.events.len(), state.current());
        let clock = match memory::weaker() {
            Weaker::Choose => state.events_in_search(task),
            _ => None,
        };
        ReadSet { events, clock, ..ReadSet::default() }
    }

    /// Returns what the next evaluation of a condition waits for, after an evaluation that was false. `None` unless a
    /// search chooses the stores of the run, or if the condition did more than loads.
    ///
    /// As long as the loads return the same stores, the condition stays false. So its next evaluation need not try
    /// these stores. The run records the evaluation, because a sampled run may repeat it.
    pub(crate) fn awaited(&self, reads: &ReadSet) -> Option<Awaited> {
        if memory::weaker() != Weaker::Choose || reads.loads == 0 || reads.beside_loads {
            return None;
        }
        let mut state = self.state();
        state.record.false_rounds.push((reads.last_load, reads.loads));
        let task = state.current();
        let weak = state.memory.weak()?;
        let events = weak.events_in_search(task)?;
        match reads.loads {
            1 => Some(Awaited::Word(*reads.objects.first()?, events)),
            _ => weak.round_since(task, reads.clock?).map(Awaited::Round),
        }
    }

    /// Makes the next loads of the current task wait for a change.
    pub(crate) fn begin_wait(&self, awaited: Awaited) {
        let mut state = self.state();
        let task = state.current();
        let Some(weak) = state.memory.weak() else { return };
        match awaited {
            Awaited::Word(object, events) => weak.wait_for(task, Some((object, events))),
            Awaited::Round(round) => weak.begin_round(task, round),
        }
    }

    /// Ends the effect of the last call of [`begin_wait`](World::begin_wait). Records the objects on which choices of
    /// stores depended. Returns the round that the next loads still follow, if any.
    pub(crate) fn end_wait(&self, place: Place) -> Option<Awaited> {
        let mut state = self.state();
        let task = state.current();
        let weak = state.memory.weak()?;
        weak.wait_for(task, None);
        let (round, looks) = weak.end_round(task)?;
        for object in looks {
            state.happened(&LOOK_BESIDE, Some(object), place, Values::None);
        }
        Some(Awaited::Round(round))
    }

    /// Updates `reads` before each poll of the condition.
    pub(crate) fn before_condition(&self, reads: &mut ReadSet) {
        let state = self.state();
        let mut waking = state.board.events[reads.events..].iter().filter_map(waking_object);
        reads.changed |= waking.any(|object| reads.objects.contains(&object));
        reads.events = state.board.events.len();
        reads.draws = state.record.draws.len();
        reads.contacts = state.board.contacts.len();
        reads.announcements = (state.announcements(), now::has_announced());
        reads.by_hand = state.polls.by_hand;
    }

    /// Updates `reads` after each poll of the condition. All events since the previous call belong to the poll.
    pub(crate) fn after_condition(&self, reads: &mut ReadSet) {
        let state = self.state();
        for (at, event) in state.board.events.iter().enumerate().skip(reads.events) {
            let is_load = event.op.access == Access::Read && event.op.kind.is_none();
            if is_load && *event.op != MISSED {
                (reads.loads, reads.last_load) = (reads.loads + 1, at);
            }
            reads.beside_loads |= !is_load;
            match event.object {
                // This operation reads without a point. The next evaluation may have no point, and then it announces
                // nothing that could be held.
                Some(object)
                    if event.is_look()
                        && (event.op.access != Access::Peek || is_beside_a_point(event)) =>
                {
                    if !reads.objects.contains(&object) {
                        reads.objects.push(object);
                    }
                }
                _ => reads.more = true,
            }
        }
        reads.events = state.board.events.len();
        reads.more |= reads.draws < state.record.draws.len();
        reads.more |= reads.contacts < state.board.contacts.len();
        // An operation by hand counts like a read without a point.
        let is_by_hand = reads.by_hand < state.polls.by_hand;
        reads.more |= is_by_hand;
        let mut others = state.record.draws[reads.draws..].iter();
        reads.beside_loads |= is_by_hand
            || reads.contacts < state.board.contacts.len()
            || others.any(|draw| !is_store_choice(draw.why));
    }

    /// Holds the first operation announced by the new evaluation `reads` of a condition. The operation is held until an
    /// object in `before`, the read set of the previous evaluation, changes. Returns `None` if there is no such
    /// operation, or if the operation must wait anyway.
    pub(crate) fn hold(&self, reads: &ReadSet, before: ReadSet, place: Place) -> Option<HeldOp> {
        let mut state = self.state();
        let task = state.current();
        let (next, unseen) = reads.announcements;
        let announced = match (state.announcements() - next, now::unseen()) {
            (0, Some(announced)) if !unseen => announced,
            (1, seen) if seen.is_some() == unseen => {
                *state.board.tasks[task.index()].announced.iter().find(|a| a.key == next)?
            }
            _ => return None,
        };
        let waits = matches!(
            announced.op.access,
            Access::Lock
                | Access::LockShared
                | Access::Join
                | Access::Resume
                | Access::Wait
                | Access::Yield
        );
        if waits || announced.object.is_none() {
            return None;
        }
        let ReadSet { objects, changed, .. } = before;
        let (key, seen) = (announced.key, state.board.events.len());
        state.watch(Watch { task, key, place, objects, changed, seen });
        Some(HeldOp { run: state.run, step: state.board.step, id: AnnouncementId::new(task, key) })
    }

    /// Holds the announcement of the current task until one of `objects` changes. A change by another task since the
    /// run had `seen` events counts, too.
    #[cfg_attr(not(unpause_native), allow(dead_code))]
    pub(crate) fn hold_announced(
        &self,
        id: AnnouncementId,
        (objects, seen): (Vec<ObjectId>, usize),
        place: Place,
    ) -> HeldOp {
        let mut state = self.state();
        let (task, key) = (id.task(), id.key());
        let events = &state.board.events;
        let others = events.iter().skip(seen).filter(|event| event.task != task);
        let changed = others.filter_map(waking_object).any(|object| objects.contains(&object));
        let seen = events.len();
        state.watch(Watch { task, key, place, objects, changed, seen });
        HeldOp { run: state.run, step: state.board.step, id }
    }

    /// Returns the number of events in the run.
    #[cfg_attr(not(unpause_native), allow(dead_code))]
    pub(crate) fn events(&self) -> usize {
        self.state().board.events.len()
    }

    /// Records an operation of the current task that took effect without a point.
    #[cfg_attr(not(unpause_native), allow(dead_code))]
    pub(crate) fn note(&self, op: &'static Op, object: ObjectId, place: Place, values: Values) {
        self.state().happened(op, Some(object), place, values);
    }

    /// Returns `true` if the current task must continue to wait. In this case, `waker` is stored.
    pub(crate) fn keeps_waiting(&self, held: &HeldOp, waker: &Waker) -> bool {
        let state = self.state();
        let (task, key) = (held.id.task(), held.id.key());
        // If another task polls this wait, the condition is evaluated again.
        if held.run != state.run || !now::is_current(task) {
            return false;
        }
        let row = &state.board.tasks[task.index()];
        let held_back = row.announced.iter().any(|a| a.key == key && !a.enabled && !a.passed_over);
        let waits = held_back || held.step == state.board.step;
        drop(state);
        if waits {
            self.keep_foreign_waker(held.id, waker);
        }
        waits
    }
}

impl Drop for HeldOp {
    fn drop(&mut self) {
        if now::run() != self.run {
            return;
        }
        let (task, key) = (self.id.task(), self.id.key());
        WORLD.with(|world| {
            world.state().board.watches.end(task, key);
        });
    }
}

impl RunState {
    fn watch(&mut self, watch: Watch) {
        self.parts.get_mut::<Watches>();
        self.board.watches.begin(watch);
        self.needs_work();
    }

    /// At the end of a step, enables the held operations whose objects the step changed. Disables the operations that
    /// the step began to hold.
    fn update_watches(&mut self) {
        let Board { events, watches, .. } = &mut self.board;
        watches.settle(events, waking_object);
        while let Some(watch) = self.board.watches.next_settled() {
            let (id, changed) = (AnnouncementId::new(watch.task, watch.key), watch.changed);
            self.set_enabled(id, changed);
        }
    }
}

fn is_beside_a_point(event: &Event) -> bool {
    event.op.kind.is_some_and(Kind::is_beside_a_point)
}

/// Returns the object that an event changed, if the change may wake a held operation.
//
// Searches know only the relation between kinds. A wake that the relation does not declare is an order that they do not
// try.
fn waking_object(event: &Event) -> Option<ObjectId> {
    let may_wake = event.op.kind.is_none_or(|kind| kind.may_enable(WATCH));
    changed_object(event).filter(|_| may_wake)
}

/// Returns the object that an event changed, if any.
pub(super) fn changed_object(event: &Event) -> Option<ObjectId> {
    // A change is an unlock, or a write that is not known to write the same value.
    let changed = match event.op.access {
        Access::Write | Access::Unlock | Access::UnlockShared => true,
        Access::ReadModifyWrite => !event.is_look(),
        Access::Act | Access::Wait | Access::Tell => !event.is_look(),
        _ => false,
    };
    event.object.filter(|_| changed)
}
