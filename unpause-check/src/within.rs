//! Linearizability by a partial order: an order of all operations must respect only some pairs of real time.
//!
//! A depth-first search over the sets of operations already ordered, with the state after them. The search visits each
//! pair of a set and a state once. An operation that only observes is ordered as soon as it fits.

use super::hash::Table;
use super::limits::{Budget, Malformed, Meter};
use super::linearizable::linearizable;
use super::model::{Key, Model};
use crate::history::Operation;
use crate::verdict::{Evidence, Exhausted, Verdict, Witness};
use unpause_ordered::{Map, sort_by_key};

/// The name of the engine in verdicts.
const ENGINE: &str = "search by precedence";

/// Checks like [`linearizable`](super::linearizable()), but for a weaker order than real time. `precedes` receives two
/// indices, of operations of which the first returned before the invocation of the second. `precedes` returns `true` if
/// the first operation must come first, and must be transitive. `precedes` is not called for two operations of one
/// client, which keep their order.
///
/// This is linearizability under weak memory, if `precedes` is happens-before (Batty, Dodds and Gotsman 2013): a client
/// may miss the effects of an operation that does not happen before its own. With [`Model::partition`], the operations
/// of each key are checked alone. Then the orders of different keys may contradict each other.
///
/// # Errors
/// The errors of [`linearizable`](super::linearizable()).
///
/// # Cost
/// If the operations are linearizable in real time, the check costs as much as [`linearizable`](super::linearizable()),
/// which runs first. If they are not, the check takes up to 2^n configurations for n operations, if `precedes` orders
/// only few of them. Each of the two checks has the whole `budget`.
///
/// ```
/// use unpause_check::{Budget, Operation, linearizable_within, models::{Register, RegisterOp::*, RegisterRet::*}};
/// // client 0: |- Write(1) -|
/// // client 1:                |- Read: 0 -|
/// let history = [
///     Operation { client: 0, op: Write(1), invoked: 1, returned: Some((Done, 2)) },
///     Operation { client: 1, op: Read, invoked: 3, returned: Some((Value(0), 4)) },
/// ];
/// let check = |ordered: bool| {
///     linearizable_within(&Register::new(0), &history, &|_, _| ordered, &Budget::default()).unwrap()
/// };
/// assert!(check(true).is_violated());
/// assert!(check(false).is_consistent());
/// ```
pub fn linearizable_within<M: Model>(
    initial: &M,
    operations: &[Operation<M::Op, M::Ret>],
    precedes: &dyn Fn(usize, usize) -> bool,
    budget: &Budget<'_>,
) -> Result<Verdict, Malformed> {
    let verdict = linearizable(initial, operations, budget)?;
    if verdict.is_consistent() {
        // The order of real time also satisfies `precedes`.
        return Ok(verdict);
    }
    let mut meter = Meter::new(budget);
    let parts = parts::<M>(operations);
    for part in &parts {
        let mut search = Search::new(initial, operations, part, precedes);
        let found = search.run(&mut meter);
        let longest = search.longest.0.len();
        match found {
            Some(true) => {}
            Some(false) => {
                let mut evidence = search.evidence();
                if parts.len() > 1 {
                    evidence.part = part.clone();
                }
                return Ok(Verdict::Violated(Box::new(evidence)));
            }
            None => {
                return Ok(Verdict::Unknown(Exhausted {
                    nodes: meter.nodes,
                    longest,
                    operations: operations.len(),
                    limit: meter.limit(),
                }));
            }
        }
    }
    Ok(Verdict::Consistent(Witness { engine: ENGINE.to_owned(), order: None }))
}

/// Returns the operations of each key, sorted by invocation. If an operation has no key, all operations are one part.
fn parts<M: Model>(operations: &[Operation<M::Op, M::Ret>]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..operations.len()).collect();
    sort_by_key(&mut order, |index| operations[*index].invoked);
    let mut numbers: Map<Key, usize> = Map::new();
    let mut parts: Vec<Vec<usize>> = Vec::new();
    for index in &order {
        let Some(key) = M::partition(&operations[*index].op) else { return vec![order] };
        let number = *numbers.entry(key).or_insert(parts.len());
        if number == parts.len() {
            parts.push(Vec::new());
        }
        parts[number].push(*index);
    }
    parts
}

/// A set of operations, by their positions in the part.
type Mask = Box<[u64]>;

fn has(mask: &Mask, at: usize) -> bool {
    mask[at / 64] >> (at % 64) & 1 == 1
}

/// A configuration: the operations that are ordered, and the operations that may be next, with the state after each.
struct Frame<M> {
    done: Mask,
    /// The number of operations with a return that are not ordered yet.
    left: usize,
    next: Vec<(usize, M)>,
}

/// The search in one part.
struct Search<'a, M: Model> {
    operations: &'a [Operation<M::Op, M::Ret>],
    part: &'a [usize],
    /// For each operation, the operations that must come before it, as positions in the part. Transitive predecessors
    /// are omitted.
    before: Vec<Vec<usize>>,
    seen: Table<(Mask, M), ()>,
    /// The longest order as positions in the part, the same order as a set, and the state after this order.
    longest: (Vec<usize>, Mask, M),
}

