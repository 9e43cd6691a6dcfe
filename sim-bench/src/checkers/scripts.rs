//! The operations of the clients and the planted violation, for each object. `a < b` means that a returned before b was
//! invoked.

use std::collections::HashMap;
use std::marker::PhantomData;

use sim::check::history::Operation;
use sim::check::models::{
    CasRegister, CasRegisterOp, CasRegisterRet, Map, MapOp, MapRet, PriorityQueue, PriorityQueueOp,
    PriorityQueueRet, Queue, QueueOp, QueueRet, Register, RegisterOp, RegisterRet, Set, SetOp,
    Stack, StackOp, StackRet,
};

use super::history::{Calls, Draw, Script, Subject};

/// The maximum distance between the operations of a planted violation, as a number of operations.
const WINDOW: usize = 4000;

/// Returns a read r for which there are two writes w1 < w2 < r of its key, where no other operation writes the value of
/// w1. So r cannot return this value. The results are the indices of r and w1.
fn stale_read<O, R>(
    calls: &[Operation<O, R>],
    from: usize,
    key_read: impl Fn(&O) -> Option<u64>,
    key_written: impl Fn(&O) -> Option<u64>,
    unique: impl Fn(&O) -> bool,
) -> Option<(usize, usize)> {
    for read in from..calls.len() {
        let Some(key) = key_read(&calls[read].op) else { continue };
        let near = read.saturating_sub(WINDOW)..read;
        let written = |index: &usize| key_written(&calls[*index].op) == Some(key);
        let later = near.clone().rev().filter(written);
        let Some(later) = later.into_iter().find(|w2| calls[*w2].precedes(&calls[read])) else {
            continue;
        };
        let earlier = near
            .rev()
            .filter(written)
            .find(|w1| calls[*w1].precedes(&calls[later]) && unique(&calls[*w1].op));
        if let Some(earlier) = earlier {
            return Some((read, earlier));
        }
    }
    None
}

fn tell<O, R>(calls: &mut [Operation<O, R>], index: usize, ret: R) {
    let (told, _) = calls[index].returned.as_mut().expect("every operation returned");
    *told = ret;
}

/// Half reads, half writes, and each write has a new value.
#[derive(Default)]
pub(super) struct Values(u64);

impl Script for Values {
    type Model = Register;

    fn next(&mut self, _index: usize, draw: &mut Draw) -> RegisterOp {
        if draw.below(2) == 0 {
            return RegisterOp::Read;
        }
        self.0 += 1;
        RegisterOp::Write(self.0)
    }

    fn plant(&self, calls: &mut Calls<Register>, from: usize) -> bool {
        let read = |op: &RegisterOp| (*op == RegisterOp::Read).then_some(0);
        let written = |op: &RegisterOp| (*op != RegisterOp::Read).then_some(0);
        let Some((read, write)) = stale_read(calls, from, read, written, |_| true) else {
            return false;
        };
        let RegisterOp::Write(value) = calls[write].op else { unreachable!("it is a write") };
        tell(calls, read, RegisterRet::Value(value));
        true
    }
}

/// The same operations on 64 keys.
#[derive(Default)]
pub(super) struct Keys(u64);

impl Script for Keys {
    type Model = Map;

    fn next(&mut self, _index: usize, draw: &mut Draw) -> MapOp {
        let key = draw.below(64);
        if draw.below(2) == 0 {
            return MapOp::Get(key);
        }
        self.0 += 1;
        MapOp::Put(key, self.0)
    }

    fn plant(&self, calls: &mut Calls<Map>, from: usize) -> bool {
        let read = |op: &MapOp| match op {
            MapOp::Get(key) => Some(*key),
            _ => None,
        };
        let written = |op: &MapOp| match op {
            MapOp::Put(key, _) => Some(*key),
            _ => None,
        };
        let Some((read, write)) = stale_read(calls, from, read, written, |_| true) else {
            return false;
        };
        let MapOp::Put(_, value) = calls[write].op else { unreachable!("it is a write") };
        tell(calls, read, MapRet::Value(Some(value)));
        true
    }
}

