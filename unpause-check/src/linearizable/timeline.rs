//! One part of a history in the layout for the search, with a cursor that moves in both directions.
//!
//! Operations get dense numbers by invocation. An operation that returned owns a *slot* from its invocation until its
//! return. Slots are reused, so the width of the masks depends on the concurrency of the history and not on its length.
//! An operation that never returned instead has a permanent number among the pending operations.
//!
//! The operations in flight depend only on the position. [`TimelineCursor`] keeps the returning operations in a list,
//! sorted by return. Moving back restores the list in place (dancing links, Knuth 2000). So a step costs O(1), and a
//! configuration does not store the list.

use crate::limits::Meter;
use unpause_ordered::Map;

/// The invocation or the return of an operation: the index of the operation in the history, and one bit for the kind of
/// event.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Moment(u32);

impl Moment {
    /// The value for "no moment".
    pub(super) const NONE: Moment = Moment(u32::MAX);

    /// # Panics
    /// If `index` is not less than 2^31 - 1.
    pub(super) fn new(index: usize, is_return: bool) -> Moment {
        let index = u32::try_from(index).ok().filter(|index| *index < u32::MAX / 2);
        Moment(index.expect("fewer than 2^31 operations") << 1 | u32::from(is_return))
    }

    /// Returns the moment of a [`number`](Moment::number).
    pub(super) fn of(number: u32) -> Moment {
        Moment(number)
    }

    /// Returns the moment as a number, in the same order.
    pub(super) fn number(self) -> u32 {
        self.0
    }

    pub(super) fn index(self) -> usize {
        (self.0 >> 1) as usize
    }

    pub(super) fn is_return(self) -> bool {
        self.0 & 1 == 1
    }
}

/// The event at one position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TimelineEvent {
    /// The invocation of an operation that will return.
    Invoke(u32),
    /// The return of an operation.
    Return(u32),
    /// The invocation of an operation that never returns.
    Pending,
}

/// The fixed part: the events by time, with the data of their operations.
#[derive(Default)]
pub(super) struct Timeline {
    pub(super) events: Vec<TimelineEvent>,
    /// For each operation, its index in the history.
    pub(super) index: Vec<usize>,
    /// The slot of each operation that returns.
    pub(super) slot: Vec<u32>,
    /// The number of slots.
    pub(super) slots: usize,
    /// The operations that never return, by invocation.
    pub(super) pending: Vec<u32>,
    /// For each pending operation, the previous pending operation that is equal, as an index into `pending`.
    pub(super) twin: Vec<Option<u32>>,
    /// For each returning operation, the operation after which it enters the list. Among the operations in flight at
    /// its invocation, this is the last operation that returns before it. If there is no such operation, the entry is
    /// the number of operations.
    after: Vec<u32>,
    /// The position of each return.
    returns: Vec<u32>,
    /// For each index in the history, the number of the operation in this part. Entries of other parts remain from
    /// earlier checks, and are not used.
    number: Vec<u32>,
    free: Vec<u32>,
}

impl Timeline {
    /// Lays out these events of the history, sorted by time, in place of the previous part. `returns` is true for the
    /// index of an operation that returned, and `equal` for two equal operations. The layout is incomplete if the meter
    /// is over.
    pub(super) fn lay_out(
        &mut self,
        moments: &[Moment],
        returns: &dyn Fn(usize) -> bool,
        equal: &dyn Fn(usize, usize) -> bool,
        walk: &mut TimelineCursor,
        meter: &mut Meter<'_>,
    ) {
        self.events.clear();
        self.index.clear();
        self.slot.clear();
        self.slots = 0;
        self.pending.clear();
        self.twin.clear();
        self.returns.clear();
        self.free.clear();
        self.name_events(moments, returns);
        self.give_slots();
        self.order_by_return(walk, meter);
        self.find_twins(equal, meter);
        walk.start(self);
    }

