//! Moments and their coverage by ranges: the arithmetic for the collection engines.
//!
//! An engine does not need the times of a history, only the *moments* at which an operation can take effect. Between a
//! return and the next call no operation opens, and between a call and the next return no operation closes. So it is
//! enough to consider the positions at which a call is directly followed by a return. Any other position has a
//! neighbouring position of this kind with at least the same open operations. At that neighbour, no additional item is
//! surely inside. These positions are the moments, numbered from 0. An operation is open during a range of moments,
//! which is never empty. One operation returned before the call of another if and only if its last moment is before the
//! other's first moment. There are about half as many moments as operations.
//!
//! This file does not use the effects of operations.

use super::Span;

/// The number for "no operation", "no value" or "no moment".
pub(super) const NONE: u32 = u32::MAX;

/// The moments during which each operation was open.
#[derive(Debug)]
pub(super) struct Moments {
    /// The first and the last moment of each operation.
    pub(super) of: Vec<(u32, u32)>,
    /// The number of moments.
    pub(super) count: u32,
}

impl Moments {
    /// Creates the moments of a history after `before` earlier moments. An operation that never returned is open until
    /// the end. O(n) if times are approximately positions; O(n log n) otherwise.
    pub(super) fn new(spans: &[Span], before: u32) -> Moments {
        let mut of = vec![(0, 0); spans.len()];
        let mut count = before;
        let mut after_call = false;
        for event in by_time(spans) {
            let operation = (event >> 1) as usize;
            // The first return after a call ends a moment. Before this return, `count` is the number of this moment.
            if event & 1 == 0 {
                of[operation].0 = count;
                after_call = true;
            } else {
                count += u32::from(after_call);
                after_call = false;
                of[operation].1 = count - 1;
            }
        }
        count += u32::from(after_call);
        for (moments, span) in of.iter_mut().zip(spans) {
            if span.returned == u64::MAX {
                moments.1 = count - 1;
            }
        }
        Moments { of, count }
    }
}

/// Returns the calls and returns in order, as twice the number of the operation, plus one for a return.
fn by_time(spans: &[Span]) -> Vec<u32> {
    assert!(u32::try_from(2 * spans.len()).is_ok(), "fewer than 2^31 operations");
    let times = |span: &Span| [span.invoked, span.returned];
    let all = || spans.iter().flat_map(times).filter(|time| *time != u64::MAX);
    let (Some(first), Some(last)) = (all().min(), all().max()) else {
        return Vec::new();
    };
    // Usually times are positions in the history, so nothing needs to be sorted.
    if last - first < 16 * spans.len() as u64 {
        let mut slots = vec![NONE; (last - first) as usize + 1];
        // All times differ (see `decide`), so no event takes the place of another.
        for (number, span) in (0..).zip(spans) {
            slots[(span.invoked - first) as usize] = 2 * number;
            if span.returned != u64::MAX {
                slots[(span.returned - first) as usize] = 2 * number + 1;
            }
        }
        slots.retain(|event| *event != NONE);
        return slots;
    }
    let mut events = Vec::with_capacity(2 * spans.len());
    for (number, span) in (0..).zip(spans) {
        events.push((span.invoked, 2 * number));
        if span.returned != u64::MAX {
            events.push((span.returned, 2 * number + 1));
        }
    }
    events.sort_unstable();
    events.into_iter().map(|(_, event)| event).collect()
}

/// Finds the first uncovered moment from each moment on, while more and more moments are covered. A union-find over
/// runs of covered moments, O(α) amortised.
#[derive(Debug)]
pub(super) struct Uncovered(Vec<u32>);

impl Uncovered {
    /// Creates `count` moments, all of them uncovered.
    pub(super) fn new(count: u32) -> Uncovered {
        Uncovered((0..=count).collect())
    }

    /// Returns the first uncovered moment at or after this moment; the number of moments if all are covered.
    pub(super) fn from(&mut self, moment: u32) -> u32 {
        let next = &mut self.0;
        let mut at = moment as usize;
        // The entry behind the last moment refers to itself, so the walk ends there at the latest.
        while next[at] as usize != at {
            // Path halving.
            next[at] = next[next[at] as usize];
            at = next[at] as usize;
        }
        at as u32
    }

