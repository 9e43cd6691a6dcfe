//! Finds positions for failed swaps in a linearization of all other operations.

use super::RegisterCheck;
use crate::unique::Action;
use unpause_ordered::sort_by_number;

impl RegisterCheck<'_> {
    /// Inserts all failed swaps into the order. Each swap is inserted as early as possible, because this leaves the
    /// most room for later swaps. Returns `None` if a swap has no position, although it might have a position in
    /// another order.
    ///
    /// Gap g is the gap before the g-th operation of `order`. O(n log n).
    pub(super) fn with_failed_swaps(&self, order: Vec<u32>) -> Option<Vec<u32>> {
        let mut failed: Vec<(u64, u32, u32)> = Vec::new();
        for (index, action) in self.plain.actions.iter().enumerate() {
            if let Action::Absent(value) = *action {
                failed.push((self.spans[index].invoked, index as u32, value));
            }
        }
        if failed.is_empty() {
            return Some(order);
        }
        // The indexes are in order, and the sort is stable.
        sort_by_number(&mut failed, |(invoked, ..)| *invoked);
        let other_value = self.other_value(&order);
        let mut by_return = Ends::new(&order, |op| self.spans[op as usize].returned);
        let limits = self.limits(&order);
        // The swaps placed so far, sorted by return, because they constrain other swaps in this order.
        let mut placed: Vec<(u64, u32)> = Vec::new();
        let mut gaps: Vec<(u32, u32)> = Vec::with_capacity(failed.len());
        let mut floor = 0;
        for (invoked, index, value) in failed {
            let returned = self.spans[index as usize].returned;
            // The earliest return is the last entry of `placed`. Invocations are visited in ascending order, so a swap
            // that is removed here constrains all later swaps.
            while let Some(&(end, gap)) = placed.last().filter(|(end, _)| *end < invoked) {
                debug_assert!(end < invoked);
                floor = gap.max(floor);
                placed.pop();
            }
            let mut gap = by_return.gap_after(invoked).max(floor);
            let (held, next) = other_value[gap as usize];
            // If the register holds this value until the end, the next gap is past every limit.
            if held == value {
                gap = next;
            }
            // The swap must come before every operation that was invoked after its return.
            let limit = limits.partition_point(|(later, _)| *later < returned);
            let limit = limits.get(limit).map_or(order.len() as u32, |(_, place)| *place);
            if gap > limit {
                return None;
            }
            let place = placed.partition_point(|(end, _)| *end > returned);
            placed.insert(place, (returned, gap));
            gaps.push((gap, index));
        }
        // The sort is stable: in one gap, the swap invoked first comes first.
        sort_by_number(&mut gaps, |(gap, _)| (*gap).into());
        let mut gaps = gaps.into_iter().peekable();
        let mut full = Vec::with_capacity(self.plain.actions.len());
        for (place, op) in order.into_iter().enumerate() {
            while let Some((_, failed)) = gaps.next_if(|(gap, _)| *gap as usize == place) {
                full.push(failed);
            }
            full.push(op);
        }
        full.extend(gaps.map(|(_, failed)| failed));
        Some(full)
    }

    /// Returns, for each gap, the value held in it and the next gap with another value; past the last gap if the value
    /// remains.
    fn other_value(&self, order: &[u32]) -> Vec<(u32, u32)> {
        let mut held = Vec::with_capacity(order.len() + 1);
        held.push((self.plain.initial[0], 0));
        for op in order {
            let value = match self.plain.actions[*op as usize] {
                Action::Add(value) | Action::Swap(_, value) => value,
                _ => held[held.len() - 1].0,
            };
            held.push((value, 0));
        }
        let mut next = held.len() as u32;
        for gap in (0..held.len()).rev() {
            if held.get(gap + 1).is_some_and(|later| later.0 != held[gap].0) {
                next = gap as u32 + 1;
            }
            held[gap].1 = next;
        }
        held
    }

    /// Returns the invocations sorted by time. Each invocation has the position of the first operation in `order` that
    /// was invoked at this time or later.
    fn limits(&self, order: &[u32]) -> Vec<(u64, u32)> {
        let invoked = |op: &u32| self.spans[*op as usize].invoked;
        let mut limits: Vec<(u64, u32)> = order.iter().map(invoked).zip(0..).collect();
        limits.sort_unstable();
        let mut first = order.len() as u32;
        for (_, place) in limits.iter_mut().rev() {
            first = first.min(*place);
            *place = first;
        }
        limits
    }
}

/// A cursor over the operations of an order, sorted by return time.
struct Ends {
    ends: Vec<(u64, u32)>,
    at: usize,
    gap: u32,
}

impl Ends {
    fn new(order: &[u32], returned: impl Fn(u32) -> u64) -> Ends {
        let mut ends: Vec<(u64, u32)> = order.iter().map(|op| returned(*op)).zip(1..).collect();
        ends.sort_unstable();
        Ends { ends, at: 0, gap: 0 }
    }

    /// Returns the first gap after all operations that returned before `time`. Times must not decrease between calls.
    fn gap_after(&mut self, time: u64) -> u32 {
        while let Some((_, gap)) = self.ends.get(self.at).filter(|(end, _)| *end < time) {
            self.gap = self.gap.max(*gap);
            self.at += 1;
        }
        self.gap
    }
}
