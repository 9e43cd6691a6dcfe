//! The store that an operation on an atomic chooses, in runs with weak memory, and data races: see [`memory::weak`] and
//! [`memory::races`].

use std::sync::atomic::Ordering;

use super::memory::races::Touch;
use super::memory::weak::{Asked, Known, Record, Weak, WordOp};
use super::memory::{self, Weaker};
use super::now;
use super::state::RunState;
use super::world::World;
use crate::run::ids::{ObjectId, Place, TaskId};
use crate::run::memory_model::{MISSED, OrderMark, PRECEDED, Raise};
use crate::run::op::Op;
use crate::run::store_choice::Decision;
use crate::run::untried::Untried;
use crate::run::{Failure, MemoryError, MemoryStep};
use unpause_orders::Clock;

/// The effect of an operation.
pub(super) struct Seen {
    /// The word that the operation has seen, or the word that its store follows.
    pub(super) old: u64,
    /// The word that the operation has left, if it writes.
    pub(super) new: Option<u64>,
    /// The event to record if the operation has not chosen the newest store and leaves the memory unchanged.
    pub(super) missed: Option<&'static Op>,
    /// The effective memory order; `None` in a run without weaker orders.
    pub(super) order: Option<Ordering>,
}

impl World {
    /// Performs an operation that finds `word` in memory, after a fence of this order, if any.
    pub(super) fn choose_store(&self, op: &WordOp<'_>, word: u64, fence: Option<Ordering>) -> Seen {
        let newest = || Seen { old: word, new: (op.change)(word), missed: None, order: None };
        let Some(nth) = self.store_of(op, word, fence) else { return newest() };
        let mut state = self.state();
        let task = state.current();
        let Some(weak) = state.memory.weak() else { return newest() };
        let done = weak.perform(task, op, word, nth as usize);
        state.note_choices();
        let new = (op.change)(done.old);
        let missed = match new {
            _ if done.in_memory => None,
            Some(_) => Some(&PRECEDED),
            None => Some(&MISSED),
        };
        Seen { old: done.old, new, missed, order: Some(op.asked.of(new.is_some())) }
    }

    /// Returns the number of the store that an operation chooses; 0 for the newest store. `None` in a run without
    /// weaker orders.
    fn store_of(&self, op: &WordOp<'_>, word: u64, fence: Option<Ordering>) -> Option<u64> {
        let mut state = self.state();
        if !state.takes_orders(op.asked) {
            return None;
        }
        let task = state.current();
        let weak = state.memory.weak()?;
        if let Some(order) = fence {
            weak.fence(task, Asked::to_write(order));
        }
        let has_one = !op.asked.may_only_read() && weak.choices.has_no_moves();
        if !weak.may_choose(op.asked) || has_one {
            return Some(0);
        }
        let mut bound = weak.candidates(task, op, word);
        if bound < 2 {
            return Some(0);
        }
        if let Some(decision) = weak.choices.moves() {
            drop(state);
            let moves = self.answer(decision) == 1;
            state = self.state();
            let weak = state.memory.weak()?;
            weak.choices.set_moves(moves);
            if !moves {
                weak.forbid_moves();
                bound = weak.candidates(task, op, word);
                if bound < 2 {
                    return Some(0);
                }
            }
        }
        let weak = state.memory.weak()?;
        let decision = weak.choices.store(bound, op.asked.may_only_read());
        drop(state);
        Some(self.answer(decision))
    }

    fn answer(&self, Decision { bound, value, why }: Decision) -> u64 {
        match value {
            Some(value) => self.given(bound, value, why),
            None => self.draw(bound, why),
        }
    }

    /// Performs a fence at this place. Returns its effective order, or `None` in a run without weaker orders.
    pub(super) fn fence(&self, asked: Asked, place: Place) -> Option<Ordering> {
        let mut state = self.state();
        let (asked, _) = state.memory.with_raised(asked, place);
        if !state.takes_orders(asked) {
            return None;
        }
        let task = state.current();
        if let Some(weak) = state.memory.weak() {
            weak.may_choose(asked);
            weak.fence(task, asked);
        }
        state.note_choices();
        Some(asked.of(true))
    }
}

impl World {
    /// Records an access to a cell, which is no event. Fails the run if nothing orders the access after an earlier
    /// access.
    ///
    /// Three kinds of accesses count as ordered: accesses by the destructor of another task's value, by an invariant,
    /// and after the end of the run.
    pub(crate) fn touch(&self, cell: ObjectId, writes: bool, place: Place) {
        let mut state = self.state();
        let task = state.current();
        let is_other = self.acts_as.get().is_some_and(|other| other != task);
        if state.over || is_other || self.observes.get() {
            return;
        }
        let Some(failure) = state.race(cell, writes, place) else { return };
        if std::thread::panicking() {
            // This is an access by a destructor: unwinding would abort the process.
            state.fail(failure);
            return;
        }
        drop(state);
        self.fail(failure)
    }

    /// Records that a compare-exchange has not tried a spurious failure on an older store.
    pub(crate) fn fails_on_newest_only(&self, asked: Asked) {
        let mut state = self.state();
        let may_choose = asked.is_weaker() || state.memory.is_on();
        if memory::weaker() == Weaker::Choose && may_choose {
            state.record.untried.insert(Untried::Orders);
        }
    }

    /// Requests the clock of the current task. Returns the number of the request; `None` without the memory `c11`.
    pub(crate) fn note_clock(&self) -> Option<usize> {
        let mut state = self.state();
        let (task, events) = (state.current(), state.board.events.len());
        if memory::weaker() != Weaker::Choose {
            return None;
        }
        state.memory.weak().map(|weak| weak.look(events, task))
    }

