//! Verbs that read failure files.

use std::path::Path;

use serde_json::{Value as Json, json};

use super::arguments::Arguments;
use crate::document::{Document, Run};
use crate::explained::{event, explained, held_after, place};
use crate::failures::Loaded;
use crate::rerun::Stop;
use crate::show::Selection;
use crate::{Usage, diff, keep as keeping, show as showing};

/// Loads the failure named by the argument `file`.
pub(super) fn loaded(arguments: &Arguments) -> Result<Loaded, Usage> {
    Loaded::read(Path::new(arguments.needed("file")))
}

/// Returns the report of a failure.
///
/// # Errors
/// If the failure has only a trace.
fn report(loaded: &Loaded) -> Result<&Document, Usage> {
    loaded.report.as_ref().ok_or_else(|| {
        let remark = loaded.remark.as_deref().unwrap_or("there is none");
        Usage(format!("{} has no report: {remark}", loaded.path.display()))
    })
}

pub(super) fn show(arguments: &Arguments, _: &Stop) -> Result<Json, Usage> {
    let loaded = loaded(arguments)?;
    let text = |name: &str| arguments.text(name).map(str::to_owned);
    let (step, task, object) = (arguments.number("step"), text("task"), text("object"));
    let all = step.is_none() && task.is_none() && object.is_none();
    match &loaded.report {
        Some(report) if all => Ok(json!({
            "test": report.test,
            "failure": loaded.text(),
            "screen": report.screen.text(false),
        })),
        _ => showing::selected(&loaded, &Selection { step, task, object }),
    }
}

pub(super) fn why(arguments: &Arguments, _: &Stop) -> Result<Json, Usage> {
    let loaded = loaded(arguments)?;
    Ok(explained(report(&loaded)?))
}

pub(super) fn diverges_from(arguments: &Arguments, _: &Stop) -> Result<Json, Usage> {
    let other = Loaded::read(Path::new(arguments.needed("other")))?;
    Ok(diff::compared(&loaded(arguments)?, &other))
}

pub(super) fn keep(arguments: &Arguments, _: &Stop) -> Result<Json, Usage> {
    let placed = keeping::keep(&loaded(arguments)?, arguments.text("name").map(str::to_owned))?;
    let (file, is_new) = placed.into_parts();
    Ok(json!({"kept": file.display().to_string(), "is_new": is_new}))
}

pub(super) fn state_at(arguments: &Arguments, _: &Stop) -> Result<Json, Usage> {
    let loaded = loaded(arguments)?;
    let report = report(&loaded)?;
    let finding = report.finding.as_ref();
    let run = &finding.ok_or_else(|| Usage("the test passed: there is no run".to_owned()))?.run;
    let step = arguments.number("step").unwrap_or_default();
    if step >= run.step_count {
        return Err(Usage(match run.step_count {
            0 => format!("the run has no step {step} (it has none)"),
            all => format!("the run has no step {step} (it has 0 to {})", all - 1),
        }));
    }
    Ok(state(report, run, step))
}

/// Returns the state after the step: objects with their values, and tasks with their last and next
/// operations.
pub(super) fn state(report: &Document, run: &Run, step: u64) -> Json {
    let (before, after) = run.events.split_at(run.events.partition_point(|e| e.step <= step));
    let objects = held_after(run, step);
    let objects = objects.iter().map(|held| {
        json!({
            "object": held.object.shown,
            "name": held.object.name,
            "value": held.value,
            "created": place(report, held.object.place),
            "last": event(report, run, held.last),
            "last_change": held.last_change.map(|changed| event(report, run, changed)),
        })
    });
    let tasks = run.tasks.iter().enumerate().map(|(at, task)| {
        let at = at as u64;
        let last = before.iter().rev().find(|event| event.task == at);
        let next = after.iter().find(|event| event.task == at);
        let has_stepped = run.steps.iter().any(|of| of.step <= step && of.task == at);
        let will_step = run.steps.iter().any(|of| of.step > step && of.task == at);
        json!({
            "task": task.shown,
            "path": task.path,
            "has_stepped": has_stepped,
            "will_step": will_step,
            "last": last.map(|last| event(report, run, last)),
            "next": next.map(|next| event(report, run, next)),
        })
    });
    json!({
        "after_step": step,
        "of_steps": run.step_count,
        "objects": objects.collect::<Vec<_>>(),
        "tasks": tasks.collect::<Vec<_>>(),
    })
}
