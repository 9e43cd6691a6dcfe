//! A brute-force check of linearizability, and checks of a checker's witness or evidence.
//!
//! The checker is compared with this code. So the code is deliberately simple and slow, and shares only the model with
//! the checker.

use std::collections::HashSet;

use sim::check::Model;
use sim::check::history::Operation;
use sim::check::verdict::{Evidence, Verdict};

/// A history of a model.
pub type History<M> = [Operation<<M as Model>::Op, <M as Model>::Ret>];

/// Returns `true` if some order of all returned operations and some pending operations explains the
/// history.
pub fn explicable<M: Model>(initial: &M, history: &History<M>) -> bool {
    explicable_in(initial, history, |i, j| history[i].precedes(&history[j]))
}

/// Like [`explicable`], but `i` must be ordered before `j` if `before(i, j)` is true.
///
/// The result from a state depends only on the remaining operations, not on the path to the state. So each pair of a
/// state and its remaining operations is tried once. At most 32 operations.
pub fn explicable_in<M: Model>(
    initial: &M,
    history: &History<M>,
    before: impl Fn(usize, usize) -> bool,
) -> bool {
    let all = 0..history.len();
    let must = |i| all.clone().filter(|j| before(*j, i)).fold(0, |set, j| set | 1 << j);
    let trial = Trial {
        history,
        earlier: all.clone().map(must).collect(),
        returned: all.filter(|i| history[*i].returned.is_some()).fold(0, |set, i| set | 1 << i),
    };
    let all = ((1u64 << history.len()) - 1) as u32;
    trial.place(initial, all, &mut HashSet::new())
}

/// The search. A word represents a set of operations: bit `i` represents operation `i`.
struct Trial<'a, M: Model> {
    history: &'a History<M>,
    /// For each operation, the operations that must precede it.
    earlier: Vec<u32>,
    returned: u32,
}

impl<M: Model> Trial<'_, M> {
    fn place(&self, state: &M, left: u32, tried: &mut HashSet<(u32, M)>) -> bool {
        if left & self.returned == 0 {
            return true;
        }
        if !tried.insert((left, state.clone())) {
            return false;
        }
        let can = |i: &usize| left & 1 << i != 0 && left & self.earlier[*i] == 0;
        (0..self.history.len()).filter(can).any(|i| {
            let next = after(state, &self.history[i]);
            next.iter().any(|next| self.place(next, left & !(1 << i), tried))
        })
    }
}

/// Returns the fault of an order or of evidence under a given order relation, if any. An order must contain no
/// operation twice, contain all predecessors of each operation, and fit the model.
pub fn fault_in<M: Model>(
    initial: &M,
    history: &History<M>,
    verdict: &Verdict,
    before: impl Fn(usize, usize) -> bool,
) -> Option<String> {
    let order_fault = |order: &[usize]| {
        for (place, &i) in order.iter().enumerate() {
            if order[..place].contains(&i) {
                return Some(format!("{i} stands twice"));
            }
            if let Some(j) =
                (0..history.len()).find(|j| before(*j, i) && !order[..place].contains(j))
            {
                return Some(format!("{j} must stand before {i}"));
            }
        }
        run(initial, history, order).is_empty().then(|| format!("the model refuses {order:?}"))
    };
    match verdict {
        Verdict::Consistent(witness) => {
            // An engine may prove that an order exists without computing it, but a search computes it.
            let Some(order) = &witness.order else {
                let is_proof = witness.engine.contains("unique");
                return (!is_proof).then(|| format!("{} made no order", witness.engine));
            };
            let missing = absent(history, order).find(|i| history[*i].returned.is_some());
            missing.map(|i| format!("operation {i} is missing")).or_else(|| order_fault(order))
        }
        Verdict::Violated(evidence) => {
            let Evidence { partial, misfit, expected, .. } = evidence.as_ref();
            let mut possible = Vec::new();
            for order in partial {
                let states = run_to_effect(initial, history, order);
                let fits = states.iter().any(|s| !after(s, &history[*misfit]).is_empty());
                if order.contains(misfit) || fits {
                    return Some(format!("the misfit fits {order:?}"));
                }
                let with = [&order[..], &[*misfit]].concat();
                if let Some(fault) = order_fault(order) {
                    return Some(fault);
                }
                if let Some(j) =
                    (0..history.len()).find(|j| before(*j, *misfit) && !with.contains(j))
                {
                    return Some(format!("{j} must stand before the misfit"));
                }
                possible.extend(states.iter().flat_map(|s| s.returns(&history[*misfit].op)));
            }
            let possible: Vec<String> = possible.iter().map(M::ret_text).collect();
            let is_told = !expected.is_empty() && expected.iter().all(|t| possible.contains(t));
            (partial.is_empty() || !is_told).then(|| format!("possible were {possible:?}"))
        }
        Verdict::Unknown(_) => Some("undecided".to_owned()),
    }
}

