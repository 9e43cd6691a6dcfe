//! The search for an order of transactions that explains all reads.
//!
//! An order is made of steps. For serializability a step is a transaction: it needs some versions to
//! be the current ones and makes others current. For snapshot isolation a transaction is two steps: the
//! snapshot needs versions and claims the keys that will be written, the commit writes them and
//! lets them go; no two transactions claim the same key at once, so the first committer wins.
//!
//! Since values are unique, a version that was replaced never comes back. So a step may be taken as soon as all
//! its predecessors are taken, but it must wait if it replaces a version that another step still needs, or
//! claims a key that is claimed. Every order that the search returns has been executed.

// tidy: never iterated: looked up only
use std::collections::HashSet;
use std::hash::BuildHasherDefault;
use unpause_ordered::sort_by_key;

use super::graph::{Graph, NONE};
use super::straight::straight;
use crate::hash::WordHasher;
use crate::limits::Meter;

/// The needs and effects of the transactions. Versions of keys have dense numbers.
pub(super) struct OrderProblem {
    /// The key of each version.
    pub(super) key: Vec<u32>,
    /// The version that each key has at the beginning.
    pub(super) initial: Vec<u32>,
    /// For each transaction, the versions that it reads. Empty if it takes no part.
    pub(super) reads: Vec<Vec<u32>>,
    /// For each transaction, the last version it makes of each key.
    pub(super) writes: Vec<Vec<u32>>,
    /// True if the transaction takes part.
    pub(super) counts: Vec<bool>,
    /// The order in which to try: transactions with a lower number first.
    pub(super) rank: Vec<u64>,
}

/// The result of a search.
pub(super) enum OrderResult {
    /// The transactions in order; for snapshot isolation, of their commits.
    Found(Vec<u32>),
    /// There is no order. The longest order found, and a transaction with which it cannot continue.
    None(Vec<u32>, u32),
    /// The budget ran out; the length of the longest order found.
    OutOfBudget(usize),
}

/// The needs and effects of a step.
#[derive(Clone, Default)]
pub(super) struct OrderStep {
    pub(super) transaction: u32,
    pub(super) needs: Vec<u32>,
    pub(super) puts: Vec<u32>,
    pub(super) claims: bool,
    pub(super) frees: bool,
    pub(super) after: Vec<u32>,
}

/// The state of the search.
pub(super) struct OrderState<'p> {
    pub(super) problem: &'p OrderProblem,
    pub(super) steps: &'p [OrderStep],
    pub(super) current: Vec<u32>,
    /// For each version, the number of steps not yet taken that need it.
    pub(super) needed: Vec<u32>,
    pub(super) claimed: Vec<bool>,
    /// For each step, the number of its predecessors not yet taken.
    pub(super) waits: Vec<u32>,
    /// True for each step that was taken.
    pub(super) taken: Vec<bool>,
    /// Further successors of each step, found during the search.
    pub(super) learned: Vec<Vec<u32>>,
}

impl<'p> OrderState<'p> {
    pub(super) fn new(problem: &'p OrderProblem, steps: &'p [OrderStep]) -> Self {
        let mut needed = vec![0; problem.key.len()];
        let mut waits = vec![0; steps.len()];
        for step in steps {
            step.needs.iter().for_each(|version| needed[*version as usize] += 1);
            step.after.iter().for_each(|other| waits[*other as usize] += 1);
        }
        let (claimed, taken) = (vec![false; problem.initial.len()], vec![false; steps.len()]);
        let (current, learned) = (problem.initial.clone(), vec![Vec::new(); steps.len()]);
        OrderState { problem, steps, current, needed, claimed, waits, taken, learned }
    }

    pub(super) fn key(&self, version: u32) -> usize {
        self.problem.key[version as usize] as usize
    }

