//! A history of a collection, grouped by items: the first step of the engines for stacks and priority queues.
//!
//! An item is added once and taken at most once, so all operations on it are known. These operations determine when the
//! item is *surely inside*: from the first return among them until the last call among them. This file finds
//! contradictions within one item; the engines find contradictions between items.

use super::intervals::{Moments, NONE};
use super::{Action, Core, Plain, Ruling, Span};
use crate::verdict::{Anomaly, Edge};
use unpause_ordered::sort_by_number;

/// The verbs for the operations in texts.
#[derive(Clone, Copy, Debug)]
pub(super) struct CollectionTerms {
    pub(super) added: &'static str,
    pub(super) taken: &'static str,
}

/// A history of a collection, grouped by items.
#[derive(Debug)]
pub(super) struct Items {
    /// The moments of each operation, restricted by the other operations of its item: the add comes before all their
    /// returns, and the take after all their calls. The adds of the initial items follow the operations of the history.
    pub(super) moments: Moments,
    /// The items, by number of the value.
    pub(super) of: Vec<CollectionItem>,
    /// The observers of item `i` are `seen[seen_from[i]..seen_from[i + 1]]`.
    seen: Vec<u32>,
    seen_from: Vec<u32>,
    /// The operations that found the collection empty.
    pub(super) empty: Vec<u32>,
    /// The removals that never returned, by time of call.
    pub(super) unknown: Vec<u32>,
    /// The number of operations; greater numbers are adds of initial items.
    pub(super) operations: u32,
}

/// One item, with its operations by number; [`NONE`] for an absent operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct CollectionItem {
    /// The add. Also `NONE` if the item was never observed and its add never returned, because the add is then left
    /// out.
    pub(super) add: u32,
    pub(super) take: u32,
    /// The operation that returned first; `last` is the operation that was called last.
    pub(super) first: u32,
    pub(super) last: u32,
    /// The moments at which the item is surely inside: the first moment, and the exclusive end. If `from >= to`, the
    /// item is surely inside at no moment.
    pub(super) from: u32,
    pub(super) to: u32,
}

impl CollectionItem {
    /// Returns `true` if the item is surely inside at some moment.
    pub(super) fn stays(&self) -> bool {
        self.add != NONE && self.from < self.to
    }
}

impl Items {
    /// Groups a history by items. O(n).
    ///
    /// # Errors
    /// The ruling, if a single item decides the history.
    pub(super) fn new(
        plain: &Plain,
        spans: &[Span],
        words: CollectionTerms,
    ) -> Result<Items, Ruling> {
        let actions = &plain.actions;
        let numbers = actions.iter().map(|action| match action {
            Action::Add(value) | Action::Take(value) | Action::Peek(value) => *value as usize + 1,
            _ => 0,
        });
        let initial = plain.initial.iter().map(|value| *value as usize + 1);
        let values = numbers.chain(initial).max().unwrap_or(0);
        let operations = actions.len() + plain.initial.len();
        // The model must number values without large gaps, because gaps cost memory.
        if values > 4 * operations + 64 || operations >= (u32::MAX / 2) as usize {
            return Err(Ruling::NotMine);
        }
        let unused =
            CollectionItem { add: NONE, take: NONE, first: NONE, last: NONE, from: 0, to: 0 };
        let mut items = Items {
            moments: Moments::new(spans, plain.initial.len() as u32),
            of: vec![unused; values],
            seen: Vec::new(),
            seen_from: Vec::new(),
            empty: Vec::new(),
            unknown: Vec::new(),
            operations: actions.len() as u32,
        };
        let initial = plain.initial.len() as u32;
        // The initial items are added one after another, at the moments before the history.
        items.moments.of.extend((0..initial).map(|moment| (moment, moment)));
        items.collect_adds(plain)?;
        items.collect_others(actions, words)?;
        // The engines use the earliest removals first, because they permit the most.
        sort_by_number(&mut items.unknown, |operation| spans[*operation as usize].invoked);
        items.shorten(words)?;
        for value in 0..items.of.len() as u32 {
            let CollectionItem { add, take, .. } = items.of[value as usize];
            // An initial item has no span for its add, so it never counts as pending.
            let pending = spans.get(add as usize).is_some_and(|span| span.returned == u64::MAX);
            if pending && take == NONE && items.observers(value).is_empty() {
                items.of[value as usize].add = NONE;
            }
        }
        Ok(items)
    }

