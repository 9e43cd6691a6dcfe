//! Registers with failed swaps and repeated values, even with lost calls.
//!
//! An observer is a read, or a failed swap, which saw *some* other value than it expected. The *source* of an observer
//! is the write of the value that it saw. The source of a successful swap is the cluster of the value that it replaced.
//! Once all sources are given, linearizability depends only on the zones, as in `register.rs` (see `sources/plan.rs`).
//! So a history is linearizable if and only if sources can be chosen for which the zones do not contradict each other.
//!
//! There are two plans. The *certain* plan holds the facts that all choices share: returned writers, observers with one
//! possible source left, and observers that fit a source without any change of zones. In the last case, this source is
//! as good as any other. The *chosen* plan is the certain plan with a source for every other observer. As long as the
//! chosen plan is consistent, the history is consistent. An event first tries to extend the chosen plan. If that fails,
//! the search in `sources/solve.rs` starts from the certain plan and tries other sources. The search is exact, and
//! gives up after a number of attempts. A pending or lost call takes effect if it is a source. Equal calls are
//! interchangeable, and the call invoked first is used.
//!
//! `sources/forget.rs` decides which facts become certain, and when the beginning of the chosen plan can be forgotten.

use unpause_ordered::sort_by_key;
mod candidates;
mod choose;
mod evidence;
mod forget;
mod plan;
mod pool;
mod solve;

use std::collections::VecDeque;

use self::plan::{NONE, SourcePlan, Zone};
use self::pool::Pool;
use self::solve::AttemptsExhausted;
use super::part::{PartResult, Resources};
use super::register::Replayed;
use super::slab::Slab;
use crate::model::{Key, Model};
use crate::unique::Action;
use crate::verdict::Limit;

pub(super) struct Sources<M: Model> {
    /// The state before all calls that are kept.
    start: M,
    calls: Slab<SourceCall<M>>,
    /// Writers that are not certain to take effect.
    pool: Pool,
    /// The certain plan. Clusters have the same indices in both plans.
    certain: SourcePlan,
    chosen: SourcePlan,
    /// Observers and successful swaps whose source is not certain, in the order of their returns.
    open_ended: Vec<u32>,
    /// The calls in flight, by slot.
    slots: Vec<Option<u32>>,
    free: Vec<usize>,
    now: u64,
    lost: usize,
    /// The observers that have returned and are kept, in the order of their returns.
    observers: Vec<u32>,
    /// The number of observers and clusters at which [`tidy`](Self::tidy) is due.
    full: usize,
    /// The spent writers (see `sources/forget.rs`): lost writers that the forgotten part uses as sources, although they
    /// did not certainly take effect. `debts` has the purpose of each.
    spent: Pool,
    debts: Vec<Debt>,
    /// The last forgotten operations, in the order of a linearization.
    forgotten: VecDeque<u64>,
}

struct SourceCall<M: Model> {
    op: M::Op,
    ret: Option<M::Ret>,
    number: u64,
    invoked: u64,
    /// The time of the return; `u64::MAX` before it, and forever if the call is lost.
    returned: u64,
    needs: Needs,
    /// The value that the call writes, if it takes effect.
    writes: Option<Key>,
    /// The cluster that the call writes, if any.
    node: u32,
    /// The cluster that the call observes.
    at: u32,
    /// True if the call certainly takes effect.
    certain: bool,
    lost: bool,
}

/// The register value that a call needs.
#[derive(Clone, Copy)]
enum Needs {
    Nothing,
    Value(Key),
    Other(Key),
}

/// The purpose of a spent writer.
struct Debt {
    call: u32,
    /// A replacement must have been invoked before this time.
    before: u64,
    /// If present, any plain writer of a value that is not in this list can be the replacement; if `None`, only an
    /// equal writer.
    others: Option<Vec<Key>>,
}

/// The reason why the engine refuses an event.
enum SourcesRefusal {
    Violated,
    TooMany,
    /// The model does not behave like the register that it claims to be.
    NotMine,
}

impl From<AttemptsExhausted> for SourcesRefusal {
    fn from(_: AttemptsExhausted) -> Self {
        SourcesRefusal::TooMany
    }
}

/// The result of an event.
pub(super) enum Taken {
    Left(PartResult),
    NotMine,
}

impl<M: Model> Sources<M> {
    /// Creates the engine for a register that starts in state `start`, with `slots` slots, all in use. The operations
    /// `placed` have already been placed, in this order.
    pub(super) fn resumed(start: &M, slots: usize, placed: impl Iterator<Item = u64>) -> Self {
        let value = start.register_value().expect("a state of a register");
        let mut certain = SourcePlan::default();
        let node = certain.add(NONE, value, 0);
        // The initial value was written and seen before the first event, which has time 1.
        certain.join(node, Zone { first: 0, last: 0 });
        Sources {
            start: start.clone(),
            chosen: certain.clone(),
            certain,
            pool: Pool::default(),
            calls: Slab::default(),
            open_ended: Vec::new(),
            slots: vec![None; slots],
            free: Vec::new(),
            now: 0,
            lost: 0,
            observers: Vec::new(),
            full: forget::FEW,
            spent: Pool::default(),
            debts: Vec::new(),
            forgotten: placed.collect(),
        }
    }

