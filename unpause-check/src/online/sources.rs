//! Registers with failed swaps and repeated values, under lost calls.
//!
//! The *source* of an observer (a read, or a failed swap, which saw *some* other value) is the write of the
//! value that it saw. The source of a successful swap is the cluster of the value that it replaced.
//! Given all sources, linearizability is the question about zones that `register.rs` answers (see
//! `sources/plan.rs`). So a history is linearizable if and only if sources can be chosen with which
//! the zones do not contradict each other.
//!
//! There are two plans. The *certain* plan holds what is the same in all choices: writing calls
//! that returned, observers with one possible source left, and observers that some source holds
//! without any change of zones. Such a source is as good as any other. The *chosen* one is the
//! certain one with a source for every other observer. As long as it is consistent, the history is.
//! An event first tries to extend it; when that fails, the search in `sources/solve.rs` tries other
//! sources, starting from the certain plan. It is exact, and gives up after a number of attempts.
//! An open or lost call takes effect if it is a source. Equal calls are interchangeable, and the
//! call invoked first is used.
//!
//! `sources/forget.rs` decides what becomes certain, and when the beginning of the chosen plan can be
//! forgotten.

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
    /// The state before all that is kept.
    start: M,
    calls: Slab<SourceCall<M>>,
    /// Writers that are not certain to take effect.
    pool: Pool,
    /// Clusters have the same indices in both.
    certain: SourcePlan,
    chosen: SourcePlan,
    /// Calls whose source is not certain, by their returns: observers, and successful swaps.
    open_ended: Vec<u32>,
    /// The calls in flight by slot.
    slots: Vec<Option<u32>>,
    free: Vec<usize>,
    now: u64,
    lost: usize,
    /// Observers that have returned and are kept, by their returns.
    observers: Vec<u32>,
    /// The number of observers and clusters at which [`tidy`](Self::tidy) is due.
    full: usize,
    /// Lost writers that were sources in the forgotten part although another might have been (see
    /// `sources/forget.rs`), with the purpose of each.
    spent: Pool,
    debts: Vec<Debt>,
    /// The last of the forgotten operations, in the order of a linearization.
    forgotten: VecDeque<u64>,
}

struct SourceCall<M: Model> {
    op: M::Op,
    ret: Option<M::Ret>,
    number: u64,
    invoked: u64,
    /// `u64::MAX` before it has returned, and for ever if it is lost.
    returned: u64,
    needs: Needs,
    /// The value that it writes, if it takes effect.
    writes: Option<Key>,
    /// The cluster that it writes, if it has one.
    node: u32,
    /// The cluster that it observes.
    at: u32,
    /// True if it certainly takes effect.
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
    /// A writer that replaces it was invoked before this time.
    before: u64,
    /// Any plain writer of another value replaces it; `None` if only an equal writer does.
    others: Option<Vec<Key>>,
}

