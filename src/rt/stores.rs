//! The store that an operation on an atomic chooses, in runs with weak memory: see [`memory::weak`].

use std::sync::atomic::Ordering;

use super::memory::weak::{Asked, Record, Weak, WordOp};
use super::memory::{self, Weaker};
use super::state::RunState;
use super::world::World;
use crate::run::ids::Place;
use crate::run::memory_model::{MISSED, OrderMark, PRECEDED, Raise};
use crate::run::op::Op;
use crate::run::store_choice::Decision;
use crate::run::untried::Untried;

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
            weak.fence(task, asked);
        }
        Some(asked.of(true))
    }
}

impl World {
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
        let RunState { memory, board, objects, record, .. } = self;
        match memory.weak() {
            Some(weak) if weak.is_on || asked.is_weaker() => {
                if !weak.is_on {
                    let events = board.events.iter().enumerate();
                    let ordered = events.filter(|(_, event)| Weak::has_order(event, objects));
                    let mark = |(event, _)| OrderMark { event, order: Ordering::SeqCst };
                    record.orders.extend(ordered.map(mark));
                }
                weak.catch_up(Record { board, objects });
                self.needs_work();
                true
            }
            _ => false,
        }
    }
}
