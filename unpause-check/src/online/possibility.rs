//! A possible state of the object with its calls, and sets of possibilities without redundant members.
//!
//! A [`Possibility`] has a model state and, for each call in flight, an index into shared data: the calls themselves
//! are stored once (see [`Window`]). A call in flight is *taken* if it has taken effect; its result is then determined.
//! If a call is still *open*, the possibility records the past states in which the call could have had no effect. For
//! example, a read that is open while values change may return any of these values, but these cases do not need
//! separate possibilities. This extends eager observers to results that are not known yet.

use std::hash::Hasher;
use std::sync::Arc;

use super::orders::BUILT;
use crate::hash::{Table, Weigher};
use crate::model::Model;

/// The unfinished calls, stored once for all possibilities.
pub(super) struct Window<M: Model> {
    /// The calls by slot. `None` is a free slot.
    pub(super) slots: Vec<Option<InFlight<M::Op>>>,
    /// Lost calls that may still take effect, grouped by equality. `None` is a free entry.
    pub(super) lost: Vec<Option<Lost<M::Op>>>,
}

/// A call in flight.
pub(super) struct InFlight<O> {
    pub(super) op: O,
    /// The call's number in the stream.
    pub(super) number: u64,
}

/// A group of equal lost calls.
pub(super) struct Lost<O> {
    pub(super) op: O,
    /// The numbers of the calls in the stream, ascending. A possibility that used `n` of these calls used the first
    /// `n`.
    pub(super) numbers: Vec<u64>,
}

pub(super) struct Possibility<M: Model> {
    pub(super) state: M,
    /// The place of each call, by slot. A free slot is open and has seen nothing.
    pub(super) places: Vec<CallPlace<M>>,
    /// The lost calls that have been used.
    pub(super) used: Used,
    /// The index of this possibility's order of operations in [`StreamOrders`](super::orders::StreamOrders).
    pub(super) order: u32,
    /// Operations that must still be appended to the order.
    pub(super) trail: Vec<u64>,
    /// The number of operations placed.
    pub(super) length: u64,
}

/// The number of used lost calls of each kind.
#[derive(Clone, Default)]
pub(super) struct Used(
    /// Invariant: ascending by kind, no number is 0.
    Vec<(u32, u32)>,
);

impl Used {
    /// Returns the number of used calls of a kind.
    pub(super) fn of(&self, kind: usize) -> usize {
        self.0
            .iter()
            .find(|(other, _)| *other == kind as u32)
            .map_or(0, |(_, count)| *count as usize)
    }

    /// Adds one used call of a kind.
    pub(super) fn add(&mut self, kind: usize) {
        let place = self.0.partition_point(|(other, _)| *other < kind as u32);
        match self.0.get_mut(place) {
            Some((other, count)) if *other == kind as u32 => *count += 1,
            _ => self.0.insert(place, (kind as u32, 1)),
        }
    }

    /// Removes this many used calls of a kind.
    pub(super) fn take(&mut self, kind: usize, number: usize) {
        if let Some((_, count)) = self.0.iter_mut().find(|(other, _)| *other == kind as u32) {
            *count -= number as u32;
        }
        self.0.retain(|(_, count)| *count > 0);
    }

    /// Returns the kinds with used calls.
    pub(super) fn kinds(&self) -> impl DoubleEndedIterator<Item = usize> {
        self.0.iter().map(|(kind, _)| *kind as usize)
    }

    /// Returns `true` if `other` used at least as many calls of each kind.
    fn is_within(&self, other: &Used) -> bool {
        self.0.iter().all(|(kind, count)| *count as usize <= other.of(*kind as usize))
    }
}

pub(super) enum CallPlace<M: Model> {
    Open(Vec<SeenAnswer<M>>),
    Taken(Arc<CallAnswer<M>>),
}

/// A moment at which an open call could have had no effect.
pub(super) struct SeenAnswer<M: Model> {
    pub(super) answer: Arc<CallAnswer<M>>,
    /// The last entry of the order before that moment.
    pub(super) after: u32,
}

/// The effect of a call, which determines its results.
pub(super) struct CallAnswer<M: Model> {
    before: M,
    after: M,
    /// The results that the model returns for this effect.
    pub(super) rets: Vec<M::Ret>,
    /// The approximate size in bytes.
    bytes: usize,
}

