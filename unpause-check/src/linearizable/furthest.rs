//! The longest orders found during the search. The orders are the evidence if the search fails.

use super::memo::NOTHING;
use unpause_ordered::sort_by_key;

/// For each state reached at the furthest position, the longest order that ends in this state.
#[derive(Default)]
pub(super) struct Furthest {
    pub(super) at: usize,
    pub(super) ends: Vec<OrderEnd>,
}

/// An order, identified by its last node, with the state after it and its length.
pub(super) struct OrderEnd {
    pub(super) order: u32,
    pub(super) state: u32,
    pub(super) length: u32,
}

impl Furthest {
    // Only a few orders are shown. Keeping more costs little, and the longest orders are found
    // late.
    const KEPT: usize = 8;

    pub(super) fn reached(&mut self, at: usize, end: OrderEnd) {
        if at < self.at {
            return;
        }
        if at > self.at {
            self.at = at;
            self.ends.clear();
        }
        let full = self.ends.len() == Self::KEPT;
        // A state has one entry. A new state of a full list may replace the shortest order.
        let place = match self.ends.iter().position(|kept| kept.state == end.state) {
            None if full => (0..Self::KEPT).min_by_key(|place| self.ends[*place].length),
            same => same,
        };
        match place {
            Some(place) if self.ends[place].length < end.length => self.ends[place] = end,
            Some(_) => {}
            None => self.ends.push(end),
        }
    }

    pub(super) fn longest_first(&mut self) {
        sort_by_key(&mut self.ends, |end| std::cmp::Reverse(end.length));
    }

    /// Returns the number of order nodes that these orders need.
    pub(super) fn nodes(&self) -> usize {
        // Nodes of the tree refer only to lower numbers, so this prefix contains all orders that are kept.
        let last = self.ends.iter().filter(|end| end.order != NOTHING).map(|end| end.order).max();
        last.map_or(0, |last| last as usize + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_further_position_forgets_what_came_before_and_a_state_is_kept_once() {
        let mut furthest = Furthest::default();
        let mut reach = |at, state, length| {
            furthest.reached(at, OrderEnd { order: length, state, length });
            furthest.ends.iter().map(|end| (end.state, end.length)).collect::<Vec<_>>()
        };
        assert_eq!(reach(3, 0, 5), [(0, 5)]);
        assert_eq!(reach(2, 1, 9), [(0, 5)]);
        assert_eq!(reach(3, 0, 6), [(0, 6)]);
        assert_eq!(reach(4, 1, 2), [(1, 2)]);
        for state in 2..9 {
            reach(4, state, 3);
        }
        assert_eq!(reach(4, 9, 4)[0], (9, 4), "it takes the place of the shortest");
        assert_eq!(furthest.nodes(), 5);
    }
}
