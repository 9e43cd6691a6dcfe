//! Queues in which no item is added twice.
//!
//! The items must be added and taken in the same order. In this order, v precedes w if the addition (or removal) of v
//! returned before the invocation of the addition (or removal) of w. Items that are never taken come after all others.
//! It is a contradiction if the additions require v before w, but the removals require w before v. There is no other
//! contradiction (arXiv 2410.04581): both relations are interval orders, and a longer cycle always has a shortcut that
//! leaves a cycle of two.
//!
//! An operation that found the queue empty needs a moment at which no item was surely inside. An item is surely inside
//! from the return of its addition to the invocation of its removal. With such a moment, the operation is treated like
//! an item that is added and taken at that moment.
//!
//! An addition that never returned happened if its item was taken. Removals that never returned can be matched with the
//! items that must leave. Each item has a deadline: the first return among the removals of the items that must come
//! after it. The i-th deadline needs i unreturned removals that were invoked before it. If a deadline fails, the
//! history is violated. An operation that found the queue empty must also have such a moment. The history is violated
//! if the operation has no such moment even when the first of these removals may have taken any item. If only this
//! matching leaves the operation without a moment, the history is undecided. A history with a peek is always undecided.
//!
//! Two cursors construct the order, one over additions and one over removals. Each cursor passes every item that can be
//! next, and an item passed by both is next in the order. O(n), besides sorting (see `placed.rs`).

use unpause_ordered::{sort_by_key, sort_by_number};
mod contradictions;

use self::contradictions::out_of_order;
use super::placed;
use super::values::{NONE, Rows, START};
use super::{Action, Plain, Ruling, Span};

pub(super) fn decide(plain: &Plain, spans: &[Span]) -> Ruling {
    let Some(mut queue) = QueueCheck::new(plain, spans) else {
        return Ruling::NotMine;
    };
    if let Some(ruling) = queue.find_impossible() {
        return ruling;
    }
    queue.by_add_call = queue.sorted(|item| item.add.0);
    queue.by_add_end = queue.sorted(|item| item.add.1);
    if let Some(ruling) = queue.find_overtaking().or_else(|| queue.give_removals()) {
        return ruling;
    }
    let covers = queue.covers();
    let Some(moments) = queue.moments(&covers) else {
        return queue.found_nothing_wrongly();
    };
    for (time, operation) in moments {
        let moment = (time, time);
        queue.items.push(QueueItem { add: moment, take: moment, added: NONE, taken: operation });
    }
    let order = queue.order();
    debug_assert!(order.is_some(), "no contradiction and no order");
    Ruling::Linearizable(order)
}

/// A queue history. Times are shifted to leave room for the initial items.
struct QueueCheck {
    times: Vec<(u64, u64)>,
    items: Vec<QueueItem>,
    /// The operations that found the queue empty.
    empties: Vec<u32>,
    /// The removals that never returned, sorted by invocation.
    removals: Vec<u32>,
    /// The items, sorted by the invocation of their addition; `by_add_end` is sorted by its return.
    by_add_call: Vec<u32>,
    by_add_end: Vec<u32>,
}

/// An item that was inside, with the invocation, the return and the operation of its addition and its removal.
#[derive(Clone, Copy)]
struct QueueItem {
    /// The times of the addition. The return of the addition is never later than the return of the removal, because the
    /// removal comes after the addition.
    add: (u64, u64),
    /// The times of the removal. The invocation of the removal is never earlier than the invocation of the addition.
    /// The two times are `u64::MAX` if no operation took the item.
    take: (u64, u64),
    added: u32,
    taken: u32,
}

impl QueueItem {
    /// Returns the times between which the item was surely inside, if any.
    fn inside(&self) -> Option<(u64, u64)> {
        (self.add.1 < self.take.0).then_some((self.add.1, self.take.0))
    }
}

/// A period during which some item was always inside.
struct Cover {
    from: u64,
    to: u64,
}

