//! The common basis of the searches: configurations, the moves between them, and settling.
//!
//! A configuration consists of a position in the history, the model state, and the set of operations, in flight or
//! pending, that are already ordered. The position is always the first return of an operation that is not ordered, so
//! all earlier returns are ordered (Wing and Gong 1993). Our addition is the short key, which is independent of the
//! length of the history.

use super::mask::Mask;
use super::memo::OrderTree;
use super::states::States;
use super::timeline::{Moment, Timeline, TimelineCursor, TimelineEvent};
use crate::limits::Meter;

/// The layout of one part of a history.
#[derive(Default)]
pub(super) struct Layout {
    timeline: Timeline,
    /// For each operation, `true` if it returned and is an observer.
    observer: Vec<bool>,
    // Scratch space, reused between calls.
    found: Vec<u32>,
}

/// Facts about operations, identified by their index in the history.
pub(super) struct Facts<'f> {
    pub(super) returns: &'f dyn Fn(usize) -> bool,
    /// True for two equal operations.
    pub(super) equal: &'f dyn Fn(usize, usize) -> bool,
    pub(super) observes: &'f dyn Fn(usize) -> bool,
}

/// One part of a history, laid out, with the model states found in it.
pub(super) struct Ground<'g> {
    pub(super) timeline: &'g Timeline,
    states: &'g mut dyn States,
    observer: &'g [bool],
    /// The bytes that the probe and the sweep hold.
    pub(super) held: [usize; 2],
    found: &'g mut Vec<u32>,
}

/// The configuration after an order.
#[derive(Clone)]
pub(super) struct Configuration<B> {
    pub(super) state: u32,
    /// The slots of the operations in flight that are ordered.
    pub(super) ordered: B,
    /// The pending operations that are ordered.
    pub(super) used: B,
    /// The order that leads here; `length` is its length.
    pub(super) order: u32,
    pub(super) length: u32,
}

/// A candidate for the next operation.
#[derive(Clone, Copy)]
pub(super) enum Candidate {
    /// An operation that returns, by number.
    Returning(u32),
    /// An operation that never returns, by its number among the pending operations.
    Pending(u32),
}

impl Layout {
    /// Lays out a part in place of the previous part, and moves `walk` to its beginning. The layout is incomplete if
    /// the meter is over.
    pub(super) fn lay_out(
        &mut self,
        moments: &[Moment],
        facts: &Facts<'_>,
        walk: &mut TimelineCursor,
        meter: &mut Meter<'_>,
    ) {
        self.timeline.lay_out(moments, facts.returns, facts.equal, walk, meter);
        self.observer.clear();
        self.observer.extend(self.timeline.index.iter().map(|index| (facts.observes)(*index)));
    }

    /// Returns the part with these states.
    pub(super) fn ground<'g>(&'g mut self, states: &'g mut dyn States) -> Ground<'g> {
        let Layout { timeline, observer, found } = self;
        Ground { timeline, states, observer, held: [0; 2], found }
    }
}

