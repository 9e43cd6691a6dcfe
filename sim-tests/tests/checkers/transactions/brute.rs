//! Levels of isolation judged by trying every order, and histories to judge.
//!
//! One representation serves both workloads. A key holds all values written to it; a read sees all of them, or only the
//! last value.

use sim::check::history::Operation;
use sim::check::transactions::{
    ListCall, ListTransaction, RegisterCall, RegisterTransaction, TransactionOutcome,
};
use sim_tests::histories::Draw;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Workload {
    List,
    Register,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    Committed,
    Aborted,
    Pending,
}

/// An operation of a transaction on a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Call {
    Write(usize, u8),
    Read(usize, Vec<u8>),
}

#[derive(Clone, Debug)]
pub(crate) struct Transaction {
    pub(crate) client: u32,
    pub(crate) invoked: u64,
    pub(crate) end: u64,
    pub(crate) fate: Fate,
    pub(crate) calls: Vec<Call>,
}

const KEYS: usize = 3;
type State = [Vec<u8>; KEYS];

fn view(workload: Workload, values: &[u8]) -> Vec<u8> {
    match workload {
        Workload::List => values.to_vec(),
        Workload::Register => values.last().copied().into_iter().collect(),
    }
}

/// Runs a transaction; false if a committed one could not have made its reads.
fn run(workload: Workload, transaction: &Transaction, state: &mut State) -> bool {
    transaction.calls.iter().all(|call| match call {
        Call::Write(key, value) => {
            state[*key].push(*value);
            true
        }
        Call::Read(key, saw) => {
            transaction.fate != Fate::Committed || view(workload, &state[*key]) == *saw
        }
    })
}

/// The constraint on an order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Time {
    None,
    Client,
    All,
}

fn before(time: Time, a: &Transaction, b: &Transaction) -> bool {
    let earlier = a.fate != Fate::Pending && a.end < b.invoked;
    match time {
        Time::None => false,
        Time::Client => earlier && a.client == b.client,
        Time::All => earlier,
    }
}

/// Returns `true` if some serial order of the committed transactions, and of some that never
/// returned, explains all results.
pub(crate) fn serializable(workload: Workload, history: &[Transaction], time: Time) -> bool {
    fn place(w: Workload, h: &[Transaction], time: Time, state: &State, left: u32) -> bool {
        let waits = |i: usize| left & (1 << i) != 0 && h[i].fate != Fate::Aborted;
        if !(0..h.len()).any(|i| waits(i) && h[i].fate == Fate::Committed) {
            return true;
        }
        (0..h.len()).filter(|i| waits(*i)).any(|i| {
            let blocked = (0..h.len()).any(|j| waits(j) && before(time, &h[j], &h[i]));
            let mut state = state.clone();
            !blocked && run(w, &h[i], &mut state) && place(w, h, time, &state, left & !(1 << i))
        })
    }
    place(workload, history, time, &State::default(), (1 << history.len()) - 1)
}

/// The fault of a serial order, if any.
pub(crate) fn order_fault(
    workload: Workload,
    history: &[Transaction],
    order: &[usize],
    time: Time,
) -> Option<String> {
    let mut state = State::default();
    for (at, i) in order.iter().enumerate() {
        if order[..at].contains(i) || history[*i].fate == Fate::Aborted {
            return Some(format!("T{i} does not belong"));
        }
        if order[at..].iter().any(|j| before(time, &history[*j], &history[*i])) {
            return Some(format!("T{i} comes too early"));
        }
        if !run(workload, &history[*i], &mut state) {
            return Some(format!("T{i} reads something else"));
        }
    }
    let missing = |i: &usize| history[*i].fate == Fate::Committed && !order.contains(i);
    (0..history.len()).find(missing).map(|i| format!("T{i} is missing"))
}

/// Returns `true` if some order of snapshots and commits explains all results.
pub(crate) fn snapshot_isolated(workload: Workload, history: &[Transaction]) -> bool {
    #[derive(Clone)]
    struct Open {
        index: usize,
        // For each key, the number of its values at the snapshot.
        seen: [usize; KEYS],
    }
    fn place(w: Workload, h: &[Transaction], state: &State, open: &[Open], left: u32) -> bool {
        let waits = |i: usize| left & (1 << i) != 0 && h[i].fate != Fate::Aborted;
        let committed = |i: usize| h[i].fate == Fate::Committed;
        if open.is_empty() && !(0..h.len()).any(|i| waits(i) && committed(i)) {
            return true;
        }
        let starts = (0..h.len()).filter(|i| waits(*i)).any(|i| {
            if !run(w, &h[i], &mut state.clone()) {
                return false;
            }
            let mut open = open.to_vec();
            open.push(Open { index: i, seen: [0, 1, 2].map(|key| state[key].len()) });
            place(w, h, state, &open, left & !(1 << i))
        });
        starts
            || (0..open.len()).any(|at| {
                let Open { index, seen } = &open[at];
                let mut state = state.clone();
                for call in &h[*index].calls {
                    if let Call::Write(key, _) = call {
                        let own = |value: &u8| h[*index].calls.contains(&Call::Write(*key, *value));
                        if state[*key][seen[*key]..].iter().any(|value| !own(value)) {
                            return false;
                        }
                    }
                }
                for call in &h[*index].calls {
                    if let Call::Write(key, value) = call {
                        state[*key].push(*value);
                    }
                }
                let mut open = open.to_vec();
                open.remove(at);
                place(w, h, &state, &open, left)
            })
    }
    place(workload, history, &State::default(), &[], (1 << history.len()) - 1)
}

