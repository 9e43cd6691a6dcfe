//! The common base of the searches: configurations, the moves between them, and settling.
//!
//! A configuration consists of a position in the history, the state of the model, and the
//! operations in flight and pending operations that are already ordered. The position is always the
//! first return of an operation that is not ordered, so all earlier returns are ordered (Wing and
//! Gong 1993; a key as short as this, with no trace of the length of the history, is ours).

use super::mask::Mask;
use super::memo::{OrderTree, StateTable};
use super::timeline::{Moment, Timeline, TimelineCursor, TimelineEvent};
use crate::history::Operation;
use crate::limits::Meter;
use crate::model::Model;

/// One part of a history, laid out, with the states of the model met in it.
pub(super) struct Ground<'a, M: Model> {
    pub(super) operations: &'a [Operation<M::Op, M::Ret>],
    pub(super) timeline: Timeline,
    pub(super) states: StateTable<M>,
    /// For each operation, true if it returned and observes.
    observer: Vec<bool>,
    /// The bytes of the probe and of the sweep.
    pub(super) held: [usize; 2],
    // Only kept to be filled again.
    successors: Vec<M>,
}

/// The configuration after an order.
#[derive(Clone)]
pub(super) struct Configuration<B> {
    pub(super) state: u32,
    /// The slots in flight that are ordered.
    pub(super) ordered: B,
    /// The pending operations that are ordered.
    pub(super) used: B,
    /// The order itself, and its length.
    pub(super) order: u32,
    pub(super) length: u32,
}

/// A candidate for the next operation.
#[derive(Clone, Copy)]
pub(super) enum Candidate {
    /// The number of an operation.
    Returning(u32),
    /// The number among the pending.
    Pending(u32),
}

impl<'a, M: Model> Ground<'a, M> {
    pub(super) fn new(operations: &'a [Operation<M::Op, M::Ret>]) -> Self {
        Ground {
            operations,
            timeline: Timeline::default(),
            states: StateTable::new(),
            observer: Vec::new(),
            held: [0; 2],
            successors: Vec::new(),
        }
    }

    /// Lays out a part in place of the last one, and puts `walk` at its beginning. The layout is incomplete if
    /// the meter is over then.
    pub(super) fn lay_out(
        &mut self,
        moments: &[Moment],
        walk: &mut TimelineCursor,
        meter: &mut Meter<'_>,
    ) {
        let operations = self.operations;
        self.timeline.lay_out(
            moments,
            |index| operations[index].returned.is_some(),
            |a, b| operations[a].op == operations[b].op,
            walk,
            meter,
        );
        self.states.clear();
        self.held = [0; 2];
        let observes = |&index: &usize| {
            let Operation { op, returned, .. } = &operations[index];
            returned.as_ref().is_some_and(|(ret, _)| M::observes(op, ret))
        };
        self.observer.clear();
        self.observer.extend(self.timeline.index.iter().map(observes));
    }

    /// The initial configuration.
    pub(super) fn start<B: Mask>(&mut self, initial: &M) -> Configuration<B> {
        Configuration {
            state: self.states.number_of(initial.clone()),
            ordered: B::empty(self.timeline.slots),
            used: B::empty(self.timeline.pending.len()),
            order: super::memo::NOTHING,
            length: 0,
        }
    }

    /// The number of a candidate as an operation.
    pub(super) fn operation(&self, candidate: Candidate) -> u32 {
        match candidate {
            Candidate::Returning(op) => op,
            Candidate::Pending(number) => self.timeline.pending[number as usize],
        }
    }

    /// Calls `found` with every state that ordering `candidate` next leads to.
    pub(super) fn moves<B: Mask>(
        &mut self,
        here: &Configuration<B>,
        candidate: Candidate,
        meter: &mut Meter<'_>,
        mut found: impl FnMut(u32),
    ) {
        let (eligible, is_pending) = match candidate {
            // An observer that is not ordered yet does not fit this state.
            Candidate::Returning(op) => (!self.observer[op as usize] && !self.has(here, op), false),
            Candidate::Pending(number) => {
                let twin = self.timeline.twin[number as usize];
                (!here.used.has(number) && twin.is_none_or(|twin| here.used.has(twin)), true)
            }
        };
        if !eligible {
            return;
        }
        if !self.find_successors(self.operation(candidate), here.state, meter) {
            return;
        }
        let known = self.states.len();
        while let Some(next) = self.successors.pop() {
            let state = self.states.number_of(next);
            // A pending operation that changes nothing can be left out.
            if !(is_pending && state == here.state) {
                found(state);
            }
        }
        // The caller sees it the next time.
        let _ = self.states.len() == known || meter.hold(self.bytes());
    }

    /// The approximate size of the states and the searches, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.states.bytes() + self.held.iter().sum::<usize>()
    }

    /// The configuration after a move, not settled yet.
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

    /// Returns `true` if the model allows an operation in a state, and `false` if the meter is over.
    pub(super) fn fits(&mut self, op: u32, state: u32, meter: &mut Meter<'_>) -> bool {
        self.find_successors(op, state, meter) && !self.successors.is_empty()
    }

    /// Returns `true` if an operation in flight is ordered.
    fn has<B: Mask>(&self, here: &Configuration<B>, op: u32) -> bool {
        here.ordered.has(self.timeline.slot[op as usize])
    }

    /// Fills `successors` with the states that the model allows after an operation. Returns `false`, with no
    /// states, if the meter is over.
    #[must_use]
    fn find_successors(&mut self, op: u32, state: u32, meter: &mut Meter<'_>) -> bool {
        let Operation { op, returned, .. } = &self.operations[self.timeline.index[op as usize]];
        let ret = returned.as_ref().map(|(ret, _)| ret);
        self.successors.clear();
        if !meter.work(self.states.work(state)) {
            return false;
        }
        self.states.get(state).successors(op, ret, &mut self.successors);
        true
    }

    /// Orders every observer in flight that fits the state, and passes events until the return of an operation
    /// that is not ordered, or to the end. Ordering an observer that fits as early as possible loses nothing:
    /// moving it here from its place in any later order changes no state.
    pub(super) fn settle<B: Mask>(
        &mut self,
        here: &mut Configuration<B>,
        walk: &mut TimelineCursor,
        orders: &mut OrderTree,
        meter: &mut Meter<'_>,
    ) {
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
                here.ordered.clear(self.timeline.slot[op as usize]);
            }
            walk.forward(&self.timeline);
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
        if !self.observer[op as usize] || self.has(here, op) || !self.fits(op, here.state, meter) {
            return;
        }
        let current = self.states.get(here.state);
        let Operation { op: asked, returned, .. } =
            &self.operations[self.timeline.index[op as usize]];
        assert!(
            self.successors.iter().all(|next| next == current),
            "the model {} says that {asked:?} only observes when it returns {:?}, but it changes \
             {current:?}: correct its `observes`",
            M::name(),
            returned.as_ref().map(|(ret, _)| ret),
        );
        here.ordered.set(self.timeline.slot[op as usize]);
        append(here, op, orders);
    }
}

fn append<B>(here: &mut Configuration<B>, op: u32, orders: &mut OrderTree) {
    here.order = orders.extend(here.order, op);
    here.length += 1;
}