/// Returns the number of orders that real time and the model allow. An order contains all returned
/// operations and any pending operations. Each possible next state of an operation counts.
pub fn orders<M: Model>(state: &M, history: &History<M>, taken: u32) -> u64 {
    let waits = |i: usize| taken & (1 << i) == 0;
    let all = 0..history.len();
    let is_complete = !all.clone().any(|i| waits(i) && history[i].returned.is_some());
    let more = all
        .clone()
        .filter(|i| waits(*i))
        .filter(|i| !all.clone().any(|j| waits(j) && history[j].precedes(&history[*i])));
    let more = more.map(|i| {
        let next = after(state, &history[i]);
        next.iter().map(|next| orders(next, history, taken | 1 << i)).sum::<u64>()
    });
    u64::from(is_complete) + more.sum::<u64>()
}

fn after<M: Model>(state: &M, call: &Operation<M::Op, M::Ret>) -> Vec<M> {
    let mut states = Vec::new();
    state.successors(&call.op, call.returned.as_ref().map(|(ret, _)| ret), &mut states);
    states
}

/// Returns the possible model states after these operations; empty if the model rejects them.
fn run<M: Model>(initial: &M, history: &History<M>, order: &[usize]) -> Vec<M> {
    order.iter().fold(vec![initial.clone()], |states, &index| {
        states.iter().flat_map(|state| after(state, &history[index])).collect()
    })
}

/// Like `run`, but a pending operation must take effect if an order contains it. If it may also fail (in a
/// nondeterministic model), only changed states count, unless all states are unchanged.
fn run_to_effect<M: Model>(initial: &M, history: &History<M>, order: &[usize]) -> Vec<M> {
    order.iter().fold(vec![initial.clone()], |states, &index| {
        let steps = states.iter().flat_map(|state| {
            let mut next = after(state, &history[index]);
            if history[index].returned.is_none() && next.iter().any(|next| next != state) {
                next.retain(|next| next != state);
            }
            next
        });
        steps.collect()
    })
}

/// Checks that `verdict` is `expected`, and that its witness or evidence is true.
pub fn check<M: Model>(initial: &M, history: &History<M>, verdict: &Verdict, expected: bool) {
    let fault = match verdict {
        Verdict::Consistent(witness) if expected => match &witness.order {
            Some(order) => witness_fault(initial, history, order),
            None => None,
        },
        Verdict::Violated(evidence) if !expected => evidence_fault(initial, history, evidence),
        _ => Some(format!("the judge says {expected}")),
    };
    if let Some(fault) = fault {
        panic!("{}: {fault}\n{verdict:?}\n{history:#?}", M::name());
    }
}

/// Returns the fault of a witness, if any.
pub fn witness_fault<M: Model>(
    initial: &M,
    history: &History<M>,
    order: &[usize],
) -> Option<String> {
    let missing = absent(history, order).find(|i| history[*i].returned.is_some());
    let missing = missing.map(|i| format!("operation {i} is missing"));
    missing.or_else(|| order_fault(initial, history, order))
}