/// Returns `true` if some choice of the committed transactions, with some order of the versions of each key, has none
/// of the anomalies G1a, G1b, G1c and G0. For registers the order of versions is free, so only reads matter.
pub(crate) fn read_committed(workload: Workload, history: &[Transaction]) -> bool {
    let pending: Vec<usize> =
        (0..history.len()).filter(|i| history[*i].fate == Fate::Pending).collect();
    (0..1u32 << pending.len()).any(|choice| {
        let chosen: Vec<usize> = (0..history.len())
            .filter(|i| match history[*i].fate {
                Fate::Committed => true,
                Fate::Aborted => false,
                Fate::Pending => choice & (1 << pending.iter().position(|j| j == i).unwrap()) != 0,
            })
            .collect();
        let mut lists: Vec<Vec<u8>> = Vec::new();
        any_order(workload, history, &chosen, &mut lists)
    })
}

fn writes(history: &[Transaction], chosen: &[usize], key: usize) -> Vec<(u8, usize)> {
    let mut found = Vec::new();
    for i in chosen {
        for call in &history[*i].calls {
            if let Call::Write(k, value) = call {
                if *k == key {
                    found.push((*value, *i));
                }
            }
        }
    }
    found
}

fn any_order(w: Workload, h: &[Transaction], chosen: &[usize], lists: &mut Vec<Vec<u8>>) -> bool {
    let key = lists.len();
    if key == KEYS {
        return shows_nothing(w, h, chosen, lists);
    }
    let values: Vec<u8> = writes(h, chosen, key).iter().map(|(value, _)| *value).collect();
    if w == Workload::Register {
        // One order of the versions is enough, because the order creates no edge at this level.
        lists.push(values);
        return any_order(w, h, chosen, lists) || {
            lists.pop();
            false
        };
    }
    permutations(&values, &mut |order| {
        lists.push(order.to_vec());
        let good = any_order(w, h, chosen, lists);
        lists.pop();
        good
    })
}

fn permutations(values: &[u8], found: &mut dyn FnMut(&[u8]) -> bool) -> bool {
    fn extend(
        left: &mut Vec<u8>,
        order: &mut Vec<u8>,
        found: &mut dyn FnMut(&[u8]) -> bool,
    ) -> bool {
        if left.is_empty() {
            return found(order);
        }
        (0..left.len()).any(|i| {
            order.push(left.remove(i));
            let good = extend(left, order, found);
            left.insert(i, order.pop().unwrap());
            good
        })
    }
    extend(&mut values.to_vec(), &mut Vec::new(), found)
}

fn shows_nothing(w: Workload, h: &[Transaction], chosen: &[usize], lists: &[Vec<u8>]) -> bool {
    let at = |from: usize, to: usize| from * h.len() + to;
    let mut edges = vec![false; h.len() * h.len()];
    for (key, list) in lists.iter().enumerate() {
        let all = writes(h, chosen, key);
        let writer = |value: u8| all.iter().find(|(v, _)| *v == value).map(|(_, i)| *i);
        let last = |value: u8| {
            let mut own = all.iter().filter(|(_, i)| Some(*i) == writer(value));
            own.next_back().is_some_and(|(v, _)| *v == value)
        };
        if w == Workload::List {
            for (i, a) in list.iter().enumerate() {
                for b in &list[i + 1..] {
                    edges[at(writer(*a).unwrap(), writer(*b).unwrap())] = true;
                }
            }
            // A transaction's own appends must be in the order in which the transaction executed them.
            let place = |value: &u8| list.iter().position(|other| other == value);
            for (a, b) in all.iter().zip(all.iter().skip(1)) {
                if a.1 == b.1 && place(&a.0) > place(&b.0) {
                    return false;
                }
            }
        }
        for i in chosen {
            for call in &h[*i].calls {
                let Call::Read(k, saw) = call else { continue };
                if *k != key || h[*i].fate != Fate::Committed {
                    continue;
                }
                if w == Workload::List && !list.starts_with(saw) {
                    return false;
                }
                let Some(value) = saw.last() else { continue };
                let Some(from) = writer(*value) else { return false };
                if from != *i && !last(*value) {
                    return false;
                }
                edges[at(from, *i)] |= from != *i;
            }
        }
    }
    for via in 0..h.len() {
        for from in 0..h.len() {
            for to in 0..h.len() {
                edges[at(from, to)] |= edges[at(from, via)] && edges[at(via, to)];
            }
        }
    }
    // A cycle of edges must contain two different transactions. An edge from a transaction to itself does not exist,
    // even if the transaction has several versions of a key.
    !(0..h.len()).any(|i| (0..h.len()).any(|j| i != j && edges[at(i, j)] && edges[at(j, i)]))
}

