//! The orders in which possibilities placed the operations. The orders are the evidence if no possibility is left.
//!
//! Orders share their beginnings in a tree. Only the last [`WINDOW`] entries of each order are kept: the tree is cut
//! whenever it has doubled in size. If an operation fits at an earlier moment, its position is known only after its
//! return. So some entries insert an operation further back in the order.

/// The number of last entries that are always kept for an order.
pub(super) const WINDOW: usize = 32;

/// The empty order.
pub(super) const START: u32 = u32::MAX;

/// An entry before the window.
pub(super) const GONE: u32 = u32::MAX - 1;

/// The flag of an entry that is still being built and is not in the tree yet. The other bits are its offset from the
/// entry at which construction began.
pub(super) const BUILT: u32 = 1 << 31;

/// An entry of an order. Operations are identified by their number in the stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OrderEntry {
    /// The next operation of the order.
    Next(u64),
    /// An operation directly after the entry `after`. The operation changed nothing.
    Inserted { op: u64, after: u32 },
    /// Replaces operation `from` by `to`, an equal operation that was invoked earlier.
    Renamed { from: u64, to: u64 },
}

/// A tree of orders. An order is identified by the number of its last entry.
#[derive(Default)]
pub(super) struct StreamOrders {
    nodes: Vec<(OrderEntry, u32)>,
    /// The number of entries at which the tree must be cut.
    cut_at: usize,
}

impl StreamOrders {
    const SMALLEST_CUT: usize = 2 * WINDOW;

    pub(super) fn extend(&mut self, order: u32, entry: OrderEntry) -> u32 {
        let node = self.nodes.len() as u32;
        assert!(node < BUILT, "the tree of orders is cut long before");
        self.nodes.push((entry, order));
        node
    }

    /// Returns `true` if [`cut`](Self::cut) is due.
    pub(super) fn is_long(&self) -> bool {
        // A cut takes time linear in the tree. The tree doubles between two cuts, so the cost per entry is constant.
        self.nodes.len() >= self.cut_at.max(Self::SMALLEST_CUT)
    }

    /// Drops entries outside the windows of these orders. Returns the new name of each entry.
    pub(super) fn cut(&mut self, orders: impl Iterator<Item = u32>) -> Vec<u32> {
        // For each entry, the largest remaining number of entries in a window; 0 if the entry is in no window.
        let mut left = vec![0; self.nodes.len()];
        for order in orders {
            let (mut node, mut room) = (order, WINDOW);
            // An earlier visit with more room has already marked all entries that follow.
            // `START` and `GONE` are out of range, so the walk also ends there.
            while room > 0 && left.get(node as usize).is_some_and(|best| *best < room) {
                left[node as usize] = room;
                node = self.nodes[node as usize].1;
                room -= 1;
            }
        }
        let mut names = vec![GONE; self.nodes.len()];
        let old = std::mem::take(&mut self.nodes);
        for (node, (entry, parent)) in old.into_iter().enumerate() {
            if left[node] == 0 {
                continue;
            }
            // Entries only refer to earlier entries, which have their new names already. The name of a dropped entry is
            // `GONE`.
            names[node] = self.nodes.len() as u32;
            let entry = match entry {
                OrderEntry::Inserted { op, after } => {
                    OrderEntry::Inserted { op, after: renamed(&names, after) }
                }
                other => other,
            };
            self.nodes.push((entry, renamed(&names, parent)));
        }
        self.cut_at = 2 * self.nodes.len();
        names
    }

    /// Returns the operations of an order, within its window.
    pub(super) fn spell(&self, order: u32) -> Vec<usize> {
        let mut nodes = Vec::new();
        let mut node = order;
        while nodes.len() < WINDOW && (node as usize) < self.nodes.len() {
            nodes.push(node);
            node = self.nodes[node as usize].1;
        }
        // An order is shown from its beginning only if it is complete. Before the first entry of an incomplete order,
        // there may be other operations.
        let whole = node == START;
        let mut ops: Vec<(u32, u64)> = Vec::new();
        for &node in nodes.iter().rev() {
            match self.nodes[node as usize].0 {
                OrderEntry::Next(op) => ops.push((node, op)),
                OrderEntry::Inserted { op, after } => {
                    let anchor = self.anchor(after);
                    let place = ops.iter().position(|(node, _)| *node == anchor);
                    match place {
                        Some(place) => ops.insert(place + 1, (node, op)),
                        None if anchor == START && whole => ops.insert(0, (node, op)),
                        // The position is before the window.
                        None => {}
                    }
                }
                // A renaming applies only to earlier entries, because the same number may occur again later.
                OrderEntry::Renamed { from, to } => {
                    ops.iter_mut().filter(|(_, op)| *op == from).for_each(|(_, op)| *op = to);
                }
            }
        }
        ops.into_iter().map(|(_, op)| op as usize).collect()
    }

    /// Returns the last entry up to `node` that appended an operation.
    fn anchor(&self, mut node: u32) -> u32 {
        // Insertions and renamings do not occupy a position in the order.
        while let Some((entry, parent)) = self.nodes.get(node as usize) {
            if matches!(entry, OrderEntry::Next(_)) {
                break;
            }
            node = *parent;
        }
        node
    }

    /// Returns the number of entries kept.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }
}

/// Returns the new name of `node` after a cut that returned `names`.
pub(super) fn renamed(names: &[u32], node: u32) -> u32 {
    names.get(node as usize).copied().unwrap_or(node)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(orders: &mut StreamOrders, order: u32, op: u64) -> u32 {
        orders.extend(order, OrderEntry::Next(op))
    }

    #[test]
    fn what_was_known_late_stands_where_it_belongs() {
        let mut orders = StreamOrders::default();
        let one = next(&mut orders, START, 1);
        let two = next(&mut orders, one, 2);
        let early = orders.extend(two, OrderEntry::Inserted { op: 3, after: one });
        let first = orders.extend(early, OrderEntry::Inserted { op: 4, after: START });
        let last = next(&mut orders, first, 5);
        // `first` is not an operation, so an entry inserted after it goes after the last earlier operation.
        let after_mark = orders.extend(last, OrderEntry::Inserted { op: 6, after: first });
        assert_eq!(orders.spell(after_mark), [4, 1, 3, 2, 6, 5]);
        assert_eq!(orders.spell(two), [1, 2]);
    }

    #[test]
    fn a_new_name_is_for_what_came_before() {
        let mut orders = StreamOrders::default();
        let nine = next(&mut orders, START, 9);
        let three = orders.extend(nine, OrderEntry::Renamed { from: 9, to: 3 });
        let both = next(&mut orders, three, 9);
        assert_eq!(orders.spell(both), [3, 9]);
    }

    #[test]
    fn a_cut_keeps_the_windows_and_nothing_else() {
        let mut orders = StreamOrders::default();
        let mut order = START;
        for op in 0..5000 {
            order = next(&mut orders, order, op);
            let side = next(&mut orders, order, 9999);
            assert_ne!(side, order);
            if orders.is_long() {
                let names = orders.cut([order].into_iter());
                order = renamed(&names, order);
                assert_eq!(orders.len(), WINDOW.min(op as usize + 1));
            }
        }
        assert_eq!(orders.spell(order), (5000 - WINDOW..5000).collect::<Vec<_>>());
        let seen = orders.extend(order, OrderEntry::Inserted { op: 1, after: GONE });
        assert_eq!(orders.spell(seen).len(), WINDOW - 1, "it stands before the window");
    }
}
