//! Commands that may be asked in every order: all states that the branches of a stage can lead to.
//!
//! Branches that go on in any order are a lattice: a node for each vector of positions, an edge for
//! each next command. The states that are possible at a node are those of the nodes before it, one
//! command later, so all orders are looked at without going through them one by one: 5 commands at
//! once are 32 nodes and not 120 orders, three branches of 5 are 216 and not 756,756. States that are
//! equal are one. A model with several [successors](Model::successors) is followed into each of them. Nothing
//! is sampled: what would take more than [`NODES_MAX`] nodes or [`STEPS_MAX`] steps is [`Refusal::TooMany`].
//!
//! A command that is dropped happens or does not. One that is not waited for may also take effect at any
//! later time: it is carried along until then, and must be allowed wherever it can take effect, as one that
//! runs beside all that comes after it. A command that uses a result that may be lost is not run then.

// tidy: never iterated: looked up only
use std::collections::HashMap;

use super::{CommandId, Program};
use crate::run::program::Faults;
use unpause_check::{Key, Model};

/// How many nodes a stage may have in which several branches run.
const NODES_MAX: usize = 10_000;

/// How many steps from state to state such a stage may have: five commands at once, no two orders of which lead
/// to the same state, are 325.
const STEPS_MAX: usize = 5000;

/// How many states a node may have.
const STATES_MAX: usize = 2000;

/// From this length on, one branch alone is kept by its end.
const LONG: usize = 100;

/// Why commands may not be asked as they stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refusal {
    /// The precondition of a command does not hold in some order.
    Precondition,
    /// A result that a command uses is not there in some order.
    Reference,
    /// All wait at the end of some order.
    Stuck,
    /// There are too many orders and states to look at all of them.
    TooMany,
}

/// What earlier commands returned, as far as a command may know.
#[derive(Debug)]
pub struct Results<'a, P: Model> {
    pub(crate) known: &'a [Option<P::Ret>],
}

impl<'a, P: Model> Results<'a, P> {
    /// What this command returned; `None` if it did not, or was left out.
    pub fn get(&self, id: CommandId) -> Option<&'a P::Ret> {
        self.known.get(id.index())?.as_ref()
    }
}

/// A state that a program can be in, with what its commands have returned.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Possible<P: Model> {
    pub(super) state: P,
    pub(super) returned: Vec<Option<P::Ret>>,
    /// Commands that nobody waits for, whose effect may still come, at any time or never.
    pub(super) open: Vec<Open<P>>,
    /// Whether a command was asked whose result nobody is ever told.
    pub(super) lost: bool,
}

/// A command that nobody waits for.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Open<P: Model> {
    pub(super) op: P::Op,
    /// Whether it is one sent again.
    pub(super) again: bool,
}

/// A command to be placed: its name, what it asks, and whose results it may use.
pub(super) struct Step<'a, P: Model> {
    pub(super) id: CommandId,
    pub(super) op: &'a P::Op,
    pub(super) sees: &'a dyn Fn(CommandId) -> bool,
    pub(super) faults: Faults,
    /// Whether this is the command sent once more, after it has returned.
    pub(super) again: bool,
}

/// How a branch goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BranchProgress {
    /// With the next command.
    On,
    /// Not before another branch has changed the state.
    Waits,
    /// It waits, or is dropped while it does.
    MayWait,
}

impl<P: Program> Possible<P> {
    pub(super) fn new(state: P) -> Possible<P> {
        Possible { state, returned: Vec::new(), open: Vec::new(), lost: false }
    }

