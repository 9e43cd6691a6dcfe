//! Decides which commands are allowed in every order. Computes all states that the branches of a stage can reach.
//!
//! Branches that run concurrently form a lattice: a node for each vector of branch positions, and an edge for each next
//! command. The possible states at a node are the states of its predecessors after one more command. So all orders are
//! covered without executing them one by one. For example, 5 concurrent commands need 32 nodes instead of 120 orders,
//! and three branches of 5 need 216 nodes instead of 756,756 orders. Equal states are merged. If a model has several
//! [successors](Model::successors), all of them are followed. Nothing is sampled: a stage with more than [`NODES_MAX`]
//! nodes or [`STEPS_MAX`] steps is [`StageRefusal::TooMany`].
//!
//! A dropped command may take effect or not. A command without a waiting branch may also take effect at any later time.
//! Until then it stays in the state as an open command. An open command must be allowed wherever it can take effect, as
//! if it ran concurrently with all later commands. A command that needs a lost result does not run.

// tidy: never iterated: looked up only
use std::collections::HashMap;

use super::{CommandId, Program};
use crate::run::program::Faults;
use unpause_check::{Key, Model};

/// The maximum number of nodes of a stage with several branches.
const NODES_MAX: usize = 10_000;

/// The maximum number of state transitions in a stage with several branches. Five concurrent commands need 325 if every
/// order leads to a different state.
const STEPS_MAX: usize = 5000;

/// The maximum number of states at a node.
const STATES_MAX: usize = 2000;

/// The length from which a single branch keeps only the states of its last node.
const LONG: usize = 100;

/// The reason why commands, as they are, are not safe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StageRefusal {
    /// The precondition of a command does not hold in some order.
    Precondition,
    /// A command uses a result that is missing in some order.
    Reference,
    /// All branches wait at the end of some order.
    Stuck,
    /// The orders and states are too many to check all of them.
    TooMany,
}

/// The results of earlier commands that a command may use.
#[derive(Debug)]
pub struct Results<'a, P: Model> {
    pub(crate) known: &'a [Option<P::Ret>],
}

impl<'a, P: Model> Results<'a, P> {
    /// Returns the result of this command; `None` if it did not return, or was left out.
    pub fn get(&self, id: CommandId) -> Option<&'a P::Ret> {
        self.known.get(id.index())?.as_ref()
    }
}

/// A possible state of a program, with the results of its commands.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Possible<P: Model> {
    pub(super) state: P,
    pub(super) returned: Vec<Option<P::Ret>>,
    /// Commands without a waiting branch whose effect is still open: it may happen at any time or never.
    pub(super) open: Vec<OpenCommand<P>>,
    /// True if a command has run and no client will receive its result.
    pub(super) lost: bool,
}

/// An open command: no branch waits for it.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct OpenCommand<P: Model> {
    pub(super) op: P::Op,
    /// True if this command is the repetition of a command.
    pub(super) again: bool,
}

/// A command to be placed: its id, the operation, and the results that it may use.
pub(super) struct CommandStep<'a, P: Model> {
    pub(super) id: CommandId,
    pub(super) op: &'a P::Op,
    pub(super) sees: &'a dyn Fn(CommandId) -> bool,
    pub(super) faults: Faults,
    /// True if this command is sent again after it has returned.
    pub(super) again: bool,
}

/// The progress of a branch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BranchProgress {
    /// The branch continues with the next command.
    On,
    /// The branch waits until another branch has changed the state.
    Waits,
    /// The branch waits, or its command is dropped while it waits.
    MayWait,
}

impl<P: Program> Possible<P> {
    pub(super) fn new(state: P) -> Possible<P> {
        Possible { state, returned: Vec::new(), open: Vec::new(), lost: false }
    }

