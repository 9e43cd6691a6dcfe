//! Stacks in which no two items are equal: O(n log n).
//!
//! If a stack would be empty without some item, that item is at the bottom, where it can be pushed, seen and popped. So
//! an item can be at the bottom during its whole stay if each of its operations has a moment at which no *other* item
//! is surely inside. The history is then linearizable if and only if the history without that item is linearizable. If
//! such items can be removed until no item is left, the history is linearizable; if the removal gets stuck, it is not
//! (arXiv 2410.04581, stacks). A pop from an empty stack needs a moment at which no item is surely inside; this
//! condition is independent of all others.
//!
//! The removal is in `bottom.rs`. This file has the other rules, and the texts of contradictions.

use super::bottom::Layout;
use super::intervals::{NONE, Uncovered, fewest};
use super::items::{CollectionItem, CollectionTerms, Items, edge};
use super::pending::{self, Collection};
use super::{Core, Plain, Ruling, Span};
use crate::verdict::Anomaly;
use unpause_ordered::sort_by_number;

const WORDS: CollectionTerms = CollectionTerms { added: "pushed", taken: "popped" };

/// Decides a history of a stack.
pub(super) fn decide(plain: &Plain, spans: &[Span]) -> Ruling {
    match Items::new(plain, spans, WORDS) {
        Ok(items) => pending::decide(StackCheck { initial: &plain.initial }, items),
        Err(ruling) => ruling,
    }
}

struct StackCheck<'a> {
    initial: &'a [u32],
}

/// A contradiction.
pub(super) enum StackFault {
    /// This operation found the stack empty, but an item was inside at each of its moments.
    NotEmpty(u32),
    /// None of these items can be at the bottom of the other items.
    Stuck(Layout, Vec<u32>),
}

impl Collection for StackCheck<'_> {
    type Fault = StackFault;

    fn fault(&self, items: &Items) -> Option<StackFault> {
        if !items.empty.is_empty() {
            let mut uncovered = Uncovered::new(items.moments.count);
            for item in items.of.iter().filter(|item| item.stays()) {
                uncovered.cover(item.from, item.to);
            }
            for operation in &items.empty {
                let (first, last) = items.moments.of[*operation as usize];
                if uncovered.from(first) > last {
                    return Some(StackFault::NotEmpty(*operation));
                }
            }
        }
        let layout = Layout::new(items);
        let stuck = layout.stuck();
        (!stuck.is_empty()).then_some(StackFault::Stuck(layout, stuck))
    }

    fn core(&self, items: &Items, fault: StackFault) -> Core {
        match fault {
            StackFault::NotEmpty(operation) => self.not_empty(items, operation),
            StackFault::Stuck(layout, stuck) => self.out_of_order(items, &layout, stuck),
        }
    }

    fn deadlines(&self, items: &Items) -> Vec<(u32, u32)> {
        // A remaining item obstructs a lower item that was surely inside at its push, if the lower item is popped while
        // the remaining item is surely inside. `ends` has the pops of the lower items.
        let count = items.moments.count;
        let mut empty = pending::Least::new(count);
        for operation in &items.empty {
            let (first, last) = items.moments.of[*operation as usize];
            empty.put(first, last);
        }
        let of = |operation: u32| items.moments.of[operation as usize];
        let stays: Vec<CollectionItem> =
            items.of.iter().filter(|item| item.stays()).copied().collect();
        let mut taken: Vec<CollectionItem> =
            stays.iter().filter(|item| item.take != NONE).copied().collect();
        sort_by_number(&mut taken, |item| item.from.into());
        let mut untaken: Vec<u32> = items.untaken().collect();
        sort_by_number(&mut untaken, |value| of(items.of[*value as usize].add).0.into());
        let (mut ends, mut next, mut found) = (pending::Least::new(count), 0, Vec::new());
        for value in untaken {
            let item = items.of[value as usize];
            // The items that are surely inside before the push are under the new item.
            while let Some(under) = taken.get(next).filter(|t| t.from <= of(item.add).0) {
                ends.put(under.to, of(under.take).1);
                next += 1;
            }
            let deadline = ends.from(item.from).min(empty.from(item.from));
            if deadline != NONE {
                found.push((deadline, value));
            }
        }
        found
    }
}

impl StackCheck<'_> {
    fn not_empty(&self, items: &Items, operation: u32) -> Core {
        let (first, last) = items.moments.of[operation as usize];
        let near = (0..).zip(&items.of).filter(|(_, item)| item.stays());
        let near = near.map(|(value, item)| (item.from, item.to, value));
        let values = fewest(near, first, last).expect("all its moments are covered");
        let core = items.core(vec![operation], &values, self.initial);
        let text = match values.len() {
            1 => "all the while {0} was open, the same item was inside".to_owned(),
            _ => "at each moment at which {0} was open, an item was inside".to_owned(),
        };
        let mut edges = Vec::new();
        if let [value] = values[..] {
            let CollectionItem { first, last, take, .. } = items.of[value as usize];
            if first < items.operations {
                edges.push(edge(first, operation, "returned before it was invoked"));
            }
            if take != NONE {
                edges.push(edge(operation, last, "returned before it was invoked"));
            }
        }
        let name = "empty while it held an item".to_owned();
        Core { operations: core, anomaly: Anomaly { name, text, edges } }
    }

    /// Returns the contradiction between the operations of a smallest set of stuck items that is stuck by itself.
    fn out_of_order(&self, items: &Items, layout: &Layout, stuck: Vec<u32>) -> Core {
        // Two crossing items contradict each other, so the costly minimization is not needed for them.
        let pair = layout.crossing(items, &stuck);
        let few = pair.map_or_else(|| layout.minimize(stuck), |pair| pair.to_vec());
        let values: Vec<u32> = few.iter().map(|number| layout.values[*number as usize]).collect();
        // Items that are initially under all of these items stay under them.
        let under = self.initial.iter().position(|value| values.contains(value));
        let told = &self.initial[under.unwrap_or(self.initial.len())..];
        // The core always contains the first and the last operation of each item. For two crossing items, these are
        // enough.
        let looks = match pair {
            Some(_) => Vec::new(),
            None => layout.observers_needed(&few),
        };
        let core = items.core(looks, &values, told);
        let mut anomaly = Anomaly { name: "popped out of order".to_owned(), ..Anomaly::default() };
        let place = |operation: u32| core.iter().position(|other| *other == operation);
        if pair.is_some() {
            let [under, over] = [values[0], values[1]].map(|value| items.of[value as usize]);
            let text = |operation, otherwise: &str| {
                place(operation).map_or(otherwise.to_owned(), |n| format!("{{{n}}}"))
            };
            anomaly.text = format!(
                "{} returned what lay under the item of {}",
                text(under.take, "the pop"),
                text(over.add, "the start"),
            );
            if over.add < items.operations && under.first < items.operations {
                anomaly.edges.push(edge(under.first, over.add, "returned before it was invoked"));
            }
            if over.first < items.operations {
                let why = "returned before it was invoked";
                anomaly.edges.push(edge(over.first, under.last, why));
            }
            if over.take != NONE {
                let why = "returned before it was invoked";
                anomaly.edges.push(edge(under.take, over.last, why));
                let why = "took what lay on top";
                if over.last == over.take {
                    anomaly.edges.push(edge(over.take, under.take, why));
                }
            }
        } else {
            anomaly.text = format!(
                "none of the {} items of these operations can lie under all others: each has an \
                 operation during which one of the others is inside at any moment",
                values.len()
            );
        }
        Core { operations: core, anomaly }
    }
}
