//! `cargo unpause show`: shows a failure from its files, without a build.

use std::path::PathBuf;

use lexopt::prelude::*;
use serde_json::{Value as Json, json};
use sim::check::picture::Style;
use sim::check::picture::screen::{Line, Paint, Screen, plural};
use sim::report;

use crate::failures::{
    Loaded, PAGE, Project, StepView, line_of, object_named, steps_of, task_named,
};
use crate::{Exit, Terminal, Usage, page};

/// The requested part of a run.
#[derive(Default)]
pub(crate) struct Selection {
    pub(crate) step: Option<u64>,
    pub(crate) task: Option<String>,
    pub(crate) object: Option<String>,
}

pub(crate) fn run(mut parser: lexopt::Parser, terminal: &mut Terminal) -> Result<Exit, Usage> {
    let (mut path, mut as_json, mut last) = (None, false, false);
    let (mut as_page, mut page) = (false, None);
    let mut wanted = Selection::default();
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => {
                terminal.print(HELP);
                return Ok(Exit::Good);
            }
            Long("json") => as_json = true,
            Long("html") => {
                as_page = true;
                page = parser.optional_value().map(PathBuf::from);
            }
            Long("last") => last = true,
            Long("step") => {
                let text = parser.value()?.to_string_lossy().into_owned();
                let step = text.parse().map_err(|_| {
                    Usage(format!("--step is {text:?}, but should be the number of a step, from 0"))
                })?;
                wanted.step = Some(step);
            }
            Long("task") => wanted.task = Some(parser.value()?.to_string_lossy().into_owned()),
            Long("object") => wanted.object = Some(parser.value()?.to_string_lossy().into_owned()),
            Value(value) if path.is_none() => path = Some(PathBuf::from(value)),
            Value(value) if as_page && page.is_none() => page = Some(PathBuf::from(value)),
            Value(value) => {
                let value = value.to_string_lossy().into_owned();
                return Err(Usage(format!("one failure at a time: what is {value:?}?")));
            }
            other => {
                let options =
                    ["--step", "--task", "--object", "--last", "--html", "--json", "--help"];
                return Err(Usage::unknown_option(&other, &options, "cargo unpause show --help"));
            }
        }
    }
    if last && as_page && page.is_none() {
        page = path.take();
    }
    let loaded = Loaded::read(&which(path, last, "show")?)?;
    if let Some(remark) = &loaded.remark {
        terminal.error(&format!("note: {remark}"));
    }
    let all = wanted.step.is_none() && wanted.task.is_none() && wanted.object.is_none();
    if as_page {
        if as_json || !all {
            let text = "--html writes the whole failure: leave out --json, --step, --task and --object. The page selects";
            return Err(Usage(text.to_owned()));
        }
        let written = write_page(&loaded, page)?;
        terminal.print(&format!("{}\n", written.display()));
        return Ok(Exit::Good);
    }
    let steps = steps_of(&loaded);
    let steps = select(&loaded, steps, &wanted)?;
    let shown = match (as_json, &loaded.report) {
        (true, Some(report)) if all => format!("{}\n", report.value()),
        (true, _) => format!("{}\n", json_of(&loaded, &steps)),
        (false, Some(report)) if all => report.screen.text(terminal.style().color),
        (false, _) => text_of(&loaded, &steps, wanted.step.is_some(), terminal.style()),
    };
    terminal.print(&shown);
    Ok(Exit::Good)
}

/// Returns the selected steps as JSON.
///
/// # Errors
/// If the run does not contain the selected step, task or object.
pub(crate) fn selected(loaded: &Loaded, wanted: &Selection) -> Result<Json, Usage> {
    Ok(json_of(loaded, &select(loaded, steps_of(loaded), wanted)?))
}

/// Writes the page of a failure into this file, or beside the failure, and returns its path.
fn write_page(loaded: &Loaded, file: Option<PathBuf>) -> Result<PathBuf, Usage> {
    let Some(report) = &loaded.report else {
        return Err(Usage(format!(
            "a page needs the report, and {} is only a trace. Run its test again: it writes the report beside the trace",
            loaded.path.display()
        )));
    };
    let file = page::named(file.unwrap_or_else(|| loaded.path.with_extension(PAGE)))?;
    page::write(&file, &report::page(&report.value().to_string()))?;
    Ok(file)
}

/// Returns the failure that a command refers to: the given file, or the newest failure.
pub(crate) fn which(path: Option<PathBuf>, last: bool, command: &str) -> Result<PathBuf, Usage> {
    match (path, last) {
        (Some(path), false) => Ok(path),
        (Some(_), true) => Err(Usage("name a file, or --last, and not both".to_owned())),
        (None, true) => {
            let project = Project::here();
            let newest = project.failures().into_iter().find(|found| !found.is_kept);
            let newest = newest.map(|found| found.path);
            newest.ok_or_else(|| {
                Usage(format!("there is no failure in {}", project.failures.display()))
            })
        }
        (None, false) => Err(Usage(format!(
            "which failure? `cargo unpause {command} FILE`, or --last for the newest one. `cargo unpause ls` lists them"
        ))),
    }
}

