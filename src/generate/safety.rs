//! Which commands may be asked whatever the order: all states that the branches can lead to.
//!
//! Branches that go on in any order are a lattice: a node for each vector of positions, an edge for
//! each next command. The states that are possible at a node are those of the nodes before it, one
//! command later, so all orders are looked at without going through them one by one: 5 commands at
//! once are 32 nodes and not 120 orders, three branches of 5 are 216 and not 756,756. States that are
//! equal are one. Where there are more than [`NODES_MAX`] nodes, or more than [`STEPS_MAX`] ways from one to the
//! next, [`ORDERS`] orders are drawn: from there on it is a sample.
//!
//! A command that is dropped happens or does not. One that is not waited for may also take effect at any
//! later time: it is carried along until then, and must be allowed wherever it can take effect, as one that
//! runs beside all that comes after it. A command that uses a result that may be lost is not run then.
//! With such commands less is looked at ([`FAULTY`], [`OPEN_MAX`]).

use super::{CommandId, Program};
use crate::check::{Key, Model};
use crate::program::Faults;
use crate::rng::Rng;

/// Up to how many nodes all are looked at.
const NODES_MAX: usize = 10_000;

/// Up to how many steps from state to state all are looked at: five commands at once, no two orders of which
/// lead to the same state, are 325.
const STEPS_MAX: usize = 2000;

/// How many orders are looked at where there are more.
const ORDERS: u64 = 16;

/// How many different states are kept at a node. To tell them apart takes time that grows with their square.
const STATES_MAX: usize = 256;

/// As [`STATES_MAX`] and [`STEPS_MAX`] if commands may be dropped or not waited for: there are many more such
/// states, and a program has to be planned in little time.
const FAULTY: (usize, usize) = (64, 1000);

/// How many commands that nobody waits for are kept in mind.
const OPEN_MAX: usize = 2;

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

/// What comes of a command.
pub(super) enum After<P: Model> {
    /// It may not be asked.
    Refused,
    /// It waits.
    Waits,
    /// It waits, or is dropped while it does.
    MayWait(Possible<P>),
    Then(Possible<P>),
    /// Either the first, if it returned, or the second: nobody knows.
    Either(Possible<P>, Possible<P>),
}

impl<P: Program> Possible<P> {
    pub(super) fn new(state: P) -> Possible<P> {
        Possible { state, returned: Vec::new(), open: Vec::new(), lost: false }
    }

    /// After `step`; with what it returned, if anybody is going to ask for that.
    pub(super) fn after(&self, step: &Step<'_, P>, noted: bool) -> After<P> {
        let Some(op) = resolved(step, &self.returned) else {
            // What it needs may be lost; then it is not run.
            return if self.lost { After::Then(self.clone()) } else { After::Refused };
        };
        if step.again {
            let mut next = self.clone();
            P::again(&op).map(|again| next.state.step(&again));
            return After::Then(next);
        }
        if !self.state.precondition(&op) {
            return After::Refused;
        }
        if step.faults.unheard {
            return After::Then(self.unheard(op, step.faults.again));
        }
        // Who sends a command again when it was dropped waits for it then.
        let given_up = step.faults.crash.is_some() && !step.faults.again;
        if self.state.waits(&op) {
            return match given_up {
                true => After::MayWait(Possible { lost: true, ..self.clone() }),
                false => After::Waits,
            };
        }
        let mut next = self.clone();
        let ret = next.state.step(&op);
        if noted {
            if next.returned.len() <= step.id.index() {
                next.returned.resize(step.id.index() + 1, None);
            }
            next.returned[step.id.index()] = Some(ret);
        }
        match given_up {
            true => After::Either(next, Possible { lost: true, ..self.clone() }),
            false => After::Then(next),
        }
    }

    /// After one of the commands that nobody waits for takes effect: `None` if it may not, `Some(None)` if
    /// it waits.
    pub(super) fn opened(&self, nth: usize) -> Option<Option<Possible<P>>> {
        let Open { op, again } = &self.open[nth];
        if !again && !self.state.precondition(op) {
            return None;
        }
        if self.state.waits(op) {
            return Some(None);
        }
        let mut next = self.clone();
        next.open.remove(nth);
        next.state.step(op);
        Some(Some(next))
    }

