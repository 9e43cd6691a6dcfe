//! The line format for the decisions of a run, in certificates and in files that list runs to
//! execute.

use crate::engine::results::{Json, list, quoted};
use crate::run::ids::TaskPath;
use crate::run::schedule::Schedule;

/// Returns the line of an executed schedule, without its line feed.
pub(in crate::engine::simulate) fn write(schedule: &Schedule) -> String {
    let numbers = |numbers: &[u64]| list(numbers.iter().map(u64::to_string));
    let tasks = list(schedule.tasks.iter().map(|task| quoted(&task.to_string())));
    let mut steps = Vec::new();
    for turn in &schedule.turns {
        steps.resize(steps.len() + turn.steps as usize, turn.task.to_string());
    }
    let draws = schedule.draws.iter().map(|draws| numbers(draws));
    format!("{{\"tasks\":{tasks},\"steps\":{},\"draws\":{}}}", list(steps), list(draws))
}

/// Parses the line of a schedule.
///
/// # Errors
/// If the line is not a schedule.
pub(in crate::engine::simulate) fn read(line: &Json) -> Result<Schedule, String> {
    let wrong = || "not the decisions of a run".to_owned();
    let numbers = |value: &Json| match value {
        Json::List(numbers) => {
            let number = |value: &Json| match value {
                Json::Number(number) => Some(*number),
                _ => None,
            };
            numbers.iter().map(number).collect::<Option<Vec<u64>>>()
        }
        _ => None,
    };
    let path = |value: &Json| match value {
        Json::Text(path) => path.parse::<TaskPath>().ok(),
        _ => None,
    };
    let tasks = line.list("tasks")?.iter().map(path).collect::<Option<_>>().ok_or_else(wrong)?;
    let draws = match line.get("draws") {
        None => Vec::new(),
        Some(_) => {
            line.list("draws")?.iter().map(numbers).collect::<Option<_>>().ok_or_else(wrong)?
        }
    };
    let mut schedule = Schedule { tasks, draws, ..Schedule::default() };
    let count = schedule.tasks.len();
    for task in numbers(line.get("steps").ok_or_else(wrong)?).ok_or_else(wrong)? {
        let task = usize::try_from(task).ok().filter(|task| *task < count).ok_or_else(wrong)?;
        schedule.step(task, false);
    }
    if schedule.draws.len() > count {
        return Err(wrong());
    }
    Ok(schedule)
}
