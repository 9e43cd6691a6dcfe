//! Preparation before a search: sorts a history by time and splits it by key. Also merges the orders of the parts.
//!
//! All data is in a few flat arrays, so 10^5 keys cost as much as one key.

// tidy: never iterated: looked up only
use std::collections::hash_map::Entry;
use unpause_ordered::{sort_by_key, sort_by_number};

use super::timeline::Moment;
use crate::hash::Table;
use crate::history::Operation;
use crate::limits::{Malformed, MalformedKind};
use crate::model::Model;

/// Returns the events of a history by time.
///
/// O(n) if times are positions, as in recorders and files; O(n log n) if they are sparse.
pub(super) fn by_time<O, R>(operations: &[Operation<O, R>]) -> Result<Vec<Moment>, Malformed> {
    let (mut count, mut last) = (operations.len(), 0);
    for (operation, call) in operations.iter().enumerate() {
        let invoked = call.invoked;
        last = invoked.max(last);
        if let Some((_, returned)) = call.returned {
            if returned <= invoked {
                let kind = MalformedKind::ReturnNotAfterInvocation { invoked, returned };
                return Err(Malformed { operation, kind });
            }
            count += 1;
            last = returned.max(last);
        }
    }
    assert!(u32::try_from(count).is_ok(), "fewer than 2^32 events");
    match placed_by_time(operations, count, last) {
        Some(moments) => Ok(moments),
        None => {
            let mut events = Vec::with_capacity(count);
            events.extend(timed(operations).map(|(time, moment)| (time, moment.number())));
            sorted_by_time(events)
        }
    }
}

/// Returns every event with its time.
fn timed<O, R>(operations: &[Operation<O, R>]) -> impl Iterator<Item = (u64, Moment)> {
    operations.iter().enumerate().flat_map(|(index, call)| {
        let end = call.returned.as_ref().map(|(_, end)| (*end, Moment::new(index, true)));
        std::iter::once((call.invoked, Moment::new(index, false))).chain(end)
    })
}

/// Puts each event at the index of its time. Returns `None` if this needs too much memory, or if two times are equal.
fn placed_by_time<O, R>(
    operations: &[Operation<O, R>],
    count: usize,
    last: u64,
) -> Option<Vec<Moment>> {
    const ROOM_PER_EVENT: usize = 4;
    let room = usize::try_from(last).ok()?.checked_add(1)?;
    // Sparse times would need far more memory than the events.
    if room / ROOM_PER_EVENT > count {
        return None;
    }
    let mut places = vec![Moment::NONE; room];
    for (time, moment) in timed(operations) {
        let place = &mut places[time as usize];
        if *place != Moment::NONE {
            // The other path reports the two operations with equal times.
            return None;
        }
        *place = moment;
    }
    places.retain(|moment| *moment != Moment::NONE);
    Some(places)
}

// The sorting functions are not generic over models, so the sorting code is compiled only once.
fn sorted_by_time(mut events: Vec<(u64, u32)>) -> Result<Vec<Moment>, Malformed> {
    events.sort_unstable();
    for pair in events.windows(2) {
        let ((time, other), (next, moment)) = (pair[0], pair[1]);
        if time == next {
            let (other, operation) = (Moment::of(other).index(), Moment::of(moment).index());
            return Err(Malformed { operation, kind: MalformedKind::SameTime { other, time } });
        }
    }
    Ok(events.into_iter().map(|(_, moment)| Moment::of(moment)).collect())
}

/// The events of a history, grouped by key, each group sorted by time.
pub(super) struct Parts {
    moments: Vec<Moment>,
    /// The range of each part, shortest part first; among equal lengths, the part whose key appears first. This order
    /// leaves budget for the hard parts.
    ranges: Vec<(usize, usize)>,
}