impl QueueCheck {
    fn new(plain: &Plain, spans: &[Span]) -> Option<QueueCheck> {
        let rows = Rows::new(plain, spans)?;
        // The initial items get the times before the start, two for each item, in the order of the queue.
        let shift = 2 * plain.initial.len() as u64;
        let time = |span: &Span| (span.invoked + shift, span.returned.saturating_add(shift));
        let times: Vec<(u64, u64)> = spans.iter().map(time).collect();
        let (mut empties, mut removals) = (Vec::new(), Vec::new());
        for (index, action) in plain.actions.iter().enumerate() {
            let pending = times[index].1 == u64::MAX;
            match action {
                Action::Add(_) => {}
                Action::Take(_) if !pending => {}
                Action::Empty if !pending => empties.push(index as u32),
                Action::TakeUnknown if pending => removals.push(index as u32),
                Action::Nothing if pending => {}
                _ => return None,
            }
        }
        sort_by_key(&mut removals, |index| times[*index as usize]);
        let mut items = Vec::with_capacity(rows.add.len());
        let mut item = |added: u32, add: (u64, u64), taken: u32| {
            let take = if taken == NONE { NEVER } else { times[taken as usize] };
            // An addition that never returned is left out if its item was never taken.
            if taken == NONE && (added == NONE || add.1 == u64::MAX) {
                return;
            }
            items.push(QueueItem { add, take, added, taken });
        };
        for (place, value) in plain.initial.iter().enumerate() {
            let place = 2 * place as u64;
            item(START, (place, place + 1), rows.take[*value as usize]);
        }
        for (&added, &taken) in rows.add.iter().zip(&rows.take) {
            if added != START {
                let add = if added == NONE { NEVER } else { times[added as usize] };
                item(added, add, taken);
            }
        }
        let (by_add_call, by_add_end) = (Vec::new(), Vec::new());
        Some(QueueCheck { times, items, empties, removals, by_add_call, by_add_end })
    }

    fn sorted(&self, key: impl Fn(&QueueItem) -> u64) -> Vec<u32> {
        placed::by_key(&self.items.iter().map(key).collect::<Vec<u64>>())
    }

    /// Finds removals without an addition, and tightens the times of all other items.
    fn find_impossible(&mut self) -> Option<Ruling> {
        for item in &mut self.items {
            if item.added == NONE || item.take.1 < item.add.0 {
                return Some(item.impossible());
            }
            // The addition comes before the removal, so each of them bounds the times of the other.
            item.add.1 = item.add.1.min(item.take.1);
            if item.taken != NONE {
                item.take.0 = item.take.0.max(item.add.0);
            }
        }
        None
    }

    /// Finds an item that was added before another item but taken after it.
    fn find_overtaking(&self) -> Option<Ruling> {
        let mut earlier = self.by_add_end.iter().map(|item| &self.items[*item as usize]).peekable();
        // Among the items whose addition has returned, the item whose removal was invoked last.
        let mut last: Option<&QueueItem> = None;
        for second in self.by_add_call.iter().map(|item| &self.items[*item as usize]) {
            while let Some(first) = earlier.next_if(|first| first.add.1 < second.add.0) {
                if first.taken != NONE && last.is_none_or(|last| last.take.0 < first.take.0) {
                    last = Some(first);
                }
            }
            if let Some(first) = last.filter(|first| second.take.1 < first.take.0) {
                return Some(out_of_order(first, second));
            }
        }
        None
    }

    /// Matches items that must leave with removals that never returned: the most urgent item gets the earliest removal.
    fn give_removals(&mut self) -> Option<Ruling> {
        // For each position in `by_add_call`: among the taken items from this position on, the item whose removal
        // returned first.
        let mut first = vec![NONE; self.by_add_call.len() + 1];
        for place in (0..self.by_add_call.len()).rev() {
            let item = self.by_add_call[place];
            let end = |item: u32| self.items.get(item as usize).map_or(u64::MAX, |it| it.take.1);
            // `NONE` is not an index, so it counts as an item that leaves last.
            first[place] = if end(item) < end(first[place + 1]) { item } else { first[place + 1] };
        }
        let mut deadlines: Vec<(u64, u32, u32)> = Vec::new();
        let mut place = 0;
        for &item in &self.by_add_end {
            let QueueItem { add, taken, .. } = self.items[item as usize];
            let later = |other: &u32| self.items[*other as usize].add.0 > add.1;
            while self.by_add_call.get(place).is_some_and(|other| !later(other)) {
                place += 1;
            }
            if taken == NONE && first[place] != NONE {
                deadlines.push((self.items[first[place] as usize].take.1, item, first[place]));
            }
        }
        // The earliest deadline gets the earliest removal. If this matching fails, every matching fails.
        sort_by_number(&mut deadlines, |(_, item, _)| u64::from(*item));
        sort_by_number(&mut deadlines, |(deadline, ..)| *deadline);
        for (number, &(deadline, item, _)) in deadlines.iter().enumerate() {
            let removal = self.removals.get(number).copied();
            let Some(removal) = removal.filter(|it| self.times[*it as usize].0 < deadline) else {
                return Some(self.never_left(&deadlines[..=number]));
            };
            let item = &mut self.items[item as usize];
            let (call, end) = self.times[removal as usize];
            (item.take, item.taken) = ((call.max(item.add.0), end), removal);
        }
        None
    }

