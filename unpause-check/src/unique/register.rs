//! Registers in which no value is written twice, including by compare-and-swap.
//!
//! All operations on one value (its writer and its readers) form one *cluster*: the register holds the value once,
//! without a break. Swaps join the clusters of their two values into a *block* without a break. Block P must come
//! before block Q if an operation of P returned before an operation of Q was invoked. In other words, the first return
//! of P is earlier than the last invocation of Q. It is a contradiction if two blocks must each come before the other,
//! and there is no other contradiction. This rule is theorem 4.2 of Gibbons and Korach 1997; the blocks are ours, and
//! so are the rules for operations that never returned. In the terms of that paper, the zone of a block extends between
//! its first return and its last invocation. A zone is *forward* if the return is earlier, otherwise *backward*. Two
//! forward zones must not overlap, and a backward zone must not lie inside a forward zone. So a linearization is the
//! blocks, sorted by the starts of their zones, each in the order of its swaps.
//!
//! A write or swap that never returned happened if its value was read, or was replaced by a swap that happened. Failed
//! swaps play no part in contradictions. If there is no contradiction, each failed swap must find a position in the
//! linearization. If it finds none, the verdict is left open, because it might find a position in another
//! linearization. O(n), besides sorting (see `placed.rs`).

use unpause_ordered::sort_by_number;
mod contradictions;
mod failed;

use super::placed;
use super::values::{NONE, START, count, once};
use super::{Action, Plain, Ruling, Span};

pub(super) fn decide(plain: &Plain, spans: &[Span]) -> Ruling {
    let Some(mut register) = RegisterCheck::new(plain, spans) else {
        return Ruling::NotMine;
    };
    if let Some(ruling) = register.find_links().or_else(|| register.find_clusters()) {
        return ruling;
    }
    let blocks = match register.blocks() {
        Ok(blocks) => blocks,
        Err(ruling) => return ruling,
    };
    let starts = blocks.iter().map(|block| block.first.end.min(block.last.call));
    let by_start = placed::by_key(&starts.collect::<Vec<u64>>());
    let mut zone: Option<&Block> = None;
    for block in by_start.iter().map(|place| &blocks[*place as usize]) {
        // The zones before `zone` end before it begins, so they cannot contradict this block.
        if let Some(zone) = zone.filter(|zone| zone.precedes(block) && block.precedes(zone)) {
            return register.crossed(zone, block);
        }
        if block.first.end < block.last.call {
            zone = Some(block);
        }
    }
    let order = register.order(by_start.iter().map(|place| blocks[*place as usize].root));
    match register.with_failed_swaps(order) {
        Some(order) => Ruling::Linearizable(Some(order)),
        None => Ruling::NotMine,
    }
}

/// A register history. Each time is one greater than in the history, so 0 precedes all times.
struct RegisterCheck<'a> {
    plain: &'a Plain,
    spans: &'a [Span],
    /// For each value, the operation that wrote it, if that operation happened.
    intro: Vec<u32>,
    /// For each value, an operation as a proof that the register held it: a returned read, or a swap that happened.
    seen: Vec<u32>,
    /// For each value, the value that it replaced by a swap; `after` has the value that replaced it.
    before: Vec<u32>,
    after: Vec<u32>,
    clusters: Vec<RegisterCluster>,
}

/// The operation of a cluster or block that returned first.
#[derive(Clone, Copy)]
struct First {
    end: u64,
    operation: u32,
    value: u32,
}

/// The operation of a cluster or block that was invoked last.
#[derive(Clone, Copy)]
struct Last {
    call: u64,
    operation: u32,
    value: u32,
}

#[derive(Clone, Copy)]
struct RegisterCluster {
    first: First,
    last: Last,
}

struct Block {
    /// The first value of the block.
    root: u32,
    first: First,
    last: Last,
}

impl Block {
    /// Returns `true` if this block must come before the other.
    fn precedes(&self, other: &Block) -> bool {
        self.first.end < other.last.call
    }
}