    pub(super) fn written(&self, step: u32) -> &'p [u32] {
        &self.problem.writes[self.steps[step as usize].transaction as usize]
    }

    /// The key that a step without remaining predecessors must wait for.
    pub(super) fn blocked(&self, step: u32) -> Option<usize> {
        let OrderStep { needs, puts, claims, .. } = &self.steps[step as usize];
        if *claims {
            let mut keys = self.written(step).iter().map(|version| self.key(*version));
            if let Some(key) = keys.find(|key| self.claimed[*key]) {
                return Some(key);
            }
        }
        let mut keys = puts.iter().map(|version| self.key(*version));
        keys.find(|key| {
            let current = self.current[*key];
            let own = needs.iter().filter(|version| **version == current).count() as u32;
            self.needed[current as usize] > own
        })
    }

    /// Returns `true` if the versions that the step reads are current. They are, if all predecessors were taken
    /// and no version was replaced too early; it is checked all the same, so that an order is a proof.
    pub(super) fn reads_right(&self, step: u32) -> bool {
        let needs = &self.steps[step as usize].needs;
        needs.iter().all(|version| self.current[self.key(*version)] == *version)
    }

    /// Takes the step; returns the versions it replaced for [`undo`](OrderState::undo).
    pub(super) fn take(&mut self, step: u32) -> Vec<u32> {
        let steps = self.steps;
        let OrderStep { needs, puts, claims, frees, after, .. } = &steps[step as usize];
        self.taken[step as usize] = true;
        needs.iter().for_each(|version| self.needed[*version as usize] -= 1);
        let after = after.iter().chain(&self.learned[step as usize]);
        after.for_each(|other| self.waits[*other as usize] -= 1);
        if *claims || *frees {
            for version in self.written(step) {
                let key = self.key(*version);
                self.claimed[key] = *claims;
            }
        }
        let mut replaced = Vec::with_capacity(puts.len());
        for version in puts {
            let key = self.key(*version);
            replaced.push(std::mem::replace(&mut self.current[key], *version));
        }
        replaced
    }

    pub(super) fn undo(&mut self, step: u32, replaced: &[u32]) {
        let steps = self.steps;
        let OrderStep { needs, puts, claims, frees, after, .. } = &steps[step as usize];
        for (version, before) in puts.iter().zip(replaced).rev() {
            let key = self.key(*version);
            self.current[key] = *before;
        }
        if *claims || *frees {
            for version in self.written(step) {
                let key = self.key(*version);
                self.claimed[key] = !*claims;
            }
        }
        let after = after.iter().chain(&self.learned[step as usize]);
        after.for_each(|other| self.waits[*other as usize] += 1);
        needs.iter().for_each(|version| self.needed[*version as usize] += 1);
        self.taken[step as usize] = false;
    }
}

/// Searches for a serial order. `graph` holds the required order: for every version but the initial ones, at
/// least its writer before its readers.
pub(super) fn serial(problem: &OrderProblem, graph: &Graph, meter: &mut Meter<'_>) -> OrderResult {
    exhaustive(problem, &serial_steps(problem, graph), meter)
}

/// The first serial order by rank, if it holds. `None` does not mean that there is no order. `patience` is the
/// number of corrections in a row that may bring nothing new.
pub(super) fn forward(
    problem: &OrderProblem,
    graph: &Graph,
    patience: u32,
    meter: &mut Meter<'_>,
) -> Option<Vec<u32>> {
    straight(problem, &serial_steps(problem, graph), patience, meter)
}

fn serial_steps(problem: &OrderProblem, graph: &Graph) -> Vec<OrderStep> {
    let count = problem.reads.len();
    let mut steps = vec![OrderStep::default(); graph.nodes()];
    for (node, step) in steps.iter_mut().enumerate() {
        step.transaction = if node < count { node as u32 } else { NONE };
        if node < count && problem.counts[node] {
            step.needs.clone_from(&problem.reads[node]);
            step.puts.clone_from(&problem.writes[node]);
        }
    }
    with_order(steps, graph)
}

/// Searches for an order of snapshots and commits. `points` is [`Graph::points`] of the graph of the required
/// order.
pub(super) fn snapshot(
    problem: &OrderProblem,
    points: &Graph,
    meter: &mut Meter<'_>,
) -> OrderResult {
    let count = 2 * problem.reads.len();
    let mut steps = vec![OrderStep::default(); points.nodes()];
    for (node, step) in steps.iter_mut().enumerate() {
        let transaction = node / 2;
        step.transaction = if node < count { transaction as u32 } else { NONE };
        if node >= count || !problem.counts[transaction] {
            continue;
        }
        let writes = !problem.writes[transaction].is_empty();
        if node % 2 == 0 {
            step.needs.clone_from(&problem.reads[transaction]);
            step.claims = writes;
        } else {
            step.puts.clone_from(&problem.writes[transaction]);
            step.frees = writes;
        }
    }
    let steps = with_order(steps, points);
    match straight(problem, &steps, 16, meter) {
        Some(order) => OrderResult::Found(order),
        None => exhaustive(problem, &steps, meter),
    }
}

/// The successors of each step. No helper may lead a step back to itself, or it would wait for ever.
fn with_order(mut steps: Vec<OrderStep>, graph: &Graph) -> Vec<OrderStep> {
    for link in graph.all_links() {
        steps[link.from as usize].after.push(link.to);
    }
    for step in &mut steps {
        step.after.sort_unstable();
        step.after.dedup();
    }
    steps
}

fn is_last(problem: &OrderProblem, step: &OrderStep) -> bool {
    // Of a transaction in two steps, the commit: it claims nothing and releases the claims. A reader in two
    // steps may be placed by either.
    step.transaction != NONE && problem.counts[step.transaction as usize] && !step.claims
}

pub(super) fn orderly(problem: &OrderProblem, steps: &[OrderStep], taken: &[u32]) -> Vec<u32> {
    let mut seen = vec![false; problem.reads.len()];
    let mut order = Vec::new();
    for step in taken.iter().map(|step| &steps[*step as usize]) {
        if is_last(problem, step) && !std::mem::replace(&mut seen[step.transaction as usize], true)
        {
            order.push(step.transaction);
        }
    }
    order
}

pub(super) fn rank(problem: &OrderProblem, step: &OrderStep) -> u64 {
    if step.transaction == NONE { 0 } else { problem.rank[step.transaction as usize] }
}

