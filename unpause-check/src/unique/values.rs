//! Helpers for the engines for unique values: the operations that added and took each value, and a builder for the
//! operations of a contradiction. This file contains no engine.

use super::{Action, Core, Plain, Ruling, Span};
use crate::verdict::{Anomaly, Edge};
use unpause_ordered::sort_by_number;

/// The number for "no operation".
pub(super) const NONE: u32 = u32::MAX;
/// The number for the addition of the initial values, which is not part of the history.
pub(super) const START: u32 = u32::MAX - 1;

/// Returns the number of values, which is one more than the largest number. `None` if the numbers are not dense, or if
/// times are too large or operations too many.
pub(super) fn count(plain: &Plain, spans: &[Span]) -> Option<usize> {
    let mut count = 0;
    for &value in &plain.initial {
        count = count.max(value as usize + 1);
    }
    for action in &plain.actions {
        let largest = match *action {
            Action::Add(value) | Action::Take(value) | Action::Peek(value) => value,
            Action::Absent(value) => value,
            Action::Swap(old, new) => old.max(new),
            Action::TakeUnknown | Action::Empty | Action::Nothing => continue,
        };
        count = count.max(largest as usize + 1);
    }
    let operations = plain.actions.len();
    // The engines add a few units to each time, for example two for each initial item of a queue.
    let room = u64::MAX - 2 * plain.initial.len() as u64 - 4;
    let late =
        |span: &Span| span.invoked > room || span.returned > room && span.returned != u64::MAX;
    // The engines have tables that are indexed by value, so large gaps between the numbers would cost memory.
    let fits = count <= 2 * operations + plain.initial.len()
        && operations < START as usize
        && !spans.iter().any(late);
    fits.then_some(count)
}

/// For each value, the operation that added it and the operation that took it: an index, [`START`] or [`NONE`].
pub(super) struct Rows {
    pub(super) add: Vec<u32>,
    pub(super) take: Vec<u32>,
}

impl Rows {
    /// Reads a history. Returns `None` if a value is added or taken twice, even by an operation that never returned.
    pub(super) fn new(plain: &Plain, spans: &[Span]) -> Option<Rows> {
        let count = count(plain, spans)?;
        let mut rows = Rows { add: vec![NONE; count], take: vec![NONE; count] };
        for &value in &plain.initial {
            once(&mut rows.add[value as usize], START)?;
        }
        for (index, action) in plain.actions.iter().enumerate() {
            match *action {
                Action::Add(value) => once(&mut rows.add[value as usize], index as u32)?,
                Action::Take(value) => once(&mut rows.take[value as usize], index as u32)?,
                _ => {}
            }
        }
        Some(rows)
    }
}

/// Fills an empty entry. Returns `None` if the entry was not empty.
pub(super) fn once(place: &mut u32, operation: u32) -> Option<()> {
    (std::mem::replace(place, operation) == NONE).then_some(())
}

/// A contradiction under construction.
#[derive(Default)]
pub(super) struct Contradiction {
    operations: Vec<u32>,
    edges: Vec<Edge>,
}

/// The reason why one operation comes before another in real time.
pub(super) const RETURNED: &str = "returned before it was invoked";

impl Contradiction {
    /// Adds the operation and returns its placeholder for the text.
    pub(super) fn name(&mut self, operation: u32) -> String {
        debug_assert!(operation < START);
        let place = self.operations.iter().position(|known| *known == operation);
        let place = place.unwrap_or_else(|| {
            self.operations.push(operation);
            self.operations.len() - 1
        });
        format!("{{{place}}}")
    }

    /// Adds the operation unless it is [`START`] or [`NONE`]. Call it after all operations with placeholders are added.
    pub(super) fn with(&mut self, operation: u32) {
        if operation < START {
            self.operations.push(operation);
        }
    }

    /// Returns the first operations, which have placeholders.
    pub(super) fn named(&self) -> &[u32] {
        &self.operations[..self.operations.len().min(4)]
    }

    pub(super) fn edge(&mut self, from: u32, to: u32, why: &str) {
        self.edges.push(Edge { from: from as usize, to: to as usize, why: why.to_owned() });
    }

    pub(super) fn ruling(self, name: &str, text: String) -> Ruling {
        let Contradiction { operations, edges } = self;
        // If an operation is mentioned several times, the first mention is kept in its position, because the text
        // refers to it.
        let mut first: Vec<(u32, usize)> = operations.iter().copied().zip(0..).collect();
        unpause_ordered::sort(&mut first);
        first.dedup_by_key(|(operation, _)| *operation);
        sort_by_number(&mut first, |(_, place)| *place as u64);
        let operations = first.into_iter().map(|(operation, _)| operation).collect();
        let anomaly = Anomaly { name: name.to_owned(), text, edges };
        Ruling::Violated(Core { operations, anomaly })
    }
}