    /// Appends to `nexts` all that may be after `step`; with what it returned, if `noted`. The first of them is
    /// the one to which [`Model::step`] leads.
    ///
    /// # Errors
    /// It may not be asked.
    pub(super) fn after(
        &self,
        step: &Step<'_, P>,
        noted: bool,
        nexts: &mut Vec<Possible<P>>,
    ) -> Result<BranchProgress, Refusal> {
        let Some(op) = resolved(step, &self.returned) else {
            if !self.lost {
                return Err(Refusal::Reference);
            }
            // What it needs may be lost; then it is not run.
            nexts.push(self.clone());
            return Ok(BranchProgress::On);
        };
        if step.again {
            match P::again(&op) {
                Some(again) => self.stepped(&again, None, nexts),
                None => nexts.push(self.clone()),
            }
            return Ok(BranchProgress::On);
        }
        if !self.state.precondition(&op) {
            return Err(Refusal::Precondition);
        }
        if step.faults.unheard {
            nexts.push(self.unheard(op, step.faults.again));
            return Ok(BranchProgress::On);
        }
        // Who sends a command again when it was dropped waits for it then.
        let given_up = step.faults.crash.is_some() && !step.faults.again;
        let waits = self.state.waits(&op);
        if !waits {
            self.stepped(&op, noted.then_some(step.id), nexts);
        }
        if given_up {
            // It happened, and nobody was told.
            let told = nexts.len();
            if !waits && noted {
                self.stepped(&op, None, nexts);
            }
            nexts[told..].iter_mut().for_each(|next| next.lost = true);
            nexts.push(Possible { lost: true, ..self.clone() });
        }
        Ok(match (waits, given_up) {
            (false, _) => BranchProgress::On,
            (true, true) => BranchProgress::MayWait,
            (true, false) => BranchProgress::Waits,
        })
    }

    /// Appends all that may be after `op`, whose result is noted under this name.
    fn stepped(&self, op: &P::Op, name: Option<CommandId>, nexts: &mut Vec<Possible<P>>) {
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
        // Others, if the model knows more than one way.
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
        if name.is_none() {
            also(&mut states, None);
            return;
        }
        states.clear();
        for ret in self.state.returns(op) {
            self.state.successors(op, Some(&ret), &mut states);
            also(&mut states, Some(&ret));
        }
    }

    /// Appends to `nexts` all that may be after one of the commands that nobody waits for takes effect; nothing
    /// if it waits.
    ///
    /// # Errors
    /// It may not be asked.
    pub(super) fn opened(&self, nth: usize, nexts: &mut Vec<Possible<P>>) -> Result<(), Refusal> {
        let Open { op, again } = &self.open[nth];
        if !again && !self.state.precondition(op) {
            return Err(Refusal::Precondition);
        }
        if !self.state.waits(op) {
            let first = nexts.len();
            self.stepped(op, None, nexts);
            for next in &mut nexts[first..] {
                next.open.remove(nth);
            }
        }
        Ok(())
    }

    /// After a command that nobody waits for, `twice` if it is going to be sent again.
    fn unheard(&self, op: P::Op, twice: bool) -> Possible<P> {
        let mut next = self.clone();
        next.lost = true;
        let again = if twice { P::again(&op) } else { None };
        next.open.push(Open { op, again: false });
        next.open.extend(again.map(|op| Open { op, again: true }));
        next
    }
}

/// The command with the results that it may see in place.
pub(super) fn resolved<P: Program>(
    step: &Step<'_, P>,
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

/// The states at a node, in the order in which they were found.
struct NodeStates<P: Model> {
    all: Vec<(Key, Possible<P>)>,
    /// Where those with a hash stand; empty while there are [`FEW`].
    index: HashMap<Key, Vec<usize>>,
}

/// So many states are compared one by one.
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

    /// Adds all that commands which nobody waits for may still lead to.
    fn settle(&mut self) -> Result<(), Refusal> {
        let (mut at, mut nexts) = (0, Vec::new());
        while at < self.len() {
            for nth in 0..self.all[at].1.open.len() {
                self.all[at].1.opened(nth, &mut nexts)?;
                nexts.drain(..).for_each(|next| self.put(next));
            }
            at += 1;
            if self.len() > STATES_MAX {
                return Err(Refusal::TooMany);
            }
        }
        Ok(())
    }

    fn to_vec(&self) -> Vec<Possible<P>> {
        self.all.iter().map(|(_, state)| state.clone()).collect()
    }
}

/// All states that the branches of a stage can lead to: a lattice whose nodes are numbered by the commands
/// done, with a digit for each branch. It is kept while commands are added to the end of the last branch:
/// what they add are the nodes with the greatest numbers, so what is known stays as it is. To make it
/// command by command takes no longer than to make it at once.
pub(super) struct Lattice<P: Model> {
    start: Vec<Possible<P>>,
    /// Whether results are kept, and states that are equal but follow other results told apart.
    noted: bool,
    /// How many steps of each branch are in it.
    lengths: Vec<usize>,
    /// The states at each node.
    nodes: Vec<NodeStates<P>>,
    /// Whether only the last node has them, as there is one branch, and a long one.
    thin: bool,
    /// How many steps from state to state were looked at.
    work: u64,
}

