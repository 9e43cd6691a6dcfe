//! The memory of a search: states, visited configurations, and orders.

// tidy: never iterated: looked up only
use std::collections::hash_map::Entry;
use std::hash::{Hash, Hasher};

use super::mask::Mask;
use crate::hash::{Table, Weigher};
use crate::limits::{ENTRIES_KEPT, ROWS_KEPT, table_bytes, vec_bytes};

/// The states of the model, numbered in the order of their discovery. The hash table uses open addressing over the
/// numbers, so each state is stored only once.
pub(crate) struct StateTable<M> {
    states: Vec<M>,
    hashes: Vec<u64>,
    /// The approximate size of each state, besides its entry in `states`. `weight` is the sum.
    weights: Vec<u32>,
    weight: usize,
    // The length is a power of two; at most half of the entries are used. An entry is VACANT or an index into `states`.
    table: Vec<u32>,
}

const VACANT: u32 = u32::MAX;

impl<M: Clone + Eq + Hash> StateTable<M> {
    pub(crate) fn new() -> Self {
        StateTable {
            states: Vec::new(),
            hashes: Vec::new(),
            weights: Vec::new(),
            weight: 0,
            table: vec![VACANT; 16],
        }
    }

    pub(crate) fn clear(&mut self) {
        self.states.clear();
        self.hashes.clear();
        self.weights.clear();
        self.weight = 0;
        // Searches of other parts reuse these lists, so only unusually large lists are freed.
        self.states.shrink_to(ENTRIES_KEPT / 2);
        self.hashes.shrink_to(ENTRIES_KEPT / 2);
        self.weights.shrink_to(ENTRIES_KEPT / 2);
        self.table.fill(VACANT);
        // If the table stayed large, every later part would have to clear it, even a small part.
        self.table.truncate(1024);
    }

    pub(crate) fn get(&self, number: u32) -> &M {
        &self.states[number as usize]
    }

    /// Returns the number of states.
    pub(crate) fn len(&self) -> usize {
        self.states.len()
    }

    /// Returns the work of copying a state: 1, and more if the state is large.
    pub(crate) fn work(&self, number: u32) -> u32 {
        1 + self.weights[number as usize] / 256
    }

    /// Returns the approximate size of all states in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let lists = vec_bytes(&self.states) + vec_bytes(&self.hashes) + vec_bytes(&self.weights);
        // The table doubles when half of it is used, and for a moment there are two tables.
        let table = if self.table.len() > ENTRIES_KEPT { 12 * self.table.len() } else { 0 };
        self.weight + lists + table
    }

    pub(crate) fn number_of(&mut self, state: M) -> u32 {
        let mut hasher = Weigher::default();
        state.hash(&mut hasher);
        let hash = hasher.finish();
        let mut place = self.place(hash);
        while self.table[place] != VACANT {
            // The hashes are compared first, because states can be large.
            let number = self.table[place] as usize;
            if self.hashes[number] == hash && self.states[number] == state {
                return number as u32;
            }
            place = (place + 1) & (self.table.len() - 1);
        }
        let number = self.states.len() as u32;
        assert!(number < VACANT, "memory holds fewer than 2^32 states");
        self.table[place] = number;
        self.states.push(state);
        self.hashes.push(hash);
        // A growing copy may have twice the capacity that it needs, and trees and tables may be half empty.
        let weight = 3 * hasher.bytes.min(u32::MAX as usize / 3);
        self.weights.push(weight as u32);
        self.weight += weight;
        // At most half of the table is used, so each probe ends at a vacant entry soon.
        if self.states.len() * 2 > self.table.len() {
            self.grow();
        }
        number
    }

    fn place(&self, hash: u64) -> usize {
        hash as usize & (self.table.len() - 1)
    }

    fn grow(&mut self) {
        self.table = vec![VACANT; self.table.len() * 2];
        for (number, &hash) in self.hashes.iter().enumerate() {
            let mut place = self.place(hash);
            while self.table[place] != VACANT {
                place = (place + 1) & (self.table.len() - 1);
            }
            self.table[place] = number as u32;
        }
    }
}