    /// Adds this clock of the current task, which is a plain thread. Returns the number of the request.
    pub(crate) fn note_clock_of_thread(&self, clock: Clock) -> usize {
        let mut state = self.state();
        let task = state.current();
        state.memory.of_threads().add(Known { task, clock })
    }

    /// Records that a plain thread has used an order weaker than `SeqCst`, with the memory `c11`.
    #[cfg_attr(not(unpause_native), allow(dead_code))]
    pub(crate) fn note_weaker(&self) {
        self.state().memory.of_threads().chooses = true;
    }

    /// Records that the run detects data races of plain threads.
    #[cfg_attr(not(unpause_native), allow(dead_code))]
    pub(crate) fn detects_races_of_threads(&self) {
        self.state().memory.of_threads().detects_races = true;
    }

    /// Returns the clocks of all requests. `None` if the run has used no order weaker than `SeqCst`, or has another
    /// memory than `c11`.
    pub(crate) fn noted_clocks(&self) -> Option<Vec<Known>> {
        let mut state = self.state();
        if let Some(known) = state.memory.known_of_threads() {
            return Some(known.to_vec());
        }
        if memory::weaker() != Weaker::Choose || !state.memory.is_on() {
            return None;
        }
        state.catch_up();
        state.memory.weak()?.known().map(<[Known]>::to_vec)
    }

    /// Returns the orders that are strengthened in the runs of this worker; `None` if the runs judge no strengthening.
    #[cfg_attr(not(unpause_native), allow(dead_code))]
    pub(crate) fn raised(&self) -> Option<Vec<Raise>> {
        self.state().memory.raised.clone()
    }

    /// Records the order of the last operation.
    pub(crate) fn mark_order(&self, order: Ordering) {
        let mut state = self.state();
        let event = state.board.events.len() - 1;
        state.record.orders.push(OrderMark { event, order });
    }
}

impl RunState {
    /// Returns `true` if the machine must perform an operation with these orders. The machine has then processed all
    /// events so far. In a search without weak memory, records that the operation is treated as `SeqCst`.
    fn takes_orders(&mut self, asked: Asked) -> bool {
        if asked.is_weaker() && memory::weaker() == Weaker::Note {
            memory::noted();
            self.record.untried.insert(Untried::Orders);
        }
        let is_used = |weak: &mut Weak| weak.is_on || asked.is_weaker();
        let takes = self.memory.weak().is_some_and(is_used);
        if takes {
            self.catch_up();
        }
        takes
    }

    /// Records that the search is no proof, if operations may have had fewer choices than C++20 allows.
    fn note_choices(&mut self) {
        if self.memory.weak().is_some_and(|weak| weak.lacks_choices()) {
            self.record.untried.insert(Untried::Orders);
        }
    }

    /// Returns the number of events of a task. `None` unless a search chooses the stores of the run.
    pub(super) fn events_in_search(&mut self, task: TaskId) -> Option<u32> {
        self.memory.weak().filter(|weak| weak.chooses() && weak.choices.is_of_search())?;
        self.catch_up();
        self.memory.weak()?.events_in_search(task)
    }

    /// Makes the machine process all events so far.
    fn catch_up(&mut self) {
        let RunState { memory, board, objects, record, .. } = self;
        let Some(weak) = memory.weak() else { return };
        if !weak.is_on {
            let events = board.events.iter().enumerate();
            let ordered = events.filter(|(_, event)| Weak::has_order(event, objects));
            let mark = |(event, _)| OrderMark { event, order: Ordering::SeqCst };
            record.orders.extend(ordered.map(mark));
        }
        weak.catch_up(Record { board, objects });
        self.needs_work();
    }

    /// Records an access of the current task to a cell. Returns the failure if the access races with an earlier access.
    fn race(&mut self, cell: ObjectId, writes: bool, place: Place) -> Option<Failure> {
        self.memory.begin_clocks(&self.board);
        self.catch_up();
        // From here on, the world performs all operations of the step.
        now::forget_turn();
        let (task, events) = (self.current(), self.board.events.len());
        let weak = self.memory.weak()?;
        let race = weak.touch((task, cell), writes, place, events);
        if weak.may_hide_races() {
            self.record.untried.insert(Untried::Beyond(HIDDEN));
        }
        let (first, second) = race?;
        let record = &self.objects.rows[cell.index()].record;
        let step = |touch: &Touch| {
            let label = if touch.writes { "write" } else { "read" };
            MemoryStep::at(label, touch.task, touch.place)
        };
        let mut steps = vec![step(&second), step(&first)];
        steps.extend(record.creator.map(|(by, _)| MemoryStep::at("created", by, record.place)));
        let message = match record.name {
            Some(name) => format!("nothing orders the two accesses to {name}"),
            None => "nothing orders the two accesses".to_owned(),
        };
        Some(Failure::Memory(MemoryError {
            problem: "data race",
            message,
            steps,
            remedy: UNORDERED.to_owned(),
            too_weak: Vec::new(),
            unordered: Some(Box::new([first.events, second.events])),
        }))
    }
}

/// The races that a search does not find: equivalent orders of some operations, such as two reads of one cell, order
/// the accesses in different ways.
const HIDDEN: &str =
    "data races that operations on locks, channels or cells hide in some of their orders";

/// The remedy for a data race.
const UNORDERED: &str = "Guard the data by one lock, publish it by a Release store that the other task reads with \
    Acquire, or join the other task between the accesses.";