impl<'a> RegisterCheck<'a> {
    fn new(plain: &'a Plain, spans: &'a [Span]) -> Option<Self> {
        let [initial] = plain.initial[..] else {
            return None;
        };
        let values = count(plain, spans)?;
        let none = || vec![NONE; values];
        let (mut intro, mut seen, mut before) = (none(), none(), none());
        intro[initial as usize] = START;
        for (index, action) in plain.actions.iter().enumerate() {
            let pending = spans[index].returned == u64::MAX;
            match *action {
                Action::Add(value) => once(&mut intro[value as usize], index as u32)?,
                Action::Swap(old, new) => {
                    once(&mut intro[new as usize], index as u32)?;
                    before[new as usize] = old;
                }
                Action::Peek(value) if !pending => {
                    // One read is enough as a proof.
                    if seen[value as usize] == NONE {
                        seen[value as usize] = index as u32;
                    }
                }
                Action::Absent(_) if !pending => {}
                Action::Nothing if pending => {}
                _ => return None,
            }
        }
        let after = none();
        Some(RegisterCheck { plain, spans, intro, seen, before, after, clusters: Vec::new() })
    }

    fn times(&self, operation: u32) -> (u64, u64) {
        if operation == START {
            return (0, 0);
        }
        let Span { invoked, returned } = self.spans[operation as usize];
        (invoked + 1, returned.saturating_add(1))
    }

    fn pending(&self, operation: u32) -> bool {
        operation < START && self.spans[operation as usize].returned == u64::MAX
    }

    /// Decides which operations without a return happened, and fills `after`.
    fn find_links(&mut self) -> Option<Ruling> {
        let values = self.intro.len() as u32;
        for value in 0..values {
            let mut value = value as usize;
            let happened =
                |it: &Self, value: usize| !it.pending(it.intro[value]) || it.seen[value] != NONE;
            // The register held the value that a swap replaced. If that value came from a swap too, continue backwards.
            while self.before[value] != NONE && happened(self, value) {
                let old = self.before[value] as usize;
                let known = self.seen[old] != NONE;
                if !known {
                    self.seen[old] = self.intro[value];
                }
                if known || !self.pending(self.intro[old]) {
                    break;
                }
                value = old;
            }
        }
        for value in 0..values as usize {
            // A write without a return can be left out if no operation saw its value.
            if self.pending(self.intro[value]) && self.seen[value] == NONE {
                (self.intro[value], self.before[value]) = (NONE, NONE);
            }
        }
        let unwritten =
            |value: &u32| self.intro[*value as usize] == NONE && self.seen[*value as usize] != NONE;
        if let Some(value) = (0..values).find(unwritten) {
            return Some(self.unwritten(value));
        }
        for value in 0..values as usize {
            let old = self.before[value];
            if old != NONE {
                let other = std::mem::replace(&mut self.after[old as usize], value as u32);
                if other != NONE {
                    return Some(self.swapped_twice(old, other, value as u32));
                }
            }
        }
        None
    }

    fn find_clusters(&mut self) -> Option<Ruling> {
        let of = |value: usize| {
            let (operation, value) = (self.intro[value], value as u32);
            // A value without a writer has no operations here (see `find_links`), so its times do not matter.
            let (call, end) = if operation == NONE { (0, 0) } else { self.times(operation) };
            let first = First { end, operation, value };
            RegisterCluster { first, last: Last { call, operation, value } }
        };
        self.clusters = (0..self.intro.len()).map(of).collect();
        for (index, action) in self.plain.actions.iter().enumerate() {
            if let Action::Peek(value) = *action {
                let (call, end) = self.times(index as u32);
                let RegisterCluster { first, last } = &mut self.clusters[value as usize];
                if end < first.end {
                    (first.end, first.operation) = (end, index as u32);
                }
                if call > last.call {
                    (last.call, last.operation) = (call, index as u32);
                }
            }
        }
        let mut values = 0..self.intro.len();
        let early = |value: &usize| {
            let intro = self.intro[*value];
            intro != NONE && self.clusters[*value].first.end < self.times(intro).0
        };
        let value = values.find(early)?;
        Some(self.read_before_write(value as u32))
    }