    /// After a command that nobody waits for, `twice` if it is going to be sent again.
    fn unheard(&self, op: P::Op, twice: bool) -> Possible<P> {
        let mut next = self.clone();
        next.lost = true;
        let again = if twice { P::again(&op) } else { None };
        next.open.push(Open { op, again: false });
        next.open.extend(again.map(|op| Open { op, again: true }));
        // The oldest is taken for one that never happens.
        let over = next.open.len().saturating_sub(OPEN_MAX);
        next.open.drain(..over);
        next
    }
}

/// The command with the results that it may see in place.
fn resolved<P: Program>(step: &Step<'_, P>, returned: &[Option<P::Ret>]) -> Option<P::Op> {
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

/// States with their hashes, so that most of those that differ are seen to at once.
type States<P> = Vec<(Key, Possible<P>)>;

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
    faulty: bool,
    /// The states at each node; not at the last ones if there are too many to look at all.
    nodes: Vec<States<P>>,
    ends: Vec<Possible<P>>,
}

impl<P: Program> Lattice<P> {
    /// Of a stage that begins in any of these states and has no commands yet.
    pub(super) fn new(start: Vec<Possible<P>>, noted: bool) -> Lattice<P> {
        let (lengths, nodes, ends) = (Vec::new(), Vec::new(), Vec::new());
        Lattice { start, noted, lengths, faulty: false, nodes, ends }
    }

    /// The states it begins in.
    pub(super) fn start(&self) -> &[Possible<P>] {
        &self.start
    }

    /// The states after all branches have ended, in whatever order. Known once branches were safe.
    pub(super) fn ends(&self) -> &[Possible<P>] {
        &self.ends
    }

