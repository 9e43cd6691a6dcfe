//! The search for an order of one part of a history.
//!
//! Depth first over configurations: a position in the history, the state of the model, the
//! operations in flight that are ordered already, and the pending ones that are. The position is
//! always the first return whose operation is not ordered, so everything that returned before it is
//! (Wing and Gong 1993; the memo is Lowe's, 2017; ours has no key as long as the history).
//! From there some operation in flight goes next. Cost: O(n·2^w·s) configurations at worst,
//! w = the widest overlap, s = the states that can be reached.
//!
//! If every configuration is stuck, the furthest position is the evidence: the operation that
//! returns there fits after none of the orders that reached it, and what was invoked later played
//! no part.

use super::furthest::{End, Furthest};
use super::mask::Mask;
use super::memo::{NOTHING, Orders, States, Visited};
use super::timeline::{Event, Timeline, Walk};
use crate::check::limits::Meter;
use crate::check::model::Model;
use crate::history::Operation;

/// How a search ended. Operations by their number in the [`Timeline`].
pub(super) enum Found<M> {
    /// This order explains all.
    Order(Vec<u32>),
    /// None does.
    Stuck(Stuck<M>),
    /// The budget ran out when this many operations had been ordered.
    OutOfBudget { longest: usize },
}

/// The furthest that any order got.
pub(super) struct Stuck<M> {
    /// The operation that has to be next and cannot.
    pub(super) misfit: u32,
    /// Orders up to there and the state after each, longest first.
    pub(super) partial: Vec<(Vec<u32>, M)>,
}

/// Searches with the narrowest masks that hold the history.
pub(super) fn search<M: Model>(
    initial: &M,
    operations: &[Operation<M::Op, M::Ret>],
    timeline: &Timeline,
    meter: &mut Meter<'_>,
) -> Found<M> {
    if timeline.slots <= 128 && timeline.pending.len() <= 128 {
        Search::<M, u128>::new(operations, timeline, meter).run(initial)
    } else {
        Search::<M, Box<[u64]>>::new(operations, timeline, meter).run(initial)
    }
}

struct Search<'a, 'b, M: Model, B> {
    operations: &'a [Operation<M::Op, M::Ret>],
    timeline: &'a Timeline,
    meter: &'a mut Meter<'b>,
    /// For each operation that returns, whether it observes.
    observer: Vec<bool>,
    walk: Walk,
    states: States<M>,
    visited: Visited<B>,
    orders: Orders,
    /// The configurations on the way from the start to here, and siblings that wait. The walk is at
    /// the one on top.
    stack: Vec<Frame<B>>,
    /// The moves listed from the configurations on the stack, those of the top one last.
    moves: Vec<Move>,
    furthest: Furthest,
    longest: u32,
    // Only kept to be filled again.
    successors: Vec<M>,
}

/// Where an order leads.
#[derive(Clone)]
struct Configuration<B> {
    state: u32,
    /// The slots in flight that are ordered.
    ordered: B,
    /// The pending operations that are.
    used: B,
    /// The order itself, and its length.
    order: u32,
    length: u32,
}

struct Frame<B> {
    here: Configuration<B>,
    at: usize,
    /// How many nodes of orders there were before the move that led here.
    nodes_before: usize,
    /// Where its moves begin in `moves`, and the one to try next.
    moves: usize,
    next: usize,
    listed: Listed,
}

/// The moves that have been listed from a configuration.
enum Listed {
    Nothing,
    /// Those of the operation that has to go.
    First,
    All,
}

/// To order `op` next, which leads to `state`.
#[derive(Clone, Copy)]
struct Move {
    op: Candidate,
    state: u32,
    rank: Rank,
}

#[derive(Clone, Copy)]
enum Candidate {
    /// The number of an operation.
    Returning(u32),
    /// The number among the pending.
    Pending(u32),
}

/// Which moves are tried first: those after which the operation that has to go can go, and
/// operations that must happen before those that need not.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Helps,
    PendingHelps,
    Other,
    PendingOther,
}

enum Entered {
    New,
    Known,
    Complete(u32),
    OutOfBudget,
}

impl<'a, 'b, M: Model, B: Mask> Search<'a, 'b, M, B> {
    fn new(
        operations: &'a [Operation<M::Op, M::Ret>],
        timeline: &'a Timeline,
        meter: &'a mut Meter<'b>,
    ) -> Self {
        let observes = |&index: &usize| {
            let Operation { op, returned, .. } = &operations[index];
            returned.as_ref().is_some_and(|(ret, _)| M::observes(op, ret))
        };
        Search {
            operations,
            timeline,
            meter,
            observer: timeline.index.iter().map(observes).collect(),
            walk: Walk::new(timeline),
            states: States::new(),
            visited: Visited::new(),
            orders: Orders::new(),
            stack: Vec::new(),
            moves: Vec::new(),
            furthest: Furthest::default(),
            longest: 0,
            successors: Vec::new(),
        }
    }

