//! Removals that never returned: they may have taken an item, but it is not known which.
//!
//! An addition that never returned happened if its item was ever observed, and can be left out otherwise; an
//! observer that never returned is ignored. Both are handled before the engines begin. The
//! remaining question is a matching of removals to items without another removal. It is decided in
//! three steps. Each is exact when it decides:
//!
//! 1. If the history is linearizable with none of them, it is linearizable.
//! 2. If it is not linearizable although every item may leave as soon as the first of them was called, it is
//!    not linearizable.
//! 3. Some items, each alone, obstruct an operation that has returned. They are matched with the removals, the
//!    earliest call with the item that must leave first. If that explains the history, it is linearizable.
//!
//! A history that is still undecided goes to the search.

use super::intervals::NONE;
use super::items::Items;
use super::{Core, Ruling};

/// An object with items that are added and removed.
pub(super) trait Collection {
    /// A contradiction.
    type Fault;

    /// A contradiction, if each item is surely inside as `items` says.
    fn fault(&self, items: &Items) -> Option<Self::Fault>;

    /// Explains a fault of the same items.
    fn core(&self, items: &Items, fault: Self::Fault) -> Core;

    /// For items that were never taken and obstruct an operation by themselves: the last moment for
    /// their removal, and the item.
    fn deadlines(&self, items: &Items) -> Vec<(u32, u32)>;
}

/// Decides a history without contradictions within one item.
pub(super) fn decide(collection: impl Collection, mut items: Items) -> Ruling {
    let Some(fault) = collection.fault(&items) else {
        return Ruling::Linearizable(None);
    };
    let Some(&earliest) = items.unknown.first() else {
        return Ruling::Violated(collection.core(&items, fault));
    };
    let mut due = collection.deadlines(&items);
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
    due.sort_unstable();
    for (place, (_, value)) in due.into_iter().enumerate().take(items.unknown.len()) {
        items.assign(value, items.unknown[place]);
    }
    match collection.fault(&items) {
        None => Ruling::Linearizable(None),
        Some(_) => Ruling::NotMine,
    }
}

/// The least of the values at or after a place: a tree of least values (Fenwick 1994).
#[derive(Debug)]
pub(super) struct Least(Vec<u32>);

impl Least {
    /// For places below `count`, all [`NONE`].
    pub(super) fn new(count: u32) -> Least {
        Least(vec![NONE; count as usize + 1])
    }

    /// Puts a value at a place.
    pub(super) fn put(&mut self, place: u32, value: u32) {
        // Counted from the end, so that the sums over beginnings of Fenwick are over ends.
        let mut at = self.0.len() - 1 - place as usize;
        while at < self.0.len() {
            self.0[at] = self.0[at].min(value);
            at += at & at.wrapping_neg();
        }
    }

    /// The least value at this place or later.
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