/// Returns a random history. Transactions run call by call over shared state with little or no isolation. Some reads
/// return an older state or a wrong value.
pub(crate) fn random(draw: &mut Draw, workload: Workload, count: usize) -> Vec<Transaction> {
    let keys = 1 + draw.below(KEYS);
    let clients = 1 + draw.below(3);
    let (atomic, lies, stale) = (draw.below(3) > 0, draw.below(12) == 0, draw.below(3) == 0);
    let (aborts, losses) = (draw.below(4) == 0, draw.below(3) == 0);
    let mut state = State::default();
    let mut history: Vec<Transaction> = Vec::new();
    // For each client, its open transaction and the number of remaining calls.
    let mut open: Vec<Option<(usize, usize)>> = vec![None; clients];
    let (mut time, mut value) = (0, 0);
    while history.len() < count || open.iter().any(Option::is_some) {
        let client = draw.below(clients);
        time += 1;
        let Some((index, left)) = open[client] else {
            if history.len() < count {
                let fate = match draw.below(6) {
                    0 if aborts => Fate::Aborted,
                    1 if losses => Fate::Pending,
                    _ => Fate::Committed,
                };
                let client = client as u32;
                history.push(Transaction { client, invoked: time, end: 0, fate, calls: vec![] });
                open[client as usize] = Some((history.len() - 1, 1 + draw.below(3)));
            }
            continue;
        };
        if left == 0 {
            history[index].end = time;
            open[client] = None;
            continue;
        }
        let calls = if atomic { left } else { 1 };
        for _ in 0..calls {
            let key = draw.below(keys);
            if draw.below(2) == 0 {
                value += 1;
                history[index].calls.push(Call::Write(key, value));
                if history[index].fate != Fate::Aborted || draw.below(4) == 0 {
                    state[key].push(value);
                }
                continue;
            }
            let mut length = state[key].len();
            if stale && draw.below(3) == 0 {
                length = draw.below(length + 1);
            }
            let mut saw = view(workload, &state[key][..length]);
            if lies && draw.below(3) == 0 && !saw.is_empty() {
                let at = draw.below(saw.len());
                saw[at] = 1 + draw.below(usize::from(value) + 1) as u8;
            }
            history[index].calls.push(Call::Read(key, saw));
        }
        open[client] = Some((index, left - calls));
    }
    history
}

fn operation<C, S>(
    t: &Transaction,
    op: Vec<C>,
    saw: Vec<S>,
) -> Operation<Vec<C>, TransactionOutcome<S>> {
    let outcome = match t.fate {
        Fate::Committed => Some(TransactionOutcome::Committed(saw)),
        Fate::Aborted => Some(TransactionOutcome::Aborted),
        Fate::Pending => None,
    };
    let returned = outcome.map(|outcome| (outcome, t.end));
    Operation { client: t.client, op, invoked: t.invoked, returned }
}

pub(crate) fn lists(history: &[Transaction]) -> Vec<ListTransaction<usize, u8>> {
    let convert = |t: &Transaction| {
        let op = t.calls.iter().map(|call| match call {
            Call::Write(key, value) => ListCall::Append(*key, *value),
            Call::Read(key, _) => ListCall::Read(*key),
        });
        operation(t, op.collect(), reads(t).map(<[u8]>::to_vec).collect())
    };
    history.iter().map(convert).collect()
}

pub(crate) fn registers(history: &[Transaction]) -> Vec<RegisterTransaction<usize, u8>> {
    let convert = |t: &Transaction| {
        let op = t.calls.iter().map(|call| match call {
            Call::Write(key, value) => RegisterCall::Write(*key, *value),
            Call::Read(key, _) => RegisterCall::Read(*key),
        });
        operation(t, op.collect(), reads(t).map(|saw| saw.last().copied()).collect())
    };
    history.iter().map(convert).collect()
}

fn reads(transaction: &Transaction) -> impl Iterator<Item = &[u8]> {
    transaction.calls.iter().filter_map(|call| match call {
        Call::Read(_, saw) => Some(saw.as_slice()),
        Call::Write(..) => None,
    })
}