impl<M: Model> CallAnswer<M> {
    pub(super) fn new(before: &M, op: &M::Op, after: &M) -> Arc<Self> {
        let mut rets = before.returns(op);
        rets.retain(|ret| leads(before, op, Some(ret), after));
        let mut weigher = Weigher::default();
        before.hash(&mut weigher);
        after.hash(&mut weigher);
        // The results are assumed to be as large as one state. A state may need three times its size, as in
        // `Possibility::hash`.
        let state = 3 * weigher.bytes / 2 + size_of::<M>();
        let bytes = 3 * state + size_of::<Self>() + size_of::<SeenAnswer<M>>();
        Arc::new(CallAnswer { before: before.clone(), after: after.clone(), rets, bytes })
    }

    pub(super) fn allows(&self, op: &M::Op, ret: &M::Ret) -> bool {
        leads(&self.before, op, Some(ret), &self.after)
    }

    /// Returns `true` if both effects allow the same results. By the contract of [`Model::returns`], the results that
    /// the model returns determine the allowed results.
    fn allows_same(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
            // Without a list of results, only equal effects are known to allow equal results.
            || (!self.rets.is_empty() && self.rets == other.rets)
            || (self.before == other.before && self.after == other.after)
    }
}

fn leads<M: Model>(from: &M, op: &M::Op, ret: Option<&M::Ret>, to: &M) -> bool {
    let mut after = Vec::new();
    from.successors(op, ret, &mut after);
    after.contains(to)
}

impl<M: Model> Clone for CallPlace<M> {
    fn clone(&self) -> Self {
        match self {
            CallPlace::Open(seen) => CallPlace::Open(seen.clone()),
            CallPlace::Taken(answer) => CallPlace::Taken(answer.clone()),
        }
    }
}

impl<M: Model> Clone for SeenAnswer<M> {
    fn clone(&self) -> Self {
        SeenAnswer { answer: self.answer.clone(), after: self.after }
    }
}

impl<M: Model> Clone for Possibility<M> {
    fn clone(&self) -> Self {
        Possibility {
            state: self.state.clone(),
            places: self.places.clone(),
            used: self.used.clone(),
            order: self.order,
            trail: self.trail.clone(),
            length: self.length,
        }
    }
}

impl<M: Model> CallPlace<M> {
    pub(super) fn free() -> Self {
        CallPlace::Open(Vec::new())
    }

    pub(super) fn is_open(&self) -> bool {
        matches!(self, CallPlace::Open(_))
    }
}

impl<M: Model> Window<M> {
    /// Returns the number of slots plus the number of kinds of lost calls.
    pub(super) fn calls(&self) -> usize {
        self.slots.len() + self.lost.len()
    }

    /// Returns, for each slot, the answer of its call without effect in the state of `here`. `None` if the call must
    /// have an effect there, or is taken.
    pub(super) fn idle_answers(&self, here: &Possibility<M>) -> Vec<Option<Arc<CallAnswer<M>>>> {
        let idle = |(slot, place): (&Option<InFlight<M::Op>>, &CallPlace<M>)| {
            let call = slot.as_ref().filter(|_| place.is_open())?;
            let stays = leads(&here.state, &call.op, None, &here.state);
            stays.then(|| CallAnswer::new(&here.state, &call.op, &here.state))
        };
        self.slots.iter().zip(&here.places).map(idle).collect()
    }
}

impl<M: Model> Possibility<M> {
    /// Returns the possibility after placing operation `number` next, which leads to `state`. `idle` must be
    /// [`Window::idle_answers`] for this possibility.
    pub(super) fn after(&self, number: u64, state: M, idle: &[Option<Arc<CallAnswer<M>>>]) -> Self {
        let mut next = self.clone();
        // While the state stays the same, an open call can still be placed in it, so it is recorded only now.
        if state != next.state {
            let after =
                if self.trail.is_empty() { self.order } else { BUILT | self.trail.len() as u32 };
            for (place, answer) in next.places.iter_mut().zip(idle) {
                if let (CallPlace::Open(seen), Some(answer)) = (place, answer) {
                    // So the length of the list is at most the number of different results.
                    if !seen.iter().any(|old| old.answer.allows_same(answer)) {
                        seen.push(SeenAnswer { answer: answer.clone(), after });
                    }
                }
            }
            next.state = state;
        }
        next.trail.push(number);
        next.length += 1;
        next
    }

    /// Renames the entries that open calls recorded for past moments.
    pub(super) fn rename(&mut self, name: impl Fn(u32) -> u32) {
        for place in &mut self.places {
            if let CallPlace::Open(seen) = place {
                seen.iter_mut().for_each(|seen| seen.after = name(seen.after));
            }
        }
    }

    /// Returns `true` if the two possibilities differ only in observations and used lost calls.
    fn is_comparable(&self, other: &Self) -> bool {
        let same = |pair: (&CallPlace<M>, &CallPlace<M>)| match pair {
            (CallPlace::Open(_), CallPlace::Open(_)) => true,
            (CallPlace::Taken(a), CallPlace::Taken(b)) => a.allows_same(b),
            _ => false,
        };
        self.state == other.state && self.places.iter().zip(&other.places).all(same)
    }