/// Selects the requested steps and operations.
fn select(
    loaded: &Loaded,
    mut steps: Vec<StepView>,
    wanted: &Selection,
) -> Result<Vec<StepView>, Usage> {
    if let Some(step) = wanted.step {
        let all = loaded.step_count();
        if step >= all {
            let range = match all {
                0 => "it has none".to_owned(),
                all => format!("it has 0 to {}", all - 1),
            };
            return Err(Usage(format!("the run has no step {step} ({range})")));
        }
        let found = steps.iter().any(|view| view.step == step);
        if !found {
            return Err(Usage(format!(
                "step {step} is not in the report, which has the beginning and the end of a long run. The trace has it"
            )));
        }
    }
    if let Some(name) = &wanted.task {
        let task = task_named(loaded, name)?;
        steps.retain(|step| step.task == task);
    }
    if let Some(name) = &wanted.object {
        let object = object_named(loaded, name)?;
        for step in &mut steps {
            step.operations.retain(|operation| operation.object == Some(object));
        }
        steps.retain(|step| !step.operations.is_empty());
    }
    if let Some(number) = wanted.step {
        steps.retain(|step| step.step == number);
    }
    Ok(steps)
}

fn json_of(loaded: &Loaded, steps: &[StepView]) -> Json {
    let step = |step: &StepView| {
        let operation = |operation: &crate::failures::OperationView| {
            json!({
                "text": operation.text,
                "object": operation.object,
                "place": operation.place,
                "source": operation.source,
            })
        };
        let draw = |(value, bound): &(u64, u64)| json!({"value": value.to_string(), "bound": bound.to_string()});
        json!({
            "step": step.step,
            "task": step.shown,
            "path": step.path,
            "preempts": step.preempts,
            "operations": Vec::from_iter(step.operations.iter().map(operation)),
            "draws": Vec::from_iter(step.draws.iter().map(draw)),
        })
    };
    json!({
        "format": "unpause steps",
        "version": 1,
        "test": loaded.test(),
        "seed": loaded.seed().map(|seed| seed.to_string()),
        "failure": loaded.text(),
        "step_count": loaded.step_count(),
        "steps": Vec::from_iter(steps.iter().map(step)),
    })
}

/// Returns the steps as text. With `detail`, the text also has source lines and drawn values.
fn text_of(loaded: &Loaded, steps: &[StepView], detail: bool, style: &Style) -> String {
    let mut screen = Screen::new(style);
    let seed = loaded.seed().map_or_else(String::new, |seed| format!("  seed {seed}"));
    screen.line(
        Line::of(Paint::Bad, "FAILED")
            .with(Paint::Strong, &format!("  {}", loaded.test()))
            .with(Paint::Plain, &seed),
    );
    screen.paragraph(8, (Paint::Plain, ""), (Paint::Bad, &loaded.text()));
    let count = loaded.step_count();
    let remark = match steps.len() as u64 {
        some if some == count => plural(count, "step"),
        some => format!("{some} of {}", plural(count, "step")),
    };
    screen.heading("steps", &remark);
    for step in steps {
        if step.operations.is_empty() {
            screen.line(line_of(step, None, screen.width()));
        }
        for operation in &step.operations {
            screen.line(line_of(step, Some(operation), screen.width()));
            if let Some(source) = operation.source.as_ref().filter(|_| detail) {
                screen.line(Line::of(Paint::Faint, &format!("{:>11}{source}", "│ ")));
            }
        }
        for (value, bound) in step.draws.iter().filter(|_| detail) {
            screen.line(Line::of(
                Paint::Plain,
                &format!("{:>9}drew {value} of 0 to {}", "", bound.saturating_sub(1)),
            ));
        }
    }
    screen.finish()
}

const HELP: &str = "\
Shows a failure from its files. Nothing is built or run.

usage: cargo unpause show FILE [--step N] [--task T] [--object O] [--json]
       cargo unpause show FILE --html [PAGE]
       cargo unpause show --last …

FILE is a trace (target/sim/<package>/<test>/<seed>.simtrace) or the report beside it (<seed>.json).
The report has the whole screen, as it was printed. If there is only a trace, its steps are shown.

  --step N      the operations of step N, with their source lines and the drawn values
  --task T      the steps of a task: its path, such as 0.1, or its name
  --object O    the operations on an object, as the screen names it: counter, mutex#1
  --last        the newest failure in target/sim
  --html        writes the failure as a page for a browser, and prints its path: PAGE, or <seed>.html beside FILE.
                The page loads nothing from elsewhere
  --json        the report as JSON, or the selected steps (docs/json.md describes both)

examples:
  cargo unpause show --last
  cargo unpause show target/sim/demo/bank.transfers/17.simtrace --object mutex#0
  cargo unpause show 17.json --task 0.1 --json
  cargo unpause show --last --html

exit codes: 0 it was shown, 2 the file or an argument is invalid.
";
