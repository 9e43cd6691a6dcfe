//! Decides which commands are allowed in every order: all states that the branches of a stage can lead to.
//!
//! Branches that run concurrently form a lattice: a node for each vector of positions, an edge for each next
//! command. The possible states at a node are the states of its predecessors, one command later. So
//! all orders are covered without executing them one by one: 5 concurrent commands are 32 nodes and
//! not 120 orders, three branches of 5 are 216 and not 756,756. Equal states are merged. For a
//! model with several [successors](Model::successors) each of them is followed. Nothing is sampled:
//! a stage of more than [`NODES_MAX`] nodes or [`STEPS_MAX`] steps is [`StageRefusal::TooMany`].
//!
//! A dropped command may happen or not. A command without a waiting branch may also take effect at any later
//! time: it is carried along until then, and must be allowed wherever it can take effect, as if it ran beside
//! all later commands. A command that uses a result that may be lost does not run then.

// tidy: never iterated: looked up only
use std::collections::HashMap;

use super::{CommandId, Program};
use crate::run::program::Faults;
use unpause_check::{Key, Model};

/// The maximum number of nodes of a stage with several branches.
const NODES_MAX: usize = 10_000;

/// The maximum number of steps from state to state in such a stage: five concurrent commands, of which no two
/// orders lead to the same state, have 325.
const STEPS_MAX: usize = 5000;

/// The maximum number of states of a node.
const STATES_MAX: usize = 2000;

/// The length from which a single branch is represented by its last node only.
const LONG: usize = 100;

/// The reason why unchanged commands are not safe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StageRefusal {
    /// The precondition of a command does not hold in some order.
    Precondition,
    /// A command uses a result that is missing in some order.
    Reference,
    /// All branches wait at the end of some order.
    Stuck,
    /// There are too many orders and states to check all of them.
    TooMany,
}

/// The results of earlier commands that a command may use.
#[derive(Debug)]
pub struct Results<'a, P: Model> {
    pub(crate) known: &'a [Option<P::Ret>],
}

impl<'a, P: Model> Results<'a, P> {
    /// The result of this command; `None` if it did not return, or was left out.
    pub fn get(&self, id: CommandId) -> Option<&'a P::Ret> {
        self.known.get(id.index())?.as_ref()
    }
}

/// A state that a program can be in, with the results of its commands.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Possible<P: Model> {
    pub(super) state: P,
    pub(super) returned: Vec<Option<P::Ret>>,
    /// Commands without a waiting branch, whose effect may still come, at any time or never.
    pub(super) open: Vec<OpenCommand<P>>,
    /// True if a command ran whose result is never received.
    pub(super) lost: bool,
}

/// A command without a waiting branch.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct OpenCommand<P: Model> {
    pub(super) op: P::Op,
    /// True if it is one sent again.
    pub(super) again: bool,
}

/// A command to be placed: its id, the operation, and the results that it may use.
pub(super) struct CommandStep<'a, P: Model> {
    pub(super) id: CommandId,
    pub(super) op: &'a P::Op,
    pub(super) sees: &'a dyn Fn(CommandId) -> bool,
    pub(super) faults: Faults,
    /// True if this is the command sent once more, after it has returned.
    pub(super) again: bool,
}

/// The progress of a branch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BranchProgress {
    /// It continues with the next command.
    On,
    /// It waits until another branch has changed the state.
    Waits,
    /// It waits, or is dropped while it does.
    MayWait,
}

impl<P: Program> Possible<P> {
    pub(super) fn new(state: P) -> Possible<P> {
        Possible { state, returned: Vec::new(), open: Vec::new(), lost: false }
    }

    /// Appends to `nexts` all possible states after `step`; with its result, if `noted`. The first
    /// of them is the result of [`Model::step`].
    ///
    /// # Errors
    /// If it is not allowed.
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
            // A result that it needs may be lost; then it does not run.
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
        // Nobody waits for the command, so its effect stays open until it comes.
        if step.faults.timeout {
            nexts.push(self.after_unawaited(op, step.faults.again));
            return Ok(BranchProgress::On);
        }
        // A client that sends a dropped command again waits for it then.
        let given_up = step.faults.crash.is_some() && !step.faults.again;
        let waits = self.state.waits(&op);
        if !waits {
            self.push_successors(&op, noted.then_some(step.id), nexts);
        }
        if given_up {
            // It took effect, but its result was lost.
            let told = nexts.len();
            if !waits && noted {
                self.push_successors(&op, None, nexts);
            }
            nexts[told..].iter_mut().for_each(|next| next.lost = true);
            // Or it had no effect.
            nexts.push(Possible { lost: true, ..self.clone() });
        }
        Ok(match (waits, given_up) {
            (false, _) => BranchProgress::On,
            (true, true) => BranchProgress::MayWait,
            (true, false) => BranchProgress::Waits,
        })
    }

    /// Appends all possible states after `op`, whose result is recorded under this id.
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
        // Other states, if the model has several successors.
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
        // Nobody receives the result, so states that differ in it only are one state.
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

    /// Appends to `nexts` all possible states after a command without a waiting branch takes
    /// effect; `None` if it waits.
    ///
    /// # Errors
    /// If it is not allowed.
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

    /// The state after a command without a waiting branch; `twice` if it will be sent again.
    fn after_unawaited(&self, op: P::Op, twice: bool) -> Possible<P> {
        let mut next = self.clone();
        next.lost = true;
        let again = if twice { P::again(&op) } else { None };
        next.open.push(OpenCommand { op, again: false });
        next.open.extend(again.map(|op| OpenCommand { op, again: true }));
        next
    }
}