impl Parts {
    /// Creates one part for each key; a single part if any operation has no key.
    pub(super) fn new<M: Model>(
        operations: &[Operation<M::Op, M::Ret>],
        moments: Vec<Moment>,
    ) -> Parts {
        let whole = |moments: Vec<Moment>| Parts { ranges: vec![(0, moments.len())], moments };
        let mut numbers = Table::default();
        let mut part_of = vec![0u32; operations.len()];
        let mut ends: Vec<usize> = Vec::new();
        for moment in &moments {
            let index = moment.index();
            if !moment.is_return() {
                let Some(key) = M::partition(&operations[index].op) else {
                    // An operation without a key concerns all keys, so no part can be decided alone.
                    return whole(moments);
                };
                part_of[index] = match numbers.entry(key) {
                    Entry::Occupied(entry) => *entry.get(),
                    Entry::Vacant(entry) => {
                        ends.push(0);
                        *entry.insert((ends.len() - 1) as u32)
                    }
                };
            }
            ends[part_of[index] as usize] += 1;
        }
        if ends.len() == 1 {
            return whole(moments);
        }
        Parts::grouped(moments, &part_of, ends)
    }

    /// Groups the moments, given the part of each operation and the number of events in each part.
    fn grouped(moments: Vec<Moment>, part_of: &[u32], mut ends: Vec<usize>) -> Parts {
        let mut start = 0;
        let mut ranges: Vec<(usize, usize)> = Vec::with_capacity(ends.len());
        for end in &mut ends {
            ranges.push((start, start + *end));
            (*end, start) = (start, start + *end);
        }
        let mut grouped = vec![Moment::NONE; moments.len()];
        for moment in moments {
            let end = &mut ends[part_of[moment.index()] as usize];
            grouped[*end] = moment;
            *end += 1;
        }
        // The sort is stable, so parts of equal length keep the order of their keys.
        sort_by_key(&mut ranges, |(start, end)| end - start);
        Parts { moments: grouped, ranges }
    }

    pub(super) fn len(&self) -> usize {
        self.ranges.len()
    }

    pub(super) fn get(&self, part: usize) -> &[Moment] {
        let (start, end) = self.ranges[part];
        &self.moments[start..end]
    }
}

/// Merges the orders of the parts, which are concatenated in `order`, into one order of the whole history.
///
/// Each operation gets a moment at which it can take effect: as early as it and the operations before it in its part
/// allow. An order of a part respects real time, so this moment is before the operation's return. So the whole order,
/// sorted by these moments, respects real time and keeps the order within each part.
pub(super) fn merge<O, R>(
    order: &[usize],
    part_ends: &[usize],
    operations: &[Operation<O, R>],
) -> Vec<usize> {
    let mut placed = Vec::with_capacity(order.len());
    let mut start = 0;
    for &end in part_ends {
        let mut point = 0;
        for &index in &order[start..end] {
            point = operations[index].invoked.max(point);
            placed.push((point, index));
        }
        start = end;
    }
    by_point(placed)
}

fn by_point(mut placed: Vec<(u64, usize)>) -> Vec<usize> {
    // The sort is stable, so the order within a part is kept.
    sort_by_number(&mut placed, |(point, _)| *point);
    placed.into_iter().map(|(_, index)| index).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(invoked: u64, returned: Option<u64>) -> Operation<(), ()> {
        Operation { client: 0, op: (), invoked, returned: returned.map(|end| ((), end)) }
    }

    #[test]
    fn sparse_and_dense_times_give_the_same_order() {
        let dense = [call(3, Some(4)), call(1, None), call(0, Some(5))];
        let sparse = [call(3 << 40, Some(4 << 40)), call(1 << 40, None), call(0, Some(5 << 40))];
        let codes: Vec<Moment> = [(2, false), (1, false), (0, false), (0, true), (2, true)]
            .map(|(index, back)| Moment::new(index, back))
            .to_vec();
        assert_eq!(by_time(&dense).unwrap(), codes);
        assert_eq!(by_time(&sparse).unwrap(), codes);
    }

    #[test]
    fn of_events_at_one_time_the_earliest_are_named_dense_or_not() {
        for factor in [1, 1 << 40] {
            let history = [call(factor, Some(9 * factor)), call(2 * factor, None), call(9, None)];
            let history = [&history[..], &[call(2 * factor, Some(9 * factor))]].concat();
            let error = by_time(&history).unwrap_err();
            let kind = MalformedKind::SameTime { other: 1, time: 2 * factor };
            assert_eq!(error, Malformed { operation: 3, kind });
        }
    }
}
