//! Priority queues in which no two items are equal: O(n log n), usually O(n).
//!
//! An item can be taken, or seen at the front, only while no smaller item is inside. So each removal and observer of an
//! item needs a moment at which no smaller item is *surely* inside, and this condition is sufficient (arXiv 2410.04581,
//! priority queues). In that paper, the greatest item comes out first. The engine handles the items from the smallest
//! on, and covers the moments at which an item is surely inside for all later items. An operation that found the queue
//! empty needs a moment at which no item is surely inside.
//!
//! This engine does not handle items with equal priorities: a model must not return a plain history with such items.
//! [`pending`] decides removals that never returned.

use super::intervals::{NONE, Uncovered, fewest};
use super::items::{CollectionItem, CollectionTerms, Items, edge};
use super::pending::{self, Collection};
use super::{Core, Plain, Ruling, Span};
use crate::verdict::Anomaly;

const WORDS: CollectionTerms = CollectionTerms { added: "inserted", taken: "removed" };

/// Decides a history of a priority queue.
pub(super) fn decide(plain: &Plain, spans: &[Span]) -> Ruling {
    match Items::new(plain, spans, WORDS) {
        Ok(items) => pending::decide(PriorityQueueCheck { initial: &plain.initial }, items),
        Err(ruling) => ruling,
    }
}

struct PriorityQueueCheck<'a> {
    initial: &'a [u32],
}

/// An operation without a possible moment: a removal or observer of an item, or an operation that found the queue
/// empty.
pub(super) struct PriorityQueueFault {
    operation: u32,
    item: Option<u32>,
}

impl Collection for PriorityQueueCheck<'_> {
    type Fault = PriorityQueueFault;

    fn fault(&self, items: &Items) -> Option<PriorityQueueFault> {
        let mut uncovered = Uncovered::new(items.moments.count);
        let fits = |operation: u32, uncovered: &mut Uncovered| {
            let (first, last) = items.moments.of[operation as usize];
            uncovered.from(first) <= last
        };
        // Go from the smallest item to the largest: at each item, exactly the moments of the smaller items are covered.
        for (value, item) in (0..).zip(&items.of).filter(|(_, item)| item.add != NONE) {
            let take = Some(item.take).filter(|take| *take != NONE);
            let looks = items.observers(value).iter().copied();
            for operation in take.into_iter().chain(looks) {
                if !fits(operation, &mut uncovered) {
                    return Some(PriorityQueueFault { operation, item: Some(value) });
                }
            }
            // An item does not obstruct its own operations, so its moments are covered after their check.
            if item.stays() {
                uncovered.cover(item.from, item.to);
            }
        }
        let misfit = items.empty.iter().find(|operation| !fits(**operation, &mut uncovered));
        misfit.map(|operation| PriorityQueueFault { operation: *operation, item: None })
    }

    /// Returns the operation, and a smallest set of smaller items that leaves no moment for it.
    fn core(&self, items: &Items, fault: PriorityQueueFault) -> Core {
        let PriorityQueueFault { operation, item } = fault;
        // An operation without an item found the queue empty, so every item obstructs it.
        let smaller = item.unwrap_or(NONE);
        let (first, last) = items.moments.of[operation as usize];
        let near = (0..smaller).zip(&items.of).filter(|(_, item)| item.stays());
        let near = near.map(|(value, item)| (item.from, item.to, value));
        let mut values = fewest(near, first, last).expect("all its moments are covered");
        let cover: Vec<CollectionItem> =
            values.iter().map(|value| items.of[*value as usize]).collect();
        values.extend(item);
        let told: Vec<u32> = self.initial.iter().copied().filter(|v| *v < smaller).collect();
        let core = items.core(vec![operation], &values, &told);
        let at = |operation: u32| core.iter().position(|other| *other == operation);
        let adds: Vec<String> = cover
            .iter()
            .map(|item| at(item.add).map_or("the start".to_owned(), |n| format!("{{{n}}}")))
            .collect();
        let (adds, count) = (adds.join(", "), cover.len());
        let (name, what) = match item {
            Some(_) => ("a smaller item was there", "a smaller item was inside"),
            None => ("empty while it held an item", "an item was inside"),
        };
        let text = match count {
            1 => format!("all the while {{0}} was open, {what}, from {adds}"),
            _ => format!("at each moment at which {{0}} was open, {what}, from one of: {adds}"),
        };
        let mut edges = Vec::new();
        if let [smaller] = cover[..] {
            let why = "returned before it was invoked";
            let (called, returned) = items.bounds(operation, item);
            if let Some(called) = called.filter(|_| smaller.first < items.operations) {
                edges.push(edge(smaller.first, called, why));
            }
            if let Some(returned) = returned.filter(|_| smaller.take != NONE) {
                edges.push(edge(returned, smaller.last, why));
            }
        }
        Core { operations: core, anomaly: Anomaly { name: name.to_owned(), text, edges } }
    }

    fn deadlines(&self, items: &Items) -> Vec<(u32, u32)> {
        // The smaller an item, the more operations it obstructs: it obstructs the operations of all greater items.
        // `ends[m]` is the least last moment of the ranges found so far that begin at `m` or later.
        let mut found = Vec::new();
        let mut ends = pending::Least::new(items.moments.count);
        for operation in &items.empty {
            let (first, last) = items.moments.of[*operation as usize];
            ends.put(first, last);
        }
        let all = (0..items.of.len() as u32).zip(&items.of);
        for (value, item) in all.rev().filter(|(_, item)| item.add != NONE) {
            if item.take == NONE {
                let deadline = ends.from(item.from);
                if deadline != NONE {
                    found.push((deadline, value));
                }
            } else {
                let (first, last) = items.moments.of[item.take as usize];
                ends.put(first, last);
            }
            for look in items.observers(value) {
                let (first, last) = items.moments.of[*look as usize];
                ends.put(first, last);
            }
        }
        found
    }
}
