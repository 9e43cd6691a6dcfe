//! The bound of a search that executes each run within it.

use crate::observed::Run;

/// A bound on the cost of runs. The cost never decreases while a run continues, so a run beyond the bound has no
/// continuation within it. Drawn values cost nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bound {
    /// `true` if the bound counts delays: the tasks that a round-robin scheduler skips. The scheduler continues the
    /// task of the previous step as long as it can step and does not yield, and then takes the next task that was
    /// created. `false` if the bound counts preemptions: the steps of another task although the task of the previous
    /// step could continue.
    pub counts_delays: bool,
    /// The maximum cost.
    pub most: usize,
}

impl Bound {
    /// Returns `true` if a step of `task` after the first `at` steps of a run exceeds the bound.
    pub(crate) fn excludes(self, run: &Run, at: usize, task: usize) -> bool {
        let costs = (1..=at).map(|nth| {
            let (step, last) = (&run.steps[nth], run.steps[nth - 1].task);
            let goes_on = step.ready.contains(&last) && !step.after_yield;
            let (count, first) = (run.tasks.len(), last + usize::from(!goes_on));
            let place = |task: usize| (task + count - first) % count;
            let own = if nth == at { task } else { step.task };
            let skipped = step.ready.iter().filter(|other| place(**other) < place(own)).count();
            if self.counts_delays { skipped } else { usize::from(goes_on && skipped > 0) }
        });
        costs.sum::<usize>() > self.most
    }
}
