//! The steps of a run, as reported by the program.

use serde_json::{Value as Json, from_value};

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
    /// The tasks that could take this step. Empty without a bound.
    pub ready: Vec<usize>,
    /// `true` if the task of the previous step yields with its next operation.
    pub after_yield: bool,
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

/// A step in a line: task, flags, hash, draws, effects, guards with their tasks, and the tasks that could step.
type StepInLine =
    (usize, u64, u64, Vec<[u64; 3]>, Vec<Vec<u64>>, Vec<(usize, Vec<u64>)>, Vec<usize>);

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
        let line = serde_json::from_str(line).ok().and_then(|line| self.line(line));
        line.ok_or_else(|| "not an observed run".to_owned())
    }

    fn line(&mut self, mut line: Json) -> Option<Option<Observed>> {
        if let Some(kind) = line.get_mut("kind") {
            let [bit, conflicts, enables, disables, side] = from_value(kind.take()).ok()?;
            self.kinds.push(Kind { bit, conflicts, enables, disables, side });
            return Some(None);
        }
        if let Some(step) = line.get("stopped") {
            return Some(Some(Observed::Stopped(step.as_u64()? as usize)));
        }
        let tasks: Vec<String> = from_value(line.get_mut("tasks")?.take()).ok()?;
        let lives: Vec<u64> = from_value(line.get_mut("lives")?.take()).ok()?;
        let steps: Vec<StepInLine> = from_value(line.get_mut("steps")?.take()).ok()?;
        let steps: Vec<Step> = steps.iter().map(|step| self.step(step)).collect::<Option<_>>()?;
        let unfit = line["unfit"].as_str().map(str::to_owned);
        let is_known =
            lives.len() == tasks.len() && steps.iter().all(|step| step.task < tasks.len());
        is_known.then_some(Some(Observed::Run(Run { tasks, lives, steps, unfit })))
    }

    fn step(&self, line: &StepInLine) -> Option<Step> {
        let (task, flags, did, draws, effects, guards, ready) = line;
        let guards = guards.iter().map(|(task, guard)| Some((*task, self.effect(guard)?)));
        Some(Step {
            task: *task,
            after_all: flags & 1 != 0,
            ends: flags & 2 != 0,
            did: *did,
            draws: draws.clone(),
            effects: effects.iter().map(|effect| self.effect(effect)).collect::<Option<_>>()?,
            guards: guards.collect::<Option<_>>()?,
            ready: ready.clone(),
            after_yield: flags & 4 != 0,
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