    /// Frees the unused slots that [`resumed`](Self::resumed) reserved.
    pub(super) fn release_slots(&mut self) {
        let slots = self.slots.iter().enumerate();
        self.free = slots.filter(|(_, call)| call.is_none()).map(|(slot, _)| slot).collect();
    }

    /// Begins a call in a new slot, or in `slot`, which [`resumed`](Self::resumed) reserved.
    ///
    /// # Errors
    /// The operation, if it is not an operation of a register.
    pub(super) fn invoke(
        &mut self,
        op: M::Op,
        number: u64,
        slot: Option<usize>,
    ) -> Result<usize, M::Op> {
        let (needs, writes) = match M::register_action(&op, None) {
            Some(Action::Add(value)) => (Needs::Nothing, Some(value)),
            Some(Action::Swap(from, value)) => (Needs::Value(from), Some(value)),
            Some(Action::Nothing | Action::Peek(_) | Action::Absent(_)) => (Needs::Nothing, None),
            _ => return Err(op),
        };
        self.now += 1;
        let invoked = self.now;
        let call = self.calls.add(SourceCall {
            op,
            ret: None,
            number,
            invoked,
            returned: u64::MAX,
            needs,
            writes,
            node: NONE,
            at: NONE,
            certain: false,
            lost: false,
        });
        // A pending writer may take effect or not, so it has no cluster before a call observes its value or it returns.
        if let Some(value) = writes {
            self.pool.add(call, invoked, value, needs.value());
        }
        let slot = slot.or_else(|| self.free.pop()).unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.slots[slot] = Some(call);
        Ok(slot)
    }

    /// Ends the call in `slot` with the result `ret`.
    pub(super) fn returned(
        &mut self,
        slot: usize,
        ret: &M::Ret,
        resources: &mut Resources<M>,
    ) -> Taken {
        let call = self.slots[slot].expect("a call in flight has its slot until it ends");
        let it = &self.calls[call];
        let refused = match (M::register_action(&it.op, Some(ret)), it.writes) {
            (Some(Action::Add(value)), Some(own))
                if value == own && matches!(it.needs, Needs::Nothing) =>
            {
                // A plain write has the same results in every state.
                let mut after = Vec::new();
                self.start.successors(&it.op, Some(ret), &mut after);
                if after.is_empty() {
                    return Taken::NotMine;
                }
                self.end(call, ret);
                self.settle(call);
                Ok(())
            }
            (Some(Action::Swap(from, value)), Some(own))
                if value == own && it.needs.value() == Some(from) =>
            {
                self.end(call, ret);
                self.settle(call);
                self.replaced(call, resources)
            }
            (Some(Action::Peek(value)), _) => {
                self.observed(call, ret, Needs::Value(value), resources)
            }
            (Some(Action::Absent(value)), _) => {
                self.observed(call, ret, Needs::Other(value), resources)
            }
            (Some(Action::Nothing), None) => {
                self.calls.remove(call);
                self.close(slot);
                return Taken::Left(PartResult::Something);
            }
            _ => return Taken::NotMine,
        };
        let refused = refused.and_then(|()| {
            // After a violation, the call keeps its slot, because the evidence counts it among the calls in flight.
            self.close(slot);
            // Tidying takes time proportional to the number of kept calls, so it waits until this number has grown by a
            // fraction.
            if self.observers.len() + self.chosen.clusters.len() < self.full {
                Ok(())
            } else {
                self.tidy(resources)
            }
        });
        match refused {
            Ok(()) => Taken::Left(PartResult::Something),
            Err(SourcesRefusal::TooMany) => Taken::Left(PartResult::TooMany(Limit::Nodes)),
            // No other engine can take over after this one.
            Err(SourcesRefusal::NotMine) => Taken::Left(PartResult::TooMany(Limit::Nodes)),
            Err(SourcesRefusal::Violated) => Taken::Left(PartResult::Nothing(self.misfit(call))),
        }
    }

    /// Ends the call in `slot`, which did not take effect.
    pub(super) fn failed(&mut self, slot: usize, resources: &mut Resources<M>) -> PartResult {
        let call = self.close(slot);
        let is_certain = self.calls[call].certain;
        let was_source = !is_certain && self.withdraw(call);
        let left = if is_certain {
            // Some observer has no other possible source.
            Err(SourcesRefusal::Violated)
        } else if was_source {
            // The chosen plan contains an effect that never happened, so all uncertain sources are chosen again.
            self.choose(Vec::new(), resources)
        } else {
            Ok(())
        };
        match left {
            Ok(()) => {
                self.calls.remove(call);
                PartResult::Something
            }
            Err(SourcesRefusal::Violated) => {
                self.slots[slot] = Some(call);
                PartResult::Nothing(self.aborted(call))
            }
            Err(_) => PartResult::TooMany(Limit::Nodes),
        }
    }