    fn run(mut self, initial: &M) -> Found<M> {
        let start = Configuration {
            state: self.states.number_of(initial.clone()),
            ordered: B::empty(self.timeline.slots),
            used: B::empty(self.timeline.pending.len()),
            order: NOTHING,
            length: 0,
        };
        let mut entered = self.enter(start, 0);
        loop {
            match entered {
                Entered::New | Entered::Known => {}
                Entered::Complete(order) => return Found::Order(self.orders.spell(order)),
                Entered::OutOfBudget => {
                    return Found::OutOfBudget { longest: self.longest as usize };
                }
            }
            entered = loop {
                if self.stack.is_empty() {
                    return Found::Stuck(self.stuck());
                }
                match self.next_move() {
                    Some(way) if way.rank == Rank::PendingOther => break self.spread(),
                    Some(way) => break self.take(self.stack.len() - 1, way),
                    None => self.leave(),
                }
            };
        }
    }

    /// The next move from the configuration on top. The operation that has to go is tried before
    /// the others are looked at: mostly it fits, and they never are.
    fn next_move(&mut self) -> Option<Move> {
        let first = self.walk.first()?;
        loop {
            let frame = self.stack.last_mut()?;
            if let Some(way) = self.moves.get(frame.next) {
                frame.next += 1;
                return Some(*way);
            }
            match frame.listed {
                Listed::Nothing => {
                    (frame.moves, frame.next) = (self.moves.len(), self.moves.len());
                    frame.listed = Listed::First;
                    self.list(Candidate::Returning(first), first);
                }
                Listed::First => {
                    frame.listed = Listed::All;
                    let start = frame.next;
                    let mut op = first;
                    while let Some(next) = self.walk.following(op) {
                        self.list(Candidate::Returning(next), first);
                        op = next;
                    }
                    for number in 0..self.walk.pending {
                        self.list(Candidate::Pending(number), first);
                    }
                    // Stable: returning ones by return, pending ones by invocation.
                    self.moves[start..].sort_by_key(|way| way.rank);
                }
                Listed::All => return None,
            }
        }
    }

    /// Lists the moves of one operation from the configuration on top. `first` is the operation
    /// that has to go.
    fn list(&mut self, candidate: Candidate, first: u32) {
        let Some(Frame { here, .. }) = self.stack.last() else { return };
        let (op, eligible, is_pending) = match candidate {
            // An observer that is not ordered yet does not fit this state.
            Candidate::Returning(op) => {
                (op, !self.observer[op as usize] && !self.has(here, op), false)
            }
            Candidate::Pending(number) => {
                let twin = self.timeline.twin[number as usize];
                let eligible =
                    !here.used.has(number) && twin.is_none_or(|twin| here.used.has(twin));
                (self.timeline.pending[number as usize], eligible, true)
            }
        };
        if !eligible {
            return;
        }
        let from = here.state;
        let start = self.moves.len();
        self.find_successors(op, from);
        while let Some(next) = self.successors.pop() {
            let state = self.states.number_of(next);
            // A pending operation that changes nothing might as well not have happened.
            if !(is_pending && state == from) {
                self.moves.push(Move { op: candidate, state, rank: Rank::Helps });
            }
        }
        for place in start..self.moves.len() {
            let helps = op == first || {
                self.find_successors(first, self.moves[place].state);
                !self.successors.is_empty()
            };
            self.moves[place].rank = match (helps, is_pending) {
                (true, false) => Rank::Helps,
                (true, true) => Rank::PendingHelps,
                (false, false) => Rank::Other,
                (false, true) => Rank::PendingOther,
            };
        }
    }

    /// Whether an operation in flight is ordered.
    fn has(&self, here: &Configuration<B>, op: u32) -> bool {
        here.ordered.has(self.timeline.slot[op as usize])
    }

    /// Fills `successors` with the states that the model allows after an operation.
    fn find_successors(&mut self, op: u32, state: u32) {
        let Operation { op, returned, .. } = &self.operations[self.timeline.index[op as usize]];
        let ret = returned.as_ref().map(|(ret, _)| ret);
        self.successors.clear();
        self.states.get(state).successors(op, ret, &mut self.successors);
    }