    /// Returns the periods during which an item was surely inside, sorted by time.
    fn covers(&self) -> Vec<Cover> {
        let mut covers: Vec<Cover> = Vec::new();
        if self.empties.is_empty() {
            return covers;
        }
        for (from, to) in self.by_add_end.iter().filter_map(|it| self.items[*it as usize].inside())
        {
            match covers.last_mut().filter(|cover| from < cover.to) {
                Some(cover) => cover.to = cover.to.max(to),
                None => covers.push(Cover { from, to }),
            }
        }
        covers
    }

    /// Returns, for each operation that found the queue empty, a time just after which the queue may be empty, sorted
    /// by operation. `None` if an operation has no such time.
    fn moments(&self, covers: &[Cover]) -> Option<Vec<(u64, u32)>> {
        let moment =
            |&operation: &u32| self.moment(covers, operation).map(|time| (time, operation));
        self.empties.iter().map(moment).collect()
    }

    fn moment(&self, covers: &[Cover], operation: u32) -> Option<u64> {
        let (call, end) = self.times[operation as usize];
        // Covers do not overlap, so only the last cover that began before the call can contain it.
        let place = covers.partition_point(|cover| cover.from < call);
        match covers[..place].last().filter(|cover| call < cover.to) {
            Some(cover) if end < cover.to => None,
            Some(cover) => Some(cover.to),
            None => Some(call),
        }
    }

    /// Handles an operation that found the queue empty while an item was inside. Such a result is a violation, unless a
    /// removal that never returned may have taken the item.
    fn found_nothing_wrongly(&mut self) -> Ruling {
        // The first of these removals may have taken any item that was not surely taken.
        if let Some(&first) = self.removals.first() {
            let (call, _) = self.times[first as usize];
            for item in &mut self.items {
                if item.taken == NONE || self.times[item.taken as usize].1 == u64::MAX {
                    item.take = (call.max(item.add.0), u64::MAX);
                    item.taken = NONE;
                }
            }
        }
        let covers = self.covers();
        let wrong = |operation: &&u32| self.moment(&covers, **operation).is_none();
        match self.empties.iter().find(wrong) {
            Some(&operation) => self.covered(operation),
            None => Ruling::NotMine,
        }
    }

    /// Returns all operations in an order that explains them. `None` if the items have no order.
    fn order(&self) -> Option<Vec<u32>> {
        let items = self.in_turn()?;
        // Each operation takes effect just after a time, as early as it and its predecessors allow. The lists contain
        // this time and the rank of the item, so they are already sorted.
        let (mut adds, mut takes) = (Vec::new(), Vec::new());
        let (mut add_time, mut take_time) = (0, 0);
        for (turn, item) in items.into_iter().enumerate() {
            let QueueItem { add, take, added, taken } = self.items[item as usize];
            add_time = add.0.max(add_time);
            if added < START {
                adds.push((add_time, turn, added));
            }
            if taken != NONE {
                take_time = take.0.max(take_time).max(add_time);
                takes.push((take_time, turn, taken));
            }
        }
        let mut order = Vec::with_capacity(adds.len() + takes.len());
        let mut adds = adds.into_iter().peekable();
        for (time, turn, taken) in takes {
            while let Some(add) = adds.next_if(|add| (add.0, add.1) <= (time, turn)) {
                order.push(add.2);
            }
            order.push(taken);
        }
        order.extend(adds.map(|add| add.2));
        Some(order)
    }

