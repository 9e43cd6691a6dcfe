//! The search for a transaction order that explains all reads.
//!
//! An order consists of steps. For serializability a step is a transaction: it needs some versions to be current and
//! makes other versions current. For snapshot isolation a transaction has two steps. The snapshot needs versions and
//! claims the keys that the transaction will write; the commit writes these keys and releases them. No two transactions
//! claim the same key at once, so the first committer wins.
//!
//! Values are unique, so a replaced version never becomes current again. A step may therefore be taken as soon as all
//! its predecessors are taken, with two exceptions. The step must wait if it replaces a version that another step still
//! needs, or if it claims a key that is already claimed. Every order that the search returns has been executed.

// tidy: never iterated: looked up only
use std::collections::HashSet;
use std::hash::BuildHasherDefault;
use unpause_ordered::sort_by_key;

use super::graph::{Graph, NONE};
use super::straight::straight;
use crate::hash::WordHasher;
use crate::limits::Meter;

/// The needs and effects of the transactions. The versions have dense numbers.
pub(super) struct OrderProblem {
    /// The key of each version.
    pub(super) key: Vec<u32>,
    /// The initial version of each key.
    pub(super) initial: Vec<u32>,
    /// For each transaction, the versions that it reads. Empty if the transaction does not take part.
    pub(super) reads: Vec<Vec<u32>>,
    /// For each transaction, the last version of each key that it writes.
    pub(super) writes: Vec<Vec<u32>>,
    /// True if the transaction takes part.
    pub(super) counts: Vec<bool>,
    /// The priority of each transaction: the search tries lower numbers first.
    pub(super) rank: Vec<u64>,
}

/// The result of a search.
pub(super) enum OrderResult {
    /// The transactions in order; for snapshot isolation, in the order of their commits.
    Found(Vec<u32>),
    /// No order exists. The fields are the longest order found, and a transaction that cannot extend this order.
    None(Vec<u32>, u32),
    /// The budget ran out. The field is the length of the longest order found.
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
    /// For each version, the number of remaining steps that need it.
    pub(super) needed: Vec<u32>,
    pub(super) claimed: Vec<bool>,
    /// For each step, the number of its predecessors that are not yet taken.
    pub(super) waits: Vec<u32>,
    /// True for each step that has been taken.
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

    /// Returns the key that a step without remaining predecessors must wait for, if any.
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

    /// Returns `true` if the versions that the step reads are current. The versions are current if all predecessors
    /// were taken and no version was replaced too early. The check is made anyway, so that an order is a proof.
    pub(super) fn reads_right(&self, step: u32) -> bool {
        let needs = &self.steps[step as usize].needs;
        needs.iter().all(|version| self.current[self.key(*version)] == *version)
    }

    /// Takes the step. Returns the replaced versions for [`undo`](OrderState::undo).
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

/// Searches for a serial order. `graph` holds the required order. For every version except the initial versions, it has
/// at least an edge from the writer to each reader.
pub(super) fn serial(problem: &OrderProblem, graph: &Graph, meter: &mut Meter<'_>) -> OrderResult {
    exhaustive(problem, &serial_steps(problem, graph), meter)
}

/// Returns the first serial order by rank, if it is valid. `None` does not mean that no order exists. `patience` is the
/// number of consecutive corrections without progress that are allowed.
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

/// Searches for an order of snapshots and commits. `points` must be [`Graph::points`] of the graph with the required
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

/// Adds the successors of each step. No helper may lead a step back to itself, because the step would then wait
/// forever.
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
    // A transaction with two steps counts at its commit, which claims no key and releases the claims. A read-only
    // transaction with two steps may count at either step.
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
/// A step that changes nothing is taken at once, because waiting cannot help: later steps never make the current
/// versions fit better. A configuration is the set of taken steps with the current versions. The memo stores 128-bit
/// hashes, so a collision has a probability of about nodes² / 2^129.
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
    // The bytes of all listed choices.
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
        // A hash set has at most twice the capacity that it needs, and three times while it grows.
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

/// Charges a pass over all steps: one configuration for every sixteen steps, so that a budget allows about as much time
/// and memory in this search as in other searches.
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
