//! The record of passed runs: counts that add up, and the first warning about a detached task.

use super::reorder::ClosureCollector;
use crate::engine::config::Config;
use crate::engine::results::Tally;
use crate::rt::Worker;
use crate::run::Run;
use crate::run::ids::Seed;

/// Counts over passed runs.
#[derive(Default)]
pub(super) struct Passed {
    pub(super) tally: Tally,
    /// The warning of the first run that left a detached task waiting for ever, and the position of that run.
    pub(super) stuck: Option<(u64, String)>,
}

impl Passed {
    /// Empty counts of all that the settings ask for.
    pub(super) fn of_seeds(config: &Config) -> Passed {
        let tally = Tally::new(config.coverage, config.statistics, config.closure);
        Passed { tally, stuck: None }
    }

    /// Empty counts for a search, which reports its progress in place of coverage.
    pub(super) fn of_search(config: &Config) -> Passed {
        Passed { tally: Tally::new(false, config.statistics, false), stuck: None }
    }

    /// Adds the last run of `worker`, which still has its histories.
    pub(super) fn note(&mut self, position: u64, seed: Seed, strategy: &str, worker: &Worker) {
        let Passed { tally, stuck } = self;
        tally.runs += 1;
        tally.steps += worker.steps();
        worker.add_conditions(&mut tally.conditions);
        // Each of these copies the run, so only on request.
        if let Some(census) = &mut tally.census {
            census.add(position, &worker.outline(seed, strategy));
        }
        if let Some(statistics) = &mut tally.statistics {
            statistics.add(&worker.extract(seed, strategy));
        }
        if stuck.is_none() && worker.left_waiting() {
            *stuck = warning(&worker.outline(seed, strategy)).map(|text| (position, text));
        }
    }

    /// Adds the results of reordered calls, and leaves none there.
    pub(super) fn take_closure(&mut self, closing: &mut ClosureCollector) {
        if let (Some(all), Some(own)) = (&mut self.tally.closure, &mut closing.closure) {
            all.add(&std::mem::take(own));
        }
    }

    /// Adds other counts. The result does not depend on the order of additions.
    pub(super) fn merge(&mut self, other: Passed) {
        self.tally.merge(other.tally);
        let first = |(n, _): &(u64, String)| self.stuck.as_ref().is_none_or(|(own, _)| n < own);
        if other.stuck.as_ref().is_some_and(first) {
            self.stuck = other.stuck;
        }
    }
}

/// The warning about detached tasks that a passed run left waiting.
fn warning(run: &Run) -> Option<String> {
    let (task, doing) = run.stuck.first()?;
    let task = &run.tasks[task.index()];
    let more = match run.stuck.len() {
        1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    Some(format!(
        "seed {}: the detached task {task}{more} was still blocked when the test body had ended, and no task \
         was left to wake it: {doing}",
        run.seed
    ))
}