    /// Returns the items in an order in which they can be added and taken.
    fn in_turn(&self) -> Option<Vec<u32>> {
        let ever_taken = |item: &u32| self.items[*item as usize].taken != NONE;
        let (add_call, add_end) = if self.empties.is_empty() {
            (self.by_add_call.clone(), self.by_add_end.clone())
        } else {
            (self.sorted(|item| item.add.0), self.sorted(|item| item.add.1))
        };
        let mut take_call = self.sorted(|item| item.take.0);
        let mut take_end = self.sorted(|item| item.take.1);
        take_call.retain(ever_taken);
        take_end.retain(ever_taken);
        let mut turns: Vec<u32> = Vec::with_capacity(self.items.len());
        // The number of cursors that have passed each item; 3 if the item is already in the order.
        let mut passed = vec![0u8; self.items.len()];
        let mut ready = Vec::new();
        let mut adds = Cursor { calls: add_call, ends: add_end, call: 0, end: 0 };
        let mut takes = Cursor { calls: take_call, ends: take_end, call: 0, end: 0 };
        loop {
            adds.advance(&mut passed, &mut ready, |item| self.items[item as usize].add);
            takes.advance(&mut passed, &mut ready, |item| self.items[item as usize].take);
            if ready.is_empty() {
                break;
            }
            for item in ready.drain(..) {
                passed[item as usize] = 3;
                turns.push(item);
            }
        }
        // A taken item that is never ready waits for an item that in turn waits for it.
        if turns.len() < takes.calls.len() {
            return None;
        }
        turns.extend(adds.calls.into_iter().filter(|item| !ever_taken(item)));
        Some(turns)
    }
}

/// A cursor that passes the additions, or the removals, that can be next.
struct Cursor {
    /// The items, sorted by invocation; `ends` is sorted by return.
    calls: Vec<u32>,
    ends: Vec<u32>,
    /// The position in `calls`; `end` is the position in `ends`.
    call: usize,
    end: usize,
}

impl Cursor {
    /// Passes every item that was invoked before the first return among the waiting items. Items that both cursors have
    /// passed become ready.
    fn advance(
        &mut self,
        passed: &mut [u8],
        ready: &mut Vec<u32>,
        times: impl Fn(u32) -> (u64, u64),
    ) {
        while self.ends.get(self.end).is_some_and(|item| passed[*item as usize] == 3) {
            self.end += 1;
        }
        let end = self.ends.get(self.end).map_or(u64::MAX, |item| times(*item).1);
        while let Some(&item) = self.calls.get(self.call).filter(|item| times(**item).0 <= end) {
            self.call += 1;
            passed[item as usize] += 1;
            if passed[item as usize] == 2 {
                ready.push(item);
            }
        }
    }
}

const NEVER: (u64, u64) = (u64::MAX, u64::MAX);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unique::PlainObject;
    use crate::unique::trial::{every, random};
    use Action::*;

    #[test]
    fn all_short_histories_are_judged_as_by_trying_everything() {
        let letters = [Add(0), Add(1), Add(2), Take(0), Take(1), Take(2), Empty];
        let pending = [Add(0), Add(1)];
        every(PlainObject::Queue, &[], 4, &letters, &pending).assert_decided(1.0);
    }

    #[test]
    fn so_are_those_of_a_queue_with_items() {
        let letters = [Add(0), Take(0), Take(1), Take(2), Empty];
        every(PlainObject::Queue, &[1, 2], 4, &letters, &[Add(0)]).assert_decided(1.0);
    }

    #[test]
    fn so_are_those_with_removals_that_never_returned() {
        let letters = [Add(0), Add(1), Add(2), Take(0), Take(1)];
        every(PlainObject::Queue, &[], 4, &letters, &[TakeUnknown]).assert_decided(1.0);
        every(PlainObject::Queue, &[0], 4, &letters[1..], &[TakeUnknown]).assert_decided(1.0);
    }

    #[test]
    fn and_most_of_those_that_found_nothing_besides() {
        let letters = [Add(0), Add(1), Take(0), Take(1), Empty];
        every(PlainObject::Queue, &[], 4, &letters, &[TakeUnknown]).assert_decided(0.9);
    }

    #[test]
    fn random_longer_histories_are_judged_as_by_trying_everything() {
        let letters = [Add(0), Add(1), Add(2), Add(3), Take(0), Take(1), Take(2), Take(3), Empty];
        let pending = [Add(0), Add(1), Add(2), TakeUnknown, TakeUnknown];
        random(PlainObject::Queue, &[], &letters[..8], &pending).assert_decided(1.0);
        random(PlainObject::Queue, &[4, 5], &letters, &pending).assert_decided(0.8);
    }
}