/// The reason why an event was refused.
enum SourcesRefusal {
    Violated,
    TooMany,
    /// The model does not behave like the register that it describes.
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
    /// The same, for a register that starts as `start` with a number of slots, all in use, after operations
    /// that were placed before, in this order.
    pub(super) fn resumed(start: &M, slots: usize, placed: impl Iterator<Item = u64>) -> Self {
        let value = start.register_value().expect("a state of a register");
        let mut certain = SourcePlan::default();
        let node = certain.add(NONE, value, 0);
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

    /// Frees the unused slots that [`resumed`](Self::resumed) left.
    pub(super) fn release_slots(&mut self) {
        let slots = self.slots.iter().enumerate();
        self.free = slots.filter(|(_, call)| call.is_none()).map(|(slot, _)| slot).collect();
    }

    /// Begins a call in a slot of its own, or in a slot that [`resumed`](Self::resumed) left.
    ///
    /// # Errors
    /// The operation, if it is not one of a register.
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
            (Some(Action::Add(_)), Some(_)) if matches!(it.needs, Needs::Nothing) => {
                self.end(call, ret);
                self.settle(call);
                Ok(())
            }
            (Some(Action::Swap(..)), Some(_)) if matches!(it.needs, Needs::Value(_)) => {
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
            self.close(slot);
            // Tidying costs time in proportion to all that is kept, so it waits until that has
            // grown by a part.
            if self.observers.len() + self.chosen.clusters.len() < self.full {
                Ok(())
            } else {
                self.tidy(resources)
            }
        });
        match refused {
            Ok(()) => Taken::Left(PartResult::Something),
            Err(SourcesRefusal::TooMany) => Taken::Left(PartResult::TooMany(Limit::Nodes)),
            // It is too late for another engine to take over.
            Err(SourcesRefusal::NotMine) => Taken::Left(PartResult::TooMany(Limit::Nodes)),
            Err(SourcesRefusal::Violated) => Taken::Left(PartResult::Nothing(self.misfit(call))),
        }
    }

    /// Ends the call in `slot`, which did not happen.
    pub(super) fn failed(&mut self, slot: usize, resources: &mut Resources<M>) -> PartResult {
        let call = self.close(slot);
        let is_certain = self.calls[call].certain;
        let was_source = !is_certain && self.withdraw(call);
        let left = if is_certain {
            // Some observer has no other source.
            Err(SourcesRefusal::Violated)
        } else if was_source {
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
            self.calls.remove(call);
            return;
        }
        self.calls[call].lost = true;
        self.lost += usize::from(!self.calls[call].certain);
    }

    /// The numbers of open calls, of lost calls that may take effect, of slots, and of calls kept.
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

    /// Counts the return of a writer, which certainly took effect. That contradicts nothing, because no call
    /// was invoked since.
    fn settle(&mut self, call: u32) {
        self.make_certain(call);
        let SourceCall { node, invoked, returned, .. } = self.calls[call];
        let span = Zone { first: returned, last: invoked };
        self.certain.join(node, span);
        self.chosen.join(node, span);
    }

    /// Takes a writer out of the pool. It has a cluster from then on.
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
            it.node = self.certain.add(call, value, it.invoked);
            self.chosen.add(call, value, it.invoked);
        }
        self.certain.begin(it.node);
        self.chosen.begin(it.node);
        if matches!(it.needs, Needs::Value(_)) {
            self.open_ended.push(call);
        }
    }

    /// Removes the effect of a writer. Returns `true` if it was a source.
    fn withdraw(&mut self, call: u32) -> bool {
        let it = &mut self.calls[call];
        let Some(value) = it.writes else { return false };
        let was_source = self.chosen.takes_part(it.node);
        self.pool.remove(call, it.invoked, value, it.needs.value());
        was_source
    }

    /// The events of the calls that are kept, in their order, for an engine that starts as
    /// [`start`](Self::start). `None` if the forgotten part is not certain.
    pub(super) fn replay(&self) -> Option<Vec<Replayed<'_, M>>> {
        if !self.debts.is_empty() {
            return None;
        }
        let mut events = Vec::new();
        let mut slots = crate::hash::Table::default();
        for (slot, call) in self.slots.iter().enumerate() {
            slots.extend(call.map(|call| (self.calls[call].number, slot)));
        }
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

    /// The state that a replay starts from.
    pub(super) fn start(&self) -> &M {
        &self.start
    }

    /// The number of slots.
    pub(super) fn slots(&self) -> usize {
        self.slots.len()
    }

    /// The last operations that a replay leaves out.
    pub(super) fn forgotten(&self) -> impl Iterator<Item = u64> {
        self.forgotten.iter().copied()
    }
}

impl Needs {
    /// The needed value, if it is a specific one.
    fn value(self) -> Option<Key> {
        match self {
            Needs::Value(value) => Some(value),
            _ => None,
        }
    }
}
