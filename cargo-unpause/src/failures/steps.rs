//! The steps of a failing run, read from a report or a trace.

use sim::check::picture::screen::{Line, Paint};
use sim::run::choice::Draw;
use sim::run::trace::{TraceObject, TraceOp, TraceStep, TraceTask};
use unpause_words::closest;

use super::Loaded;
use crate::Usage;
use crate::document::{Document, Run};

/// A step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct StepView {
    /// The step number, from 0.
    pub(crate) step: u64,
    /// The index of the step's task.
    pub(crate) task: usize,
    /// The path of the step's task.
    pub(crate) path: String,
    /// The task as screens show it.
    pub(crate) shown: String,
    /// `true` if the step preempted another task; `None` if unknown.
    pub(crate) preempts: Option<bool>,
    pub(crate) operations: Vec<OperationView>,
    /// The drawn values, each with its bound.
    pub(crate) draws: Vec<(u64, u64)>,
}

/// An operation of a step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct OperationView {
    pub(crate) text: String,
    /// The index of the object.
    pub(crate) object: Option<usize>,
    pub(crate) place: String,
    /// The line in the source, if known.
    pub(crate) source: Option<String>,
}

/// Returns the steps of a failure. Empty if no run failed.
pub(crate) fn steps_of(loaded: &Loaded) -> Vec<StepView> {
    let finding =
        loaded.report.as_ref().and_then(|report| Some((report, report.finding.as_ref()?)));
    match (finding, &loaded.trace) {
        (Some((report, finding)), _) => of_report(report, &finding.run),
        (None, Some(_)) => of_trace(loaded),
        (None, None) => Vec::new(),
    }
}

fn of_report(report: &Document, run: &Run) -> Vec<StepView> {
    let mut events = run.events.iter().peekable();
    let mut draws = run.draws.iter().peekable();
    let mut steps = Vec::new();
    for step in &run.steps {
        let task = usize::try_from(step.task).unwrap_or(usize::MAX);
        let record = run.tasks.get(task);
        let mut view = StepView {
            step: step.step,
            task,
            path: record.map_or_else(String::new, |task| task.path.clone()),
            shown: record.map_or_else(|| format!("task {task}"), |task| task.shown.clone()),
            preempts: Some(step.preempts),
            operations: Vec::new(),
            draws: Vec::new(),
        };
        while let Some(event) = events.next_if(|event| event.step <= step.step) {
            let place = report.place(event.place);
            let order = event.order.as_ref().map_or_else(String::new, |order| format!(" {order}"));
            view.operations.push(OperationView {
                text: format!("{}{order}", event.text),
                object: event.object.and_then(|object| usize::try_from(object).ok()),
                place: place.map_or_else(String::new, |place| place.text.clone()),
                source: place.and_then(|place| place.source.clone()),
            });
        }
        while let Some(draw) = draws.next_if(|draw| draw.step <= step.step) {
            // Like on the screen, an order of branches is shown unless it is the source order.
            if !draw.given || draw.value.0 > 0 && draw.why == Draw::BRANCH {
                view.draws.push((draw.value.0, draw.bound.0));
            }
        }
        steps.push(view);
    }
    steps
}

fn of_trace(loaded: &Loaded) -> Vec<StepView> {
    let Some(trace) = &loaded.trace else { return Vec::new() };
    let objects = objects_of(loaded);
    let step = |(at, step): (usize, &TraceStep)| {
        let task = trace.tasks.get(step.task);
        let path = task.map_or_else(String::new, |task| task.path.to_string());
        let shown = task.map_or_else(|| format!("task {}", step.task), shown);
        let operation = |op: &TraceOp| {
            let object = op.object.and_then(|object| objects.get(object));
            let object = object.map_or_else(String::new, |(name, _)| format!(" {name}"));
            let values =
                if op.values.is_empty() { String::new() } else { format!(" {}", op.values) };
            OperationView {
                text: format!("{}{object}{values}", op.op),
                object: op.object,
                place: op.place.clone(),
                source: None,
            }
        };
        StepView {
            step: at as u64,
            task: step.task,
            path,
            shown,
            preempts: None,
            operations: step.operations.iter().map(operation).collect(),
            draws: step.draws.iter().map(|draw| (draw.value, draw.bound)).collect(),
        }
    };
    trace.steps.iter().enumerate().map(step).collect()
}