/// The command with the results that it may use filled in.
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
    /// The indices by hash; empty while there are at most [`FEW`].
    index: HashMap<Key, Vec<usize>>,
}

/// The number of states that are compared one by one.
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

    /// Adds a state unless it is there.
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
        // Few states are compared one by one; the index is created for all of them with the first
        // one more.
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

    /// Adds all states after effects of commands without a waiting branch.
    fn settle(&mut self) -> Result<(), StageRefusal> {
        let (mut at, mut nexts) = (0, Vec::new());
        // The list grows while it is walked: after one open command another one may take effect.
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

/// All reachable states of a stage's branches: a lattice. Its nodes are numbered by the finished
/// commands, with a digit for each branch. It is kept while commands are added to the end of the
/// last branch: these add the nodes with the greatest numbers, so the known ones stay valid.
/// Growing it command by command takes no longer than making it at once.
pub(super) struct Lattice<P: Model> {
    start: Vec<Possible<P>>,
    /// True if results are kept, and equal states with different results are distinguished.
    noted: bool,
    /// The number of steps of each branch.
    lengths: Vec<usize>,
    /// The states at each node.
    nodes: Vec<NodeStates<P>>,
    /// True if only the last node has states, because there is a single long branch.
    thin: bool,
    /// The number of steps from state to state.
    work: u64,
}

impl<P: Program> Lattice<P> {
    /// The lattice of a stage that begins in any of these states and has no commands yet.
    pub(super) fn new(start: Vec<Possible<P>>, noted: bool) -> Lattice<P> {
        Lattice { start, noted, lengths: Vec::new(), nodes: Vec::new(), thin: false, work: 0 }
    }

    /// The initial states.
    pub(super) fn start(&self) -> &[Possible<P>] {
        &self.start
    }

    /// The states after all branches have ended, in any order. Known if the branches were safe.
    pub(super) fn ends(&self) -> Vec<Possible<P>> {
        self.nodes.last().map_or_else(Vec::new, NodeStates::to_vec)
    }

    /// Returns and resets the number of steps from state to state.
    pub(super) fn take_work(&mut self) -> u64 {
        std::mem::take(&mut self.work)
    }

    /// Extends the lattice to these branches if they are safe, with at most `budget` steps. It is fastest if
    /// they are the last ones with more commands at the end of the last branch.
    ///
    /// O(new nodes · states · branches).
    ///
    /// # Errors
    /// The reason why they are not safe; then nothing has changed.
    pub(super) fn grow(
        &mut self,
        branches: &[Vec<CommandStep<'_, P>>],
        budget: u64,
    ) -> Result<(), StageRefusal> {
        let lengths: Vec<usize> = branches.iter().map(Vec::len).collect();
        let busy = lengths.iter().filter(|length| **length > 0).count();
        // Nodes of other branches do not help, and a thin lattice lacks the nodes at which a second
        // branch could take a step.
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

    /// Returns `true` if branches of these lengths only extend the last one of the known branches.
    fn is_begun_by(&self, lengths: &[usize]) -> bool {
        let last = lengths.iter().rposition(|length| *length > 0).unwrap_or_default();
        let known = |branch: usize| self.lengths.get(branch).copied().unwrap_or_default();
        let as_known = |branch| known(branch) == lengths.get(branch).copied().unwrap_or_default();
        let branches = lengths.len().max(self.lengths.len());
        let grown =
            |branch| branch == last && lengths.get(last).is_some_and(|new| known(last) < *new);
        (0..branches).all(|branch| as_known(branch) || grown(branch))
    }

    /// Makes the unknown nodes of these branches.
    fn explore(
        &mut self,
        branches: &[Vec<CommandStep<'_, P>>],
        budget: u64,
    ) -> Result<(), StageRefusal> {
        // The next command of a branch increases the number of a node by the weight of the branch.
        let mut weights = Vec::with_capacity(branches.len());
        let mut count = 1_usize;
        for branch in branches {
            weights.push(count);
            count = count.saturating_mul(branch.len() + 1);
        }
        // The known nodes are extended by the last branch alone, from the nodes at its end.
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
                // The known nodes were not stuck, except the last.
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
                    // One branch that can move is enough: it may change the state that others wait
                    // for.
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

/// The number of nodes of the lattice of branches of these lengths.
fn nodes_of(lengths: &[usize]) -> usize {
    lengths.iter().map(|length| length + 1).product()
}
