//! Engines for histories in which no value is added twice: O(n log n), however much overlaps.
//!
//! If every value is written to an object just once, a result identifies the operation that it came from, and
//! linearizability is no longer a search but a question about intervals (Gibbons and Korach 1997 for registers;
//! arXiv 2410.04581 for collections, with our own rules for operations that never returned). A
//! [`Model`](super::Model) of such an object implements [`Model::plain`](super::Model::plain), which returns
//! the history as a [`Plain`] history; the checker then verifies that values are unique and runs the engine, or
//! falls back to the search.

mod bottom;
mod intervals;
mod items;
mod pending;
mod placed;
mod priority_queue;
mod queue;
mod register;
mod set;
mod stack;
mod values;

#[cfg(test)]
mod trial;

use std::hash::Hash;

use super::hash::Table;
use crate::verdict::Anomaly;

/// A history as the engines read it: one [`Action`] for each operation, in the same order.
///
/// Values are numbers from 0, given out by [`Values`]; equal numbers mean equal values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plain {
    /// The object.
    pub object: PlainObject,
    /// Its initial content: the value of a register, the members of a set, the items of a queue from the front,
    /// of a stack from the bottom.
    pub initial: Vec<u32>,
    /// The action of each operation, by the index of the operation.
    pub actions: Vec<Action>,
}

/// The objects with an engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlainObject {
    /// Holds one value.
    Register,
    /// Holds each value at most once.
    Set,
    /// First in, first out.
    Queue,
    /// Last in, first out.
    Stack,
    /// The smallest number comes out first: a model gives out numbers in the order of its priorities.
    PriorityQueue,
}

/// The effect of an operation, as far as its client knows. An operation that may have happened or not (it never
/// returned) is given as the effect it would have had, with the result unknown. `V` names a value: a number of
/// [`Values`] in a [`Plain`] history.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action<V = u32> {
    /// Put the value in: write, insert that inserted, enqueue, push.
    Add(V),
    /// Took the value out: remove that removed, dequeue, pop.
    Take(V),
    /// May have taken something out: a removal that never returned.
    TakeUnknown,
    /// Found no item.
    Empty,
    /// Saw the value and left it: read, contains that found it, insert that did too, peek.
    Peek(V),
    /// Saw that a set did not have the value (a failed contains or remove), or that a register did
    /// not hold it (a failed swap).
    Absent(V),
    /// Replaced the first value of a register by the second.
    Swap(V, V),
    /// An observer that never returned, so it is ignored.
    Nothing,
}

/// Gives numbers to values in the order of their appearance.
///
/// ```
/// use unpause_check::unique::Values;
/// let mut values = Values::default();
/// assert_eq!((values.number(&"a"), values.number(&"b"), values.number(&"a")), (0, 1, 0));
/// ```
#[derive(Debug)]
pub struct Values<T>(Table<T, u32>);

impl<T> Default for Values<T> {
    fn default() -> Self {
        Values(Table::default())
    }
}

impl<T: Hash + Eq + Clone> Values<T> {
    /// A table with room for this many values, so that it need not grow.
    ///
    /// ```
    /// use unpause_check::unique::Values;
    /// let mut values = Values::with_room(1);
    /// assert_eq!((values.number(&7), values.number(&8)), (0, 1));
    /// ```
    pub fn with_room(values: usize) -> Self {
        Values(Table::with_capacity_and_hasher(values, Default::default()))
    }

    /// The number of a value: a new one if the value is new.
    ///
    /// # Panics
    /// At the 2^32nd value.
    pub fn number(&mut self, value: &T) -> u32 {
        if let Some(number) = self.0.get(value) {
            return *number;
        }
        let number = u32::try_from(self.0.len()).expect("fewer than 2^32 values");
        self.0.insert(value.clone(), number);
        number
    }
}

/// The times at which an operation was open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Span {
    pub(super) invoked: u64,
    /// `u64::MAX` if it never returned: it may not have happened.
    pub(super) returned: u64,
}

/// The result of an engine.
#[derive(Debug)]
pub(super) enum Ruling {
    /// Not decided: a value was added twice, or operations that never returned leave the history undecided. The
    /// search decides.
    NotMine,
    /// Linearizable; with an order, by index, if the engine made one.
    Linearizable(Option<Vec<u32>>),
    /// Not linearizable.
    Violated(Core),
}

/// The few operations that contradict each other: a history of these alone is not linearizable either, so a
/// search over them makes the evidence.
#[derive(Debug)]
pub(super) struct Core {
    /// By index, in any order.
    pub(super) operations: Vec<u32>,
    /// In its text, `{0}` represents the first of `operations`, `{1}` the second, and so on. Its
    /// edges are between indices of the history.
    pub(super) anomaly: Anomaly,
}

/// Runs the engine for the object. `spans[i]` is the span of operation `i` of `plain`; all times
/// except missing returns are different.
pub(super) fn decide(plain: &Plain, spans: &[Span]) -> Ruling {
    debug_assert_eq!(plain.actions.len(), spans.len());
    match plain.object {
        PlainObject::Register => register::decide(plain, spans),
        PlainObject::Set => set::decide(plain, spans),
        PlainObject::Queue => queue::decide(plain, spans),
        PlainObject::Stack => stack::decide(plain, spans),
        PlainObject::PriorityQueue => priority_queue::decide(plain, spans),
    }
}

/// The name of the engine in verdicts.
pub(super) fn name(object: PlainObject) -> &'static str {
    match object {
        PlainObject::Register => "unique register",
        PlainObject::Set => "unique set",
        PlainObject::Queue => "unique queue",
        PlainObject::Stack => "unique stack",
        PlainObject::PriorityQueue => "unique priority queue",
    }
}