    fn name_events(&mut self, moments: &[Moment], returns: &dyn Fn(usize) -> bool) {
        for moment in moments {
            let index = moment.index();
            if moment.is_return() {
                // The invocation came earlier, so this entry belongs to this part.
                let op = self.number[index];
                self.returns[op as usize] = self.events.len() as u32;
                self.events.push(TimelineEvent::Return(op));
                continue;
            }
            let op = self.index.len() as u32;
            self.index.push(index);
            self.returns.push(0);
            self.events.push(if returns(index) {
                if index >= self.number.len() {
                    self.number.resize(index + 1, 0);
                }
                self.number[index] = op;
                TimelineEvent::Invoke(op)
            } else {
                self.pending.push(op);
                TimelineEvent::Pending
            });
        }
    }

    fn give_slots(&mut self) {
        self.slot.resize(self.index.len(), 0);
        for event in &self.events {
            match *event {
                TimelineEvent::Invoke(op) => {
                    self.slot[op as usize] = self.free.pop().unwrap_or_else(|| {
                        self.slots += 1;
                        (self.slots - 1) as u32
                    });
                }
                TimelineEvent::Return(op) => self.free.push(self.slot[op as usize]),
                TimelineEvent::Pending => {}
            }
        }
    }

    /// Fills `after`. O(n log w) for w operations in flight. Usually the operation invoked last returns last, so its
    /// place is searched from the end of the list. After a search that takes too long, a tree finds all later places.
    fn order_by_return(&mut self, walk: &mut TimelineCursor, meter: &mut Meter<'_>) {
        const LOOKED_AT_MAX: usize = 64;
        let sentinel = self.index.len() as u32;
        self.after.clear();
        self.after.resize(self.index.len(), sentinel);
        // The cursor moves along while `after` is filled: it only needs the entry of the operation that it passes.
        walk.start(self);
        // The operations in flight by return, if the tree is in use.
        let mut by_return: Option<Map<u32, u32>> = None;
        for position in 0..self.events.len() {
            if !meter.work(1) {
                return;
            }
            match self.events[position] {
                TimelineEvent::Invoke(op) => {
                    let returns = self.returns[op as usize];
                    let back = |op: &u32| Some(walk.before[*op as usize]);
                    let mut before = std::iter::successors(back(&sentinel), back)
                        .take_while(|other| *other != sentinel);
                    let earlier = |other: &u32| self.returns[*other as usize] < returns;
                    let near = match by_return {
                        None => before.by_ref().take(LOOKED_AT_MAX).find(earlier),
                        Some(_) => None,
                    };
                    // The list is longer than the part searched, so all later places come from a tree.
                    if near.is_none() && by_return.is_none() && before.next().is_some() {
                        let all = std::iter::successors(walk.first(), |op| walk.following(*op));
                        by_return = Some(all.map(|op| (self.returns[op as usize], op)).collect());
                    }
                    let known = by_return.as_mut().and_then(|tree| {
                        let known = tree.range(..returns).next_back().map(|(_, op)| *op);
                        tree.insert(returns, op);
                        known
                    });
                    self.after[op as usize] = near.or(known).unwrap_or(sentinel);
                }
                TimelineEvent::Return(_) => {
                    // Only operations in flight may be found in the tree.
                    if let Some(tree) = &mut by_return {
                        tree.remove(&(position as u32));
                    }
                }
                TimelineEvent::Pending => {}
            }
            walk.forward(self);
        }
    }

    /// Fills `twin`. Compares each operation with only one operation of each kind, and stops adding kinds after a
    /// thousand. A missed twin costs time but does not change the verdict.
    fn find_twins(&mut self, equal: &dyn Fn(usize, usize) -> bool, meter: &mut Meter<'_>) {
        const KINDS_MAX: usize = 1000;
        let mut latest_of_kind: Vec<u32> = Vec::new();
        for (number, &op) in self.pending.iter().enumerate() {
            let number = number as u32;
            if !meter.work(latest_of_kind.len() as u32 / 8) {
                return;
            }
            // `latest` is the last operation of its kind, so twins form a chain in the order of their invocations.
            let same = |latest: &&mut u32| {
                let other = self.pending[**latest as usize];
                equal(self.index[op as usize], self.index[other as usize])
            };
            if let Some(latest) = latest_of_kind.iter_mut().find(same) {
                self.twin.push(Some(std::mem::replace(latest, number)));
                continue;
            }
            self.twin.push(None);
            if latest_of_kind.len() < KINDS_MAX {
                latest_of_kind.push(number);
            }
        }
    }
}

