//! The decisions of a run: a line of a certificate, or of a file with runs to execute.

use serde_json::{Value as Json, json};

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
        let line = serde_json::from_str(line).ok();
        let read = line.and_then(|line: Json| {
            let tasks = line["tasks"].as_array()?.iter();
            let tasks = tasks.map(|task| task.as_str().map(str::to_owned));
            let steps = numbers(&line["steps"])?.into_iter().map(|task| task as usize);
            let draws = line["draws"].as_array()?.iter().map(numbers);
            Some(Decisions {
                tasks: tasks.collect::<Option<_>>()?,
                steps: steps.collect(),
                draws: draws.collect::<Option<_>>()?,
            })
        });
        let is_known = |run: &Decisions| run.steps.iter().all(|task| *task < run.tasks.len());
        read.filter(is_known).ok_or_else(|| "not the decisions of a run".to_owned())
    }

    /// Returns the line, without the line feed.
    pub fn line(&self) -> String {
        let Decisions { tasks, steps, draws } = self;
        json!({ "tasks": tasks, "steps": steps, "draws": draws }).to_string()
    }
}

/// Returns a JSON list as numbers.
pub(crate) fn numbers(list: &Json) -> Option<Vec<u64>> {
    list.as_array()?.iter().map(Json::as_u64).collect()
}