    /// Covers the moments from `from` up to, but not including, `to`.
    pub(super) fn cover(&mut self, from: u32, to: u32) {
        let mut at = self.from(from);
        while at < to {
            // All moments up to `to` are covered in the end, so the link may skip them already.
            self.0[at as usize] = to.min(self.0.len() as u32 - 1);
            at = self.from(at + 1);
        }
    }
}

/// Returns the names of a smallest set of ranges that covers all moments from `first` to `last`. `None` if the ranges
/// do not cover them all. A range has a start, an exclusive end, and a name.
pub(super) fn fewest(
    ranges: impl Iterator<Item = (u32, u32, u32)>,
    first: u32,
    last: u32,
) -> Option<Vec<u32>> {
    let mut near: Vec<_> = ranges.filter(|(from, to, _)| *from <= last && *to > first).collect();
    unpause_ordered::sort(&mut near);
    let (mut chosen, mut covered, mut next) = (Vec::new(), first, 0);
    while covered <= last {
        // Among the ranges that leave no gap, the range that reaches furthest is chosen. The passed ranges do not reach
        // further than the chosen range, so they are not needed again.
        let mut best = (covered, NONE);
        while let Some(&(from, to, name)) = near.get(next).filter(|range| range.0 <= covered) {
            debug_assert!(from < to);
            best = best.max((to, name));
            next += 1;
        }
        if best.0 == covered {
            return None;
        }
        covered = best.0;
        chosen.push(best.1);
    }
    Some(chosen)
}

/// The number of ranges that cover each moment, while ranges and moments are removed, and the name of the range if only
/// one covers the moment. A segment tree of counts; each node also has the exclusive or of the names.
#[derive(Debug)]
pub(super) struct Covers {
    /// The nodes. Node 1 is the root, the children of node i are 2i and 2i + 1, and the leaves come last.
    nodes: Vec<CoverNode>,
    leaves: usize,
}

#[derive(Clone, Copy, Default, Debug)]
struct CoverNode {
    /// The minimum count in this subtree, including only ranges stored at this node or below.
    least: i32,
    /// The number of ranges that cover exactly this node after they were split.
    count: i32,
    /// The exclusive or of the names of these ranges.
    names: u32,
}

/// A value greater than any count, for a moment that was removed.
const GONE: i32 = i32::MAX / 2;

impl Covers {
    /// Creates the tree from ranges, numbered in this order, each with a start and an exclusive end. O(ranges +
    /// moments).
    pub(super) fn new(ranges: &[(u32, u32)], count: u32) -> Covers {
        let leaves = (count as usize).next_power_of_two().max(2);
        let mut nodes = vec![CoverNode::default(); 2 * leaves];
        for (name, &(from, to)) in (0..).zip(ranges) {
            for (moment, sign) in [(from, 1), (to, -1)] {
                // The leaves first contain differences; the loop below replaces them by sums. An end behind the last
                // leaf changes no sum.
                if let Some(leaf) = nodes.get_mut(leaves + moment as usize) {
                    leaf.least += sign;
                    leaf.names ^= name;
                }
            }
        }
        let (mut open, mut names) = (0, 0);
        for leaf in &mut nodes[leaves..leaves + count as usize] {
            open += leaf.least;
            names ^= leaf.names;
            (leaf.least, leaf.names) = (open, names);
        }
        // The leaves behind the last moment must never be found.
        nodes[leaves + count as usize..].fill(CoverNode { least: GONE, count: 0, names: 0 });
        for node in (1..leaves).rev() {
            nodes[node].least = nodes[2 * node].least.min(nodes[2 * node + 1].least);
        }
        Covers { nodes, leaves }
    }

    /// Removes a range. O(log moments).
    pub(super) fn remove(&mut self, (from, to): (u32, u32), name: u32) {
        let (left, right) = (self.leaves + from as usize, self.leaves + to as usize - 1);
        let (mut low, mut high) = (left, right + 1);
        while low < high {
            if low & 1 == 1 {
                self.take_off(low, name);
                low += 1;
            }
            if high & 1 == 1 {
                high -= 1;
                self.take_off(high, name);
            }
            (low, high) = (low >> 1, high >> 1);
        }
        // Every changed node is a child of a node above `left` or above `right`.
        self.renew_above(left);
        if left >> 1 != right >> 1 {
            self.renew_above(right);
        }
    }