    /// Goes on to these branches, and tells whether they are safe: if not, a command may not be asked in one
    /// of their orders, or all wait at the end of it; then nothing has changed. The branches are those of the
    /// last time with more at the end of the last of them, or any others, which takes longer.
    ///
    /// O(new nodes · states · branches), with at most [`STATES_MAX`] states at a node.
    pub(super) fn grow(&mut self, branches: &[Vec<Step<'_, P>>]) -> bool {
        let lengths: Vec<usize> = branches.iter().map(Vec::len).collect();
        let faulty = self.start.iter().any(|possible| possible.lost)
            || branches.iter().flatten().any(|s| s.faults.unheard || s.faults.crash.is_some());
        if faulty != self.faulty || !self.is_begun_by(&lengths) {
            self.nodes.clear();
            self.lengths.clear();
            self.faulty = faulty;
        }
        let known = self.nodes.len();
        let Some(ends) = self.explore(branches) else {
            self.nodes.truncate(known);
            return false;
        };
        (self.lengths, self.ends) = (lengths, ends);
        true
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

    /// The states at the end, if the branches are safe.
    fn explore(&mut self, branches: &[Vec<Step<'_, P>>]) -> Option<Vec<Possible<P>>> {
        // A next command makes the number of a node greater by the weight of its branch.
        let mut weights = Vec::with_capacity(branches.len());
        let mut count = 1_usize;
        for branch in branches {
            weights.push(count);
            count = count.saturating_mul(branch.len() + 1);
        }
        if count > NODES_MAX {
            return sampled(&self.start, branches, self.noted);
        }
        let (most, steps_max) = if self.faulty { FAULTY } else { (STATES_MAX, STEPS_MAX) };
        // What was there before goes on by the last branch alone, from the nodes at its end.
        let old = if self.nodes.is_empty() { 0 } else { nodes_of(&self.lengths) };
        let last = branches.iter().rposition(|branch| !branch.is_empty()).unwrap_or_default();
        let first = old - weights.get(last).copied().unwrap_or_default().min(old);
        let mut ahead: Vec<States<P>> = (old..count).map(|_| Vec::new()).collect();
        if old == 0 {
            ahead[0] =
                self.start.iter().map(|state| (Key::of(&state.state), state.clone())).collect();
        }
        let before: usize = self.nodes.iter().take(first).map(Vec::len).sum();
        let mut steps = before * branches.len();
        for node in first..count {
            if node == self.nodes.len() && node >= old {
                let mut here = std::mem::take(&mut ahead[node - old]);
                settle(&mut here, most)?;
                self.nodes.push(here);
            }
            // It ended before this one the last time.
            let Some(here) = self.nodes.get(node) else { break };
            if node + 1 == count {
                return Some(here.iter().map(|(_, state)| state.clone()).collect());
            }
            steps += here.len() * branches.len();
            if steps > steps_max {
                break;
            }
            for (_, possible) in here {
                // What was there before was not stuck, but for its end.
                let mut stuck = node + 1 >= old;
                for (nth, (branch, weight)) in branches.iter().zip(&weights).enumerate() {
                    let Some(step) = branch.get(node / weight % (branch.len() + 1)) else {
                        continue;
                    };
                    if node < old && nth != last {
                        continue;
                    }
                    let there = &mut ahead[node + weight - old];
                    match possible.after(step, self.noted) {
                        After::Refused => return None,
                        After::Waits => continue,
                        After::MayWait(next) => {
                            put(there, next, most);
                            continue;
                        }
                        After::Then(next) => put(there, next, most),
                        After::Either(next, other) => {
                            put(there, next, most);
                            put(there, other, most);
                        }
                    }
                    stuck = false;
                }
                if stuck {
                    return None;
                }
            }
        }
        sampled(&self.start, branches, self.noted)
    }
}

/// How many nodes the lattice of branches of these lengths has.
fn nodes_of(lengths: &[usize]) -> usize {
    lengths.iter().map(|length| length + 1).product()
}

/// The states after some of the orders, the same ones every time; `None` if a command may not be asked in
/// one of these, or all wait at the end of it. O(orders · steps).
fn sampled<P: Program>(
    start: &[Possible<P>],
    branches: &[Vec<Step<'_, P>>],
    noted: bool,
) -> Option<Vec<Possible<P>>> {
    let mut rng = Rng::new(0);
    let mut ends = States::new();
    for _ in 0..ORDERS {
        let mut now = start[rng.below(start.len() as u64) as usize].clone();
        let mut at = vec![0; branches.len()];
        loop {
            if !now.open.is_empty() && rng.below(2) == 0 {
                let nth = rng.below(now.open.len() as u64) as usize;
                now = now.opened(nth)?.unwrap_or(now);
                continue;
            }
            let mut order: Vec<usize> = (0..branches.len())
                .filter(|branch| at[*branch] < branches[*branch].len())
                .collect();
            if order.is_empty() {
                break;
            }
            // The first that does not wait, from a branch drawn.
            let first = rng.below(order.len() as u64) as usize;
            order.rotate_left(first);
            let mut next = None;
            for branch in order {
                next = match now.after(&branches[branch][at[branch]], noted) {
                    After::Refused => return None,
                    After::Waits => continue,
                    After::MayWait(next) if rng.below(2) == 0 => Some(next),
                    After::MayWait(_) => continue,
                    After::Then(next) => Some(next),
                    After::Either(next, other) => {
                        Some(if rng.below(2) == 0 { next } else { other })
                    }
                };
                at[branch] += 1;
                break;
            }
            now = next?;
        }
        put(&mut ends, now, STATES_MAX);
    }
    Some(ends.into_iter().map(|(_, state)| state).collect())
}

/// Adds all that commands which nobody waits for may still lead to; `None` if one of them may not be done
/// there.
fn settle<P: Program>(here: &mut States<P>, most: usize) -> Option<()> {
    let mut at = 0;
    while at < here.len() {
        for nth in 0..here[at].1.open.len() {
            if let Some(next) = here[at].1.opened(nth)? {
                put(here, next, most);
            }
        }
        at += 1;
    }
    Some(())
}

/// Adds a state to those of a node unless it is there, or there are as many as are kept.
fn put<P: Program>(there: &mut States<P>, next: Possible<P>, most: usize) {
    let key = Key::of(&next.state);
    let known = there.iter().any(|(other_key, other)| *other_key == key && *other == next);
    if !known && there.len() < most {
        there.push((key, next));
    }
}
