//! Weak memory: the older stores that operations may choose, in runs with the memory `c11`.
//!
//! The machine (`unpause-orders`) contains the stores of atomics and a vector clock for each task. A run begins without
//! it: as long as all operations are `SeqCst`, every load sees the newest value. At the first operation with a weaker
//! order, the machine processes all events so far. From then on, the machine performs each operation on an atomic.
//!
//! All other events create happens-before edges between tasks. Two operations on the same object are ordered unless the
//! object is an atomic. A spawn is ordered before the first step of the task. The end of a task is ordered before a
//! join or a check of it. A wake is ordered before the next step of the woken task. When time has passed, all stores
//! are visible. The memory of a run may contain edges that the real build does not have, so the run may miss behaviors.
//! The memory of a run omits no edge that the real build has. If the memory may contain additional edges,
//! [`Weak::lacks_choices`] returns `true`, and a search is not a proof.
//!
//! A run without the memory `c11` uses the machine from the first [cell](super::races) on. The operations of such a run
//! see the newest values, and only the clocks matter.

use std::sync::atomic::Ordering;

use unpause_orders::{Clock, Done, Operation, OrderS, Orders, Round, Rules, SEQ_CST};

use super::races::{Races, Touch};
use super::surplus::Surplus;
use crate::rt::object::Objects;
use crate::run::board::{Board, TimeMove};
use crate::run::event::{Event, Values};
use crate::run::ids::{ObjectId, Place, TaskId};
use crate::run::memory_model::{Raise, Stronger};
use crate::run::op::{Access, Op, clock};
use crate::run::store_choice::StoreChoices;

/// The kind of objects whose operations have memory orders.
const ATOMIC: &str = "atomic";

/// Returns `true` for an object whose operations have memory orders.
fn is_word(object: ObjectId, objects: &Objects) -> bool {
    objects.rows[object.index()].record.kind == ATOMIC
}

/// The memory orders in an operation's arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Asked {
    /// The order if the operation writes.
    writes: Ordering,
    /// The order if the operation only reads; `None` if it always writes.
    reads: Option<Ordering>,
}

impl Asked {
    /// Returns the orders of a load.
    #[inline]
    pub(crate) fn to_read(order: Ordering) -> Asked {
        Asked { writes: Ordering::SeqCst, reads: Some(order) }
    }

    /// Returns the orders of a store, or of a read-modify-write that always writes.
    #[inline]
    pub(crate) fn to_write(order: Ordering) -> Asked {
        Asked { writes: order, reads: None }
    }

    /// Returns the orders of a compare-exchange.
    #[inline]
    pub(crate) fn to_exchange((success, failure): (Ordering, Ordering)) -> Asked {
        Asked { writes: success, reads: Some(failure) }
    }

    /// Returns `true` for an operation that may end without a store.
    pub(crate) fn may_only_read(self) -> bool {
        self.reads.is_some()
    }

    /// Returns the strengthened orders.
    pub(super) fn raised(self, raise: Raise) -> Asked {
        let Asked { writes, reads } = self;
        let reads = match raise.by {
            Stronger::Release => reads,
            _ => reads.map(|order| raise.of(order)),
        };
        Asked { writes: raise.of(writes), reads }
    }

    /// Returns the order of the operation if it writes, or its order if it does not write.
    pub(crate) fn of(self, writes: bool) -> Ordering {
        self.reads.filter(|_| !writes).unwrap_or(self.writes)
    }

    /// Returns `true` if an order is weaker than sequential consistency.
    #[inline(always)]
    pub(crate) fn is_weaker(self) -> bool {
        self.writes != Ordering::SeqCst || self.reads.is_some_and(|order| order != Ordering::SeqCst)
    }
}

fn number(order: Ordering) -> u8 {
    match order {
        Ordering::Relaxed => 0,
        Ordering::Acquire => 2,
        Ordering::Release => 3,
        Ordering::AcqRel => 4,
        _ => SEQ_CST,
    }
}

/// Returns the address of the word of an object in the machine.
fn address(object: ObjectId) -> usize {
    (object.index() + 1) << 3
}

/// An operation on an atomic, or a fence.
pub(crate) struct WordOp<'a> {
    /// The atomic; `None` for a fence.
    pub(crate) object: Option<ObjectId>,
    pub(crate) access: Access,
    pub(crate) asked: Asked,
    /// Returns the value that replaces the given one; `None` if the operation writes nothing.
    pub(crate) change: &'a dyn Fn(u64) -> Option<u64>,
}

