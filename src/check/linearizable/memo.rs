//! What the search remembers: the states it met, the configurations it visited, the orders it built.

// tidy: never iterated: looked up only
use std::collections::hash_map::Entry;
use std::hash::{Hash, Hasher};

use super::mask::Mask;
use crate::check::hash::{Table, WordHasher};

/// The states of the model, numbered as they are met. Open addressing over the numbers, so that each
/// state is kept once.
pub(super) struct States<M> {
    states: Vec<M>,
    hashes: Vec<u64>,
    // Length a power of two, at most half full. VACANT or an index into `states`.
    table: Vec<u32>,
}

const VACANT: u32 = u32::MAX;

impl<M: Clone + Eq + Hash> States<M> {
    pub(super) fn new() -> Self {
        States { states: Vec::new(), hashes: Vec::new(), table: vec![VACANT; 16] }
    }

    pub(super) fn get(&self, number: u32) -> &M {
        &self.states[number as usize]
    }

    pub(super) fn number_of(&mut self, state: M) -> u32 {
        let mut hasher = WordHasher::default();
        state.hash(&mut hasher);
        let hash = hasher.finish();
        let mut place = self.place(hash);
        while self.table[place] != VACANT {
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

/// The configurations visited: position, state, operations in flight that are ordered already, and
/// for each the sets of pending operations used to get there.
///
/// Using a pending operation is a cost and never a gain: who used fewer can still use the others. So
/// of each key only the minimal sets are kept (an antichain), and whoever used a superset of one of
/// them need not be looked at.
pub(super) struct Visited<B>(Table<(u32, u32, B), Antichain<B>>);

/// Not empty. Nearly all have one member.
struct Antichain<B> {
    one: B,
    others: Vec<B>,
}

impl<B: Mask> Visited<B> {
    pub(super) fn new() -> Self {
        Visited(Table::default())
    }

    /// Adds a configuration; false if one at least as good is there.
    #[must_use]
    pub(super) fn add(&mut self, at: usize, state: u32, ordered: &B, used: &B) -> bool {
        match self.0.entry((at as u32, state, ordered.clone())) {
            Entry::Vacant(entry) => {
                entry.insert(Antichain { one: used.clone(), others: Vec::new() });
                true
            }
            Entry::Occupied(mut entry) => entry.get_mut().add(used),
        }
    }
}

impl<B: Mask> Antichain<B> {
    fn add(&mut self, used: &B) -> bool {
        if self.one.within(used) || self.others.iter().any(|other| other.within(used)) {
            return false;
        }
        self.others.retain(|other| !used.within(other));
        if used.within(&self.one) {
            self.one = used.clone();
        } else {
            self.others.push(used.clone());
        }
        true
    }
}

/// The orders that led to the configurations on the stack, as a tree that shares their beginnings:
/// an order is the number of its last node.
pub(super) struct Orders {
    nodes: Vec<(u32, u32)>,
}

/// The order of no operations.
pub(super) const NOTHING: u32 = u32::MAX;

impl Orders {
    pub(super) fn new() -> Self {
        Orders { nodes: Vec::new() }
    }

    pub(super) fn extend(&mut self, order: u32, op: u32) -> u32 {
        let node = u32::try_from(self.nodes.len()).unwrap_or(NOTHING);
        assert!(node != NOTHING, "memory holds fewer than 2^32 nodes");
        self.nodes.push((op, order));
        node
    }

    /// The number of nodes: what [`truncate`](Orders::truncate) goes back to.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Forgets all orders made since there were `len` nodes.
    pub(super) fn truncate(&mut self, len: usize) {
        self.nodes.truncate(len);
    }

    pub(super) fn spell(&self, order: u32) -> Vec<u32> {
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
        let mut states = States::new();
        for _ in 0..2 {
            for value in 0..1000u64 {
                assert_eq!(states.number_of(value), value as u32);
            }
        }
        assert_eq!(*states.get(77), 77);
    }

    #[test]
    fn a_superset_of_used_pending_operations_is_refused_and_a_subset_replaces_it() {
        let mut visited = Visited::<u128>::new();
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
        let mut orders = Orders::new();
        let seven = orders.extend(NOTHING, 7);
        let eight = orders.extend(seven, 8);
        let nine = orders.extend(seven, 9);
        assert_eq!(orders.spell(NOTHING), []);
        assert_eq!(orders.spell(eight), [7, 8]);
        assert_eq!(orders.spell(nine), [7, 9]);
    }
}