/// A position in a [`Timeline`], and the operations in flight at this position.
#[derive(Clone, Default)]
pub(super) struct TimelineCursor {
    /// The number of events passed.
    pub(super) at: usize,
    /// The number of operations invoked so far that never return.
    pub(super) pending: u32,
    // A ring through a sentinel. The number of the sentinel is the number of operations.
    next: Vec<u32>,
    before: Vec<u32>,
}

impl TimelineCursor {
    /// Moves to the beginning of a timeline, which may differ from the previous timeline.
    pub(super) fn start(&mut self, timeline: &Timeline) {
        let count = timeline.index.len();
        self.at = 0;
        self.pending = 0;
        // The links of an operation are written when it is invoked, so only the sentinel needs initial links.
        self.next.resize(count + 1, 0);
        self.before.resize(count + 1, 0);
        self.next[count] = count as u32;
        self.before[count] = count as u32;
    }

    /// Returns the operation in flight that returns first.
    pub(super) fn first(&self) -> Option<u32> {
        self.following(self.next.len() as u32 - 1)
    }

    /// Returns the operation in flight that returns next after `op`.
    pub(super) fn following(&self, op: u32) -> Option<u32> {
        let next = self.next[op as usize];
        (next as usize + 1 != self.next.len()).then_some(next)
    }

    /// Passes one event.
    pub(super) fn forward(&mut self, timeline: &Timeline) {
        match timeline.events[self.at] {
            TimelineEvent::Invoke(op) => {
                let before = timeline.after[op as usize];
                self.before[op as usize] = before;
                self.next[op as usize] = self.next[before as usize];
                self.link(op);
            }
            TimelineEvent::Return(op) => self.unlink(op),
            TimelineEvent::Pending => self.pending += 1,
        }
        self.at += 1;
    }

    /// Moves to a position, forwards or backwards.
    pub(super) fn to(&mut self, timeline: &Timeline, at: usize) {
        while self.at < at {
            self.forward(timeline);
        }
        self.back(timeline, at);
    }

    /// Moves back to an earlier position.
    pub(super) fn back(&mut self, timeline: &Timeline, to: usize) {
        while self.at > to {
            self.at -= 1;
            match timeline.events[self.at] {
                TimelineEvent::Invoke(op) => self.unlink(op),
                // This operation left the list last, so its links to its neighbours are still correct.
                TimelineEvent::Return(op) => self.link(op),
                TimelineEvent::Pending => self.pending -= 1,
            }
        }
    }

    fn link(&mut self, op: u32) {
        let (before, next) = (self.before[op as usize], self.next[op as usize]);
        self.next[before as usize] = op;
        self.before[next as usize] = op;
    }

    fn unlink(&mut self, op: u32) {
        let (before, next) = (self.before[op as usize], self.next[op as usize]);
        self.next[before as usize] = next;
        self.before[next as usize] = before;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Budget;

    fn meter() -> Meter<'static> {
        Meter::new(&Budget::default())
    }

    /// Returns the timeline of these events, with a cursor at its beginning.
    fn lay_out(
        events: &[(usize, bool)],
        returns: impl Fn(usize) -> bool,
        equal: impl Fn(usize, usize) -> bool,
    ) -> (Timeline, TimelineCursor) {
        let moments: Vec<_> =
            events.iter().map(|&(index, back)| Moment::new(index, back)).collect();
        let (mut timeline, mut walk) = (Timeline::default(), TimelineCursor::default());
        timeline.lay_out(&moments, &returns, &equal, &mut walk, &mut meter());
        (timeline, walk)
    }