impl Operation for WordOp<'_> {
    fn address(&self) -> usize {
        self.object.map_or(0, address)
    }

    fn size(&self) -> u8 {
        if self.object.is_some() { 8 } else { 0 }
    }

    fn reads(&self) -> bool {
        self.access != Access::Write
    }

    fn may_only_read(&self) -> bool {
        self.asked.reads.is_some()
    }

    fn order_if(&self, writes: bool) -> u8 {
        number(self.asked.of(writes))
    }

    fn written_over(&self, old: u64) -> Option<u64> {
        (self.change)(old)
    }
}

/// The weak memory of a run.
#[derive(Debug)]
pub(crate) struct Weak {
    orders: Orders,
    /// The order S of the run.
    s: OrderS,
    pub(crate) choices: StoreChoices,
    /// True after the first operation with a weaker order, or the first access whose races are detected.
    pub(crate) is_on: bool,
    /// True if the run has the memory `c11`.
    is_c11: bool,
    /// True after the first operation with a weaker order, in a run with the memory `c11`. Before, operations see the
    /// newest values. This loses no outcome, because some run executes them in the order S.
    chooses: bool,
    races: Races,
    /// For each object, its word before the events that are not processed yet.
    words: Vec<u64>,
    /// The numbers of events and of time moves that are processed.
    seen: usize,
    time_moves: usize,
    /// The number of tasks whose spawns are processed.
    tasks: usize,
    /// Effects between tasks that leave no event and are not processed yet. Each effect has the number of earlier
    /// events, the task whose operations are first, and the other task.
    contacts: Vec<(usize, TaskId, TaskId)>,
    surplus: Surplus,
    /// The moments whose clocks are requested, and the clocks recorded so far.
    looks: Vec<Look>,
    known: Vec<Known>,
}

/// A moment of a task whose clock is requested: the number of earlier events, and the task.
type Look = (usize, TaskId);

/// The knowledge of a task at a moment.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) task: TaskId,
    pub(crate) clock: Clock,
}

impl Known {
    /// Returns `true` if the last event of the task before this moment happens before the moment `other`. `begin` is an
    /// earlier moment of the same task. If the task had no event between the two, the result is `true` only if the next
    /// event of the task happens before `other`.
    pub(crate) fn is_known_at(&self, begin: &Known, other: &Known) -> bool {
        let task = self.task.index();
        let last = self.clock.get(task);
        let has_event = begin.task == self.task && begin.clock.get(task) < last;
        other.clock.get(task) >= last + u32::from(!has_event)
    }
}

/// The parts of a run from which the machine learns the happens-before order.
pub(crate) struct Record<'a> {
    pub(crate) board: &'a Board,
    pub(crate) objects: &'a Objects,
}

impl Weak {
    /// Returns the memory for the next run.
    pub(super) fn new() -> Weak {
        Weak {
            orders: Orders::default(),
            s: OrderS::default(),
            choices: StoreChoices::new(None),
            is_on: false,
            is_c11: false,
            chooses: false,
            races: Races::default(),
            words: Vec::new(),
            seen: 0,
            time_moves: 0,
            tasks: 0,
            contacts: Vec::new(),
            surplus: Surplus::default(),
            looks: Vec::new(),
            known: Vec::new(),
        }
    }

    /// Removes the content of the last run and keeps the allocations.
    pub(super) fn begin(&mut self, seed: Option<u64>, s: OrderS) {
        self.s = s;
        let Weak { choices, words, contacts, surplus, looks, known, races, .. } = self;
        *choices = StoreChoices::new(seed);
        words.clear();
        contacts.clear();
        surplus.clear();
        looks.clear();
        known.clear();
        races.clear();
        (self.is_on, self.is_c11, self.chooses) = (false, true, false);
        (self.seen, self.time_moves, self.tasks) = (0, 0, 0);
    }

    /// Begins the clocks of a run without the memory `c11`, at its first access whose races are detected. Earlier
    /// events cannot order this access before later ones, so they are not processed.
    pub(super) fn begin_clocks(&mut self, board: &Board) {
        self.begin(None, OrderS::Execution);
        (self.is_on, self.is_c11) = (true, false);
        self.orders.reset(Rules::weak(OrderS::Execution));
        for task in 0..board.tasks.len() {
            self.spawn_up_to(TaskId(task as u32), board);
        }
        (self.seen, self.time_moves) = (board.events.len(), board.time_moves.len());
    }

    /// Returns `true` if the run has the memory `c11` and has used an order weaker than `SeqCst`.
    pub(crate) fn chooses(&self) -> bool {
        self.chooses
    }