    /// Appends to `nexts` all possible states after `step`. Stores the result of the command in them if `noted` is set.
    /// The first new state is the result of [`Model::step`].
    ///
    /// # Errors
    /// If the command is not allowed.
    pub(super) fn after(
        &self,
        step: &CommandStep<'_, P>,
        noted: bool,
        nexts: &mut Vec<Possible<P>>,
    ) -> Result<BranchProgress, StageRefusal> {
        let Some(op) = resolved(step, &self.returned) else {
            if !self.lost {
                return Err(StageRefusal::Reference);
            }
            // If a result that the command needs may be lost, the command does not run.
            nexts.push(self.clone());
            return Ok(BranchProgress::On);
        };
        if step.again {
            match P::again(&op) {
                Some(again) => self.push_successors(&again, None, nexts),
                None => nexts.push(self.clone()),
            }
            return Ok(BranchProgress::On);
        }
        if !self.state.precondition(&op) {
            return Err(StageRefusal::Precondition);
        }
        // No branch waits for the command, so its effect stays open.
        if step.faults.timeout {
            nexts.push(self.after_unawaited(op, step.faults.again));
            return Ok(BranchProgress::On);
        }
        // A client that sends a dropped command again also waits for its reply.
        let given_up = step.faults.crash.is_some() && !step.faults.again;
        let waits = self.state.waits(&op);
        if !waits {
            self.push_successors(&op, noted.then_some(step.id), nexts);
        }
        if given_up {
            // First case: the command took effect, but its result was lost.
            let told = nexts.len();
            if !waits && noted {
                self.push_successors(&op, None, nexts);
            }
            nexts[told..].iter_mut().for_each(|next| next.lost = true);
            // Second case: the command had no effect.
            nexts.push(Possible { lost: true, ..self.clone() });
        }
        Ok(match (waits, given_up) {
            (false, _) => BranchProgress::On,
            (true, true) => BranchProgress::MayWait,
            (true, false) => BranchProgress::Waits,
        })
    }

    /// Appends all possible states after `op`. Stores the result under this id, if any.
    fn push_successors(&self, op: &P::Op, name: Option<CommandId>, nexts: &mut Vec<Possible<P>>) {
        let mut state = self.state.clone();
        let ret = state.step(op);
        let after = |state: P, ret: Option<P::Ret>| {
            let mut next = Possible {
                state,
                returned: self.returned.clone(),
                open: self.open.clone(),
                lost: self.lost,
            };
            if let (Some(id), Some(ret)) = (name, ret) {
                if next.returned.len() <= id.index() {
                    next.returned.resize(id.index() + 1, None);
                }
                next.returned[id.index()] = Some(ret);
            }
            next
        };
        let first = nexts.len();
        nexts.push(after(state, Some(ret)));
        // Add the other states, if the model has several successors.
        let mut states = Vec::new();
        self.state.successors(op, None, &mut states);
        if states.len() < 2 {
            return;
        }
        let mut also = |states: &mut Vec<P>, ret: Option<&P::Ret>| {
            for state in states.drain(..) {
                let next = after(state, ret.cloned());
                if !nexts[first..].contains(&next) {
                    nexts.push(next);
                }
            }
        };
        // The result is never received, so states that differ only in the result are the same state.
        if name.is_none() {
            also(&mut states, None);
            return;
        }
        // Later commands may use the result, so each result is followed with its own states.
        states.clear();
        for ret in self.state.returns(op) {
            self.state.successors(op, Some(&ret), &mut states);
            also(&mut states, Some(&ret));
        }
    }

    /// Appends to `nexts` all possible states after the `nth` open command takes effect. Appends nothing if the command
    /// waits.
    ///
    /// # Errors
    /// If the command is not allowed.
    pub(super) fn push_effects(
        &self,
        nth: usize,
        nexts: &mut Vec<Possible<P>>,
    ) -> Result<(), StageRefusal> {
        let OpenCommand { op, again } = &self.open[nth];
        if !again && !self.state.precondition(op) {
            return Err(StageRefusal::Precondition);
        }
        if !self.state.waits(op) {
            let first = nexts.len();
            self.push_successors(op, None, nexts);
            for next in &mut nexts[first..] {
                next.open.remove(nth);
            }
        }
        Ok(())
    }

    /// Returns the state after a command without a waiting branch. With `twice`, the command will be sent again.
    fn after_unawaited(&self, op: P::Op, twice: bool) -> Possible<P> {
        let mut next = self.clone();
        next.lost = true;
        let again = if twice { P::again(&op) } else { None };
        next.open.push(OpenCommand { op, again: false });
        next.open.extend(again.map(|op| OpenCommand { op, again: true }));
        next
    }
}

/// Returns the command with the results that it may use filled in.
pub(super) fn resolved<P: Program>(
    step: &CommandStep<'_, P>,
    returned: &[Option<P::Ret>],
) -> Option<P::Op> {
    let hidden = |n: usize| returned[n].is_some() && !(step.sees)(CommandId(n as u32));
    if !(0..returned.len()).any(hidden) {
        return P::resolve(step.op, &Results { known: returned });
    }
    let mut known = returned.to_vec();
    for n in (0..known.len()).filter(|n| hidden(*n)) {
        known[n] = None;
    }
    P::resolve(step.op, &Results { known: &known })
}

