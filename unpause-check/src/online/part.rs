//! The possibilities of one part of an object: the whole object, or one key.
//!
//! An invocation occupies a slot and changes nothing else. A return keeps the possibilities in which the call can have
//! this result. A failed call keeps the possibilities without its effect. If no possibility is left, this event is the
//! earliest event that shows the violation.

use super::aborted_read;
use super::closure::{self, CHUNK, Closed, Returning, SHOWN, Stepper};
use super::orders::{BUILT, GONE, OrderEntry, START, StreamOrders, renamed};
use super::possibility::{CallPlace, Frontier, InFlight, Lost, Possibility, Used, Window};
use crate::model::Model;
use crate::verdict::{Evidence, Limit};
use unpause_ordered::sort_by_key;

/// The number of possibilities whose closures are merged together.
const BATCH: usize = 16 * CHUNK;

pub(super) struct OnlinePart<M: Model> {
    window: Window<M>,
    free: Vec<usize>,
    /// The possibilities. Never empty, unless the history is violated.
    possibilities: Vec<Possibility<M>>,
    orders: StreamOrders,
}

/// The result of an event.
pub(super) enum PartResult {
    Something,
    Nothing(Box<Evidence>),
    TooMany(Limit),
}

/// The limits, threads and counters of a check.
pub(super) struct Resources<M: Model> {
    pub(super) limit: usize,
    pub(super) memory: usize,
    pub(super) threads: usize,
    pub(super) stepper: Stepper<M>,
    /// The number of possibilities visited so far.
    pub(super) visited: u64,
}

impl<M: Model> OnlinePart<M> {
    pub(super) fn new(initial: &M) -> Self {
        let start = Possibility {
            state: initial.clone(),
            places: Vec::new(),
            used: Used::default(),
            order: START,
            trail: Vec::new(),
            length: 0,
        };
        OnlinePart {
            window: Window { slots: Vec::new(), lost: Vec::new() },
            free: Vec::new(),
            possibilities: vec![start],
            orders: StreamOrders::default(),
        }
    }

    /// Creates a part with `slots` slots, all in use. The operations `placed` have already been placed, in this order.
    pub(super) fn resumed(initial: &M, slots: usize, placed: impl Iterator<Item = u64>) -> Self {
        let mut part = OnlinePart::new(initial);
        part.window.slots.resize_with(slots, || None);
        let start = &mut part.possibilities[0];
        start.places.resize_with(slots, CallPlace::free);
        for op in placed {
            start.order = part.orders.extend(start.order, OrderEntry::Next(op));
            start.length += 1;
        }
        part
    }

    /// Begins a call in a slot that [`resumed`](Self::resumed) reserved.
    pub(super) fn invoke_in(&mut self, slot: usize, op: M::Op, number: u64) {
        self.window.slots[slot] = Some(InFlight { op, number });
    }

    /// Frees the unused slots that [`resumed`](Self::resumed) reserved.
    pub(super) fn release_slots(&mut self) {
        let slots = self.window.slots.iter().enumerate();
        self.free = slots.filter(|(_, call)| call.is_none()).map(|(slot, _)| slot).collect();
    }

    /// Begins a call. Returns its slot.
    pub(super) fn invoke(&mut self, op: M::Op, number: u64) -> usize {
        // A freed slot needs no reset: `returned`, `failed` and `lost` leave it open and without answers in all
        // possibilities.
        let slot = self.free.pop().unwrap_or_else(|| {
            self.window.slots.push(None);
            self.possibilities.iter_mut().for_each(|here| here.places.push(CallPlace::free()));
            self.window.slots.len() - 1
        });
        self.window.slots[slot] = Some(InFlight { op, number });
        slot
    }

