//! The check that a set of runs is closed.

use std::collections::HashSet;
use std::fmt;
use std::rc::Rc;

use crate::decisions::Decisions;
use crate::observed::{Observed, Run, Step};
use crate::order::{Order, number};
use crate::relation::{Effect, may_disable};

/// A program with runs that are determined by decisions.
pub trait Program {
    /// Executes a run for each of these decisions, and shows the runs in this order. A run takes the given steps,
    /// followed by any further steps.
    ///
    /// # Errors
    /// If the runs cannot be executed; the error is the reason as text.
    fn make(&mut self, runs: &[Decisions], show: &mut dyn FnMut(Observed)) -> Result<(), String>;
}

/// The extent of a verification.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Verified {
    /// The number of runs in the certificate.
    pub runs: u64,
    /// The number of classes of these runs.
    pub classes: u64,
    /// The number of further runs, executed to check that the certificate contains their classes.
    pub asked: u64,
    /// The number of these further runs in which the task was not enabled.
    pub disabled: u64,
}

/// The reason why a certificate is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Gap {
    /// The certificate contains no run.
    Empty,
    /// The certificate does not contain the number of runs that it claims.
    Incomplete(u64, u64),
    /// The runs could not be executed.
    Program(String),
    /// The run with this number, counted from 1, does not result from its decisions.
    NoRun(usize, String),
    /// A run cannot be a part of a proof, for example because it fails.
    Unfit(usize, String),
    /// In another order of steps that do not conflict, a step behaved differently.
    Differs(usize, Box<Question>),
    /// A run is missing.
    Missing(usize, Box<Question>),
}

/// A change of a run: another step is moved before a step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Question {
    /// The index of the step in the run of the certificate, from 0.
    pub step: usize,
    /// The task of that step.
    pub task: String,
    /// The task that is moved before this step, or the same task with another drawn value.
    pub first: String,
    /// The value drawn instead, if the change is another value.
    pub value: Option<u64>,
    /// The decisions of the changed run.
    pub decisions: Decisions,
}

/// An executed run of the certificate.
struct Made {
    /// The index of the run, from 0.
    nth: usize,
    run: Run,
    order: Order,
}

/// A run to execute: the kept steps of a certificate run, followed by a step of a task.
struct Asked {
    of: Rc<Made>,
    /// The step of the run that is left out, and is the reason for this new run.
    at: usize,
    kept: Vec<usize>,
    task: usize,
    /// The values that the last step draws. If the difference is the last value, the task is certainly enabled.
    draws: Vec<u64>,
    /// The sum of the hash numbers of the kept steps.
    before: u128,
}

/// The maximum number of runs executed at a time.
const BATCH: usize = 1 << 14;

/// Verifies a set of runs. This costs about ten runs of the program per run of the set, and memory for one number per
/// run.
///
/// # Errors
/// Returns the first [`Gap`].
///
/// ```
/// use unpause_verify::{Decisions, Observed, Program, Reader, verify};
///
/// /// One task that takes one step.
/// struct Steps;
///
/// impl Program for Steps {
///     fn make(&mut self, runs: &[Decisions], show: &mut dyn FnMut(Observed)) -> Result<(), String> {
///         for _ in runs {
///             let run = r#"{"unfit":null,"tasks":["0"],"lives":[0],"steps":[[0,2,1,[],[],[]]]}"#;
///             show(Reader::default().read(run)?.ok_or("a run")?);
///         }
///         Ok(())
///     }
/// }
///
/// let run = Decisions::read(r#"{"tasks":["0"],"steps":[0],"draws":[]}"#).unwrap();
/// assert_eq!(verify(&[run], &mut Steps).unwrap().classes, 1);
/// assert!(verify(&[], &mut Steps).is_err());
/// ```
pub fn verify(runs: &[Decisions], program: &mut dyn Program) -> Result<Verified, Gap> {
    if runs.is_empty() {
        return Err(Gap::Empty);
    }
    let mut verifier = Verifier::default();
    each_run(0, runs, program, &mut |Made { run, order, .. }| {
        verifier.classes.insert(order.class(&run));
    })?;
    let [all, different] = [runs.len(), verifier.classes.len()].map(|count| count as u64);
    verifier.verified = Verified { runs: all, classes: different, asked: 0, disabled: 0 };
    for (begin, batch) in (0..).step_by(BATCH).zip(runs.chunks(BATCH)) {
        each_run(begin, batch, program, &mut |made| verifier.ask_about(made))?;
        let is_last = begin + BATCH >= runs.len();
        while verifier.asked.len() >= BATCH || is_last && !verifier.asked.is_empty() {
            verifier.answer(program)?;
        }
    }
    Ok(verifier.verified)
}