/// The states at a node, in the order of discovery.
struct NodeStates<P: Model> {
    all: Vec<(Key, Possible<P>)>,
    /// The state indices by hash. Empty while there are at most [`FEW`] states.
    index: HashMap<Key, Vec<usize>>,
}

/// The maximum number of states that are compared one by one.
const FEW: usize = 16;

impl<P: Program> NodeStates<P> {
    fn none() -> NodeStates<P> {
        NodeStates { all: Vec::new(), index: HashMap::new() }
    }

    fn of(states: &[Possible<P>]) -> NodeStates<P> {
        let mut all = NodeStates::none();
        states.iter().for_each(|state| all.put(state.clone()));
        all
    }

    /// Adds a state, unless it is already present.
    fn put(&mut self, next: Possible<P>) {
        let key = Key::of(&next.state);
        let NodeStates { all, index } = self;
        let is_next = |at: &usize| all[*at].0 == key && all[*at].1 == next;
        let known = match all.len() <= FEW {
            true => (0..all.len()).any(|at| is_next(&at)),
            false => index.get(&key).is_some_and(|those| those.iter().any(is_next)),
        };
        if known {
            return;
        }
        all.push((key, next));
        // Up to `FEW` states are compared one by one. The first state beyond them creates the index for all states.
        let new = if all.len() == FEW + 1 { 0 } else { all.len() - 1 };
        if all.len() > FEW {
            for (at, (key, _)) in all.iter().enumerate().skip(new) {
                index.entry(*key).or_default().push(at);
            }
        }
    }

    fn len(&self) -> usize {
        self.all.len()
    }

    /// Adds all states after the effects of open commands.
    fn settle(&mut self) -> Result<(), StageRefusal> {
        let (mut at, mut nexts) = (0, Vec::new());
        // The list grows during the iteration, because after one open command another open command may take effect.
        while at < self.len() {
            for nth in 0..self.all[at].1.open.len() {
                self.all[at].1.push_effects(nth, &mut nexts)?;
                nexts.drain(..).for_each(|next| self.put(next));
            }
            at += 1;
            if self.len() > STATES_MAX {
                return Err(StageRefusal::TooMany);
            }
        }
        Ok(())
    }

    fn to_vec(&self) -> Vec<Possible<P>> {
        self.all.iter().map(|(_, state)| state.clone()).collect()
    }
}

/// A lattice of all states that the branches of a stage can reach. The number of a node has one digit per branch: the
/// number of finished commands. While commands are appended to the last branch, the lattice is reused: they only add
/// nodes with greater numbers, so the known nodes stay valid. Growing the lattice command by command costs no more than
/// computing it at once.
pub(super) struct Lattice<P: Model> {
    start: Vec<Possible<P>>,
    /// `true` if results are stored, so that equal states with different results are distinguished.
    noted: bool,
    /// The number of steps of each branch.
    lengths: Vec<usize>,
    /// The states at each node.
    nodes: Vec<NodeStates<P>>,
    /// `true` if only the last node has states, because the stage has a single long branch.
    thin: bool,
    /// The number of state transitions since the last `take_work`.
    work: u64,
}

impl<P: Program> Lattice<P> {
    /// Creates the lattice of a stage that starts in any of these states and has no commands yet.
    pub(super) fn new(start: Vec<Possible<P>>, noted: bool) -> Lattice<P> {
        Lattice { start, noted, lengths: Vec::new(), nodes: Vec::new(), thin: false, work: 0 }
    }

    /// Returns the initial states.
    pub(super) fn start(&self) -> &[Possible<P>] {
        &self.start
    }

    /// Returns the states after all branches have ended, in any order. Valid only if the branches were safe.
    pub(super) fn ends(&self) -> Vec<Possible<P>> {
        self.nodes.last().map_or_else(Vec::new, NodeStates::to_vec)
    }

    /// Returns and resets the number of state transitions.
    pub(super) fn take_work(&mut self) -> u64 {
        std::mem::take(&mut self.work)
    }