    /// Ends the call in `slot` with the result `ret`.
    #[must_use]
    pub(super) fn returned(
        &mut self,
        slot: usize,
        ret: &M::Ret,
        resources: &mut Resources<M>,
    ) -> PartResult {
        let call = closure::call(&self.window, slot);
        let (number, observes) = (call.number, M::observes(&call.op, ret));
        let mut kept = Vec::with_capacity(self.possibilities.len());
        let (mut refused, mut undecided) = (Vec::new(), Vec::new());
        for mut here in std::mem::take(&mut self.possibilities) {
            match &here.places[slot] {
                CallPlace::Taken(answer) if answer.allows(&call.op, ret) => {
                    here.places[slot] = CallPlace::free();
                    kept.push(here);
                }
                CallPlace::Taken(_) => refused.push(here),
                CallPlace::Open(seen) => {
                    // The answers record moments without effect, so any answer that fits leads to the same possibility.
                    let fits = seen.iter().find(|seen| seen.answer.allows(&call.op, ret));
                    let earlier =
                        fits.map(|seen| OrderEntry::Inserted { op: number, after: seen.after });
                    let now = || observes && self.fits(&here, &call.op, ret);
                    let Some(entry) = earlier.or_else(|| now().then_some(OrderEntry::Next(number)))
                    else {
                        undecided.push(here);
                        continue;
                    };
                    // A call that can be placed before an observer can also be placed after it.
                    // For example, a write of 2 may have had no effect while the value was 2, or may change the value
                    // only now.
                    if !observes {
                        undecided.push(here.clone());
                    }
                    here.order = self.orders.extend(here.order, entry);
                    here.length += 1;
                    here.places[slot] = CallPlace::free();
                    kept.push(here);
                }
            }
        }
        self.possibilities = kept;
        let mut furthest = Vec::new();
        if !undecided.is_empty() {
            let returning =
                Returning { slot, ret, observes, limit: resources.limit, memory: resources.memory };
            let (mut bytes, mut moves) = (0, 0);
            // Possibilities are processed in batches, so that redundant possibilities are dropped before there are too
            // many.
            for batch in undecided.chunks(BATCH) {
                let outcomes =
                    (resources.stepper)(&self.window, batch, &returning, resources.threads);
                for (closed, work) in outcomes {
                    resources.visited += work.visited;
                    moves += work.moves;
                    if moves > closure::moves_max(resources.limit) {
                        // The possibilities are incomplete here, but the status is final after this result.
                        return PartResult::TooMany(Limit::Nodes);
                    }
                    match closed {
                        Closed::Remaining(left) => {
                            for next in left {
                                let next = self.record_order(next);
                                bytes += next.bytes();
                                self.possibilities.push(next);
                            }
                        }
                        Closed::Nothing(ends) => furthest.extend(ends),
                        Closed::TooMany(limit) => return PartResult::TooMany(limit),
                    }
                }
                if self.possibilities.len() > resources.limit || bytes > resources.memory {
                    match self.reduce(resources) {
                        Ok(left) => bytes = left,
                        Err(limit) => return PartResult::TooMany(limit),
                    }
                }
            }
        }
        resources.visited += 1;
        if self.possibilities.is_empty() {
            let ends = if furthest.is_empty() { refused } else { furthest };
            // The evidence needs the call, so its slot is not freed.
            return PartResult::Nothing(self.evidence(ends, slot));
        }
        // The dropped possibilities must not count as owners of answers, so they are dropped here.
        drop((undecided, refused, furthest));
        self.free(slot);
        self.tidy(resources)
    }

    /// Returns `true` if an observer may return `ret` in the state of `here`.
    fn fits(&self, here: &Possibility<M>, op: &M::Op, ret: &M::Ret) -> bool {
        let mut successors = Vec::new();
        here.state.successors(op, Some(ret), &mut successors);
        assert!(
            successors.iter().all(|next| *next == here.state),
            "the model {} says that {op:?} only observes when it returns {ret:?}, but it changes \
             {:?}: correct its `observes`",
            M::name(),
            here.state,
        );
        !successors.is_empty()
    }