    fn take_off(&mut self, node: usize, name: u32) {
        let node = &mut self.nodes[node];
        node.least -= 1;
        node.count -= 1;
        node.names ^= name;
    }

    fn renew_above(&mut self, mut node: usize) {
        while node > 1 {
            node >>= 1;
            let least = self.nodes[2 * node].least.min(self.nodes[2 * node + 1].least);
            self.nodes[node].least = least + self.nodes[node].count;
        }
    }

    /// Removes a moment that at most one range covers. Returns the moment and the range, if any.
    pub(super) fn pop(&mut self) -> Option<(u32, Option<u32>)> {
        if self.nodes[1].least > 1 {
            return None;
        }
        let (mut node, mut names, mut above) = (1, 0, 0);
        while node < self.leaves {
            // The names of all ranges on the moment are on this path. If there is only one, the exclusive or is its
            // name.
            names ^= self.nodes[node].names;
            above += self.nodes[node].count;
            let left = self.nodes[2 * node].least <= self.nodes[2 * node + 1].least;
            node = 2 * node + usize::from(!left);
        }
        names ^= self.nodes[node].names;
        let count = self.nodes[node].least + above;
        self.nodes[node].least = GONE;
        self.renew_above(node);
        Some(((node - self.leaves) as u32, (count == 1).then_some(names)))
    }
}

/// Ranges in the order of their first moments, with removal and a search for a range that contains a moment. A tree of
/// the greatest last moments, O(log n) for each search.
#[derive(Debug)]
pub(super) struct Stabs {
    /// The nodes, as in [`Covers`]. A value is one more than the last moment, or 0 for a removed range.
    ends: Vec<u32>,
    leaves: usize,
}

impl Stabs {
    /// Creates the tree from the last moments of ranges, in the order of their first moments.
    pub(super) fn new(lasts: impl ExactSizeIterator<Item = u32>) -> Stabs {
        let leaves = lasts.len().next_power_of_two().max(2);
        let mut ends = vec![0; 2 * leaves];
        for (leaf, last) in ends[leaves..].iter_mut().zip(lasts) {
            *leaf = last + 1;
        }
        for node in (1..leaves).rev() {
            ends[node] = ends[2 * node].max(ends[2 * node + 1]);
        }
        Stabs { ends, leaves }
    }

    /// Removes a range.
    pub(super) fn remove(&mut self, number: usize) {
        let mut node = self.leaves + number;
        self.ends[node] = 0;
        while node > 1 {
            node >>= 1;
            let end = self.ends[2 * node].max(self.ends[2 * node + 1]);
            if self.ends[node] == end {
                break;
            }
            self.ends[node] = end;
        }
    }