/// The operations of one client so far: their positions in the part, and the latest return up to each of them.
type Lane = Vec<(usize, u64)>;

impl<'a, M: Model> Search<'a, M> {
    fn new(
        initial: &M,
        operations: &'a [Operation<M::Op, M::Ret>],
        part: &'a [usize],
        precedes: &dyn Fn(usize, usize) -> bool,
    ) -> Self {
        let call = |at: usize| &operations[part[at]];
        let mut lanes: Map<u32, Lane> = Map::new();
        let mut before = Vec::with_capacity(part.len());
        for at in 0..part.len() {
            let comes_first = |other: usize| {
                let is_own = call(other).client == call(at).client;
                call(other).precedes(call(at)) && (is_own || precedes(part[other], part[at]))
            };
            let mut first: Vec<usize> = Vec::new();
            for lane in lanes.values() {
                let from = first.len();
                for (other, latest) in lane.iter().rev() {
                    let kept = &first[from..];
                    if kept.last().is_some_and(|kept| *latest < call(*kept).invoked) {
                        break;
                    }
                    let is_implied = kept.iter().any(|kept| call(*other).precedes(call(*kept)));
                    if !is_implied && comes_first(*other) {
                        first.push(*other);
                    }
                }
            }
            before.push(first);
            let lane = lanes.entry(call(at).client).or_default();
            let latest = lane.last().map_or(0, |(_, latest)| *latest).max(call(at).end());
            lane.push((at, latest));
        }
        let nothing: Mask = vec![0; part.len().div_ceil(64)].into();
        let longest = (Vec::new(), nothing, initial.clone());
        Search { operations, part, before, seen: Table::default(), longest }
    }