    /// Ends the call in `slot`, whose result will never be known.
    pub(super) fn lost(&mut self, slot: usize) {
        let call = self.close(slot);
        if self.calls[call].writes.is_none() {
            // The call neither writes nor has a result, so it restricts nothing.
            self.calls.remove(call);
            return;
        }
        self.calls[call].lost = true;
        self.lost += usize::from(!self.calls[call].certain);
    }

    /// Returns the numbers of pending calls, of lost calls that may take effect, of slots, and of calls kept.
    pub(super) fn sizes(&self) -> [usize; 4] {
        let slots = self.slots.len();
        [
            slots - self.free.len(),
            self.lost,
            slots,
            self.observers.len() + self.chosen.clusters.len(),
        ]
    }

    fn close(&mut self, slot: usize) -> u32 {
        self.free.push(slot);
        self.slots[slot].take().expect("a call in flight has its slot until it ends")
    }

    fn end(&mut self, call: u32, ret: &M::Ret) {
        self.now += 1;
        let it = &mut self.calls[call];
        (it.ret, it.returned) = (Some(ret.clone()), self.now);
    }

    /// Counts the return of a writer, which certainly took effect. This contradicts nothing, because no call was
    /// invoked after the return.
    fn settle(&mut self, call: u32) {
        self.make_certain(call);
        let SourceCall { node, invoked, returned, .. } = self.calls[call];
        let span = Zone { first: returned, last: invoked };
        self.certain.join(node, span);
        self.chosen.join(node, span);
    }

    /// Moves a writer from the pool to the certain plan. The writer has a cluster from then on.
    fn make_certain(&mut self, call: u32) {
        let it = &mut self.calls[call];
        if it.certain {
            return;
        }
        it.certain = true;
        self.lost -= usize::from(it.lost);
        let value = it.writes.expect("it is a writer");
        self.pool.remove(call, it.invoked, value, it.needs.value());
        if it.node == NONE {
            // The cluster is added to both plans, because a cluster has the same index in both.
            it.node = self.certain.add(call, value, it.invoked);
            self.chosen.add(call, value, it.invoked);
        }
        self.certain.begin(it.node);
        self.chosen.begin(it.node);
        // A swap that took effect replaced some value, so it needs a source from now on.
        if matches!(it.needs, Needs::Value(_)) {
            self.open_ended.push(call);
        }
    }

    /// Removes the effect of a writer. Returns `true` if the writer was a source.
    fn withdraw(&mut self, call: u32) -> bool {
        let it = &mut self.calls[call];
        let Some(value) = it.writes else { return false };
        let was_source = self.chosen.takes_part(it.node);
        self.pool.remove(call, it.invoked, value, it.needs.value());
        was_source
    }

    /// Returns the events of the kept calls in order, for an engine that starts in state [`start`](Self::start). `None`
    /// if the forgotten part is not certain.
    pub(super) fn replay(&self) -> Option<Vec<Replayed<'_, M>>> {
        if !self.debts.is_empty() {
            return None;
        }
        let mut events = Vec::new();
        let mut slots = crate::hash::Table::default();
        for (slot, call) in self.slots.iter().enumerate() {
            slots.extend(call.map(|call| (self.calls[call].number, slot)));
        }
        // The times are doubled, so that the loss of a call fits between its invocation and the next event.
        for SourceCall { op, ret, number, invoked, returned, .. } in self.calls.iter() {
            let (number, slot) = (*number, slots.get(number).copied());
            events.push((2 * invoked, Replayed::Invoke { op, number, slot }));
            match ret {
                Some(ret) => events.push((2 * returned, Replayed::Return { number, ret })),
                None if slot.is_none() => events.push((2 * invoked + 1, Replayed::Lost { number })),
                None => {}
            }
        }
        sort_by_key(&mut events, |(time, _)| *time);
        Some(events.into_iter().map(|(_, event)| event).collect())
    }

    /// Returns the initial state of a replay.
    pub(super) fn start(&self) -> &M {
        &self.start
    }

    /// Returns the number of slots.
    pub(super) fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Returns the last operations that a replay leaves out.
    pub(super) fn forgotten(&self) -> impl Iterator<Item = u64> {
        self.forgotten.iter().copied()
    }
}

impl Needs {
    /// Returns the needed value, if a specific value is needed.
    fn value(self) -> Option<Key> {
        match self {
            Needs::Value(value) => Some(value),
            _ => None,
        }
    }
}