    fn collect_adds(&mut self, plain: &Plain) -> Result<(), Ruling> {
        let initial = (self.operations..).zip(&plain.initial);
        let add = |(operation, action): (u32, &Action)| match action {
            Action::Add(value) => Some((operation, *value)),
            _ => None,
        };
        let adds = (0..).zip(&plain.actions).filter_map(add);
        for (operation, value) in initial.map(|(add, value)| (add, *value)).chain(adds) {
            let item = &mut self.of[value as usize];
            if item.add != NONE {
                return Err(Ruling::NotMine);
            }
            (item.add, item.first, item.last) = (operation, operation, operation);
        }
        Ok(())
    }

    fn collect_others(&mut self, actions: &[Action], words: CollectionTerms) -> Result<(), Ruling> {
        let mut looks = Vec::new();
        // The first fault in the order of the history is reported, but `NotMine` has precedence.
        let mut fault = None;
        for (operation, action) in (0..).zip(actions) {
            let (value, takes) = match *action {
                Action::Take(value) => (value, true),
                Action::Peek(value) => (value, false),
                Action::Empty => {
                    self.empty.push(operation);
                    continue;
                }
                Action::TakeUnknown => {
                    self.unknown.push(operation);
                    continue;
                }
                Action::Add(_) | Action::Nothing => continue,
                Action::Absent(_) | Action::Swap(..) => return Err(Ruling::NotMine),
            };
            let item = &mut self.of[value as usize];
            if item.add == NONE {
                fault = fault.or_else(|| Some(never_added(operation, takes, words)));
                continue;
            }
            if takes && item.take != NONE {
                let (add, before) = (item.add, item.take);
                fault = fault.or_else(|| Some(self.twice(add, before, operation, words)));
                continue;
            }
            if takes {
                item.take = operation;
            } else {
                looks.push((value, operation));
            }
            let of = &self.moments.of;
            if of[operation as usize].1 < of[item.first as usize].1 {
                item.first = operation;
            }
            if of[operation as usize].0 > of[item.last as usize].0 {
                item.last = operation;
            }
        }
        if let Some(core) = fault {
            return Err(Ruling::Violated(core));
        }
        // A counting sort by value, which keeps the order of the history within each value.
        self.seen_from = vec![0; self.of.len() + 1];
        if !looks.is_empty() {
            for (value, _) in &looks {
                self.seen_from[*value as usize + 1] += 1;
            }
            for value in 0..self.of.len() {
                self.seen_from[value + 1] += self.seen_from[value];
            }
            let mut next = self.seen_from.clone();
            self.seen = vec![0; looks.len()];
            for (value, operation) in looks {
                self.seen[next[value as usize] as usize] = operation;
                next[value as usize] += 1;
            }
        }
        Ok(())
    }

    /// Shortens the operations of each item to the moments at which they can take effect.
    fn shorten(&mut self, words: CollectionTerms) -> Result<(), Ruling> {
        for value in 0..self.of.len() {
            let item = self.of[value];
            if item.add == NONE {
                continue;
            }
            let add = self.moments.of[item.add as usize];
            let earliest = self.moments.of[item.first as usize].1;
            if earliest < add.0 {
                return Err(Ruling::Violated(self.too_early(item, item.first, words)));
            }
            let latest = self.moments.of[item.last as usize].0;
            if item.take != NONE && self.moments.of[item.take as usize].1 < latest {
                return Err(Ruling::Violated(self.too_late(item, words)));
            }
            // The value `NONE` is later than every moment, so it is not a bound.
            let until = match item.take {
                NONE => NONE,
                take => self.moments.of[take as usize].1,
            };
            for place in self.seen_from[value]..self.seen_from[value + 1] {
                let look = &mut self.moments.of[self.seen[place as usize] as usize];
                *look = (look.0.max(add.0), look.1.min(until));
            }
            self.moments.of[item.add as usize].1 = earliest;
            let to = match item.take {
                NONE => self.moments.count,
                take => {
                    self.moments.of[take as usize].0 = latest;
                    latest
                }
            };
            let item = &mut self.of[value];
            (item.from, item.to) = (earliest + 1, to);
        }
        Ok(())
    }

    /// Returns the observers of an item.
    pub(super) fn observers(&self, value: u32) -> &[u32] {
        let value = value as usize;
        &self.seen[self.seen_from[value] as usize..self.seen_from[value + 1] as usize]
    }

    /// Returns the call that opens the moments of an operation of this item, and the return that closes them. Usually
    /// both belong to the operation itself, unless its moments were shortened. `None` if unknown.
    pub(super) fn bounds(&self, operation: u32, item: Option<u32>) -> (Option<u32>, Option<u32>) {
        let Some(value) = item else {
            return (Some(operation), Some(operation));
        };
        let CollectionItem { add, take, first, last, .. } = self.of[value as usize];
        if operation == add {
            return (Some(operation), Some(first));
        }
        if operation == take {
            return (Some(last), Some(operation));
        }
        let of = |operation: u32| self.moments.of[operation as usize];
        let called = of(operation).0 > of(add).0;
        let returned = take == NONE || of(operation).1 < of(take).1;
        (called.then_some(operation), returned.then_some(operation))
    }

