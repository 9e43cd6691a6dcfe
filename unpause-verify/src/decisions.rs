//! The decisions of a run: a line of a certificate, or of a file with runs to execute.

use serde_json::{Value as Json, from_value, json};

/// The decisions that determine a run. Tasks are named by spawn paths, which have the same meaning in every run.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Decisions {
    /// The spawn paths of the tasks: `0` is the body of the test, and `0.1` is its second child.
    pub tasks: Vec<String>,
    /// The task of each step, as an index into `tasks`.
    pub steps: Vec<usize>,
    /// For each task, its drawn values, in order. A missing value counts as 0.
    pub draws: Vec<Vec<u64>>,
}

impl Decisions {
    /// Parses a line.
    ///
    /// # Errors
    /// If the line does not contain decisions.
    pub fn read(line: &str) -> Result<Decisions, String> {
        let decisions = serde_json::from_str(line).ok().and_then(Decisions::of);
        decisions.ok_or_else(|| "not the decisions of a run".to_owned())
    }

    fn of(mut line: Json) -> Option<Decisions> {
        let tasks: Vec<String> = from_value(line.get_mut("tasks")?.take()).ok()?;
        let steps: Vec<usize> = from_value(line.get_mut("steps")?.take()).ok()?;
        let draws = from_value(line.get_mut("draws")?.take()).ok()?;
        let are_known = steps.iter().all(|task| *task < tasks.len());
        are_known.then_some(Decisions { tasks, steps, draws })
    }

    /// Returns the line, without the line feed.
    pub fn line(&self) -> String {
        let Decisions { tasks, steps, draws } = self;
        json!({ "tasks": tasks, "steps": steps, "draws": draws }).to_string()
    }
}
