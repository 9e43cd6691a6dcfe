//! Counts over passed runs, and the warning about detached tasks that they left waiting.

use crate::engine::seeds::Explored;
use crate::rt::Worker;
use crate::run::Run;
use crate::run::ids::Seed;

/// Adds the last run of `worker`, which still has its histories, to the counts.
pub(super) fn note(all: &mut Explored, position: u64, seed: Seed, strategy: &str, worker: &Worker) {
    let Explored { tally, stuck, .. } = all;
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
