//! Finds the reversal that a search did not try: a sampled run belongs to no class of the search, but does after the
//! reversal of two of its steps.

use std::collections::VecDeque;
use unpause_ordered::Set;

use super::again::Again;
use crate::report::{Clash, StepText};
use crate::run::ids::TaskId;
use crate::strategy::divided::SearchTree;
use crate::strategy::happens_before::HappensBefore;

/// The maximum number of runs for finding it.
const RUNS: u32 = 200;

/// The maximum number of steps of a run in which conflicting steps are reversed. Longer runs have too many pairs of
/// conflicting steps.
const STEPS: u32 = 400;

/// Returns two steps whose order the search did not reverse. Starting at the sampled run, it reverses pairs of
/// conflicting steps until a run belongs to a class of the search. `None` if no nearby run belongs to such a class.
pub(super) fn reversal(
    again: &mut Again<'_, '_>,
    search: &SearchTree,
    tasks: Vec<TaskId>,
) -> Option<Clash> {
    let mut known = Set::new();
    let mut left = VecDeque::from([tasks]);
    let mut runs = 0;
    while let Some(tasks) = left.pop_front() {
        let (_, reversed) = again.make(&tasks, reversals);
        let run = again.outline();
        for Reversal { steps, tasks, begins } in reversed {
            if runs == RUNS {
                return None;
            }
            runs += 1;
            let (_, class) = again.make(&tasks, |order| order.class());
            let made = again.outline();
            let made = made.steps.iter().map(|step| step.task).take(begins);
            if !made.eq(tasks[..begins].iter().copied()) {
                // These two steps cannot occur in the other order.
                continue;
            }
            if search.has_class(class) == Some(true) {
                let steps = steps.map(|step| StepText::of(&run, step));
                return Some(Clash { steps, ..Clash::default() });
            }
            if known.insert(class) {
                left.push_back(tasks);
            }
        }
    }
    None
}

/// A reversal of two conflicting steps without a step between them in happens-before order.
struct Reversal {
    steps: [u32; 2],
    /// The tasks of all steps, in the new order.
    tasks: Vec<TaskId>,
    /// The number of steps up to and including the reversed steps. The further steps follow as far as they are
    /// possible.
    begins: usize,
}

/// Returns all reversals of a run.
fn reversals(order: &HappensBefore) -> Vec<Reversal> {
    let mut reversals = Vec::new();
    let length = order.steps().min(STEPS);
    // Reversals near the end come first, because a reversal near the beginning may lead to a run without the later
    // reversals.
    for later in (0..length).rev() {
        for earlier in (0..later).rev() {
            let is_between =
                |step: u32| order.is_before(earlier, step) && order.is_before(step, later);
            let is_race = order.task_of(earlier) != order.task_of(later)
                && order.base(later) != Some(earlier)
                && order.is_before(earlier, later)
                && !(earlier + 1..later).any(is_between);
            if !is_race {
                continue;
            }
            let waits = |step: &u32| *step == earlier || order.is_before(earlier, *step);
            let first = (0..later).filter(|step| !waits(step)).chain([later, earlier]);
            let mut steps: Vec<u32> = first.collect();
            let begins = steps.len();
            let is_left = |step: &u32| *step != later && *step != earlier;
            steps.extend((earlier..later).filter(waits).filter(is_left));
            steps.extend(later + 1..order.steps());
            let tasks = steps.into_iter().map(|step| order.task_of(step)).collect();
            reversals.push(Reversal { steps: [earlier, later], tasks, begins });
        }
    }
    reversals
}