    /// Returns `true` if this possibility can continue in every way in which `other` can. The two possibilities must be
    /// comparable. Two possibilities are comparable if the open calls of this possibility have seen at least as much,
    /// and if it has used only lost calls that `other` has used too.
    fn covers(&self, other: &Self) -> bool {
        let saw = |(own, other): (&CallPlace<M>, &CallPlace<M>)| match (own, other) {
            (CallPlace::Open(own), CallPlace::Open(other)) => other
                .iter()
                .all(|seen| own.iter().any(|mine| mine.answer.allows_same(&seen.answer))),
            _ => true,
        };
        self.used.is_within(&other.used) && self.places.iter().zip(&other.places).all(saw)
    }

    /// Returns the approximate size in bytes, without answers of earlier moments.
    pub(super) fn bytes(&self) -> usize {
        self.hash().1
    }

    /// Returns the approximate size of the answers that open calls have seen, in bytes. Possibilities that share an
    /// answer count an equal part of it each.
    pub(super) fn seen_bytes(&self) -> usize {
        let share = |seen: &SeenAnswer<M>| {
            // The division rounds up, so an answer never counts as nothing.
            seen.answer.bytes.div_ceil(Arc::strong_count(&seen.answer))
        };
        let lists = self.places.iter().filter_map(|place| match place {
            CallPlace::Open(seen) => Some(seen),
            CallPlace::Taken(_) => None,
        });
        lists.flatten().map(share).sum()
    }

    /// Returns a hash, and the approximate size in bytes.
    fn hash(&self) -> (u64, usize) {
        let mut hasher = Weigher::default();
        // Comparable possibilities must have equal hashes, so answers and used lost calls are left out.
        self.state.hash(&mut hasher);
        // The state itself and the states of its last answer. Each may need twice its size, or be in a tree that is
        // half empty.
        let states = 3 * (3 * hasher.bytes + size_of::<M>());
        let mut seen = 0;
        for place in &self.places {
            hasher.write_u8(u8::from(place.is_open()));
            if let CallPlace::Open(list) = place {
                seen += list.capacity();
            }
        }
        let lists = self.places.len() * size_of::<CallPlace<M>>()
            + seen * size_of::<SeenAnswer<M>>()
            + self.used.0.len() * size_of::<(u32, u32)>()
            + self.trail.len() * size_of::<u64>();
        (hasher.finish(), states + lists + size_of::<Self>())
    }
}

/// Possibilities in the order of their discovery; none of them covers another.
pub(super) struct Frontier<M: Model> {
    /// No member is covered by a later member.
    members: Vec<Option<Possibility<M>>>,
    /// The last member with each hash; `before` has, for each member, the previous member with the same hash.
    table: Table<u64, u32>,
    before: Vec<Option<u32>>,
    len: usize,
    /// The approximate size of all possibilities added, in bytes.
    bytes: usize,
}

impl<M: Model> Frontier<M> {
    pub(super) fn new() -> Self {
        Frontier {
            members: Vec::new(),
            table: Table::default(),
            before: Vec::new(),
            len: 0,
            bytes: 0,
        }
    }

    /// Adds a possibility unless it is already covered. Returns `true` if the possibility was added.
    pub(super) fn add(&mut self, new: Possibility<M>) -> bool {
        let number = self.members.len() as u32;
        let (hash, bytes) = new.hash();
        let first = self.table.get(&hash).copied();
        let mut at = first;
        while let Some(member) = at {
            // A removed member stays in the chain of its hash, because the chain leads to earlier members.
            if let Some(old) = &self.members[member as usize] {
                if old.is_comparable(&new) {
                    if old.covers(&new) {
                        return false;
                    }
                    if new.covers(old) {
                        self.members[member as usize] = None;
                        self.len -= 1;
                    }
                }
            }
            at = self.before[member as usize];
        }
        self.table.insert(hash, number);
        self.before.push(first);
        self.members.push(Some(new));
        self.len += 1;
        self.bytes += bytes;
        true
    }

    /// Returns the n-th member added, from 0, unless a later member covers it.
    pub(super) fn get(&self, number: usize) -> Option<&Possibility<M>> {
        self.members[number].as_ref()
    }

    /// Returns the number of possibilities added, including possibilities that are covered by now.
    pub(super) fn added(&self) -> usize {
        self.members.len()
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns the approximate size of all possibilities added, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn into_members(self) -> impl Iterator<Item = Possibility<M>> {
        self.members.into_iter().flatten()
    }
}
