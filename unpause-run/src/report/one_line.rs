//! A failure as one line, for the header of a trace and for the failure text of a test.

use std::fmt::Display;

use crate::run::ids::TaskId;
use crate::run::place::portable;
use crate::run::{Condition, Failure, Run};
use unpause_check::verdict::Verdict;

/// Returns the failure as one line, including the message of a panic.
pub fn one_line(failure: &Failure, run: &Run) -> String {
    let task = |id: TaskId| match run.tasks.get(id.index()) {
        Some(task) => task.to_string(),
        None => "main".to_owned(),
    };
    let at = |place: &dyn Display| portable(&place.to_string());
    let line = match failure {
        Failure::Panic { task: id, message, place } if place.is_empty() => {
            format!("panic in {}: {message}", task(*id))
        }
        Failure::Panic { task: id, message, place } => {
            format!("panic in {} at {}: {message}", task(*id), at(place))
        }
        Failure::Memory(error) => {
            let steps: Vec<String> = error
                .steps
                .iter()
                .map(|step| format!("{} at {} by {}", step.label, at(&step.place), task(step.task)))
                .collect();
            format!("{}: {}; {}", error.problem, error.message, steps.join(", "))
        }
        Failure::Invariant { name, task: id, place } => {
            let (place, task) = (at(place), task(*id));
            format!("invariant {name:?} at {place} does not hold after a step of {task}")
        }
        Failure::Error { message } => format!("the test returned the error {message}"),
        Failure::Deadlock { waits } => {
            let waits: Vec<String> = waits
                .iter()
                .map(|wait| {
                    let op = wait.op.map_or("wait", |op| op.name);
                    format!("{} at {op}, {}", task(wait.task), at(&wait.place))
                })
                .collect();
            format!("deadlock: {}", waits.join("; "))
        }
        Failure::StepLimit { steps, .. } => format!("step limit reached after {steps} steps"),
        Failure::Starved { task: id, steps, place } => {
            let place = at(place);
            format!("{}, spawned at {place}, is starved after {steps} steps", task(*id))
        }
        Failure::History { condition, verdict: Verdict::Unknown(why), place, .. } => {
            format!("{condition} {why}, checked at {}", at(place))
        }
        Failure::History { condition, place, .. } => {
            format!("{condition} violated, checked at {}", at(place))
        }
        Failure::Diverged { step, expected, found } => {
            format!("diverged at step {step}: expected {expected}, found {found}")
        }
        Failure::NonDeterminism { step, first, second } => {
            format!("non-determinism at step {step}: first {first}, then {second}")
        }
        Failure::Crash { task: id, cause, message, place } => {
            format!("{cause} in {} at {}: {message}", task(*id), at(place))
        }
        // No single task is known to be the cause.
        Failure::Hang { last, seconds, .. } if run.is_on_threads() => {
            format!("hang: no task has made progress for {seconds} s; not ended: {last}")
        }
        Failure::Hang { task: id, place, seconds, .. } if !place.is_empty() => {
            let place = at(place);
            format!("hang: {} did not reach a point for {seconds} s, at {place}", task(*id))
        }
        Failure::Hang { task: id, last, seconds, .. } => {
            format!("hang: {} did not yield for {seconds} s after {last}", task(*id))
        }
        Failure::TimeLimit { running, seconds } => {
            format!("time limit: after {seconds} s there still ran {running}")
        }
        Failure::TooSeldom { conditions, runs, .. } => {
            let tell = |condition: &Condition| match condition.runs {
                0 => format!("{} never held", condition.name),
                held => format!(
                    "{} held in {held} of {runs} runs, wanted in {} % of them",
                    condition.name, condition.percent
                ),
            };
            conditions.iter().map(tell).collect::<Vec<_>>().join("; ")
        }
        Failure::Unproven { why } => format!("the search proved nothing: {why}"),
        Failure::Unreadable { message } => message.clone(),
        Failure::Misuse { message, place } if place.is_empty() => message.clone(),
        Failure::Misuse { message, place } => format!("{message} (at {})", at(place)),
    };
    // The message of a panic may have several lines, but callers print one line for each failure.
    line.replace(['\n', '\r'], " ")
}