    fn blocks(&self) -> Result<Vec<Block>, Ruling> {
        let mut blocks = Vec::new();
        let (mut reached, mut there) = (0, 0);
        for root in 0..self.intro.len() {
            if self.intro[root] == NONE {
                continue;
            }
            there += 1;
            // A value that a swap wrote belongs to the block of the value that it replaced.
            if self.before[root] != NONE {
                continue;
            }
            let RegisterCluster { first, last } = self.clusters[root];
            let mut block = Block { root: root as u32, first, last };
            let mut value = self.after[root];
            reached += 1;
            while value != NONE {
                let RegisterCluster { first, last } = self.clusters[value as usize];
                // The swaps fix the order of the values, so no operation on a value may return before an operation on
                // an earlier value is invoked.
                if first.end < block.last.call {
                    return Err(self.out_of_line(first));
                }
                if first.end < block.first.end {
                    block.first = first;
                }
                if last.call > block.last.call {
                    block.last = last;
                }
                reached += 1;
                value = self.after[value as usize];
            }
            blocks.push(block);
        }
        // Swaps in a cycle have no first value, so no root leads to them.
        if reached < there { Err(self.circle(&blocks)) } else { Ok(blocks) }
    }

    /// Returns the linearization. `roots` are the first values of the blocks, in block order.
    fn order(&self, roots: impl Iterator<Item = u32>) -> Vec<u32> {
        // The first position of each value's operations in the order: first the counts, then their sums.
        let mut place = vec![0u32; self.intro.len()];
        let mut length = 0;
        for action in &self.plain.actions {
            if let Action::Peek(value) = *action {
                place[value as usize] += 1;
            }
        }
        for root in roots {
            let mut value = root;
            while value != NONE {
                let count = place[value as usize] + u32::from(self.intro[value as usize] != START);
                place[value as usize] = length;
                length += count;
                value = self.after[value as usize];
            }
        }
        let mut order = vec![NONE; length as usize];
        let mut put = |value: u32, operation: u32| {
            order[place[value as usize] as usize] = operation;
            place[value as usize] += 1;
        };
        // The writer comes first among the operations on its value.
        for (value, &intro) in self.intro.iter().enumerate() {
            if intro < START {
                put(value as u32, intro);
            }
        }
        // Reads of one value change nothing, so the order of their invocations is good enough.
        let mut reads: Vec<u32> = (0..self.plain.actions.len() as u32)
            .filter(|index| matches!(self.plain.actions[*index as usize], Action::Peek(_)))
            .collect();
        // The reads are usually sorted already.
        sort_by_number(&mut reads, |index| self.spans[*index as usize].invoked);
        for index in reads {
            if let Action::Peek(value) = self.plain.actions[index as usize] {
                put(value, index);
            }
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unique::PlainObject;
    use crate::unique::trial::{every, random};
    use Action::*;

    #[test]
    fn all_short_histories_are_judged_as_by_trying_everything() {
        let letters = [Add(1), Add(2), Add(3), Peek(0), Peek(1), Peek(2), Peek(9)];
        let tally = every(PlainObject::Register, &[0], 4, &letters, &[Add(1), Add(2), Nothing]);
        tally.assert_decided(1.0);
    }

    #[test]
    fn so_are_those_with_swaps() {
        let letters =
            [Swap(0, 1), Swap(1, 2), Swap(2, 3), Swap(2, 1), Swap(9, 3), Add(2), Peek(1), Peek(2)];
        // Two of these swaps write the same value, and one of them replaces a value that was never written.
        let pending = [Swap(0, 1), Swap(1, 2), Swap(9, 1), Add(2)];
        every(PlainObject::Register, &[0], 4, &letters, &pending).assert_decided(1.0);
    }

    #[test]
    fn so_are_those_with_failed_swaps_if_they_are_decided() {
        let letters = [Swap(0, 1), Add(2), Absent(0), Absent(1), Absent(9), Peek(1)];
        every(PlainObject::Register, &[0], 4, &letters, &[Swap(0, 1)]).assert_decided(0.8);
    }

    #[test]
    fn random_longer_histories_are_judged_as_by_trying_everything() {
        let letters = [
            Add(1),
            Add(2),
            Add(3),
            Swap(0, 1),
            Swap(1, 2),
            Swap(2, 3),
            Swap(3, 4),
            Peek(0),
            Peek(1),
            Peek(2),
            Peek(3),
            Peek(4),
        ];
        let pending = [Add(1), Add(4), Swap(1, 2), Swap(2, 3), Nothing];
        random(PlainObject::Register, &[0], &letters, &pending).assert_decided(1.0);
    }
}
