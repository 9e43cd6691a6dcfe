//! Which commands may be asked whatever the order: all states that the branches can lead to.
//!
//! Branches that go on in any order are a lattice: a node for each vector of positions, an edge for
//! each next command. The states that are possible at a node are those of the nodes before it, one
//! command later, so all orders are looked at without going through them one by one: 5 commands at
//! once are 32 nodes and not 120 orders, three branches of 5 are 216 and not 756,756. States that are
//! equal are one. Where more than [`STATES_MAX`] differ, that many are kept: from there on it is a
//! sample.

use super::CommandId;
use super::Program;
use crate::check::{Key, Model};

/// How many different states are kept at a node.
pub(crate) const STATES_MAX: usize = 1024;

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
#[derive(Clone, Debug)]
pub(super) struct Possible<P: Model> {
    pub(super) state: P,
    pub(super) returned: Vec<Option<P::Ret>>,
}

/// A command to be placed: its name, what it asks, and whose results it may use.
pub(super) struct Step<'a, P: Model> {
    pub(super) id: CommandId,
    pub(super) op: &'a P::Op,
    pub(super) sees: &'a dyn Fn(CommandId) -> bool,
}

/// What comes of a command.
pub(super) enum After<P: Model> {
    /// It may not be asked.
    Refused,
    /// It waits.
    Waits,
    Then(Possible<P>),
}

impl<P: Program> Possible<P> {
    /// After `step`; with what it returned, if anybody is going to ask for that.
    pub(super) fn after(&self, step: &Step<'_, P>, noted: bool) -> After<P> {
        let Some(op) = resolved(step, &self.returned) else { return After::Refused };
        if !self.state.precondition(&op) {
            return After::Refused;
        }
        if self.state.waits(&op) {
            return After::Waits;
        }
        let mut next = self.clone();
        let ret = next.state.step(&op);
        if noted {
            if next.returned.len() <= step.id.index() {
                next.returned.resize(step.id.index() + 1, None);
            }
            next.returned[step.id.index()] = Some(ret);
        }
        After::Then(next)
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

/// The states after all branches have ended, from any of `start` and in whatever order; `None` if a
/// command may not be asked in one of those orders, or all wait at the end of it. The flag tells whether all were looked at.
///
/// `noted` says whether results are kept, and states that are equal but follow other results told apart.
/// O(nodes · states · branches), with at most [`STATES_MAX`] states at a node.
pub(super) fn after_all<P: Program>(
    start: &[Possible<P>],
    branches: &[Vec<Step<'_, P>>],
    noted: bool,
) -> Option<(Vec<Possible<P>>, bool)> {
    // The number of a node has a digit for each branch; a next command makes it greater.
    let mut weights = Vec::with_capacity(branches.len());
    let mut nodes = 1;
    for branch in branches {
        weights.push(nodes);
        nodes *= branch.len() + 1;
    }
    // With their hashes, so that most of those that differ are seen to at once.
    let mut states: Vec<Vec<(Key, Possible<P>)>> = vec![Vec::new(); nodes];
    states[0] = start.iter().map(|state| (Key::of(&state.state), state.clone())).collect();
    let mut exact = true;
    for node in 0..nodes - 1 {
        let here = std::mem::take(&mut states[node]);
        for (_, possible) in &here {
            let mut stuck = true;
            for (branch, weight) in branches.iter().zip(&weights) {
                let Some(step) = branch.get(node / weight % (branch.len() + 1)) else { continue };
                let next = match possible.after(step, noted) {
                    After::Refused => return None,
                    After::Waits => continue,
                    After::Then(next) => next,
                };
                stuck = false;
                let there = &mut states[node + weight];
                let key = Key::of(&next.state);
                let same = |(other_key, other): &(Key, Possible<P>)| {
                    *other_key == key
                        && other.state == next.state
                        && other.returned == next.returned
                };
                if there.iter().any(same) {
                    continue;
                }
                match there.len() < STATES_MAX {
                    true => there.push((key, next)),
                    false => exact = false,
                }
            }
            if stuck {
                return None;
            }
        }
    }
    let end = states.pop().unwrap_or_default();
    Some((end.into_iter().map(|(_, state)| state).collect(), exact))
}
