//! The steps of a run, as reported by the program.

use serde_json::Value as Json;

use crate::decisions::numbers;
use crate::relation::{Effect, Kind, Operation};

/// A step of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// The task of the step, as an index into the tasks of the run.
    pub task: usize,
    /// `true` if this step and all later steps must follow all earlier steps, because time advanced.
    pub after_all: bool,
    /// `true` if the task ended.
    pub ends: bool,
    /// A hash of the step's behavior: its actions, its observed values, and the drawn values that make a difference.
    pub did: u64,
    /// The drawn values: value, bound, and 1 if no other value is possible.
    pub draws: Vec<[u64; 3]>,
    /// The effects of the step.
    pub effects: Vec<Effect>,
    /// The pending operations after the step, for its task and for tasks that it created.
    pub guards: Vec<(usize, Effect)>,
}

/// A run, as observed by the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Run {
    /// The spawn paths of the tasks.
    pub tasks: Vec<String>,
    /// For each task, the node life that it belongs to; 0 if it belongs to no node.
    pub lives: Vec<u64>,
    /// The steps of the run.
    pub steps: Vec<Step>,
    /// The reason why the run cannot be part of a proof, if any.
    pub unfit: Option<String>,
}

/// The result of executing decisions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Observed {
    /// The complete run that the decisions determine.
    Run(Run),
    /// The task of this step was not enabled at that point.
    Stopped(usize),
}

/// Parses the output lines of a program.
#[derive(Debug, Default)]
pub struct Reader {
    kinds: Vec<Kind>,
}

impl Reader {
    /// Parses a line. Returns `None` if it describes a kind of operation.
    ///
    /// # Errors
    /// If the line is not an output line of a program.
    pub fn read(&mut self, line: &str) -> Result<Option<Observed>, String> {
        let wrong = || "not an observed run".to_owned();
        let line: Json = serde_json::from_str(line).map_err(|_| wrong())?;
        if let Some(relation) = line.get("kind") {
            let numbers = numbers(relation).and_then(|numbers| <[u64; 5]>::try_from(numbers).ok());
            let [bit, conflicts, enables, disables, side] = numbers.ok_or_else(wrong)?;
            self.kinds.push(Kind { bit, conflicts, enables, disables, side });
            return Ok(None);
        }
        if let Some(step) = line.get("stopped") {
            return Ok(Some(Observed::Stopped(step.as_u64().ok_or_else(wrong)? as usize)));
        }
        self.run(&line).map(|run| Some(Observed::Run(run))).ok_or_else(wrong)
    }

    fn run(&self, line: &Json) -> Option<Run> {
        let tasks = line["tasks"].as_array()?.iter().map(|task| Some(task.as_str()?.to_owned()));
        let tasks: Vec<String> = tasks.collect::<Option<_>>()?;
        let steps = line["steps"].as_array()?.iter().map(|step| self.step(step));
        let steps: Vec<Step> = steps.collect::<Option<_>>()?;
        let lives = numbers(&line["lives"])?;
        let is_known =
            lives.len() == tasks.len() && steps.iter().all(|step| step.task < tasks.len());
        let unfit = line["unfit"].as_str().map(str::to_owned);
        is_known.then_some(Run { tasks, lives, steps, unfit })
    }

    fn step(&self, step: &Json) -> Option<Step> {
        let [task, flags, did, draws, effects, guards] = &step.as_array()?[..] else { return None };
        let flags = flags.as_u64()?;
        let draws = draws.as_array()?.iter().map(|draw| numbers(draw)?.try_into().ok());
        let effects = effects.as_array()?.iter().map(|effect| self.effect(&numbers(effect)?));
        let guards = guards.as_array()?.iter().map(|guard| {
            let [task, guard] = &guard.as_array()?[..] else { return None };
            Some((task.as_u64()? as usize, self.effect(&numbers(guard)?)?))
        });
        Some(Step {
            task: task.as_u64()? as usize,
            after_all: flags & 1 != 0,
            ends: flags & 2 != 0,
            did: did.as_u64()?,
            draws: draws.collect::<Option<_>>()?,
            effects: effects.collect::<Option<_>>()?,
            guards: guards.collect::<Option<_>>()?,
        })
    }

    fn effect(&self, numbers: &[u64]) -> Option<Effect> {
        let operation = |on, kind: u64, done, span| {
            Some(Operation { on, kind: *self.kinds.get(kind as usize)?, done: done == 1, span })
        };
        Some(match *numbers {
            [0, on, kind, done, from, to] => Effect::Object(operation(on, kind, done, (from, to))?),
            [1, on, kind, done] => Effect::Task(operation(on, kind, done, (0, 0))?),
            [2, task] => Effect::Spawned(task as usize),
            [3, task] => Effect::Killed(task as usize),
            [4, history, point, strict] => Effect::Call { history, point, strict: strict == 1 },
            [5, life, ends] => Effect::Life { life, ends: ends == 1 },
            [6, reads] => Effect::Counted { reads: reads == 1 },
            [7] => Effect::Unseen,
            [8] => Effect::Over,
            _ => return None,
        })
    }
}