/// Depth-first search with a memo.
///
/// A step that changes nothing is taken at once: waiting cannot help, since later steps never reduce what other
/// steps need. A configuration is the set of taken steps with the current versions; the memo holds a hash of
/// 128 bits, so two are confused with a probability of about nodes² / 2^129.
fn exhaustive(problem: &OrderProblem, steps: &[OrderStep], meter: &mut Meter<'_>) -> OrderResult {
    let mut state = OrderState::new(problem, steps);
    let mut been: HashSet<(u64, u64), BuildHasherDefault<WordHasher>> = HashSet::default();
    let mut is_taken = vec![false; steps.len()];
    let (mut taken, mut longest): (Vec<(u32, Vec<u32>)>, Vec<u32>) = (Vec::new(), Vec::new());
    let (mut best, mut misfit) = (0, NONE);
    let mut by_rank: Vec<u32> = (0..steps.len() as u32).collect();
    sort_by_key(&mut by_rank, |number| (rank(problem, &steps[*number as usize]), *number));
    // For each depth with a choice: the number of steps taken before it, and the steps left to try.
    let mut choices: Vec<(usize, Vec<u32>)> = Vec::new();
    // The bytes that they took when they were listed.
    let mut listed = 0usize;
    loop {
        // Take all free steps, in passes until a pass takes none.
        let mut more = true;
        while more {
            more = false;
            for number in by_rank.iter().copied() {
                let step = &steps[number as usize];
                let changes = !step.puts.is_empty() || step.claims;
                let waits = state.waits[number as usize] != 0;
                if is_taken[number as usize] || changes || waits || !state.reads_right(number) {
                    continue;
                }
                let replaced = state.take(number);
                is_taken[number as usize] = true;
                taken.push((number, replaced));
                more = true;
            }
            if !charge(meter, steps.len()) {
                return OrderResult::OutOfBudget(orderly(problem, steps, &longest).len());
            }
        }
        if taken.len() == steps.len() {
            let taken: Vec<u32> = taken.iter().map(|(number, _)| *number).collect();
            return OrderResult::Found(orderly(problem, steps, &taken));
        }
        let turn = |number: &u32| !is_taken[*number as usize] && state.waits[*number as usize] == 0;
        let mut next: Vec<u32> = by_rank.iter().copied().filter(turn).collect();
        if taken.len() > best || misfit == NONE {
            best = taken.len();
            longest = taken.iter().map(|(number, _)| *number).collect();
            let real = next.iter().find(|number| steps[**number as usize].transaction != NONE);
            misfit = real.map_or(0, |number| steps[*number as usize].transaction);
        }
        next.retain(|number| state.blocked(*number).is_none() && state.reads_right(*number));
        if !been.insert(signature(&state, &is_taken)) {
            next.clear();
        }
        next.reverse();
        next.shrink_to_fit();
        listed += size_of_val(&next[..]) + size_of::<(usize, Vec<u32>)>() + 16;
        // A set of hashes has at most twice the room that it needs, and three times while it grows.
        let held = listed + 3 * been.capacity() * size_of::<(u64, u64)>();
        choices.push((taken.len(), next));
        if !meter.hold(held) {
            return OrderResult::OutOfBudget(orderly(problem, steps, &longest).len());
        }
        loop {
            let Some((depth, left)) = choices.last_mut() else {
                return OrderResult::None(orderly(problem, steps, &longest), misfit);
            };
            while taken.len() > *depth {
                let (number, replaced) = taken.pop().expect("longer than the depth");
                state.undo(number, &replaced);
                is_taken[number as usize] = false;
            }
            if let Some(number) = left.pop() {
                let replaced = state.take(number);
                is_taken[number as usize] = true;
                taken.push((number, replaced));
                break;
            }
            if let Some((_, left)) = choices.pop() {
                let each = left.capacity() * size_of::<u32>() + size_of::<(usize, Vec<u32>)>() + 16;
                listed = listed.saturating_sub(each);
            }
        }
    }
}

/// Counts a pass over all steps: one configuration for every sixteen steps, so that a budget means about as
/// much time and memory here as elsewhere.
#[must_use]
fn charge(meter: &mut Meter<'_>, steps: usize) -> bool {
    (0..=steps / 16).all(|_| meter.visit(16))
}

fn signature(state: &OrderState<'_>, is_taken: &[bool]) -> (u64, u64) {
    use std::hash::Hasher;
    let (mut low, mut high) = (WordHasher::default(), WordHasher::default());
    high.write_u64(0x5851_f42d_4c95_7f2d);
    let mut feed = |word: u64| {
        low.write_u64(word);
        high.write_u64(word.rotate_left(32) ^ 0xd6e8_feb8_6659_fd93);
    };
    for chunk in is_taken.chunks(64) {
        feed(chunk.iter().fold(0, |word, taken| (word << 1) | u64::from(*taken)));
    }
    state.current.iter().for_each(|version| feed(u64::from(*version)));
    (low.finish(), high.finish())
}