/// Returns the objects of a failure: each name on the screen, and the name given by the user.
fn objects_of(loaded: &Loaded) -> Vec<(String, Option<String>)> {
    let finding = loaded.report.as_ref().and_then(|report| report.finding.as_ref());
    if let Some(finding) = finding {
        let objects = finding.run.objects.iter();
        return objects.map(|object| (object.shown.clone(), object.name.clone())).collect();
    }
    let objects = loaded.trace.iter().flat_map(|trace| &trace.objects).collect::<Vec<_>>();
    let name = |(at, object): (usize, &&TraceObject)| {
        let same = |other: &&&TraceObject| other.kind == object.kind;
        let name = match objects.iter().filter(same).count() {
            1 => object.kind.clone(),
            _ => format!("{}#{}", object.kind, objects[..at].iter().filter(same).count()),
        };
        (name, None)
    };
    objects.iter().enumerate().map(name).collect()
}

/// Returns the index of the object with the name given by the user.
pub(crate) fn object_named(loaded: &Loaded, wanted: &str) -> Result<usize, Usage> {
    let objects = objects_of(loaded);
    let is = |(shown, name): &(String, Option<String>)| {
        shown == wanted || name.as_deref() == Some(wanted)
    };
    let found = objects.iter().position(is);
    found.ok_or_else(|| none("object", wanted, objects.iter().map(|(shown, _)| &shown[..])))
}

/// Returns the index of the task that the user names by its path, its name or both.
pub(crate) fn task_named(loaded: &Loaded, wanted: &str) -> Result<usize, Usage> {
    let tasks = tasks_of(loaded);
    let is = |(shown, path): &(String, String)| {
        let name = shown.split_once(' ').map(|(_, name)| name);
        shown == wanted || path == wanted || name == Some(wanted)
    };
    let found = tasks.iter().position(is);
    found.ok_or_else(|| none("task", wanted, tasks.iter().map(|(shown, _)| &shown[..])))
}

/// Returns the tasks of a failure: each task as shown on screens, and its path.
fn tasks_of(loaded: &Loaded) -> Vec<(String, String)> {
    let finding = loaded.report.as_ref().and_then(|report| report.finding.as_ref());
    if let Some(finding) = finding {
        let tasks = finding.run.tasks.iter();
        return tasks.map(|task| (task.shown.clone(), task.path.clone())).collect();
    }
    let tasks = loaded.trace.iter().flat_map(|trace| &trace.tasks);
    tasks.map(|task| (shown(task), task.path.to_string())).collect()
}

/// Returns a task of a trace as shown on screens.
fn shown(task: &TraceTask) -> String {
    let path = task.path.to_string();
    match &task.name {
        Some(name) => format!("{path} {name}"),
        None if path == "0" => "main".to_owned(),
        None => path,
    }
}

/// Returns the error for a name that the run does not contain.
fn none<'a>(what: &str, wanted: &str, known: impl Iterator<Item = &'a str> + Clone) -> Usage {
    const KNOWN_MAX: usize = 20;
    let hint = closest(wanted, known.clone());
    let hint = hint.map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
    let mut all = known.clone().take(KNOWN_MAX).collect::<Vec<_>>().join(", ");
    let more = known.count().saturating_sub(KNOWN_MAX);
    if more > 0 {
        all += &format!(" and {more} more");
    }
    let all = if all.is_empty() { "it has none".to_owned() } else { format!("there is: {all}") };
    Usage(format!("the run has no {what} {wanted:?}{hint} ({all})"))
}

/// Returns a screen line with a step and one of its operations.
pub(crate) fn line_of(step: &StepView, operation: Option<&OperationView>, width: usize) -> Line {
    let preempts = if step.preempts == Some(true) { "»" } else { " " };
    let mut line = Line::of(Paint::Faint, &format!("{:>6} {preempts} ", step.step));
    line.put(9, Paint::Strong, &step.shown);
    let text = operation.map_or("(starts, or waits)", |operation| &operation.text);
    let at = line.width().max(28) + 1;
    line.put(at, Paint::Plain, text);
    let place = operation.map_or("", |operation| &operation.place);
    let column = (line.width() + 2).max(width.saturating_sub(40));
    if !place.is_empty() {
        line.put(column, Paint::Faint, place);
    }
    line
}