    /// Ends the call in `slot`, which did not take effect.
    #[must_use]
    pub(super) fn failed(&mut self, slot: usize, resources: &mut Resources<M>) -> PartResult {
        resources.visited += 1;
        let all = std::mem::take(&mut self.possibilities);
        let (kept, refused): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|here| here.places[slot].is_open());
        if kept.is_empty() {
            let mut evidence = self.evidence(refused, slot);
            let call = closure::call(&self.window, slot);
            evidence.expected.clear();
            evidence.anomaly = Some(aborted_read(&M::op_text(&call.op)));
            return PartResult::Nothing(evidence);
        }
        drop(refused);
        self.possibilities = kept;
        for here in &mut self.possibilities {
            here.places[slot] = CallPlace::free();
        }
        self.free(slot);
        self.tidy(resources)
    }

    /// Ends the call in `slot`, which never returns, and adds it to the equal lost calls.
    #[must_use]
    pub(super) fn lost(&mut self, slot: usize, resources: &mut Resources<M>) -> PartResult {
        let InFlight { op, number } = self.free(slot);
        let lost = &mut self.window.lost;
        let is_equal = |lost: &Option<Lost<M::Op>>| lost.as_ref().is_some_and(|lost| lost.op == op);
        let known = lost.iter().position(is_equal);
        let kind = known.or_else(|| lost.iter().position(Option::is_none)).unwrap_or_else(|| {
            lost.push(None);
            lost.len() - 1
        });
        let OnlinePart { window, orders, possibilities, .. } = self;
        let equal = window.lost[kind].get_or_insert(Lost { op, numbers: Vec::new() });
        let numbers = &mut equal.numbers;
        let rank = numbers.partition_point(|other| *other < number);
        numbers.insert(rank, number);
        for here in possibilities {
            let taken = !here.places[slot].is_open();
            here.places[slot] = CallPlace::free();
            // Equal calls are interchangeable. So a possibility that used `n` of them has used the first `n`.
            let used = here.used.of(kind);
            // With a lower rank than a used call, the new call replaces the last used call. With a higher rank than an
            // unused call, that call replaces it.
            let (from, to) = match taken {
                true if rank > used => (number, numbers[used]),
                false if rank < used => (numbers[used], number),
                _ => (number, number),
            };
            if taken {
                here.used.add(kind);
            }
            if from != to {
                here.order = orders.extend(here.order, OrderEntry::Renamed { from, to });
            }
        }
        self.tidy(resources)
    }

    /// Returns the number of possibilities.
    pub(super) fn possibilities(&self) -> usize {
        self.possibilities.len()
    }

    /// Returns the numbers of calls in flight, of lost calls that may take effect, of slots, and of entries of orders.
    pub(super) fn sizes(&self) -> [usize; 4] {
        let lost = self.window.lost.iter().flatten().map(|lost| lost.numbers.len()).sum();
        let slots = self.window.slots.len();
        [slots - self.free.len(), lost, slots, self.orders.len()]
    }

    fn free(&mut self, slot: usize) -> InFlight<M::Op> {
        self.free.push(slot);
        self.window.slots[slot].take().expect("a call in flight has its slot until it ends")
    }

    /// Adds the entries created by a closure to the orders.
    fn record_order(&mut self, mut here: Possibility<M>) -> Possibility<M> {
        let mut nodes = Vec::with_capacity(here.trail.len());
        for op in here.trail.drain(..) {
            here.order = self.orders.extend(here.order, OrderEntry::Next(op));
            nodes.push(here.order);
        }
        here.rename(|after| match after {
            // `START` and `GONE` also have the flag bit, so they are matched first.
            START | GONE => after,
            // Offsets count from 1, because `after` names the order itself while the trail is empty.
            built if built & BUILT != 0 => nodes[(built & !BUILT) as usize - 1],
            node => node,
        });
        here
    }

    /// Drops redundant possibilities, and forgets finished operations.
    fn tidy(&mut self, resources: &Resources<M>) -> PartResult {
        if let Err(limit) = self.reduce(resources) {
            return PartResult::TooMany(limit);
        }
        self.forget_lost();
        // The cut comes last, so that dropped possibilities keep no entries alive.
        if self.orders.is_long() {
            let ends = self.possibilities.iter().map(|here| here.order);
            let names = self.orders.cut(ends);
            for here in &mut self.possibilities {
                here.order = renamed(&names, here.order);
                here.rename(|after| renamed(&names, after));
            }
        }
        PartResult::Something
    }

    /// Drops possibilities that others cover. Returns the remaining number of bytes.
    ///
    /// # Errors
    /// The exceeded limit, if the remaining possibilities are too many or too large.
    fn reduce(&mut self, resources: &Resources<M>) -> Result<usize, Limit> {
        let mut bytes = 0;
        if self.possibilities.len() > 1 {
            let mut frontier = Frontier::new();
            for here in self.possibilities.drain(..) {
                frontier.add(here);
            }
            bytes = frontier.bytes();
            self.possibilities.extend(frontier.into_members());
        }
        if self.possibilities.len() > resources.limit {
            return Err(Limit::Nodes);
        }
        // Open calls collect answers over many events, even if only one possibility is left.
        bytes += self.possibilities.iter().map(Possibility::seen_bytes).sum::<usize>();
        if bytes > resources.memory { Err(Limit::Memory) } else { Ok(bytes) }
    }

    /// Drops lost calls that every possibility has used.
    fn forget_lost(&mut self) {
        let [first, others @ ..] = &self.possibilities[..] else { return };
        // A kind that the first possibility has not used is not used by all, so its kinds are enough.
        let by_all = |kind: usize| {
            let least = others.iter().map(|here| here.used.of(kind)).min();
            (kind, least.map_or(first.used.of(kind), |least| least.min(first.used.of(kind))))
        };
        let done: Vec<(usize, usize)> = first.used.kinds().map(by_all).collect();
        for (kind, used) in done.into_iter().filter(|(_, used)| *used > 0) {
            let lost = &mut self.window.lost[kind];
            let numbers = &mut lost.as_mut().expect("a kind that was used").numbers;
            numbers.drain(..used);
            // All possibilities have used exactly these calls, so the index of the group can be reused.
            if numbers.is_empty() {
                *lost = None;
            }
            self.possibilities.iter_mut().for_each(|here| here.used.take(kind, used));
        }
    }

    /// Returns the evidence that none of these possibilities, the longest so far, can continue with
    /// the call in `slot`.
    fn evidence(&mut self, mut ends: Vec<Possibility<M>>, slot: usize) -> Box<Evidence> {
        // The longest order comes first, because the evidence shows the state of the first order.
        sort_by_key(&mut ends, |end| std::cmp::Reverse(end.length));
        let mut evidence = Evidence { engine: super::ENGINE.to_owned(), ..Evidence::default() };
        for end in ends {
            let end = self.record_order(end);
            let order = self.orders.spell(end.order);
            if evidence.partial.len() == SHOWN || evidence.partial.contains(&order) {
                continue;
            }
            if evidence.partial.is_empty() {
                evidence.state = end.state.state_text();
            }
            evidence.partial.push(order);
            let call = closure::call(&self.window, slot);
            let rets = match &end.places[slot] {
                CallPlace::Taken(answer) => answer.rets.clone(),
                CallPlace::Open(_) => end.state.returns(&call.op),
            };
            for text in rets.iter().map(|ret| M::ret_text(ret)) {
                if !evidence.expected.contains(&text) {
                    evidence.expected.push(text);
                }
            }
        }
        let calls = self.window.slots.iter().flatten();
        evidence.misfit = closure::call(&self.window, slot).number as usize;
        evidence.part = calls.map(|call| call.number as usize).collect();
        evidence.part.extend(evidence.partial.iter().flatten());
        evidence.part.sort_unstable();
        evidence.part.dedup();
        Box::new(evidence)
    }
}