/// The visited configurations. A key is a position, a state, and the operations in flight that are already ordered. For
/// each key, the table has the sets of pending operations used to reach it.
///
/// Using a pending operation is a cost and never a gain, because a configuration that used fewer can still use the
/// others. So the table keeps only the minimal sets for each key (an antichain). A configuration is skipped if its set
/// is a superset of a kept set.
pub(super) struct Visited<B> {
    table: Table<(u32, u32, B), Antichain<B>>,
    /// The bytes of masks outside of the table.
    masks: usize,
    /// The number of sets compared since [`take_work`](Self::take_work).
    compared: u32,
}

/// The minimal sets of a key. Never empty, and almost always with one member.
struct Antichain<B> {
    one: B,
    // Rarely present. The box saves two words in each entry of the table.
    #[allow(clippy::box_collection)]
    others: Option<Box<Vec<B>>>,
}

impl<B: Mask> Visited<B> {
    pub(super) fn new() -> Self {
        Visited { table: Table::default(), masks: 0, compared: 0 }
    }

    /// Returns the number of keys. Configurations that differ only in pending operations count once.
    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    /// Returns the approximate size in bytes.
    pub(super) fn bytes(&self) -> usize {
        table_bytes(&self.table) + self.masks
    }

    /// Returns and resets the number of sets compared.
    pub(super) fn take_work(&mut self) -> u32 {
        std::mem::take(&mut self.compared)
    }

    /// Clears the memo, and frees its table if the table is unusually large.
    pub(super) fn clear(&mut self) {
        if self.table.capacity() >= ROWS_KEPT {
            *self = Visited::new();
        } else {
            self.table.clear();
            self.masks = 0;
        }
    }

    /// Returns `true` if a configuration that was added is still minimal in the table.
    pub(super) fn has(&self, at: usize, state: u32, ordered: &B, used: &B) -> bool {
        let kept = self.table.get(&(at as u32, state, ordered.clone()));
        kept.is_some_and(|kept| kept.one == *used || kept.others().any(|other| other == used))
    }

    /// Adds a configuration. Returns `false` if an equally good or better configuration already covers it.
    #[must_use]
    pub(super) fn add(&mut self, at: usize, state: u32, ordered: &B, used: &B) -> bool {
        match self.table.entry((at as u32, state, ordered.clone())) {
            Entry::Vacant(entry) => {
                self.masks += ordered.heap() + used.heap();
                entry.insert(Antichain { one: used.clone(), others: None });
                true
            }
            Entry::Occupied(mut entry) => {
                let kept = entry.get_mut();
                let (before, is_new) = (kept.len(), kept.add(used));
                self.compared = self.compared.saturating_add(before as u32);
                let each = size_of::<B>() + used.heap();
                // The list of the other sets has capacity for twice as many sets.
                self.masks = (self.masks + 2 * kept.len() * each).saturating_sub(2 * before * each);
                is_new
            }
        }
    }
}

impl<B: Mask> Antichain<B> {
    fn others(&self) -> impl Iterator<Item = &B> {
        self.others.iter().flat_map(|others| others.iter())
    }

    fn len(&self) -> usize {
        1 + self.others.as_ref().map_or(0, |others| others.len())
    }

    fn add(&mut self, used: &B) -> bool {
        if self.one.within(used) || self.others().any(|other| other.within(used)) {
            return false;
        }
        let others = self.others.get_or_insert_default();
        // `used` was not covered, so it may only replace larger sets.
        others.retain(|other| !used.within(other));
        if used.within(&self.one) {
            self.one = used.clone();
        } else {
            others.push(used.clone());
        }
        true
    }
}

/// The orders that led to the configurations on the stack, in a tree that shares their beginnings. An order is
/// identified by the number of its last node.
#[derive(Clone, Default)]
pub(crate) struct OrderTree {
    nodes: Vec<(u32, u32)>,
}

/// The empty order.
pub(crate) const NOTHING: u32 = u32::MAX;

impl OrderTree {
    pub(crate) fn extend(&mut self, order: u32, op: u32) -> u32 {
        let node = u32::try_from(self.nodes.len()).unwrap_or(NOTHING);
        assert!(node != NOTHING, "memory holds fewer than 2^32 nodes");
        self.nodes.push((op, order));
        node
    }

    /// Drops all orders, and frees unusually large buffers.
    pub(crate) fn clear(&mut self) {
        self.nodes.clear();
        self.nodes.shrink_to(ENTRIES_KEPT / 2);
    }

