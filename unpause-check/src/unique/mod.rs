//! Engines for histories in which no value is added twice: O(n log n), regardless of the overlap.
//!
//! If every value is written to an object only once, a result identifies the operation from which it came.
//! Linearizability then needs no search, because it becomes a question about intervals. The theory is from Gibbons and
//! Korach 1997 for registers, and from arXiv 2410.04581 for collections; the rules for operations that never returned
//! are ours. A [`Model`](super::Model) of such an object implements [`Model::plain`](super::Model::plain), which
//! returns the history as a [`Plain`] history. The checker then verifies that values are unique and runs the engine, or
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

/// A history in the input form of the engines: one [`Action`] for each operation, in the same order.
///
/// Values are numbers from 0, assigned by [`Values`]; equal numbers mean equal values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plain {
    /// The object.
    pub object: PlainObject,
    /// The initial content of the object: the value of a register, the members of a set, or the items of a queue (front
    /// first) or of a stack (bottom first).
    pub initial: Vec<u32>,
    /// The action of each operation, by the index of the operation.
    pub actions: Vec<Action>,
}

/// The objects with an engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlainObject {
    /// An object that holds one value.
    Register,
    /// An object that holds each value at most once.
    Set,
    /// A queue: first in, first out.
    Queue,
    /// A stack: last in, first out.
    Stack,
    /// A priority queue: the smallest number comes out first. The model must number values in the order of their
    /// priorities.
    PriorityQueue,
}

/// The effect of an operation, as far as its client knows. An operation that never returned may not have happened; its
/// action is the effect that it would have had, with an unknown result. `V` names a value; in a [`Plain`] history it is
/// a number from [`Values`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action<V = u32> {
    /// Added the value: a write, an insert that returned true, an enqueue, or a push.
    Add(V),
    /// Removed the value: a remove that returned true, a dequeue, or a pop.
    Take(V),
    /// May have removed an item: a removal that never returned.
    TakeUnknown,
    /// Found the object empty.
    Empty,
    /// Found the value and did not change it: a read, a peek, or an insert or `contains` that found the value.
    Peek(V),
    /// Found that a set did not have the value (a failed contains or remove), or that a register did not hold it (a
    /// failed swap).
    Absent(V),
    /// Replaced the first value of a register by the second.
    Swap(V, V),
    /// An observer that never returned, so it is ignored.
    Nothing,
}

/// Numbers values in the order of their appearance.
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
    /// Creates a table with capacity for this many values.
    ///
    /// ```
    /// use unpause_check::unique::Values;
    /// let mut values = Values::with_room(1);
    /// assert_eq!((values.number(&7), values.number(&8)), (0, 1));
    /// ```
    pub fn with_room(values: usize) -> Self {
        Values(Table::with_capacity_and_hasher(values, Default::default()))
    }

    /// Returns the number of a value. A new value gets a new number.
    ///
    /// # Panics
    /// If there are more than 2^32 values.
    pub fn number(&mut self, value: &T) -> u32 {
        // The look-up comes first, because an entry of the table needs a clone of the value.
        if let Some(number) = self.0.get(value) {
            return *number;
        }
        let number = u32::try_from(self.0.len()).expect("fewer than 2^32 values");
        self.0.insert(value.clone(), number);
        number
    }
}

/// The times between which an operation was open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Span {
    pub(super) invoked: u64,
    /// The time of the return; `u64::MAX` if the operation never returned, so it may not have happened.
    pub(super) returned: u64,
}

/// The result of an engine.
#[derive(Debug)]
pub(super) enum Ruling {
    /// Undecided: a value was added twice, or operations that never returned leave the history open. The search
    /// decides.
    NotMine,
    /// Linearizable. Contains an order, by index, if the engine constructed one.
    Linearizable(Option<Vec<u32>>),
    /// Not linearizable.
    Violated(Core),
}

/// The few operations that contradict each other. A history of only these operations is not linearizable either, so a
/// search over them creates the evidence.
#[derive(Debug)]
pub(super) struct Core {
    /// The operations, by index, in any order.
    pub(super) operations: Vec<u32>,
    /// The anomaly. In its text, `{0}` represents the first of `operations`, `{1}` the second, and so on. The edges of
    /// the anomaly connect indices of the history.
    pub(super) anomaly: Anomaly,
}

/// Runs the engine for the object. `spans[i]` is the span of operation `i` of `plain`. All times are different, except
/// missing returns.
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

/// Returns the name of the engine in verdicts.
pub(super) fn name(object: PlainObject) -> &'static str {
    match object {
        PlainObject::Register => "unique register",
        PlainObject::Set => "unique set",
        PlainObject::Queue => "unique queue",
        PlainObject::Stack => "unique stack",
        PlainObject::PriorityQueue => "unique priority queue",
    }
}
