//! Counts over passed runs, and the warning about detached tasks that a run left waiting.

use crate::engine::seeds::{Explored, Stuck};
use crate::rt::Worker;
use crate::run::ids::{Seed, TaskId};
use crate::run::place::in_text;
use crate::run::{Run, Wait};

/// Adds the last run of `worker`, which still has its histories, to the counts.
pub(super) fn note(all: &mut Explored, position: u64, seed: Seed, strategy: &str, worker: &Worker) {
    let Explored { tally, stuck, .. } = all;
    tally.runs += 1;
    tally.steps += worker.steps();
    tally.beyond += u64::from(worker.is_beyond());
    worker.add_conditions(&mut tally.conditions);
    worker.add_faults(&mut tally.faults);
    // Both of the following counts copy the run, so they are computed only on request.
    if let Some(census) = &mut tally.census {
        census.add(position, &worker.outline(seed, strategy));
    }
    if let Some(statistics) = &mut tally.statistics {
        statistics.add(&worker.extract(seed, strategy));
    }
    if stuck.is_none() && worker.left_waiting() {
        let text = warning(&worker.outline(seed, strategy));
        *stuck = text.map(|text| Stuck { position, seed, text });
    }
}

/// Describes one task of a cycle of waiting tasks, and the task for which it waits.
fn of_circle(run: &Run, wait: &Wait) -> String {
    let task = |id: TaskId| &run.tasks[id.index()];
    let place = in_text(wait.place);
    let op = wait.op.map_or("wait", |op| op.name);
    match (wait.target, &wait.holder) {
        (None, Some(holder)) => {
            format!("{} at {op}, {place}, held by {}", task(wait.task), task(holder.task))
        }
        (Some(target), _) => {
            format!("{} at {op} of {}, {place}", task(wait.task), task(target))
        }
        _ => format!("{} at {op}, {place}", task(wait.task)),
    }
}

/// Returns a warning about tasks that a passed run left waiting forever.
fn warning(run: &Run) -> Option<String> {
    if !run.circle.is_empty() {
        let waits: Vec<String> = run.circle.iter().map(|wait| of_circle(run, wait)).collect();
        return Some(format!(
            "tasks waited for each other when the test body ended: {}",
            waits.join("; ")
        ));
    }
    let (task, doing) = run.stuck.first()?;
    let task = &run.tasks[task.index()];
    let more = match run.stuck.len() {
        1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    Some(format!(
        "the detached task {task}{more} was still blocked when the test body had ended, and no task was left to wake \
         it: {doing}"
    ))
}
