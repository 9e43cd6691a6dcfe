//! The decisions of a run: a line of a certificate, and of a file of runs to make.

use serde_json::{Value as Json, json};

/// The decisions that make a run. Tasks are named by their spawn paths, so they mean the same in every run.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Decisions {
    /// The spawn paths of the tasks: `0` is the body of the test, `0.1` its second child.
    pub tasks: Vec<String>,
    /// The task of each step, as a position in `tasks`.
    pub steps: Vec<usize>,
    /// By task: the values that it drew, in order. A value that is not there is 0.
    pub draws: Vec<Vec<u64>>,
}

impl Decisions {
    /// Reads a line.
    ///
    /// # Errors
    /// If the line has no decisions.
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

    /// The line, without its line feed.
    pub fn line(&self) -> String {
        let Decisions { tasks, steps, draws } = self;
        json!({ "tasks": tasks, "steps": steps, "draws": draws }).to_string()
    }
}

/// A list of numbers.
pub(crate) fn numbers(list: &Json) -> Option<Vec<u64>> {
    list.as_array()?.iter().map(Json::as_u64).collect()
}
