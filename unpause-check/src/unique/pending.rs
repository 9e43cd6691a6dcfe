//! Removals that never returned. Such a removal may have taken an item, but it is unknown which item.
//!
//! An addition that never returned happened if its item was observed at any time, and can be left out otherwise. An
//! observer that never returned is ignored. Both cases are handled before the engines begin. The remaining question is
//! a matching of removals to items without another removal. Three steps decide it; each step is exact when it decides:
//!
//! 1. If the history is linearizable without any of these removals, it is linearizable.
//! 2. If it is not linearizable even though every item may leave as soon as the first of these removals was called, it
//!    is not linearizable.
//! 3. Some items, each alone, obstruct an operation that has returned. These items are matched with the removals: the
//!    earliest call takes the item that must leave first. If this matching explains the history, it is linearizable.
//!
//! A history that is still undecided after these steps is decided by the search.

use super::intervals::NONE;
use super::items::Items;
use super::{Core, Ruling};

/// An object with items that are added and removed.
pub(super) trait Collection {
    /// A contradiction.
    type Fault;

    /// Returns a contradiction, if any. Each item is surely inside at the moments given by `items`.
    fn fault(&self, items: &Items) -> Option<Self::Fault>;

    /// Explains a fault that was found in the same items.
    fn core(&self, items: &Items, fault: Self::Fault) -> Core;

    /// Returns the items that were never taken but obstruct an operation by themselves, each with the last moment for
    /// its removal.
    fn deadlines(&self, items: &Items) -> Vec<(u32, u32)>;
}

/// Decides a history without contradictions within one item.
pub(super) fn decide(collection: impl Collection, mut items: Items) -> Ruling {
    // Step 1: none of these removals took an item.
    let Some(fault) = collection.fault(&items) else {
        return Ruling::Linearizable(None);
    };
    // Without such removals, no choice is open, so the fault is a violation.
    let Some(&earliest) = items.unknown.first() else {
        return Ruling::Violated(collection.core(&items, fault));
    };
    let mut due = collection.deadlines(&items);
    // Step 2: every item may leave at the first of these calls, which permits more than any matching.
    let untaken: Vec<u32> = items.untaken().collect();
    for value in &untaken {
        items.release(*value, earliest);
    }
    if let Some(fault) = collection.fault(&items) {
        return Ruling::Violated(collection.core(&items, fault));
    }
    for value in &untaken {
        items.keep(*value);
    }
    // Step 3: the item that must leave first gets the removal that was invoked first. The other items stay inside.
    unpause_ordered::sort_by_number(&mut due, |(end, value)| {
        u64::from(*end) << 32 | u64::from(*value)
    });
    for (place, (_, value)) in due.into_iter().enumerate().take(items.unknown.len()) {
        items.assign(value, items.unknown[place]);
    }
    match collection.fault(&items) {
        None => Ruling::Linearizable(None),
        Some(_) => Ruling::NotMine,
    }
}

/// The minimum of the values at or after a position: a Fenwick tree of minimums (Fenwick 1994).
#[derive(Debug)]
pub(super) struct Least(Vec<u32>);

impl Least {
    /// Creates a tree for positions below `count`, with all values [`NONE`].
    pub(super) fn new(count: u32) -> Least {
        Least(vec![NONE; count as usize + 1])
    }

    /// Stores a value at a position.
    pub(super) fn put(&mut self, place: u32, value: u32) {
        // Positions are counted from the end, so that the prefixes of the Fenwick tree become suffixes.
        let mut at = self.0.len() - 1 - place as usize;
        while at < self.0.len() {
            self.0[at] = self.0[at].min(value);
            at += at & at.wrapping_neg();
        }
    }

    /// Returns the least value at this position or later.
    pub(super) fn from(&self, place: u32) -> u32 {
        let mut at = (self.0.len() - 1).saturating_sub(place as usize);
        let mut least = NONE;
        while at > 0 {
            least = least.min(self.0[at]);
            at &= at - 1;
        }
        least
    }
}