fn absent<O, R>(history: &[Operation<O, R>], order: &[usize]) -> impl Iterator<Item = usize> {
    let mut present = vec![false; history.len()];
    order.iter().for_each(|i| present[*i] = true);
    (0..history.len()).filter(move |i| !present[*i])
}

/// Returns the fault of an order of a part of a history, if any. The order must contain every operation that returned
/// before the invocation of another in it, respect real time, and fit the model.
fn order_fault<M: Model>(initial: &M, history: &History<M>, order: &[usize]) -> Option<String> {
    if absent(history, order).count() + order.len() != history.len() {
        return Some(format!("an operation stands twice in {order:?}"));
    }
    // The earliest return among the operations that do not precede the current operation.
    let mut end = absent(history, order).map(|i| history[i].end()).min().unwrap_or(u64::MAX);
    for &index in order.iter().rev() {
        if end < history[index].invoked {
            return Some(format!("something returned before {index} was invoked, and comes later"));
        }
        end = end.min(history[index].end());
    }
    run(initial, history, order).is_empty().then(|| format!("the model refuses {order:?}"))
}

/// Returns the fault of evidence, if any; see the fields of [`Evidence`].
pub fn evidence_fault<M: Model>(
    initial: &M,
    history: &History<M>,
    evidence: &Evidence,
) -> Option<String> {
    let Evidence { partial, misfit, expected, state, part, .. } = evidence;
    let all: Vec<usize> = (0..history.len()).collect();
    let mut part = if part.is_empty() { all } else { part.clone() };
    part.sort_unstable();
    let ours: Vec<_> = part.iter().map(|i| history[*i].clone()).collect();
    let local = |i: &usize| part.iter().position(|j| j == i).expect("evidence stays in its part");
    let misfit = local(misfit);
    let partial: Vec<Vec<usize>> = partial.iter().map(|p| p.iter().map(local).collect()).collect();
    if partial.is_empty() || partial.len() > 8 {
        return Some(format!("{} partial orders", partial.len()));
    }
    let end = ours[misfit].end();
    let (mut possible, mut states_text) = (Vec::new(), Vec::new());
    for (number, order) in partial.iter().enumerate() {
        if let Some(fault) = order_fault(initial, &ours, order) {
            return Some(format!("partial order {number}: {fault}"));
        }
        if partial[..number].contains(order) || order.len() > partial[0].len() {
            return Some("partial orders must be distinct and the first the longest".to_owned());
        }
        if let Some(first) = absent(&ours, order).find(|i| ours[*i].end() < end) {
            return Some(format!("operation {first} of the part returns before the misfit"));
        }
        let states = run(initial, &ours, order);
        if order.contains(&misfit) || states.iter().any(|s| !after(s, &ours[misfit]).is_empty()) {
            return Some(format!("the misfit fits partial order {number}"));
        }
        for state in &states {
            for ret in state.returns(&ours[misfit].op) {
                let mut next = ours[misfit].clone();
                next.returned = Some((ret.clone(), end));
                assert!(!after(state, &next).is_empty(), "`returns` says what cannot be");
                possible.push(M::ret_text(&ret));
            }
        }
        if number == 0 {
            states_text = states.iter().map(|s| s.state_text()).collect();
        }
    }
    if expected.is_empty() || !expected.iter().all(|text| possible.contains(text)) {
        return Some(format!("possible were {possible:?}"));
    }
    if !states_text.contains(state) {
        return Some(format!("the state is one of {states_text:?}"));
    }
    // Operations that were invoked after the misfit returned must be irrelevant.
    let early: Vec<_> = ours.iter().filter(|call| call.invoked < end).cloned().collect();
    (early.len() < 12 && explicable(initial, &early))
        .then(|| "what was invoked before the misfit returned is consistent".to_owned())
}