/// Reads, writes and swaps of five values, and one write of a unique value.
pub(super) struct Cas {
    special_at: usize,
}

impl Cas {
    const SPECIAL: u64 = 1_000_000_007;
    const VALUES: u64 = 5;

    pub(super) fn new(operations: usize) -> Cas {
        Cas { special_at: operations * 9 / 10 }
    }
}

impl Script for Cas {
    type Model = CasRegister;

    fn next(&mut self, index: usize, draw: &mut Draw) -> CasRegisterOp {
        if index == self.special_at {
            return CasRegisterOp::Write(Cas::SPECIAL);
        }
        match draw.below(3) {
            0 => CasRegisterOp::Read,
            1 => CasRegisterOp::Write(draw.below(Cas::VALUES)),
            _ => CasRegisterOp::Cas(draw.below(Cas::VALUES), draw.below(Cas::VALUES)),
        }
    }

    fn plant(&self, calls: &mut Calls<CasRegister>, from: usize) -> bool {
        let read = |op: &CasRegisterOp| (*op == CasRegisterOp::Read).then_some(0);
        let written = |op: &CasRegisterOp| match op {
            CasRegisterOp::Write(_) => Some(0),
            _ => None,
        };
        let unique = |op: &CasRegisterOp| *op == CasRegisterOp::Write(Cas::SPECIAL);
        let Some((read, _)) = stale_read(calls, from, read, written, unique) else {
            return false;
        };
        tell(calls, read, CasRegisterRet::Value(Cas::SPECIAL));
        true
    }
}

/// A set: inserts of new members, one removal of each member, and lookups of recent members.
#[derive(Default)]
pub(super) struct Members {
    last: u64,
    removable: Vec<u64>,
}

impl Script for Members {
    type Model = Set;

    fn next(&mut self, _index: usize, draw: &mut Draw) -> SetOp {
        let percent = draw.below(100);
        if percent < 30 || self.last == 0 {
            self.last += 1;
            self.removable.push(self.last);
            SetOp::Insert(self.last)
        } else if percent < 58 && !self.removable.is_empty() {
            let place = draw.below(self.removable.len() as u64) as usize;
            SetOp::Remove(self.removable.swap_remove(place))
        } else {
            SetOp::Contains(self.last - draw.below(self.last.min(200)))
        }
    }

    /// Makes `contains(v)` return false although `add(v) < contains(v) <` every successful removal of v.
    fn plant(&self, calls: &mut Calls<Set>, from: usize) -> bool {
        let (mut inserted, mut removed) = (HashMap::new(), HashMap::new());
        for (index, call) in calls.iter().enumerate() {
            match (&call.op, &call.returned) {
                (SetOp::Insert(value), Some((true, _))) => inserted.insert(*value, index),
                (SetOp::Remove(value), Some((true, _))) => removed.insert(*value, index),
                _ => None,
            };
        }
        let wrong = (from..calls.len()).find(|look| {
            let SetOp::Contains(value) = &calls[*look].op else { return false };
            let Some(insert) = inserted.get(value) else { return false };
            calls[*insert].precedes(&calls[*look])
                && removed.get(value).is_none_or(|remove| calls[*look].precedes(&calls[*remove]))
        });
        if let Some(look) = wrong {
            tell(calls, look, false);
        }
        wrong.is_some()
    }
}

/// A collection to which items are added and from which they are removed.
pub(super) trait Collection: Subject {
    /// Returns the operation that adds item number `number`, counted from 1.
    fn add(number: u64) -> Self::Op;
    fn take() -> Self::Op;
    fn added(op: &Self::Op) -> Option<u64>;
    /// Returns the removed item, if this is the result of a removal that found an item.
    fn taken(ret: &Self::Ret) -> Option<u64>;
    fn result(item: u64) -> Self::Ret;
    /// Returns `true` if `first` must be removed before `second` while the collection holds both. Each item is given
    /// with its addition.
    fn comes_first(first: (u64, &Adding<Self>), second: (u64, &Adding<Self>)) -> bool;
}