/// Executes runs, and calls `judge` with each run and its number, until `judge` refuses a run.
fn make(
    runs: &[Decisions],
    program: &mut dyn Program,
    judge: &mut dyn FnMut(usize, Observed) -> Result<(), Gap>,
) -> Result<(), Gap> {
    let (mut shown, mut verdict) = (0, Ok(()));
    let made = program.make(runs, &mut |observed| {
        if verdict.is_ok() && shown < runs.len() {
            verdict = judge(shown, observed);
        }
        shown += 1;
    });
    made.map_err(Gap::Program)?;
    if verdict.is_ok() && shown != runs.len() {
        return Err(Gap::Program(format!("{shown} runs for {}", runs.len())));
    }
    verdict
}

/// Executes the runs of a certificate, and calls `look` with each run and its number. The first run has the number
/// `first`.
fn each_run(
    first: usize,
    runs: &[Decisions],
    program: &mut dyn Program,
    look: &mut dyn FnMut(Made),
) -> Result<(), Gap> {
    for (begin, batch) in (first..).step_by(BATCH).zip(runs.chunks(BATCH)) {
        make(batch, program, &mut |nth, observed| {
            let (own, nth) = (batch[nth].steps.len(), begin + nth);
            let no_run = |why: String| Err(Gap::NoRun(nth + 1, why));
            match observed {
                Observed::Stopped(step) => no_run(format!("its task cannot take step {step}")),
                Observed::Run(Run { unfit: Some(why), .. }) => Err(Gap::Unfit(nth + 1, why)),
                Observed::Run(run) if run.steps.len() != own => {
                    no_run(format!("it has {} steps instead of {own}", run.steps.len()))
                }
                Observed::Run(run) => {
                    look(Made { nth, order: Order::of(&run), run });
                    Ok(())
                }
            }
        })?;
    }
    Ok(())
}

/// The state of a verification.
#[derive(Default)]
struct Verifier {
    classes: HashSet<u128>,
    /// The hash numbers of all questions so far.
    known: HashSet<u128>,
    /// The questions that are still open.
    asked: Vec<Asked>,
    verified: Verified,
}

impl Verifier {
    /// Adds the questions about a run.
    fn ask_about(&mut self, made: Made) {
        let of = Rc::new(made);
        let Made { run, order, .. } = &*of;
        for (at, step) in run.steps.iter().enumerate() {
            let kept = (0..run.steps.len()).filter(|other| !order.is_from(at, *other));
            let kept: Vec<usize> = kept.collect();
            for task in (0..run.tasks.len()).filter(|task| *task != step.task) {
                if is_alive(run, &kept, task) {
                    self.ask(&of, at, kept.clone(), task, Vec::new());
                }
            }
            let mut draws = Vec::new();
            for [value, bound, is_given] in &step.draws {
                for other in (0..*bound).filter(|other| *is_given == 0 && other != value) {
                    self.ask(&of, at, kept.clone(), step.task, [&draws[..], &[other]].concat());
                }
                draws.push(*value);
            }
        }
    }

    /// Adds a question, unless it was asked before.
    fn ask(&mut self, of: &Rc<Made>, at: usize, kept: Vec<usize>, task: usize, draws: Vec<u64>) {
        let numbers = kept.iter().map(|kept| of.order.numbers[*kept]);
        let before = numbers.fold(0u128, u128::wrapping_add);
        if self.known.insert(number((before, &of.run.tasks[task], &draws))) {
            self.asked.push(Asked { of: of.clone(), at, kept, task, draws, before });
        }
    }

