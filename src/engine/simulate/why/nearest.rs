//! The passing run that is nearest to the explained run, among all runs of the explanation.
//!
//! Runs of modified programs do not count. Runs that a search ended early do not count either.

use std::cmp::Reverse;

use crate::rt::Worker;
use crate::run::Run;
use crate::run::ids::{Seed, TaskId};

/// The number of first steps that two runs have in common, and the number of later steps that differ. A run with more
/// common first steps is nearer; among runs with equally many, a run with fewer differences is nearer.
type Nearness = (usize, Reverse<usize>);

/// The nearest passing run so far.
#[derive(Default)]
pub(super) struct Nearest {
    found: Option<(Nearness, Run)>,
}

impl Nearest {
    /// Keeps the last run of `worker`, which passed, if it is nearer to the explained run than all earlier runs.
    /// `steps` contains the tasks that take the steps of the explained run.
    pub(super) fn see(&mut self, worker: &Worker, steps: &[TaskId], seed: Seed) {
        let nearness = nearness(&worker.tasks_of_steps(), steps);
        if self.found.as_ref().is_none_or(|(nearest, _)| nearness > *nearest) {
            self.found = Some((nearness, worker.outline(seed, "")));
        }
    }

    /// Returns the nearest passing run, if any run passed.
    pub(super) fn run(&self) -> Option<&Run> {
        self.found.as_ref().map(|(_, run)| run)
    }
}

/// Compares a run with the explained run, by the tasks of their steps. Missing and additional steps are differences.
fn nearness(own: &[TaskId], steps: &[TaskId]) -> Nearness {
    let is_equal = |(one, other): &(&TaskId, &TaskId)| one == other;
    let pairs = || own.iter().zip(steps);
    let common = pairs().take_while(is_equal).count();
    let equal = pairs().filter(is_equal).count();
    (common, Reverse(own.len().max(steps.len()) - equal))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_first_steps_are_nearer_and_then_fewer_differences() {
        let tasks = |steps: &str| -> Vec<TaskId> {
            steps.bytes().map(|task| TaskId(u32::from(task - b'0'))).collect()
        };
        let of = |own: &str| nearness(&tasks(own), &tasks("0112"));
        assert_eq!(of("0121120"), (2, Reverse(5)));
        let nearer = ["2112", "0", "0222", "0212", "0121120", "0121", "0122", "01112", "0111"];
        for pair in nearer.windows(2) {
            assert!(of(pair[0]) < of(pair[1]), "{pair:?}");
        }
    }
}