    /// Returns a timeline in which operation 0 is invoked first and returns last, and operation 3 never returns.
    fn example() -> (Timeline, TimelineCursor) {
        let events = [(0, false), (1, false), (3, false), (2, false), (2, true), (1, true)];
        let events: Vec<_> = events.into_iter().chain([(4, false), (4, true), (0, true)]).collect();
        lay_out(&events, |index| index != 3, |_, _| true)
    }

    fn in_flight(timeline: &Timeline, walk: &TimelineCursor) -> Vec<usize> {
        let ops = std::iter::successors(walk.first(), |op| walk.following(*op));
        ops.map(|op| timeline.index[op as usize]).collect()
    }

    #[test]
    fn operations_in_flight_stand_in_the_order_of_their_returns_on_the_way_there_and_back() {
        let (timeline, mut walk) = example();
        let mut seen = vec![in_flight(&timeline, &walk)];
        while walk.at < timeline.events.len() {
            walk.forward(&timeline);
            seen.push(in_flight(&timeline, &walk));
        }
        let expected: [&[usize]; 10] =
            [&[], &[0], &[1, 0], &[1, 0], &[2, 1, 0], &[1, 0], &[0], &[4, 0], &[0], &[]];
        assert_eq!(seen, expected);
        for at in (0..seen.len()).rev() {
            walk.back(&timeline, at);
            assert_eq!(in_flight(&timeline, &walk), seen[at]);
        }
    }

    #[test]
    fn a_timeline_laid_over_another_forgets_it() {
        let (mut timeline, mut walk) = example();
        let moments: Vec<_> = [(4, false), (1, false), (1, true), (4, true)]
            .map(|(index, back)| Moment::new(index, back))
            .to_vec();
        timeline.lay_out(&moments, &|_| true, &|_, _| true, &mut walk, &mut meter());
        assert_eq!((timeline.slots, timeline.index.as_slice()), (2, &[4, 1][..]));
        assert_eq!(timeline.pending, []);
        walk.to(&timeline, 2);
        assert_eq!(in_flight(&timeline, &walk), [1, 4]);
    }

    #[test]
    fn many_operations_in_flight_stand_in_the_order_of_their_returns() {
        // The returns are in the order of `n * step`, so insertions happen at the end, at the beginning and in between.
        for step in [1, 299, 7, 150, 91] {
            let invoked = (0..300).map(|index| (index, false));
            let mut returned: Vec<_> = (0..300).map(|index| (index, true)).collect();
            returned.sort_by_key(|(index, _)| (index * step % 300, *index));
            let (first, second) = returned.split_at(100);
            let more = (300..400).map(|index| (index, false));
            let last = (300..400).rev().map(|index| (index, true));
            let events: Vec<_> = invoked
                .chain(first.iter().copied())
                .chain(more)
                .chain(second.iter().copied())
                .chain(last)
                .collect();
            let (timeline, mut walk) = lay_out(&events, |_| true, |_, _| true);
            let places = |returns| {
                let place = |op| events.iter().position(|event| *event == (op, returns));
                (0..400).map(|op| place(op).unwrap()).collect::<Vec<usize>>()
            };
            let [begins, ends] = [false, true].map(places);
            for position in 0..events.len() {
                let seen = in_flight(&timeline, &walk);
                assert!(seen.is_sorted_by_key(|op| ends[*op]), "{step}, {position}: {seen:?}");
                let open = (0..400).filter(|op| begins[*op] < position && ends[*op] >= position);
                assert_eq!(seen.len(), open.count(), "{step}, {position}");
                walk.forward(&timeline);
            }
        }
    }

    #[test]
    fn slots_are_used_again() {
        assert_eq!(example().0.slots, 3);
    }

    #[test]
    fn equal_pending_operations_are_chained() {
        let events: Vec<_> = (0..4).map(|index| (index, false)).collect();
        let (timeline, _) = lay_out(&events, |_| false, |a, b| a % 2 == b % 2);
        assert_eq!(timeline.twin, [None, None, Some(0), Some(1)]);
    }
}
