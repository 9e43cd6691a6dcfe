//! The passing run that is nearest to a failing run, as text from the first step that differs.
//!
//! The explanation of a failure executes many runs of the same program with the same drawn values. The nearest passing
//! run has the most first steps in common with the failing run, so it shows the step that decides. The page shows both
//! runs beside each other. The screen has no room for two runs.

use super::names::DisplayNames;
use crate::run::event::Event;
use crate::run::ids::{Place, TaskPath};
use crate::run::{DrawRecord, Run};

/// The maximum number of steps of a passing run in a report.
const STEPS_MAX: usize = 200;
/// The maximum number of operations of such a step, and the maximum number of its drawn values.
const OPERATIONS_MAX: usize = 20;

/// A passing run of the same program, with the same drawn values and the same first steps as a failing run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PassingRun {
    /// The number of first steps that both runs have in common. After these steps, both runs have a next step, and the
    /// two next steps are of different tasks.
    pub common: u32,
    /// The total number of steps of the passing run.
    pub step_count: u32,
    /// The steps after the common steps, at most 200.
    pub steps: Vec<PassingStep>,
    /// The command that replays the passing run, on one line; `None` if its trace is too long for a command.
    pub replay: Option<String>,
}

/// A step of a passing run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PassingStep {
    /// The task, by its path and its name.
    pub task: String,
    /// The structural name of the task, which identifies the task in both runs.
    pub path: TaskPath,
    /// True if the step is a preemption.
    pub preempts: bool,
    /// The operations of the step, at most 20. Operations that no screen shows are omitted if the step has others.
    pub operations: Vec<PassingOperation>,
    /// The number of further operations.
    pub more: u32,
    /// The values that the step drew, at most 20. Settings of the run are omitted.
    pub draws: Vec<DrawRecord>,
}

/// An operation of a passing run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PassingOperation {
    /// The name of the operation, such as `load`.
    pub op: &'static str,
    /// The operation with its object and its values: `load atomic = 0`. An object has the same name as in the failing
    /// run, with `(only here)` if the failing run did not use it.
    pub text: String,
    /// The place of the operation.
    pub place: Place,
}

impl PassingRun {
    /// Describes a passing run from its first step that differs from `failing`. `None` if all steps of one run are the
    /// first steps of the other.
    #[doc(hidden)]
    pub fn of(passing: &Run, failing: &Run) -> Option<PassingRun> {
        let pairs = passing.steps.iter().zip(&failing.steps);
        let common = pairs.take_while(|(own, other)| own.task == other.task).count();
        if common == passing.steps.len() || common == failing.steps.len() {
            return None;
        }
        let end = passing.steps.len().min(common + STEPS_MAX);
        let mut operations: Vec<Vec<&Event>> = vec![Vec::new(); end - common];
        for event in &passing.events {
            let at = (event.step as usize).checked_sub(common);
            if let Some(own) = at.and_then(|at| operations.get_mut(at)) {
                own.push(event);
            }
        }
        let mut draws: Vec<Vec<DrawRecord>> = vec![Vec::new(); end - common];
        for draw in passing.draws.iter().filter(|draw| draw.is_shown()) {
            let at = (draw.step as usize).checked_sub(common);
            if let Some(own) = at.and_then(|at| draws.get_mut(at)) {
                own.push(*draw);
            }
        }
        let names = DisplayNames::new(passing).beside(&DisplayNames::new(failing));
        let steps = passing.steps[common..end].iter().zip(operations).zip(draws);
        let steps = steps.map(|((step, operations), mut draws)| {
            let shown = shown(operations);
            let operation = |event: &&Event| PassingOperation {
                op: event.op.name,
                text: names.unordered(event),
                place: event.place,
            };
            draws.truncate(OPERATIONS_MAX);
            let task = passing.tasks.get(step.task.index());
            PassingStep {
                task: names.task(step.task),
                path: task.map_or_else(TaskPath::main, |task| task.path.clone()),
                preempts: step.preempts,
                operations: shown.iter().take(OPERATIONS_MAX).map(operation).collect(),
                more: number(shown.len().saturating_sub(OPERATIONS_MAX)),
                draws,
            }
        });
        let (step_count, replay) = (number(passing.steps.len()), None);
        Some(PassingRun { common: number(common), step_count, steps: steps.collect(), replay })
    }
}