    /// Returns `true` if an operation with these orders may choose a store.
    pub(crate) fn may_choose(&mut self, asked: Asked) -> bool {
        self.chooses |= self.is_c11 && asked.is_weaker();
        self.chooses
    }

    /// Adds the next object.
    pub(super) fn push(&mut self, initial: u64) {
        self.words.push(initial);
    }

    /// Orders the steps so far of the first task before the next step of the other task. This function is for effects
    /// without an event, which happen after `events` events.
    pub(super) fn order(&mut self, events: usize, (first, then): (TaskId, TaskId)) {
        self.contacts.push((events, first, then));
    }

    /// Returns `true` for an event with a memory order.
    pub(crate) fn has_order(event: &Event, objects: &Objects) -> bool {
        let is_word = |object| is_word(object, objects);
        event.object.map_or(*event.op == Op::FENCE, is_word) && event.op.access != Access::Peek
    }

    /// Returns the number of stores that an operation of a task may choose if it finds `word` in memory.
    pub(crate) fn candidates(&mut self, task: TaskId, op: &WordOp<'_>, word: u64) -> u64 {
        self.orders.candidates(task.index(), op, word) as u64
    }

    /// Performs an operation that finds `word` in memory, on one of its candidates.
    pub(crate) fn perform(&mut self, task: TaskId, op: &WordOp<'_>, word: u64, nth: usize) -> Done {
        self.orders.perform(task.index(), op, word, nth)
    }

    /// Performs a fence of a task.
    pub(crate) fn fence(&mut self, task: TaskId, asked: Asked) {
        let fence = WordOp { object: None, access: Access::Yield, asked, change: &|_| None };
        self.perform(task, &fence, 0, 0);
    }

    /// Records an access of a task to a cell at `place`, after `events` events. Returns an earlier access that races
    /// with it, if any, and the access.
    pub(crate) fn touch(
        &mut self,
        (task, cell): (TaskId, ObjectId),
        writes: bool,
        place: Place,
        events: usize,
    ) -> Option<(Touch, Touch)> {
        let clock = self.orders.clock(task.index());
        let tick = clock.get(task.index()) + 1;
        let touch = Touch { task, tick, writes, place, events };
        self.races.touch(cell, touch, clock).map(|earlier| (earlier, touch))
    }

    /// Returns `true` if an edge that an equivalent run may not have can hide a race.
    pub(crate) fn may_hide_races(&self) -> bool {
        self.surplus.exists
    }

    /// Requests the clock of a task at this moment, after `events` events. Returns the number of the request.
    pub(crate) fn look(&mut self, events: usize, task: TaskId) -> usize {
        self.looks.push((events, task));
        self.known.len() + self.looks.len() - 1
    }

    /// Returns the clocks at the requested moments. `None` if the run has used no order weaker than `SeqCst`. All
    /// events must be processed.
    pub(crate) fn known(&self) -> Option<&[Known]> {
        self.chooses.then_some(&self.known)
    }

    /// Returns `true` if some operation that chooses a store may have had fewer choices than C++20 allows.
    pub(crate) fn lacks_choices(&self) -> bool {
        self.chooses && (self.surplus.exists || self.orders.lacks_choices())
    }

    /// Returns the number of events of a task. `None` unless a search chooses the stores of the run.
    pub(crate) fn events_in_search(&mut self, task: TaskId) -> Option<u32> {
        let is_of_search = self.chooses() && self.choices.is_of_search();
        is_of_search.then(|| self.orders.clock(task.index()).get(task.index()))
    }

    /// Makes the next load of a task wait for a change: see [`Orders::wait_for`]. `awaited` is the object, and the
    /// number of events of the task.
    pub(crate) fn wait_for(&mut self, task: TaskId, awaited: Option<(ObjectId, u32)>) {
        let awaited = awaited.map(|(object, events)| (address(object), events));
        self.orders.wait_for(task.index(), awaited);
    }

    /// Returns the loads of a task since it had `begin` events, if it has done nothing else.
    pub(crate) fn round_since(&mut self, task: TaskId, begin: u32) -> Option<Round> {
        self.orders.round_since(task.index(), begin)
    }

    /// Makes the next loads of a task belong to a round after this one, which was false.
    pub(crate) fn begin_round(&mut self, task: TaskId, round: Round) {
        self.orders.begin_round(task.index(), round);
    }

    /// Returns the round of the last call of [`begin_round`](Self::begin_round), and the objects on which the choices
    /// of loads since then depended, besides their own.
    pub(crate) fn end_round(&mut self, task: TaskId) -> Option<(Round, Vec<ObjectId>)> {
        let mut round = self.orders.end_round(task.index())?;
        let looks = round.take_looks().map(|at| ObjectId::new((at >> 3) as u32 - 1)).collect();
        Some((round, looks))
    }