/// The operation that added an item.
pub(super) type Adding<M> = Operation<<M as sim::check::Model>::Op, <M as sim::check::Model>::Ret>;

macro_rules! collection {
    ($model:ident, $op:ident, $ret:ident, $add:ident, $take:ident, $item:expr, $first:expr) => {
        impl Collection for $model {
            fn add(number: u64) -> $op {
                let item: fn(u64) -> u64 = $item;
                $op::$add(item(number))
            }
            fn take() -> $op {
                $op::$take
            }
            fn added(op: &$op) -> Option<u64> {
                match op {
                    $op::$add(item) => Some(*item),
                    _ => None,
                }
            }
            fn taken(ret: &$ret) -> Option<u64> {
                match ret {
                    $ret::Item(item) => *item,
                    _ => None,
                }
            }
            fn result(item: u64) -> $ret {
                $ret::Item(Some(item))
            }
            fn comes_first(first: (u64, &Adding<Self>), second: (u64, &Adding<Self>)) -> bool {
                let rule: fn((u64, &Adding<Self>), (u64, &Adding<Self>)) -> bool = $first;
                rule(first, second)
            }
        }
    };
}

collection!(Queue, QueueOp, QueueRet, Enqueue, Dequeue, |n| n, |a, b| a.1.precedes(b.1));
collection!(Stack, StackOp, StackRet, Push, Pop, |n| n, |a, b| b.1.precedes(a.1));
// Scattered and distinct priorities: multiplication by an odd factor modulo 2^31.
collection!(
    PriorityQueue,
    PriorityQueueOp,
    PriorityQueueRet,
    Insert,
    Pop,
    |n| n.wrapping_mul(0x2545_f491) & 0x7fff_ffff,
    |a, b| a.0 < b.0
);

/// Additions and removals, with about the given number of items in the collection.
pub(super) struct Items<M> {
    backlog: u64,
    last: u64,
    /// The number of removals that found an item.
    taken: u64,
    model: PhantomData<M>,
}

impl<M> Items<M> {
    pub(super) fn with(backlog: u64) -> Self {
        Items { backlog, last: 0, taken: 0, model: PhantomData }
    }
}

impl<M: Collection> Script for Items<M> {
    type Model = M;

    fn next(&mut self, _index: usize, draw: &mut Draw) -> M::Op {
        let full = self.last - self.taken > self.backlog;
        if draw.below(100) < if full { 40 } else { 60 } {
            self.last += 1;
            return M::add(self.last);
        }
        M::take()
    }

    fn done(&mut self, ret: &M::Ret) {
        self.taken += u64::from(M::taken(ret).is_some());
    }

    /// Swaps the results of two removals, one < the other, whose items were both in the collection before.
    fn plant(&self, calls: &mut Calls<M>, from: usize) -> bool {
        let added = calls.iter().enumerate();
        let added: HashMap<u64, usize> =
            added.filter_map(|(index, call)| Some((M::added(&call.op)?, index))).collect();
        let taken = |index: usize| M::taken(&calls[index].returned.as_ref()?.0);
        for first in from..calls.len() {
            let Some(item) = taken(first) else { continue };
            let add = &calls[added[&item]];
            if !add.precedes(&calls[first]) {
                continue;
            }
            for second in first + 1..calls.len().min(first + WINDOW) {
                let Some(other) = taken(second) else { continue };
                let other_add = &calls[added[&other]];
                if calls[first].precedes(&calls[second])
                    && other_add.precedes(&calls[first])
                    && M::comes_first((item, add), (other, other_add))
                {
                    tell(calls, first, M::result(other));
                    tell(calls, second, M::result(item));
                    return true;
                }
            }
        }
        false
    }
}