/// Returns the operations of a step that are shown: all except the quiet operations, or the first operation.
fn shown(operations: Vec<&Event>) -> Vec<&Event> {
    let loud: Vec<&Event> = operations.iter().copied().filter(|event| !event.op.quiet).collect();
    if loud.is_empty() { operations.into_iter().take(1).collect() } else { loud }
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::sample::{LOAD, LOCK, STORE, Sample};
    use super::*;
    use crate::run::Outcome;
    use crate::run::event::{ValueKind, Values};
    use crate::run::ids::{ObjectId, TaskId};
    use crate::run::op::{Access, Op};

    /// Returns a run in which tasks take these steps. The steps alternately load and store a counter.
    fn run(tasks: &[u32]) -> Run {
        let mut sample = Sample::of(&["one", "two"]);
        let counter = Some(sample.object("atomic", ValueKind::Unsigned));
        for (n, task) in (0..).zip(tasks) {
            let (op, values) =
                if n % 2 == 0 { (&LOAD, Values::Read(n)) } else { (&STORE, Values::Wrote(n)) };
            sample.step(*task).did(op, counter, values);
        }
        sample.run.outcome = Outcome::Passed;
        sample.run
    }

    #[test]
    fn the_steps_begin_where_the_runs_differ() {
        let (failing, mut passing) = (run(&[1, 1, 2, 1]), run(&[1, 1, 1, 2, 2]));
        passing.steps[2].preempts = true;
        let draw = |step, given| DrawRecord { step, value: 3, bound: 10, given, why: "" };
        passing.draws = vec![draw(1, false), draw(3, true), draw(3, false)];
        let beside = PassingRun::of(&passing, &failing).unwrap();
        assert_eq!((beside.common, beside.step_count, &beside.replay), (2, 5, &None));
        let tasks: Vec<&str> = beside.steps.iter().map(|step| &step.task[..]).collect();
        assert_eq!(tasks, ["0.0 one", "0.1 two", "0.1 two"]);
        let paths: Vec<String> = beside.steps.iter().map(|step| step.path.to_string()).collect();
        assert_eq!(paths, ["0.0", "0.1", "0.1"]);
        let texts = beside.steps.iter().flat_map(|step| &step.operations);
        let texts: Vec<&str> = texts.map(|operation| &operation.text[..]).collect();
        assert_eq!(texts, ["load atomic = 2", "store atomic := 3", "load atomic = 4"]);
        assert_eq!(beside.steps[0].operations[0].place, passing.events[2].place);
        let preempts: Vec<bool> = beside.steps.iter().map(|step| step.preempts).collect();
        assert_eq!(preempts, [true, false, false]);
        let draws: Vec<_> = beside.steps.iter().map(|step| step.draws.clone()).collect();
        assert_eq!(draws, [vec![], vec![draw(3, false)], vec![]]);
    }

    #[test]
    fn a_run_that_only_continues_another_is_not_beside_it() {
        let (short, long) = (run(&[1, 2]), run(&[1, 2, 1]));
        for (passing, failing) in [(&short, &long), (&long, &short), (&short, &short)] {
            assert_eq!(PassingRun::of(passing, failing), None);
        }
    }

    #[test]
    fn an_object_has_its_name_in_the_failing_run() {
        let failing = run(&[1, 1]);
        let mut passing = run(&[1, 2]);
        // In this run alone, another object of this kind is used before the counter.
        let counter = passing.objects[0];
        let mut other = counter;
        other.ordinal = 1;
        passing.objects = vec![other, counter];
        for (event, object) in passing.events.iter_mut().zip([0, 1]) {
            event.object = Some(ObjectId::new(object));
        }
        passing.events[0].step = 1;
        let beside = PassingRun::of(&passing, &failing).unwrap();
        let texts = beside.steps[0].operations.iter().map(|operation| &operation.text[..]);
        let expected = ["load atomic#0 (only here) = 0", "store atomic := 1"];
        assert_eq!(texts.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn long_runs_and_long_steps_are_cut() {
        let failing = run(&[1]);
        let tasks: Vec<u32> = [2].into_iter().chain([1; 1000]).collect();
        let mut passing = run(&tasks);
        let failing = Run { steps: vec![passing.steps[1]; 3], ..failing };
        let event = passing.events[0];
        passing.events.splice(0..0, vec![event; 29]);
        let beside = PassingRun::of(&passing, &failing).unwrap();
        assert_eq!((beside.common, beside.step_count, beside.steps.len()), (0, 1001, STEPS_MAX));
        assert_eq!((beside.steps[0].operations.len(), beside.steps[0].more), (20, 10));
        assert_eq!((beside.steps[1].operations.len(), beside.steps[1].more), (1, 0));
    }

    #[test]
    fn an_operation_that_no_screen_shows_is_only_shown_alone() {
        const GLANCE: Op = Op::new("glance", Access::Peek).quiet();
        let (failing, mut passing) = (run(&[1, 1, 1]), run(&[1, 2, 2]));
        passing.events[1].op = &GLANCE;
        passing.events[2].op = &LOCK;
        let mut glance = passing.events[1];
        (glance.step, glance.task) = (2, TaskId(2));
        passing.events.push(glance);
        let beside = PassingRun::of(&passing, &failing).unwrap();
        let names = |step: usize| -> Vec<&str> {
            beside.steps[step].operations.iter().map(|operation| operation.op).collect()
        };
        assert_eq!((names(0), names(1)), (vec!["glance"], vec!["lock"]));
    }
}