    fn call(&self, at: usize) -> &'a Operation<M::Op, M::Ret> {
        &self.operations[self.part[at]]
    }

    /// Returns `true` if an order of all operations with a return exists; `None` if the budget runs out.
    fn run(&mut self, meter: &mut Meter<'_>) -> Option<bool> {
        let left = (0..self.part.len()).filter(|at| self.call(*at).returned.is_some()).count();
        let (_, nothing, initial) = self.longest.clone();
        let bytes = 2 * (size_of_val(&*nothing) + size_of::<(Mask, M)>()) + 64;
        let mut order = Vec::new();
        let mut stack = vec![self.frame(nothing, initial, left)];
        while let Some(top) = stack.last_mut() {
            if top.left == 0 {
                return Some(true);
            }
            let Some((at, state)) = top.next.pop() else {
                stack.pop();
                order.pop();
                continue;
            };
            let mut done = top.done.clone();
            done[at / 64] |= 1 << (at % 64);
            let left = top.left - usize::from(self.call(at).returned.is_some());
            if self.seen.insert((done.clone(), state.clone()), ()).is_some() {
                continue;
            }
            if !meter.visit(self.part.len() as u32) || !meter.hold(bytes * self.seen.len()) {
                return None;
            }
            order.push(at);
            if order.len() > self.longest.0.len() {
                self.longest = (order.clone(), done.clone(), state.clone());
            }
            stack.push(self.frame(done, state, left));
        }
        Some(false)
    }

    /// Returns `true` if all operations that must come before this one are ordered.
    fn is_enabled(&self, at: usize, done: &Mask) -> bool {
        !has(done, at) && self.before[at].iter().all(|before| has(done, *before))
    }

    fn frame(&self, done: Mask, state: M, left: usize) -> Frame<M> {
        let (mut next, mut found) = (Vec::new(), Vec::new());
        for at in (0..self.part.len()).filter(|at| self.is_enabled(*at, &done)) {
            let Operation { op, returned, .. } = self.call(at);
            let ret = returned.as_ref().map(|(ret, _)| ret);
            state.successors(op, ret, &mut found);
            // An operation that only observes and fits now can stay here in each order.
            if !found.is_empty() && ret.is_some_and(|ret| M::observes(op, ret)) {
                next = vec![(at, state.clone())];
                break;
            }
            next.extend(found.drain(..).map(|state| (at, state)));
        }
        // The operation that began first is tried first.
        next.reverse();
        Frame { done, left, next }
    }

    /// Returns the longest order, and an operation that does not fit after it.
    fn evidence(&self) -> Evidence {
        let (order, done, state) = &self.longest;
        let open = (0..self.part.len()).filter(|at| self.is_enabled(*at, done));
        let returned = open.filter(|at| self.call(*at).returned.is_some());
        let misfit = returned.min_by_key(|at| self.call(*at).end());
        let misfit = misfit.expect("the first of the remaining operations is enabled");
        let mut expected: Vec<String> = Vec::new();
        for ret in state.returns(&self.call(misfit).op) {
            let text = M::ret_text(&ret);
            if !expected.contains(&text) {
                expected.push(text);
            }
        }
        Evidence {
            engine: ENGINE.to_owned(),
            anomaly: None,
            partial: vec![order.iter().map(|at| self.part[*at]).collect()],
            misfit: self.part[misfit],
            expected,
            state: state.state_text(),
            part: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::{CasRegister, CasRegisterOp, CasRegisterRet};

    type Call = Operation<CasRegisterOp, CasRegisterRet>;

    /// Tries every order.
    fn explicable(
        state: &CasRegister,
        calls: &[Call],
        left: &[usize],
        comes_first: &dyn Fn(usize, usize) -> bool,
    ) -> bool {
        left.iter().all(|at| calls[*at].returned.is_none())
            || (0..left.len()).any(|i| {
                let (mut next, mut rest) = (state.clone(), left.to_vec());
                let at = rest.remove(i);
                let ret = next.step(&calls[at].op);
                !left.iter().any(|other| comes_first(*other, at))
                    && calls[at].returned.as_ref().is_none_or(|(actual, _)| *actual == ret)
                    && explicable(&next, calls, &rest, comes_first)
            })
    }

    /// Returns a random history of three clients over two values.
    fn history(draw: &mut impl FnMut(u64) -> u64) -> Vec<Call> {
        use {CasRegisterOp::*, CasRegisterRet::*};
        let mut calls: Vec<Call> = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        for time in 0..14 {
            let is_free = |client: &u32| !open.iter().any(|at| calls[*at].client == *client);
            let client = (0..3).find(is_free).filter(|_| calls.len() < 6 && draw(2) == 0);
            if let Some(client) = client {
                let op = match draw(4) {
                    0 => Read,
                    1 => Write(draw(2)),
                    _ => Cas(draw(2), draw(2)),
                };
                open.push(calls.len());
                calls.push(Operation { client, op, invoked: time, returned: None });
            } else if !open.is_empty() && draw(8) > 0 {
                let call = open.remove(draw(open.len() as u64) as usize);
                let ret = match calls[call].op {
                    Read => Value(draw(2)),
                    Write(_) => Done,
                    Cas(..) => Swapped(draw(2) == 0),
                };
                calls[call].returned = Some((ret, time));
            }
        }
        calls
    }

    #[test]
    fn the_search_agrees_with_brute_force() {
        let mut word = 1u64;
        let mut draw = |bound| {
            word = word.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (word >> 33) % bound
        };
        let (budget, initial) = (Budget::default(), CasRegister::new(0));
        let mut found = [0, 0];
        for _ in 0..10_000 {
            let calls = history(&mut draw);
            let relation = draw(1 << 16);
            // The relation is defined between clients: it holds for some pairs of clients.
            let precedes = |a: usize, b: usize| {
                relation >> (3 * calls[a].client + calls[b].client) & 1 == 1 && (a + b) % 3 > 0
            };
            let is_own = |a: usize, b: usize| calls[a].client == calls[b].client;
            let direct = |a: usize, b: usize| {
                calls[a].precedes(&calls[b]) && (is_own(a, b) || precedes(a, b))
            };
            // The relation of the search must be transitive, as happens-before is.
            let mut closed = vec![vec![false; calls.len()]; calls.len()];
            for (a, row) in closed.iter_mut().enumerate() {
                (0..calls.len()).for_each(|b| row[b] = direct(a, b));
            }
            for via in 0..calls.len() {
                for a in 0..calls.len() {
                    for b in 0..calls.len() {
                        closed[a][b] |= closed[a][via] && closed[via][b];
                    }
                }
            }
            let comes_first = |a: usize, b: usize| closed[a][b];
            let all: Vec<usize> = (0..calls.len()).collect();
            let expected = explicable(&initial, &calls, &all, &comes_first);
            let verdict = linearizable_within(&initial, &calls, &comes_first, &budget).unwrap();
            found[usize::from(expected)] += 1;
            assert_eq!(verdict.is_consistent(), expected, "{calls:?} {closed:?}: {verdict:?}");
            assert_eq!(verdict.is_violated(), !expected);
            // If all pairs of real time count, the verdict equals the verdict of `linearizable`.
            let verdict = linearizable_within(&initial, &calls, &|_, _| true, &budget).unwrap();
            let real = linearizable(&initial, &calls, &budget).unwrap();
            assert_eq!(verdict.is_consistent(), real.is_consistent());
        }
        assert!(found.iter().all(|count| *count > 1000), "{found:?}");
    }

    #[test]
    fn each_key_has_an_order_of_its_own() {
        use crate::models::{Map as MapModel, MapOp::*, MapRet::*};
        let call = |client, op, time, ret| Operation {
            client,
            op,
            invoked: time,
            returned: Some((ret, time + 1)),
        };
        // Store buffering: each client puts one key, and then a read of the other key misses the other client's put.
        let history = [
            call(0, Put(0, 1), 0, Value(None)),
            call(1, Put(1, 1), 2, Value(None)),
            call(0, Get(1), 4, Value(None)),
            call(1, Get(0), 6, Value(None)),
        ];
        let within = |ordered: bool| {
            let precedes = move |_, _| ordered;
            linearizable_within(&MapModel::new(), &history, &precedes, &Budget::default()).unwrap()
        };
        assert!(within(false).is_consistent());
        let Verdict::Violated(evidence) = within(true) else { panic!("the read is stale") };
        assert_eq!(evidence.part.len(), 2);
    }
}