    /// Takes the move just returned and all that are left, before going on from any of them: each uses
    /// one pending operation. Going on from the first at once would use two, three and more where
    /// one would do, and come to the same states again with ever smaller sets.
    fn spread(&mut self) -> Entered {
        let parent = self.stack.len() - 1;
        let at = self.walk.at;
        let rest = self.stack[parent].next - 1..self.moves.len();
        self.stack[parent].next = rest.end;
        // From the last, so that the first is on top.
        for place in rest.rev() {
            match self.take(parent, self.moves[place]) {
                Entered::New | Entered::Known => {}
                over => return over,
            }
            // None of them lets the operation go that has to, so siblings share a position.
            assert_eq!(self.walk.at, at, "a move was ranked wrongly");
        }
        Entered::New
    }

    fn take(&mut self, parent: usize, way: Move) -> Entered {
        let mut here = self.stack[parent].here.clone();
        let op = match way.op {
            Candidate::Returning(op) => {
                here.ordered.set(self.timeline.slot[op as usize]);
                op
            }
            Candidate::Pending(number) => {
                here.used.set(number);
                self.timeline.pending[number as usize]
            }
        };
        here.state = way.state;
        let nodes_before = self.orders.len();
        self.append(&mut here, op);
        self.enter(here, nodes_before)
    }

    fn append(&mut self, here: &mut Configuration<B>, op: u32) {
        here.order = self.orders.extend(here.order, op);
        here.length += 1;
    }

    /// Goes on from a move to the next return that is not ordered yet. Unless the configuration
    /// there is new, the walk is back where it was afterwards.
    fn enter(&mut self, mut here: Configuration<B>, nodes_before: usize) -> Entered {
        let start = self.walk.at;
        self.settle(&mut here);
        self.longest = self.longest.max(here.length);
        let at = self.walk.at;
        if at == self.timeline.events.len() {
            return Entered::Complete(here.order);
        }
        let work = (at - start) as u32 + 1;
        if !self.visited.add(at, here.state, &here.ordered, &here.used) {
            self.walk.back(self.timeline, start);
            self.orders.truncate(nodes_before);
            return if self.meter.work(work) { Entered::Known } else { Entered::OutOfBudget };
        }
        if !self.meter.visit(work) {
            return Entered::OutOfBudget;
        }
        // Nothing is found at `next`, so the first look lists moves.
        let listed = Listed::Nothing;
        let (moves, next) = (self.moves.len(), usize::MAX);
        self.stack.push(Frame { here, at, nodes_before, moves, next, listed });
        Entered::New
    }

    /// Orders every observer in flight that fits the state, and passes events until the return of an
    /// operation that is not ordered. An observer that fits now loses nothing by going now:
    /// taking it out of its place in any later order and putting it here changes no state.
    fn settle(&mut self, here: &mut Configuration<B>) {
        let mut in_flight = self.walk.first();
        while let Some(op) = in_flight {
            self.observe(here, op);
            in_flight = self.walk.following(op);
        }
        while let Some(event) = self.timeline.events.get(self.walk.at) {
            if let Event::Return(op) = event {
                if !self.has(here, *op) {
                    return;
                }
                here.ordered.clear(self.timeline.slot[*op as usize]);
            }
            self.walk.forward(self.timeline);
            if let Event::Invoke(op) = event {
                self.observe(here, *op);
            }
        }
    }

    fn observe(&mut self, here: &mut Configuration<B>, op: u32) {
        if !self.observer[op as usize] || self.has(here, op) {
            return;
        }
        self.find_successors(op, here.state);
        if self.successors.is_empty() {
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
        self.append(here, op);
    }

    /// Gives up the configuration on top.
    fn leave(&mut self) {
        let Some(Frame { here, at, nodes_before, moves, .. }) = self.stack.pop() else { return };
        let Configuration { order, state, length, .. } = here;
        self.furthest.reached(at, End { order, state, length });
        self.orders.truncate(nodes_before.max(self.furthest.nodes()));
        self.moves.truncate(moves);
        // A sibling stands where this one stood.
        let at = self.stack.last().map_or(0, |frame| frame.at);
        self.walk.back(self.timeline, at);
    }

    fn stuck(mut self) -> Stuck<M> {
        let Event::Return(misfit) = self.timeline.events[self.furthest.at] else {
            unreachable!("every configuration is at a return");
        };
        self.furthest.ends.sort_by_key(|end| std::cmp::Reverse(end.length));
        let spell = |end: &End| (self.orders.spell(end.order), self.states.get(end.state).clone());
        Stuck { misfit, partial: self.furthest.ends.iter().map(spell).collect() }
    }
}
