//! The outcomes of all interleavings of a model's threads.

use std::collections::{BTreeSet, HashSet};
use std::hash::Hash;

use super::model::{Outcome, Outcomes};

/// Returns the outcomes of all interleavings of threads. `step` performs the next effect of a thread, or returns `None`
/// if the thread waits or has ended. `outcome` returns the outcome of a state in which all threads have ended.
pub(super) fn explore<S: Clone + Eq + Hash>(
    first: S,
    threads: usize,
    step: impl Fn(&mut S, usize) -> Option<()>,
    outcome: impl Fn(&S) -> Option<Outcome>,
) -> Outcomes {
    let mut known = HashSet::from([first.clone()]);
    let mut open = vec![first];
    let mut outcomes = Outcomes { ends: BTreeSet::new(), has_deadlock: false, states: 0 };
    while let Some(state) = open.pop() {
        outcomes.states += 1;
        let mut is_stuck = true;
        for thread in 0..threads {
            let mut next = state.clone();
            if step(&mut next, thread).is_some() {
                is_stuck = false;
                if known.insert(next.clone()) {
                    open.push(next);
                }
            }
        }
        if is_stuck {
            match outcome(&state) {
                Some(outcome) => _ = outcomes.ends.insert(outcome),
                None => outcomes.has_deadlock = true,
            }
        }
    }
    outcomes
}