    /// Returns the last range among `from..to` that has not ended at this moment, if any.
    pub(super) fn find(&self, from: usize, to: usize, moment: u32) -> Option<usize> {
        if from >= to {
            return None;
        }
        // Go up and to the left until a whole subtree contains such a range; then go down.
        let mut node = self.leaves + to - 1;
        while self.ends[node] <= moment {
            while node & 1 == 0 {
                node >>= 1;
            }
            if node == 1 {
                return None;
            }
            node -= 1;
        }
        while node < self.leaves {
            node = 2 * node + usize::from(self.ends[2 * node + 1] > moment);
        }
        Some(node - self.leaves).filter(|number| *number >= from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pseudorandom generator: the high bits of a linear congruential sequence modulo 2^64.
    struct Draw(u64);

    impl Draw {
        fn below(&mut self, bound: u32) -> u32 {
            self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            ((self.0 >> 33) % u64::from(bound)) as u32
        }

        fn range(&mut self, count: u32) -> (u32, u32) {
            let (one, other) = (self.below(count), self.below(count));
            (one.min(other), one.max(other) + 1)
        }
    }

    #[test]
    fn precedence_is_what_the_times_say_however_they_are_spaced() {
        let mut draw = Draw(1);
        for case in 0..2000 {
            let count = 1 + draw.below(6);
            let mut times: Vec<u64> = (0..2 * u64::from(count)).collect();
            for place in (1..times.len()).rev() {
                times.swap(place, draw.below(place as u32 + 1) as usize);
            }
            let space = if case % 2 == 0 { 1 } else { 1 << 40 };
            let span = |pair: &[u64]| {
                let (one, other) = (pair[0] * space, pair[1] * space);
                let pending = case % 3 == 0 && one % 3 == 0;
                let returned = if pending { u64::MAX } else { one.max(other) };
                Span { invoked: one.min(other), returned }
            };
            let spans: Vec<Span> = times.chunks(2).map(span).collect();
            let moments = Moments::new(&spans, 3);
            for (one, a) in moments.of.iter().enumerate() {
                assert!(3 <= a.0 && a.0 <= a.1 && a.1 < moments.count);
                for (other, b) in moments.of.iter().enumerate() {
                    assert_eq!(spans[one].returned < spans[other].invoked, a.1 < b.0);
                }
            }
        }
    }

    #[test]
    fn the_first_uncovered_moment_is_found() {
        let mut draw = Draw(2);
        for _ in 0..300 {
            let count = 1 + draw.below(20);
            let (mut uncovered, mut plain) = (Uncovered::new(count), vec![false; count as usize]);
            for _ in 0..8 {
                let (from, to) = draw.range(count);
                uncovered.cover(from, to);
                plain[from as usize..to as usize].fill(true);
                for moment in 0..count {
                    let next = (moment..count).find(|m| !plain[*m as usize]).unwrap_or(count);
                    assert_eq!(uncovered.from(moment), next);
                }
            }
        }
    }

    #[test]
    fn the_fewest_ranges_that_cover_are_found() {
        let mut draw = Draw(3);
        for _ in 0..2000 {
            let ranges: Vec<_> = (0..5).map(|name| (draw.range(8), name)).collect();
            let (first, end) = draw.range(8);
            let covers = |set: u32| {
                (first..end).all(|moment| {
                    ranges.iter().any(|((from, to), name)| {
                        set >> name & 1 == 1 && (*from..*to).contains(&moment)
                    })
                })
            };
            let least = (0..32u32).filter(|set| covers(*set)).map(u32::count_ones).min();
            let found = fewest(ranges.iter().map(|((a, b), n)| (*a, *b, *n)), first, end - 1);
            assert_eq!(found.as_ref().map(|found| found.len() as u32), least);
            assert!(found.is_none_or(|found| covers(found.iter().map(|name| 1 << name).sum())));
        }
    }

    #[test]
    fn moments_come_out_when_at_most_one_range_is_left_on_them() {
        let mut draw = Draw(4);
        for _ in 0..500 {
            let count = 1 + draw.below(20);
            let ranges: Vec<_> = (0..draw.below(7)).map(|_| draw.range(count)).collect();
            let mut covers = Covers::new(&ranges, count);
            let mut there: Vec<bool> = vec![true; ranges.len()];
            let mut out = vec![false; count as usize];
            for turn in 0..=ranges.len() {
                let on = |moment: u32, there: &[bool]| -> Vec<u32> {
                    let ranges = (0..).zip(&ranges);
                    let on = ranges.filter(|(_, (from, to))| (*from..*to).contains(&moment));
                    on.map(|(name, _)| name).filter(|name| there[*name as usize]).collect()
                };
                while let Some((moment, name)) = covers.pop() {
                    assert!(!std::mem::replace(&mut out[moment as usize], true));
                    assert_eq!(on(moment, &there), Vec::from_iter(name));
                }
                assert!((0..count).all(|m| out[m as usize] == (on(m, &there).len() < 2)));
                if turn < ranges.len() {
                    there[turn] = false;
                    covers.remove(ranges[turn], turn as u32);
                }
            }
            assert!(out.iter().all(|out| *out));
        }
    }

    #[test]
    fn the_last_range_that_has_not_ended_is_found() {
        let mut draw = Draw(5);
        for _ in 0..500 {
            let mut lasts: Vec<u32> = (0..1 + draw.below(20)).map(|_| draw.below(10)).collect();
            let mut stabs = Stabs::new(lasts.iter().copied());
            for _ in 0..20 {
                let (from, to) = draw.range(lasts.len() as u32);
                let (from, to, moment) = (from as usize, to as usize, 1 + draw.below(10));
                let plain = (from..to).rev().find(|number| lasts[*number] >= moment);
                assert_eq!(stabs.find(from, to, moment), plain);
                if let Some(number) = plain {
                    stabs.remove(number);
                    lasts[number] = 0;
                }
            }
        }
    }
}
