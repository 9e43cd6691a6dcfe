//! Sets of seeds that shards have run or should run, of any size.
//!
//! A shard runs every n-th seed. So a set stores a few ranges per remainder modulo the least common multiple of all n,
//! and sets are united and compared remainder by remainder.

use std::ops::Range;

/// The maximum number of remainders. More are not a plausible division into shards.
const REMAINDERS_MAX: u64 = 1_000_000;

/// A stride of seeds: every `of`-th seed from `from` on, `count` seeds in total.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SeedStride {
    pub(super) from: u64,
    pub(super) of: u64,
    pub(super) count: u64,
}

impl SeedStride {
    fn last(self) -> Option<u64> {
        Some(self.from + self.of * self.count.checked_sub(1)?)
    }
}

/// A set of seeds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Seeds {
    /// For each remainder, the ranges that contain its seeds, sorted and disjoint.
    ranges: Vec<Vec<Range<u128>>>,
}

/// Returns a common multiple of `ofs`, or `None` if it is larger than shards need.
pub(super) fn common(ofs: impl Iterator<Item = u64>) -> Option<u64> {
    let divisor = |mut a: u64, mut b: u64| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    ofs.filter(|of| *of > 0).try_fold(1, |all, of| {
        let all: u64 = (all / divisor(all, of)).checked_mul(of)?;
        (all <= REMAINDERS_MAX).then_some(all)
    })
}

impl Seeds {
    /// Returns the seeds contained in at least one of `parts`. Every `of` must divide `modulus`.
    pub(super) fn union(modulus: u64, parts: impl Iterator<Item = SeedStride>) -> Seeds {
        let mut ranges = vec![Vec::new(); modulus as usize];
        for part in parts {
            let Some(last) = part.last() else { continue };
            let range = u128::from(part.from)..u128::from(last) + 1;
            let mut remainder = part.from % part.of;
            while remainder < modulus {
                ranges[remainder as usize].push(range.clone());
                remainder += part.of;
            }
        }
        for (remainder, ranges) in ranges.iter_mut().enumerate() {
            unite(ranges, remainder as u128, u128::from(modulus));
        }
        Seeds { ranges }
    }

    /// Returns the number of seeds.
    pub(super) fn len(&self) -> u128 {
        let modulus = self.ranges.len() as u128;
        self.ranges.iter().flatten().map(|range| (range.end - range.start).div_ceil(modulus)).sum()
    }

    /// Returns the seeds that are not in `other`.
    pub(super) fn without(&self, other: &Seeds) -> Seeds {
        let modulus = self.ranges.len() as u128;
        let mut ranges = vec![Vec::new(); self.ranges.len()];
        for (remainder, left) in ranges.iter_mut().enumerate() {
            for range in &self.ranges[remainder] {
                let mut from = range.start;
                for gone in &other.ranges[remainder] {
                    left.push(from..gone.start.clamp(from, range.end));
                    from = gone.end.clamp(from, range.end);
                }
                left.push(from..range.end);
            }
            unite(left, remainder as u128, modulus);
        }
        Seeds { ranges }
    }

    /// Returns the seeds as a small number of strides.
    pub(super) fn rows(&self) -> Vec<SeedStride> {
        let modulus = self.ranges.len() as u64;
        let all = |ranges: &Vec<Range<u128>>| ranges.len() == 1;
        // If the seeds are one contiguous range, it is a single stride.
        if modulus > 1 && self.ranges.iter().all(all) {
            let (from, count) = (self.ranges.iter().map(|r| r[0].start).min(), self.len());
            let end = self.ranges.iter().map(|r| r[0].end).max();
            if let (Some(from), Some(end)) = (from, end) {
                if end - from == count {
                    return vec![SeedStride { from: from as u64, of: 1, count: count as u64 }];
                }
            }
        }
        let mut rows: Vec<SeedStride> = self
            .ranges
            .iter()
            .flatten()
            .map(|range| SeedStride {
                from: range.start as u64,
                of: modulus,
                count: (range.end - range.start).div_ceil(u128::from(modulus)) as u64,
            })
            .collect();
        rows.sort_by_key(|row| row.from);
        rows
    }
}

/// Sorts ranges, cuts them to the seeds of a remainder, and joins adjacent ranges.
fn unite(ranges: &mut Vec<Range<u128>>, remainder: u128, modulus: u128) {
    for range in ranges.iter_mut() {
        let first = range.start + (remainder + modulus - range.start % modulus) % modulus;
        let count = range.end.saturating_sub(first).div_ceil(modulus);
        // From the first seed to just after the last seed.
        *range = first..if count == 0 { first } else { first + (count - 1) * modulus + 1 };
    }
    ranges.retain(|range| !range.is_empty());
    ranges.sort_by_key(|range| range.start);
    let mut united: Vec<Range<u128>> = Vec::new();
    for range in ranges.drain(..) {
        match united.last_mut() {
            Some(last) if range.start < last.end + modulus => last.end = last.end.max(range.end),
            _ => united.push(range),
        }
    }
    *ranges = united;
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn listed(parts: &[SeedStride]) -> BTreeSet<u64> {
        parts.iter().flat_map(|part| (0..part.count).map(|i| part.from + i * part.of)).collect()
    }

    fn parts() -> impl Strategy<Value = Vec<SeedStride>> {
        let part = (0u64..40, 1u64..7, 0u64..12);
        proptest::collection::vec(part, 0..6).prop_map(|parts| {
            parts.into_iter().map(|(from, of, count)| SeedStride { from, of, count }).collect()
        })
    }

    proptest! {
        #[test]
        fn sets_are_as_if_every_seed_was_listed(asked in parts(), done in parts()) {
            let modulus = common(asked.iter().chain(&done).map(|part| part.of)).unwrap();
            let set = |parts: &[SeedStride]| Seeds::union(modulus, parts.iter().copied());
            let (all, some) = (set(&asked), set(&done));
            prop_assert_eq!(all.len(), listed(&asked).len() as u128);
            let left = all.without(&some);
            let expected: BTreeSet<u64> = &listed(&asked) - &listed(&done);
            prop_assert_eq!(left.len(), expected.len() as u128);
            prop_assert_eq!(listed(&left.rows()), expected);
        }
    }

    #[test]
    fn a_whole_range_is_one_row() {
        let shards = (0..4).map(|k| SeedStride { from: 10 + k, of: 4, count: 25 });
        assert_eq!(Seeds::union(4, shards).rows(), [SeedStride { from: 10, of: 1, count: 100 }]);
    }

    #[test]
    fn the_largest_seeds_do_not_overflow() {
        let all = SeedStride { from: 0, of: 1, count: u64::MAX };
        let set = Seeds::union(3, [all].into_iter());
        assert_eq!(set.len(), u128::from(u64::MAX));
        assert_eq!(common([u64::MAX, 2].into_iter()), None);
        assert_eq!(common([64, 81, 25].into_iter()), Some(129_600));
    }
}