impl<P: Program> Lattice<P> {
    /// Of a stage that begins in any of these states and has no commands yet.
    pub(super) fn new(start: Vec<Possible<P>>, noted: bool) -> Lattice<P> {
        Lattice { start, noted, lengths: Vec::new(), nodes: Vec::new(), thin: false, work: 0 }
    }

    /// The states it begins in.
    pub(super) fn start(&self) -> &[Possible<P>] {
        &self.start
    }

    /// The states after all branches have ended, in whatever order. Known once branches were safe.
    pub(super) fn ends(&self) -> Vec<Possible<P>> {
        self.nodes.last().map_or_else(Vec::new, NodeStates::to_vec)
    }

    /// How many steps from state to state were looked at since this was asked last.
    pub(super) fn take_work(&mut self) -> u64 {
        std::mem::take(&mut self.work)
    }

    /// Goes on to these branches if they are safe, looking at no more than `budget` steps. They are those of the last time with more at the end of the
    /// last of them, or any others, which takes longer.
    ///
    /// O(new nodes · states · branches).
    ///
    /// # Errors
    /// Why they are not; then nothing has changed.
    pub(super) fn grow(
        &mut self,
        branches: &[Vec<Step<'_, P>>],
        budget: u64,
    ) -> Result<(), Refusal> {
        let lengths: Vec<usize> = branches.iter().map(Vec::len).collect();
        let busy = lengths.iter().filter(|length| **length > 0).count();
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

    /// Whether branches of these lengths are those that are known with more at the end of the last.
    fn is_begun_by(&self, lengths: &[usize]) -> bool {
        let last = lengths.iter().rposition(|length| *length > 0).unwrap_or_default();
        let known = |branch: usize| self.lengths.get(branch).copied().unwrap_or_default();
        let as_known = |branch| known(branch) == lengths.get(branch).copied().unwrap_or_default();
        let branches = lengths.len().max(self.lengths.len());
        let grown =
            |branch| branch == last && lengths.get(last).is_some_and(|new| known(last) < *new);
        (0..branches).all(|branch| as_known(branch) || grown(branch))
    }

    /// Makes the nodes of these branches that are not known.
    fn explore(&mut self, branches: &[Vec<Step<'_, P>>], budget: u64) -> Result<(), Refusal> {
        // A next command makes the number of a node greater by the weight of its branch.
        let mut weights = Vec::with_capacity(branches.len());
        let mut count = 1_usize;
        for branch in branches {
            weights.push(count);
            count = count.saturating_mul(branch.len() + 1);
        }
        // What was there before goes on by the last branch alone, from the nodes at its end.
        let old = if self.nodes.is_empty() { 0 } else { nodes_of(&self.lengths) };
        if old == count {
            return Ok(());
        }
        let busy = branches.iter().filter(|branch| !branch.is_empty()).count();
        // One branch alone takes time that grows with its length, whatever that is.
        let (nodes_max, steps_max) =
            if busy < 2 { (usize::MAX, usize::MAX) } else { (NODES_MAX, STEPS_MAX) };
        if count > nodes_max {
            return Err(Refusal::TooMany);
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
                return Err(Refusal::TooMany);
            }
            for (_, possible) in &here.all {
                // What was there before was not stuck, but for its end.
                let mut stuck = node + 1 >= old;
                for (nth, (branch, weight)) in branches.iter().zip(&weights).enumerate() {
                    let Some(step) = branch.get(node / weight % (branch.len() + 1)) else {
                        continue;
                    };
                    if node < old && nth != last {
                        continue;
                    }
                    let goes = possible.after(step, self.noted, &mut nexts)?;
                    let there = &mut ahead[node + weight - old];
                    nexts.drain(..).for_each(|next| there.put(next));
                    if there.len() > STATES_MAX {
                        return Err(Refusal::TooMany);
                    }
                    stuck &= goes != BranchProgress::On;
                }
                if stuck {
                    return Err(Refusal::Stuck);
                }
            }
        }
        unreachable!("the last node ends the loop")
    }
}

/// How many nodes the lattice of branches of these lengths has.
fn nodes_of(lengths: &[usize]) -> usize {
    lengths.iter().map(|length| length + 1).product()
}
