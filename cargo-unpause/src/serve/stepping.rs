//! The verb that chooses the steps of a run.

use serde_json::{Value as Json, json};

use super::arguments::Arguments;
use super::reading::state;
use super::running::command;
use crate::Usage;
use crate::explained::{event, explained};
use crate::failures::Loaded;
use crate::replay::invocation_of;
use crate::rerun::Stop;
use crate::rerun::steps::{After, Choices, after};

/// The maximum number of tasks for which the next operations are found, by one replay per task.
const AHEAD_MAX: usize = 8;

pub(super) fn step(arguments: &Arguments, stop: &Stop) -> Result<Json, Usage> {
    let invocation = match (arguments.text("file"), arguments.text("test")) {
        (Some(file), None) => invocation_of(&Loaded::read(std::path::Path::new(file))?)?,
        (None, Some(_)) => command(arguments, true)?,
        (Some(_), Some(_)) => {
            return Err(Usage("name a file or a test, and not both".to_owned()));
        }
        (None, None) => {
            return Err(Usage(
                "which test? Give `file`, a failure, or `test`, the whole path of one test"
                    .to_owned(),
            ));
        }
    };
    let choices = Choices::parse(arguments.text("choices").unwrap_or_default())?;
    let reached = after(&invocation, choices, stop)?;
    let mut enabled = Vec::new();
    for (at, task) in reached.enabled.iter().enumerate() {
        let next = match at < AHEAD_MAX {
            true => {
                let mut choices = reached.choices.clone();
                choices.push(task);
                Some(last_step(&after(&invocation, choices, stop)?))
            }
            false => None,
        };
        enabled.push(json!({"task": task, "next": next}));
    }
    let run = reached.report.finding.as_ref().map(|finding| &finding.run);
    let last = reached.choices.len().checked_sub(1);
    let has_ended = reached.enabled.is_empty();
    Ok(json!({
        "steps": reached.choices.len(),
        "trace": reached.choices.text(),
        "enabled": enabled,
        "has_ended": has_ended,
        "last": last_step(&reached),
        "state": run.zip(last).map(|(run, last)| state(&reached.report, run, last as u64)),
        "failure": has_ended.then(|| explained(&reached.report)["failure"].take()),
    }))
}

/// Returns the operations of the last chosen step.
fn last_step(reached: &After) -> Json {
    let run = reached.report.finding.as_ref().map(|finding| &finding.run);
    let (Some(run), Some(last)) = (run, reached.choices.len().checked_sub(1)) else {
        return json!([]);
    };
    let of_step = run.events.iter().filter(|event| event.step == last as u64 && !event.quiet);
    of_step.map(|of| event(&reached.report, run, of)).collect()
}
