//! One part of a history laid out for the search, and a walk along it in both directions.
//!
//! Operations get dense numbers by invocation. An operation that returned owns a *slot*, the
//! lowest free one at its invocation, from then until its return; slots are used again, so
//! masks are as wide as the history is concurrent and not as long as it is. An operation that
//! never returned has a number among its kind instead and keeps it.
//!
//! Which operations are in flight depends on the position alone. [`Walk`] keeps those that return
//! in a list by time of return; going back restores the list in place (dancing links, Knuth
//! 2000), so that a step costs O(1) and a configuration stores none of it.

/// What happened at one position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Event {
    /// An operation was invoked that will return.
    Invoke(u32),
    /// It returned.
    Return(u32),
    /// An operation was invoked that never returns.
    Pending,
}

/// The fixed part: events by time, and what they need to know of operations.
pub(super) struct Timeline {
    pub(super) events: Vec<Event>,
    /// The index in the history of each operation.
    pub(super) index: Vec<usize>,
    /// The slot of each operation that returns.
    pub(super) slot: Vec<u32>,
    /// How many slots there are.
    pub(super) slots: usize,
    /// The operations that never return, by invocation.
    pub(super) pending: Vec<u32>,
    /// For each of those, the last one before it that is equal, as an index into `pending`.
    pub(super) twin: Vec<Option<u32>>,
    /// For each operation that returns: at its invocation, the operation in flight that returns
    /// last before it, or the number of operations if none does.
    after: Vec<u32>,
}

impl Timeline {
    /// `events` are (index in the history, whether it is the return) by time. `returns` says of an
    /// index whether the operation ever returns, `equal` whether two ask for the same.
    pub(super) fn new(
        events: &[(usize, bool)],
        returns: impl Fn(usize) -> bool,
        equal: impl Fn(usize, usize) -> bool,
    ) -> Timeline {
        let mut timeline = Timeline {
            events: Vec::with_capacity(events.len()),
            index: events.iter().filter(|(_, back)| !back).map(|(index, _)| *index).collect(),
            slot: Vec::new(),
            slots: 0,
            pending: Vec::new(),
            twin: Vec::new(),
            after: Vec::new(),
        };
        let number = u32::try_from(timeline.index.len()).expect("fewer than 2^32 operations");
        assert!(u32::try_from(events.len()).is_ok(), "fewer than 2^32 events");
        timeline.name_events(events, &returns);
        timeline.give_slots();
        timeline.order_by_return(number);
        timeline.find_twins(&equal);
        timeline
    }

    fn name_events(&mut self, events: &[(usize, bool)], returns: &impl Fn(usize) -> bool) {
        let mut open = super::Table::<usize, u32>::default();
        let mut number = 0;
        for &(index, back) in events {
            self.events.push(if back {
                Event::Return(open.remove(&index).expect("a return follows its invocation"))
            } else if returns(index) {
                open.insert(index, number);
                Event::Invoke(number)
            } else {
                self.pending.push(number);
                Event::Pending
            });
            number += u32::from(!back);
        }
    }

    fn give_slots(&mut self) {
        let mut free = Vec::new();
        self.slot = vec![0; self.index.len()];
        for event in &self.events {
            match *event {
                Event::Invoke(op) => {
                    self.slot[op as usize] = free.pop().unwrap_or_else(|| {
                        self.slots += 1;
                        (self.slots - 1) as u32
                    });
                }
                Event::Return(op) => free.push(self.slot[op as usize]),
                Event::Pending => {}
            }
        }
    }