    /// Makes each store take effect after the stores that were executed before it.
    pub(crate) fn forbid_moves(&mut self) {
        self.orders.forbid_moves();
    }

    /// Processes the events since the last call. Starts the machine if the run had no weaker order before.
    pub(crate) fn catch_up(&mut self, Record { board, objects }: Record<'_>) {
        let begins = !self.is_on;
        if begins {
            self.is_on = true;
            let rules = Rules::weak(self.s);
            let is_search = self.choices.is_of_search();
            self.orders.reset(if is_search { rules.recording_loads() } else { rules });
        }
        let mut contacts = std::mem::take(&mut self.contacts);
        let mut left = contacts.drain(..).peekable();
        let mut looks = std::mem::take(&mut self.looks);
        let mut looked = looks.drain(..).peekable();
        for nth in self.seen..=board.events.len() {
            while let Some((_, first, then)) = left.next_if(|(at, ..)| *at <= nth) {
                self.spawn_up_to(first.max(then), board);
                self.orders.joined(then.index(), first.index());
                self.surplus.exists = true;
            }
            while let Some((_, task)) = looked.next_if(|(at, _)| *at <= nth) {
                self.spawn_up_to(task, board);
                let clock = self.orders.clock(task.index()).clone();
                self.known.push(Known { task, clock });
            }
            let event = board.events.get(nth);
            self.settle_before(event, board);
            if let Some(event) = event {
                self.learn(event, board, objects, begins);
            }
        }
        drop((left, looked));
        (self.contacts, self.looks) = (contacts, looks);
        self.seen = board.events.len();
    }

    /// Makes the stores so far visible if the time has moved before this event. `None` is the end of the events.
    fn settle_before(&mut self, event: Option<&Event>, board: &Board) {
        let is_before = |moved: &TimeMove| event.is_none_or(|event| moved.step <= event.step);
        while board.time_moves.get(self.time_moves).is_some_and(is_before) {
            self.time_moves += 1;
            self.orders.settle();
        }
    }

    fn learn(&mut self, event: &Event, board: &Board, objects: &Objects, begins: bool) {
        let Event { task, object, op, values, .. } = *event;
        self.spawn_up_to(task, board);
        // A task has advanced the time, although others can step.
        if [Some(clock::ADVANCE), Some(clock::MOVE)].contains(&op.kind) {
            self.orders.settle();
        }
        let is_word = |object: &ObjectId| is_word(*object, objects);
        self.surplus.add(event, object.as_ref().is_some_and(is_word));
        if let Some(object) = object.filter(is_word) {
            // Since it began, the machine has performed all operations itself.
            if begins && op.access != Access::Peek {
                self.redo(task, object, (op.access, values));
            }
            return;
        }
        if let Values::Task(target) = values {
            self.spawn_up_to(target, board);
            let ends = op.access == Access::Join;
            let (first, then) = if ends { (target, task) } else { (task, target) };
            if op.access != Access::Spawn {
                self.orders.joined(then.index(), first.index());
            }
        }
        if let Some(object) = object {
            self.orders.receive(task.index(), object.index());
            self.orders.publish(task.index(), object.index());
        } else if begins && *op == Op::FENCE {
            self.orders.fence(task.index(), SEQ_CST);
        }
    }

    /// Orders the spawns of the tasks up to this one before their first steps.
    fn spawn_up_to(&mut self, task: TaskId, board: &Board) {
        while self.tasks <= task.index() {
            if let Some(parent) = board.tasks[self.tasks].parent {
                self.orders.spawned(parent.index(), self.tasks);
            }
            self.tasks += 1;
        }
    }

    /// Performs a sequentially consistent operation again in the machine. The operation has already taken effect.
    fn redo(&mut self, task: TaskId, object: ObjectId, (access, values): (Access, Values)) {
        let known = self.words[object.index()];
        let (old, new) = match values {
            Values::Read(value) | Values::Refused(value, _) => (value, None),
            Values::Changed(old, new) => (old, Some(new)),
            Values::Wrote(value) => (known, Some(value)),
            _ => return,
        };
        let change = move |_| new;
        let asked = Asked::to_exchange((Ordering::SeqCst, Ordering::SeqCst));
        let op = WordOp { object: Some(object), access, asked, change: &change };
        self.orders.perform(task.index(), &op, old, 0);
        self.words[object.index()] = new.unwrap_or(old);
    }
}