    /// Returns the size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        vec_bytes(&self.nodes)
    }

    /// Returns the number of nodes, for [`truncate`](OrderTree::truncate).
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Drops all nodes after the first `len`.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.nodes.truncate(len);
    }

    /// Drops every node that is not on the path of any of `ends`, and renumbers `ends`.
    pub(crate) fn keep(&mut self, ends: Vec<&mut u32>) {
        let mut number = vec![NOTHING; self.nodes.len()];
        for end in &ends {
            let mut node = **end;
            // A marked node has marked ancestors already, so each node is visited once.
            while node != NOTHING && number[node as usize] == NOTHING {
                number[node as usize] = 0;
                node = self.nodes[node as usize].1;
            }
        }
        // A parent comes before its children, so it has its new number before its children need it.
        let mut kept = 0;
        for node in 0..self.nodes.len() {
            if number[node] == NOTHING {
                continue;
            }
            number[node] = kept;
            let (op, parent) = self.nodes[node];
            let parent = if parent == NOTHING { NOTHING } else { number[parent as usize] };
            self.nodes[kept as usize] = (op, parent);
            kept += 1;
        }
        self.nodes.truncate(kept as usize);
        for end in ends {
            if *end != NOTHING {
                *end = number[*end as usize];
            }
        }
    }

    pub(crate) fn spell(&self, order: u32) -> Vec<u32> {
        let mut node = order;
        let mut ops: Vec<u32> = std::iter::from_fn(|| {
            let (op, parent) = *self.nodes.get(node as usize)?;
            node = parent;
            Some(op)
        })
        .collect();
        ops.reverse();
        ops
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_states_have_one_number() {
        let mut states = StateTable::new();
        for _ in 0..2 {
            for value in 0..1000u64 {
                assert_eq!(states.number_of(value), value as u32);
            }
        }
        assert_eq!(*states.get(77), 77);
    }

    #[test]
    fn a_superset_of_used_pending_operations_is_refused_and_a_subset_replaces_it() {
        let mut visited = Visited::<u64>::new();
        assert!(visited.add(3, 0, &0, &0b0110));
        assert!(!visited.add(3, 0, &0, &0b0110));
        assert!(!visited.add(3, 0, &0, &0b1110));
        assert!(visited.add(3, 0, &0, &0b1001));
        assert!(visited.add(3, 0, &0, &0b0010), "a subset of the first");
        assert!(!visited.add(3, 0, &0, &0b0110));
        assert!(visited.add(3, 0, &0, &0b0001), "a subset of the second");
        assert!(!visited.add(3, 0, &0, &0b1001));
        assert!(visited.add(3, 1, &0, &0b0110), "another state");
    }

    #[test]
    fn an_order_is_spelled_from_its_beginning() {
        let mut orders = OrderTree::default();
        let seven = orders.extend(NOTHING, 7);
        let eight = orders.extend(seven, 8);
        let nine = orders.extend(seven, 9);
        assert_eq!(orders.spell(NOTHING), []);
        assert_eq!(orders.spell(eight), [7, 8]);
        assert_eq!(orders.spell(nine), [7, 9]);
    }

    #[test]
    fn orders_that_are_kept_spell_the_same_in_less_room() {
        let mut orders = OrderTree::default();
        let seven = orders.extend(NOTHING, 7);
        orders.extend(seven, 1);
        let mut eight = orders.extend(seven, 8);
        let branch = orders.extend(seven, 2);
        let mut nine = orders.extend(eight, 9);
        orders.extend(branch, 3);
        let mut nothing = NOTHING;
        orders.keep(vec![&mut nine, &mut nothing, &mut eight]);
        assert_eq!(orders.len(), 3);
        assert_eq!(orders.spell(eight), [7, 8]);
        assert_eq!(orders.spell(nine), [7, 8, 9]);
        assert_eq!(orders.spell(nothing), []);
    }

    #[test]
    fn a_configuration_that_a_better_one_replaced_is_no_longer_there() {
        let mut visited = Visited::<u64>::new();
        assert!(visited.add(3, 0, &0, &0b011));
        assert!(visited.add(3, 0, &0, &0b100));
        assert!(visited.has(3, 0, &0, &0b011) && visited.has(3, 0, &0, &0b100));
        assert!(visited.add(3, 0, &0, &0b001));
        assert!(!visited.has(3, 0, &0, &0b011) && visited.has(3, 0, &0, &0b001));
        visited.clear();
        assert!(!visited.has(3, 0, &0, &0b100));
    }
}