    /// Returns the items that were never taken.
    pub(super) fn untaken(&self) -> impl Iterator<Item = u32> + '_ {
        let stays = |(value, item): (u32, &CollectionItem)| {
            (item.add != NONE && item.take == NONE).then_some(value)
        };
        (0..).zip(&self.of).filter_map(stays)
    }

    /// Ends the stay of an item that was never taken: at the call of `removal`, or at its last observation if that is
    /// later.
    pub(super) fn release(&mut self, value: u32, removal: u32) {
        let item = &mut self.of[value as usize];
        let called = self.moments.of[removal as usize].0;
        item.to = called.max(self.moments.of[item.last as usize].0);
    }

    /// Records that an item that was never taken stays until the end.
    pub(super) fn keep(&mut self, value: u32) {
        self.of[value as usize].to = self.moments.count;
    }

    /// Records that `removal`, which never returned, took this item. No other operation took it.
    pub(super) fn assign(&mut self, value: u32, removal: u32) {
        self.release(value, removal);
        let item = &mut self.of[value as usize];
        (item.take, item.last) = (removal, NONE);
        self.moments.of[removal as usize].0 = item.to;
    }

    /// Returns the operations of a contradiction, `more` first. These are the operations that make these items surely
    /// inside, the operations on the initial items in the contradiction, and the removals that may have taken an item.
    ///
    /// The last argument lists the initial items in the contradiction that are not in `values`. An initial item is
    /// always present, so leaving out its removal would create a false contradiction.
    pub(super) fn core(&self, more: Vec<u32>, values: &[u32], told: &[u32]) -> Vec<u32> {
        let mut core = more;
        let mut left = 0;
        let (mut all, mut before) = (values.to_vec(), Vec::new());
        all.extend(told);
        all.sort_unstable();
        all.dedup();
        for value in all {
            let CollectionItem { add, take, first, last, .. } = self.of[value as usize];
            before.extend([add, first, last, take]);
            left += usize::from(take == NONE);
        }
        // The earliest removals with an unknown result are the most powerful, and one removal per remaining item is
        // always enough.
        before.extend(self.unknown.iter().take(left));
        before.sort_unstable();
        before.dedup();
        before.retain(|operation| *operation < self.operations && !core.contains(operation));
        core.extend(before);
        core
    }

    fn real(&self, operations: &[u32]) -> Vec<u32> {
        operations.iter().copied().filter(|operation| *operation < self.operations).collect()
    }

    fn twice(&self, add: u32, one: u32, other: u32, words: CollectionTerms) -> Core {
        let text = format!(
            "{{0}} and {{1}} both returned the same item, which was {} only once",
            words.added
        );
        Core {
            operations: self.real(&[one, other, add]),
            anomaly: Anomaly { name: format!("{} twice", words.taken), text, edges: Vec::new() },
        }
    }

    fn too_early(&self, item: CollectionItem, early: u32, words: CollectionTerms) -> Core {
        let what = if early == item.take { words.taken } else { "seen" };
        let text = "{0} returned the item before {1} was invoked, which put it in".to_owned();
        let edges = vec![
            edge(early, item.add, "returned before it was invoked"),
            edge(item.add, early, "put in what it returned"),
        ];
        Core {
            operations: self.real(&[early, item.add]),
            anomaly: Anomaly { name: format!("{what} before {}", words.added), text, edges },
        }
    }

    fn too_late(&self, item: CollectionItem, words: CollectionTerms) -> Core {
        let text = "{0} returned the item although {1}, which took it out, had returned".to_owned();
        let edges = vec![
            edge(item.take, item.last, "returned before it was invoked"),
            edge(item.last, item.take, "saw what it took out"),
        ];
        Core {
            operations: self.real(&[item.last, item.take, item.add]),
            anomaly: Anomaly { name: format!("seen after {}", words.taken), text, edges },
        }
    }
}

fn never_added(operation: u32, takes: bool, words: CollectionTerms) -> Core {
    let what = if takes { words.taken } else { "saw" };
    let text = "{0} returned an item that nothing put in".to_owned();
    Core {
        operations: vec![operation],
        anomaly: Anomaly {
            name: format!("{what} a value never {}", words.added),
            text,
            edges: Vec::new(),
        },
    }
}

/// Creates the edge for "`from` must come before `to`".
pub(super) fn edge(from: u32, to: u32, why: &str) -> Edge {
    Edge { from: from as usize, to: to as usize, why: why.to_owned() }
}