    /// Executes the runs of some questions, and looks up their classes.
    fn answer(&mut self, program: &mut dyn Program) -> Result<(), Gap> {
        let asked: Vec<Asked> = self.asked.drain(..self.asked.len().min(BATCH)).collect();
        let decisions: Vec<Decisions> = asked.iter().map(Asked::decisions).collect();
        make(&decisions, program, &mut |nth, observed| {
            let asked = &asked[nth];
            let (nth, kept) = (asked.of.nth + 1, asked.kept.len());
            self.verified.asked += 1;
            let run = match observed {
                Observed::Stopped(step) if step == kept && asked.draws.is_empty() => {
                    self.verified.disabled += 1;
                    self.ask_without_disablers(asked);
                    return Ok(());
                }
                Observed::Stopped(_) => return Err(Gap::Differs(nth, asked.question())),
                Observed::Run(Run { unfit: Some(why), .. }) => return Err(Gap::Unfit(nth, why)),
                Observed::Run(run) => run,
            };
            let order = Order::of(&run);
            // A run without all kept steps is not the run that the decisions determine.
            let own = order.numbers.get(..kept);
            let own = own.map(|own| own.iter().copied().fold(0u128, u128::wrapping_add));
            if own != Some(asked.before) {
                return Err(Gap::Differs(nth, asked.question()));
            }
            match self.classes.contains(&order.class(&run)) {
                true => Ok(()),
                false => Err(Gap::Missing(nth, asked.question())),
            }
        })
    }

    /// Handles a task that is not enabled after the kept steps. For each step that may have disabled the task, adds the
    /// question without that step.
    fn ask_without_disablers(&mut self, asked: &Asked) {
        let Asked { of, at, kept, task, .. } = asked;
        let Made { run, order, .. } = &**of;
        let is_base = |at: &usize| {
            let Step { task: own, effects, .. } = &run.steps[*at];
            own == task || effects.contains(&Effect::Spawned(*task))
        };
        let base = kept.iter().copied().rev().find(is_base).unwrap_or_default();
        let guards: Vec<&Effect> = run.steps[base]
            .guards
            .iter()
            .filter(|(own, _)| own == task)
            .map(|(_, on)| on)
            .collect();
        for step in kept.iter().filter(|step| !order.is_from(**step, base)) {
            let effects = &run.steps[*step].effects;
            if effects.iter().any(|one| guards.iter().any(|guard| may_disable(one, guard))) {
                let others = kept.iter().copied().filter(|other| !order.is_from(*step, *other));
                self.ask(of, *at, others.collect(), *task, Vec::new());
            }
        }
    }
}

/// Returns `true` if these steps create a task and do not end it.
fn is_alive(run: &Run, steps: &[usize], task: usize) -> bool {
    let has = |effect: Effect| steps.iter().any(|at| run.steps[*at].effects.contains(&effect));
    let ends = steps.iter().any(|at| run.steps[*at].task == task && run.steps[*at].ends);
    (task == 0 || has(Effect::Spawned(task))) && !ends && !has(Effect::Killed(task))
}

impl Asked {
    fn decisions(&self) -> Decisions {
        let Asked { of, kept, task, .. } = self;
        let mut draws = vec![Vec::new(); of.run.tasks.len()];
        for step in kept.iter().map(|at| &of.run.steps[*at]) {
            draws[step.task].extend(step.draws.iter().map(|[value, ..]| *value));
        }
        draws[*task].extend(&self.draws);
        let steps = kept.iter().map(|at| of.run.steps[*at].task).chain([*task]).collect();
        Decisions { tasks: of.run.tasks.clone(), steps, draws }
    }

    fn question(&self) -> Box<Question> {
        let Run { tasks, steps, .. } = &self.of.run;
        Box::new(Question {
            step: self.at,
            task: tasks[steps[self.at].task].clone(),
            first: tasks[self.task].clone(),
            value: self.draws.last().copied(),
            decisions: self.decisions(),
        })
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Question { step, task, first, value, .. } = self;
        match value {
            Some(value) => write!(f, "task {first} draws {value} in step {step}"),
            None => write!(f, "task {first} steps before step {step} of task {task}"),
        }
    }
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Gap::Empty => f.write_str("it has no run"),
            Gap::Incomplete(own, said) => write!(f, "it has {own} runs instead of {said}"),
            Gap::Program(why) => write!(f, "its runs cannot be made: {why}"),
            Gap::NoRun(nth, why) => write!(f, "run {nth} is no run of the program: {why}"),
            Gap::Unfit(nth, why) => write!(f, "run {nth}, or one beside it, proves nothing: {why}"),
            Gap::Differs(nth, own) => write!(f, "run {nth} differs in an equal order: {own}"),
            Gap::Missing(nth, own) => write!(f, "a run is missing: as run {nth}, but {own}"),
        }
    }
}

impl std::error::Error for Gap {}
