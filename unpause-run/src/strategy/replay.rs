//! Strict replay: follows the decisions of a trace, and returns an error at the first step that differs from the trace.
//!
//! Strict replay compares tasks, operations and objects. Values and source lines may differ, so that a trace remains
//! valid after an edit that only moves code.

use super::roster::{Roster, path_of};
use crate::run::choice::{Draw, Mismatch, Strategy, View};
use crate::run::event::Event;
use crate::run::ids::{ObjectId, Seed, TaskPath};
use crate::run::place::portable;
use crate::run::trace::{Trace, TraceDraw, TraceOp};
use unpause_ordered::sort;

/// A strategy that replays a trace strictly.
///
/// An inline trace contains the tasks of the steps but not their operations, so a replay of an inline trace compares
/// only the tasks.
#[derive(Debug)]
pub struct Replay {
    trace: Trace,
    roster: Roster,
    /// The number of steps chosen so far.
    step: usize,
    /// The number of draws answered in the current step.
    drawn: usize,
    /// True if the trace contains the operations.
    has_operations: bool,
}

impl Replay {
    /// Creates a strategy that replays `trace`.
    pub fn new(trace: Trace) -> Replay {
        let roster = Roster::new(trace.tasks.iter().map(|task| &task.path));
        let has_operations = trace.steps.iter().any(|step| !step.operations.is_empty());
        Replay { trace, roster, step: 0, drawn: 0, has_operations }
    }

    /// Compares the operations of the last step with the trace.
    fn compare_last(&mut self, view: &View<'_>) -> Result<(), Mismatch> {
        let Some(last) = self.step.checked_sub(1) else {
            return Ok(());
        };
        let expected = &self.trace.steps[last];
        if expected.draws.len() != self.drawn {
            return Err(Mismatch::new(
                last as u32,
                format!("{} values drawn", expected.draws.len()),
                format!("{} values drawn", self.drawn),
            ));
        }
        if !self.has_operations {
            return Ok(());
        }
        // This function runs when the next step is chosen or the run has ended, so the events of the step are the last
        // events.
        let from = view.events().iter().rposition(|e| e.step as usize != last);
        let news = &view.events()[from.map_or(0, |i| i + 1)..];
        let same = |operation: &TraceOp, event: &Event| {
            operation.op == event.op.name && operation.object == event.object.map(ObjectId::index)
        };
        let equal = expected.operations.len() == news.len()
            && expected
                .operations
                .iter()
                .zip(news)
                .all(|(operation, event)| same(operation, event));
        if equal {
            return Ok(());
        }
        let path = &self.trace.tasks[expected.task].path;
        let tell = |operations: Vec<String>| match operations.is_empty() {
            true => format!("{}: no operation", name(path)),
            false => format!("{}: {}", name(path), operations.join(", ")),
        };
        let named = |op: &str, object: Option<usize>, place: &dyn std::fmt::Display| {
            let object = object.map_or(String::new(), |object| format!(" of object {object}"));
            format!("{op}{object} at {}", portable(&place.to_string()))
        };
        let expected =
            expected.operations.iter().map(|d| named(&d.op, d.object, &d.place)).collect();
        let found = news
            .iter()
            .map(|e| named(e.op.name, e.object.map(ObjectId::index), &e.place))
            .collect();
        Err(Mismatch::new(last as u32, tell(expected), tell(found)))
    }
}

/// Returns the name of a task in reports, for example `main` or `0.1`.
fn name(path: &TaskPath) -> String {
    match path.segments().len() {
        1 => "main".to_owned(),
        _ => path.to_string(),
    }
}

impl Strategy for Replay {
    fn begin(&mut self, _: Seed) {
        self.roster.restart();
        self.step = 0;
        self.drawn = 0;
    }

    fn sees_forced_steps(&self) -> bool {
        true
    }

    fn pick(&mut self, view: &View<'_>) -> Result<usize, Mismatch> {
        self.compare_last(view)?;
        self.drawn = 0;
        self.roster.update(view);
        let step = self.step as u32;
        let candidates = || {
            let mut paths: Vec<_> = view.candidates().iter().map(|t| path_of(view, *t)).collect();
            sort(&mut paths);
            let paths: Vec<String> = paths.iter().map(name).collect();
            paths.join(", ")
        };
        let Some(next) = self.trace.steps.get(self.step) else {
            return Err(Mismatch::new(
                step,
                "the end of the run".to_owned(),
                format!("enabled tasks: {}", candidates()),
            ));
        };
        self.step += 1;
        let task = self.roster.task(next.task);
        let at = task.and_then(|task| view.candidates().iter().position(|t| *t == task));
        at.ok_or_else(|| {
            Mismatch::new(
                step,
                format!("a step of {}", name(&self.trace.tasks[next.task].path)),
                format!("tasks that can step: {}", candidates()),
            )
        })
    }

    fn given(&mut self, draw: &Draw, _: u64) -> Result<u64, Mismatch> {
        // A later version of the library may give values with a larger bound. The value from an older trace remains
        // valid.
        let step = self.trace.steps.get(self.step.saturating_sub(1));
        let bound = step.and_then(|step| step.draws.get(self.drawn)).map(|drawn| drawn.bound);
        let bound = bound.filter(|bound| *bound < draw.bound).unwrap_or(draw.bound);
        self.draw(&Draw { bound, ..*draw })
    }

    fn draw(&mut self, draw: &Draw) -> Result<u64, Mismatch> {
        let step = self.step.saturating_sub(1);
        let drawn = self.trace.steps.get(step).and_then(|s| s.draws.get(self.drawn));
        self.drawn += 1;
        match drawn {
            Some(TraceDraw { value, bound }) if *bound == draw.bound => Ok(*value),
            _ => Err(Mismatch::new(
                step as u32,
                drawn.map_or_else(
                    || "no further draw".to_owned(),
                    |d| format!("a draw of a value below {}", d.bound),
                ),
                format!("a draw of a value below {}", draw.bound),
            )),
        }
    }

    fn end(&mut self, view: &View<'_>) -> Result<(), Mismatch> {
        self.compare_last(view)?;
        match self.trace.steps.get(self.step) {
            None => Ok(()),
            Some(next) => Err(Mismatch::new(
                self.step as u32,
                format!("a step of {}", name(&self.trace.tasks[next.task].path)),
                "the end of the run".to_owned(),
            )),
        }
    }
}