    /// O(n·w), w = the number of operations in flight: insertion into a sorted list, from its end
    /// because who comes last mostly returns last.
    fn order_by_return(&mut self, number: u32) {
        let mut returns = vec![0; self.index.len()];
        for (position, event) in self.events.iter().enumerate() {
            if let Event::Return(op) = event {
                returns[*op as usize] = position;
            }
        }
        self.after = vec![number; self.index.len()];
        let mut walk = Walk::new(self);
        for event in self.events.clone() {
            if let Event::Invoke(op) = event {
                let mut after = walk.before[number as usize];
                while after != number && returns[after as usize] > returns[op as usize] {
                    after = walk.before[after as usize];
                }
                self.after[op as usize] = after;
            }
            walk.forward(self);
        }
    }

    /// Compares with one of each kind only, and gives up on telling kinds apart after a thousand:
    /// a twin unknown costs time, not truth.
    fn find_twins(&mut self, equal: &impl Fn(usize, usize) -> bool) {
        const KINDS_MAX: usize = 1000;
        let mut latest_of_kind: Vec<u32> = Vec::new();
        for (number, &op) in self.pending.iter().enumerate() {
            let number = number as u32;
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

/// A position in a [`Timeline`] and the operations in flight there.
pub(super) struct Walk {
    /// How many events have been passed.
    pub(super) at: usize,
    /// How many operations that never return have been invoked.
    pub(super) pending: u32,
    // A ring through a sentinel, whose number is that of the operations.
    next: Vec<u32>,
    before: Vec<u32>,
}

impl Walk {
    pub(super) fn new(timeline: &Timeline) -> Walk {
        let ring = vec![timeline.index.len() as u32; timeline.index.len() + 1];
        Walk { at: 0, pending: 0, next: ring.clone(), before: ring }
    }

    /// The operation in flight that returns first.
    pub(super) fn first(&self) -> Option<u32> {
        self.following(self.next.len() as u32 - 1)
    }

    /// The operation in flight that returns next after `op`.
    pub(super) fn following(&self, op: u32) -> Option<u32> {
        let next = self.next[op as usize];
        (next as usize + 1 != self.next.len()).then_some(next)
    }

    /// Passes one event.
    pub(super) fn forward(&mut self, timeline: &Timeline) {
        match timeline.events[self.at] {
            Event::Invoke(op) => {
                let before = timeline.after[op as usize];
                self.before[op as usize] = before;
                self.next[op as usize] = self.next[before as usize];
                self.link(op);
            }
            Event::Return(op) => self.unlink(op),
            Event::Pending => self.pending += 1,
        }
        self.at += 1;
    }

    /// Goes back to a position passed before.
    pub(super) fn back(&mut self, timeline: &Timeline, to: usize) {
        while self.at > to {
            self.at -= 1;
            match timeline.events[self.at] {
                Event::Invoke(op) => self.unlink(op),
                // It left the list last, so its neighbours are still what it says they are.
                Event::Return(op) => self.link(op),
                Event::Pending => self.pending -= 1,
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

    /// 0 is invoked first and returns last, 3 never returns.
    fn example() -> Timeline {
        let events = [(0, false), (1, false), (3, false), (2, false), (2, true), (1, true)];
        let events: Vec<_> = events.into_iter().chain([(4, false), (4, true), (0, true)]).collect();
        Timeline::new(&events, |index| index != 3, |_, _| true)
    }

    fn in_flight(timeline: &Timeline, walk: &Walk) -> Vec<usize> {
        let ops = std::iter::successors(walk.first(), |op| walk.following(*op));
        ops.map(|op| timeline.index[op as usize]).collect()
    }

    #[test]
    fn operations_in_flight_stand_in_the_order_of_their_returns_on_the_way_there_and_back() {
        let timeline = example();
        let mut walk = Walk::new(&timeline);
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
    fn slots_are_used_again() {
        assert_eq!(example().slots, 3);
    }

    #[test]
    fn equal_pending_operations_are_chained() {
        let events: Vec<_> = (0..4).map(|index| (index, false)).collect();
        let timeline = Timeline::new(&events, |_| false, |a, b| a % 2 == b % 2);
        assert_eq!(timeline.twin, [None, None, Some(0), Some(1)]);
    }
}