impl Ground<'_> {
    /// Returns the configuration in this state before any operation.
    pub(super) fn start<B: Mask>(&self, state: u32) -> Configuration<B> {
        Configuration {
            state,
            ordered: B::empty(self.timeline.slots),
            used: B::empty(self.timeline.pending.len()),
            order: super::memo::NOTHING,
            length: 0,
        }
    }

    /// Returns `true` if the part has at most `most` operations in flight and at most `most` pending operations.
    pub(super) fn is_narrow(&self, most: usize) -> bool {
        self.timeline.slots <= most && self.timeline.pending.len() <= most
    }

    /// Returns the operation number of a candidate.
    pub(super) fn operation(&self, candidate: Candidate) -> u32 {
        match candidate {
            Candidate::Returning(op) => op,
            Candidate::Pending(number) => self.timeline.pending[number as usize],
        }
    }

    /// Calls `found` with every state that may result if `candidate` is ordered next.
    pub(super) fn moves<B: Mask>(
        &mut self,
        here: &Configuration<B>,
        candidate: Candidate,
        meter: &mut Meter<'_>,
        found: &mut dyn FnMut(u32),
    ) {
        let (eligible, is_pending) = match candidate {
            // This observer is not ordered yet, because it does not fit this state.
            Candidate::Returning(op) => (!self.observer[op as usize] && !self.has(here, op), false),
            Candidate::Pending(number) => {
                // Equal pending operations are used in the order of their invocations; other orders lead to the same
                // states.
                let twin = self.timeline.twin[number as usize];
                (!here.used.has(number) && twin.is_none_or(|twin| here.used.has(twin)), true)
            }
        };
        if !eligible {
            return;
        }
        let operation = self.index(self.operation(candidate));
        if !meter.work(self.states.work(here.state)) {
            return;
        }
        // The size of the states only matters if this move finds a new state.
        let known = self.states.len();
        self.states.successors(operation, here.state, self.found);
        for state in self.found.drain(..) {
            // A pending operation that changes nothing can be left out.
            if !(is_pending && state == here.state) {
                found(state);
            }
        }
        // The caller notices an exceeded limit at its next check.
        let _ = self.states.len() == known || meter.hold(self.bytes());
    }

    /// Returns the approximate size of the states and the searches, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.states.bytes() + self.held.iter().sum::<usize>()
    }

    /// Returns the configuration after a move, not yet settled.
    pub(super) fn after<B: Mask>(
        &self,
        here: &Configuration<B>,
        candidate: Candidate,
        state: u32,
        orders: &mut OrderTree,
    ) -> Configuration<B> {
        let mut next = here.clone();
        match candidate {
            Candidate::Returning(op) => next.ordered.set(self.timeline.slot[op as usize]),
            Candidate::Pending(number) => next.used.set(number),
        }
        next.state = state;
        append(&mut next, self.operation(candidate), orders);
        next
    }

    /// Returns `true` if the model allows an operation in a state. Returns `false` if the meter is over.
    pub(super) fn fits(&mut self, op: u32, state: u32, meter: &mut Meter<'_>) -> bool {
        // If the meter is over, a wrong `false` does no harm, because the search is given up.
        meter.work(self.states.work(state)) && self.states.allows(self.index(op), state)
    }

    /// Returns `true` if an operation in flight is ordered.
    fn has<B: Mask>(&self, here: &Configuration<B>, op: u32) -> bool {
        here.ordered.has(self.timeline.slot[op as usize])
    }

    /// Returns the index of an operation in the history.
    fn index(&self, op: u32) -> usize {
        self.timeline.index[op as usize]
    }

    /// Orders every observer in flight that fits the state, and passes events up to the return of an operation that is
    /// not ordered, or up to the end. Ordering a fitting observer as early as possible loses no solution: it changes no
    /// state, so it can be moved here from its position in any later order.
    pub(super) fn settle<B: Mask>(
        &mut self,
        here: &mut Configuration<B>,
        walk: &mut TimelineCursor,
        orders: &mut OrderTree,
        meter: &mut Meter<'_>,
    ) {
        // The loop begins with the observers that are in flight here. Operations invoked later are checked when the
        // walk passes their invocations.
        let mut in_flight = walk.first();
        while let Some(op) = in_flight {
            self.observe(here, op, orders, meter);
            in_flight = walk.following(op);
        }
        while let Some(&event) = self.timeline.events.get(walk.at) {
            if let TimelineEvent::Return(op) = event {
                if !self.has(here, op) {
                    return;
                }
                // The slot can belong to another operation from here on, so its bit must not be set.
                here.ordered.clear(self.timeline.slot[op as usize]);
            }
            walk.forward(self.timeline);
            if let TimelineEvent::Invoke(op) = event {
                self.observe(here, op, orders, meter);
            }
        }
    }

    fn observe<B: Mask>(
        &mut self,
        here: &mut Configuration<B>,
        op: u32,
        orders: &mut OrderTree,
        meter: &mut Meter<'_>,
    ) {
        if !self.observer[op as usize] || self.has(here, op) {
            return;
        }
        let is_shown = meter.work(self.states.work(here.state))
            && self.states.shows(self.index(op), here.state);
        if !is_shown {
            return;
        }
        here.ordered.set(self.timeline.slot[op as usize]);
        append(here, op, orders);
    }
}

fn append<B>(here: &mut Configuration<B>, op: u32, orders: &mut OrderTree) {
    here.order = orders.extend(here.order, op);
    here.length += 1;
}