    /// Extends the lattice to these branches if they are safe, with at most `budget` state transitions. Fastest if the
    /// branches differ from the previous ones only by new commands at the end of the last branch.
    ///
    /// O(new nodes · states · branches).
    ///
    /// # Errors
    /// The reason why the branches are not safe; the lattice is then unchanged.
    pub(super) fn grow(
        &mut self,
        branches: &[Vec<CommandStep<'_, P>>],
        budget: u64,
    ) -> Result<(), StageRefusal> {
        let lengths: Vec<usize> = branches.iter().map(Vec::len).collect();
        let busy = lengths.iter().filter(|length| **length > 0).count();
        // Nodes of other branches cannot be reused. A thin lattice lacks the nodes at which a second branch could take
        // a step.
        if !self.is_begun_by(&lengths) || self.thin && busy > 1 {
            self.thin = false;
            self.nodes.clear();
            self.lengths.clear();
        }
        let known = self.nodes.len();
        if let Err(refusal) = self.explore(branches, budget) {
            self.nodes.truncate(known);
            return Err(refusal);
        }
        self.lengths = lengths;
        let last = self.nodes.len() - 1;
        if busy < 2 && last > LONG {
            let from = if self.thin { known - 1 } else { 0 };
            self.nodes[from..last].iter_mut().for_each(|node| *node = NodeStates::none());
            self.thin = true;
        }
        Ok(())
    }

    /// Returns `true` if branches of these lengths only extend the last branch of the known branches.
    fn is_begun_by(&self, lengths: &[usize]) -> bool {
        let last = lengths.iter().rposition(|length| *length > 0).unwrap_or_default();
        let known = |branch: usize| self.lengths.get(branch).copied().unwrap_or_default();
        let as_known = |branch| known(branch) == lengths.get(branch).copied().unwrap_or_default();
        let branches = lengths.len().max(self.lengths.len());
        let grown =
            |branch| branch == last && lengths.get(last).is_some_and(|new| known(last) < *new);
        (0..branches).all(|branch| as_known(branch) || grown(branch))
    }

    /// Computes the unknown nodes of these branches.
    fn explore(
        &mut self,
        branches: &[Vec<CommandStep<'_, P>>],
        budget: u64,
    ) -> Result<(), StageRefusal> {
        // The next command of a branch increases the node number by the weight of the branch.
        let mut weights = Vec::with_capacity(branches.len());
        let mut count = 1_usize;
        for branch in branches {
            weights.push(count);
            count = count.saturating_mul(branch.len() + 1);
        }
        // Only the last branch extends the known nodes, starting from the nodes at its end.
        let old = if self.nodes.is_empty() { 0 } else { nodes_of(&self.lengths) };
        if old == count {
            return Ok(());
        }
        let busy = branches.iter().filter(|branch| !branch.is_empty()).count();
        // The time for a single branch is linear in its length, so it has no limit.
        let (nodes_max, steps_max) =
            if busy < 2 { (usize::MAX, usize::MAX) } else { (NODES_MAX, STEPS_MAX) };
        if count > nodes_max {
            return Err(StageRefusal::TooMany);
        }
        let last = branches.iter().rposition(|branch| !branch.is_empty()).unwrap_or_default();
        let first = old - weights.get(last).copied().unwrap_or_default().min(old);
        let mut ahead: Vec<NodeStates<P>> = (old..count).map(|_| NodeStates::none()).collect();
        if old == 0 {
            ahead[0] = NodeStates::of(&self.start);
        }
        let before: usize = self.nodes.iter().take(first).map(NodeStates::len).sum();
        let mut steps = before * busy;
        let mut nexts = Vec::new();
        for node in first..count {
            if node >= old {
                let mut here = std::mem::replace(&mut ahead[node - old], NodeStates::none());
                here.settle()?;
                self.nodes.push(here);
            }
            let here = &self.nodes[node];
            if node + 1 == count {
                return Ok(());
            }
            steps += here.len() * busy;
            self.work += (here.len() * busy) as u64;
            if steps > steps_max || self.work > budget {
                return Err(StageRefusal::TooMany);
            }
            for (_, possible) in &here.all {
                // The known nodes, except the last, were not stuck.
                let mut stuck = node + 1 >= old;
                for (nth, (branch, weight)) in branches.iter().zip(&weights).enumerate() {
                    let Some(step) = branch.get(node / weight % (branch.len() + 1)) else {
                        continue;
                    };
                    // From known nodes, steps of the other branches lead to known nodes.
                    if node < old && nth != last {
                        continue;
                    }
                    let goes = possible.after(step, self.noted, &mut nexts)?;
                    let there = &mut ahead[node + weight - old];
                    nexts.drain(..).for_each(|next| there.put(next));
                    if there.len() > STATES_MAX {
                        return Err(StageRefusal::TooMany);
                    }
                    // One branch that can advance is enough, because it may change the state for which the other
                    // branches wait.
                    stuck &= goes != BranchProgress::On;
                }
                if stuck {
                    return Err(StageRefusal::Stuck);
                }
            }
        }
        unreachable!("the last node ends the loop")
    }
}

/// Returns the number of lattice nodes for branches of these lengths.
fn nodes_of(lengths: &[usize]) -> usize {
    lengths.iter().map(|length| length + 1).product()
}
