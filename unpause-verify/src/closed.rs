//! The check that a set of runs is closed.

use std::collections::HashSet;
use std::fmt;
use std::rc::Rc;

use crate::bound::Bound;
use crate::decisions::Decisions;
use crate::observed::{Observed, Run, Step};
use crate::order::{Ordered, number, sum};
use crate::relation::{Effect, may_disable};

/// A program with runs that are determined by decisions.
pub trait Program {
    /// Executes a run for each of these decisions, and shows the runs in this order. A run takes the given steps,
    /// followed by any further steps.
    ///
    /// # Errors
    /// If the runs cannot be executed; the error is the reason as text.
    fn make(&mut self, runs: &[Decisions], show: &mut dyn FnMut(Observed)) -> Result<(), String>;

    /// Returns the bound of the runs, if any. The set must then contain each run within the bound, and not only a run
    /// of each class.
    fn bound(&self) -> Option<Bound>;
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
    /// The runs could not be executed.
    Program(String),
    /// The run with this number, counted from 1, or a run beside it, cannot be a part of a proof. For example, it
    /// fails, or does not result from its decisions.
    Unfit(usize, String),
    /// In another order of steps that do not conflict, a step behaved differently. Contains the change of a certificate
    /// run, in words, and the decisions of the changed run.
    Differs(String, Decisions),
    /// A run is missing. Contains the change of a certificate run, in words, and the decisions of the missing run.
    Missing(String, Decisions),
}

/// A run to execute: the kept steps of a certificate run, followed by a step of a task.
struct Asked {
    /// The number of the certificate run, from 1.
    nth: usize,
    of: Rc<Ordered>,
    /// The position of the step that is left out, which is the reason for this new run.
    at: usize,
    kept: Vec<usize>,
    task: usize,
    /// The values that the last step draws. If the difference is the last value, the task is certainly enabled.
    draws: Vec<u64>,
}

/// The maximum number of runs executed at a time.
const BATCH: usize = 1 << 14;

/// Verifies a set of runs. The verification costs about ten runs of the program per run of the set, and memory for one
/// number per run.
///
/// # Errors
/// Returns the first [`Gap`].
///
/// ```
/// use unpause_verify::{Bound, Decisions, Observed, Program, Reader, verify};
///
/// /// One task that takes one step.
/// struct Steps;
///
/// impl Program for Steps {
///     fn make(&mut self, runs: &[Decisions], show: &mut dyn FnMut(Observed)) -> Result<(), String> {
///         for _ in runs {
///             let run = r#"{"unfit":null,"tasks":["0"],"lives":[0],"steps":[[0,2,1,[],[],[],[]]]}"#;
///             show(Reader::default().read(run)?.ok_or("a run")?);
///         }
///         Ok(())
///     }
///
///     fn bound(&self) -> Option<Bound> {
///         None
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
    let mut verifier = Verifier { bound: program.bound(), ..Verifier::default() };
    for is_asking in [false, true] {
        for (first, batch) in (1..).step_by(BATCH).zip(runs.chunks(BATCH)) {
            make(batch, program, &mut |at, observed| {
                let run = verifier.certified(first + at, batch[at].steps.len(), observed)?;
                match is_asking {
                    true => verifier.ask_about(first + at, run),
                    false => _ = verifier.classes.insert(run.class()),
                }
                Ok(())
            })?;
            while verifier.asked.len() >= BATCH {
                verifier.answer(program)?;
            }
        }
    }
    while !verifier.asked.is_empty() {
        verifier.answer(program)?;
    }
    let [runs, classes] = [runs.len(), verifier.classes.len()].map(|count| count as u64);
    Ok(Verified { runs, classes, ..verifier.verified })
}

/// Executes runs, and calls `judge` with each run and its index, until `judge` refuses a run.
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
    made.map_err(Gap::Program).and(verdict)?;
    let is_all = (shown == runs.len()).then_some(());
    is_all.ok_or_else(|| Gap::Program(format!("{shown} runs for {}", runs.len())))
}

/// The state of a verification.
#[derive(Default)]
struct Verifier {
    bound: Option<Bound>,
    classes: HashSet<u128>,
    /// The hash numbers of all questions so far.
    known: HashSet<u128>,
    /// The questions that are still open.
    asked: Vec<Asked>,
    verified: Verified,
}

impl Verifier {
    /// Returns a run of the certificate with its order. `nth` is its number, from 1.
    fn certified(&self, nth: usize, steps: usize, observed: Observed) -> Result<Ordered, Gap> {
        let made = match observed {
            Observed::Run(run) if run.steps.len() == steps => return self.ordered(nth, run),
            Observed::Run(run) => run.steps.len(),
            Observed::Stopped(made) => made,
        };
        Err(Gap::Unfit(nth, format!("it has {made} steps instead of {steps}")))
    }

    /// Returns a run with its order, if it can be a part of a proof. `nth` is the number of the certificate run beside
    /// it.
    fn ordered(&self, nth: usize, run: Run) -> Result<Ordered, Gap> {
        let is_untold = |step: &Step| self.bound.is_some() && !step.ready.contains(&step.task);
        let untold = || "a step is not among those that were possible".to_owned();
        let unfit = run.unfit.clone().or_else(|| run.steps.iter().any(is_untold).then(untold));
        unfit.map_or_else(|| Ok(Ordered::of(run)), |why| Err(Gap::Unfit(nth, why)))
    }

    /// Adds the questions about the run with this number.
    fn ask_about(&mut self, nth: usize, run: Ordered) {
        let of = Rc::new(run);
        let Run { tasks, steps, .. } = &of.run;
        for (at, step) in steps.iter().enumerate() {
            let kept = (0..steps.len()).filter(|other| !of.is_from(at, *other));
            let kept: Vec<usize> = kept.collect();
            let changed =
                |task, draws| Asked { nth, of: of.clone(), at, kept: kept.clone(), task, draws };
            for task in (0..tasks.len()).filter(|task| *task != step.task) {
                if is_alive(&of.run, &kept, task) {
                    self.ask(changed(task, Vec::new()));
                }
            }
            let mut draws = Vec::new();
            for [value, bound, is_given] in &step.draws {
                for other in (0..*bound).filter(|other| *is_given == 0 && other != value) {
                    self.ask(changed(step.task, [&draws[..], &[other]].concat()));
                }
                draws.push(*value);
            }
        }
    }

    /// Adds a question, unless it was asked before or exceeds the bound.
    fn ask(&mut self, asked: Asked) {
        let Asked { of, kept, task, draws, .. } = &asked;
        let is_new = self.known.insert(number((asked.before(), &of.run.tasks[*task], draws)));
        if is_new && !self.bound.is_some_and(|bound| bound.excludes(&of.run, kept.len(), *task)) {
            self.asked.push(asked);
        }
    }

    /// Executes the runs of some questions, and looks up their classes.
    fn answer(&mut self, program: &mut dyn Program) -> Result<(), Gap> {
        let asked: Vec<Asked> = self.asked.drain(..self.asked.len().min(BATCH)).collect();
        let decisions: Vec<Decisions> = asked.iter().map(Asked::decisions).collect();
        make(&decisions, program, &mut |at, observed| {
            let asked = &asked[at];
            let kept = asked.kept.len();
            let is_ready = asked.of.run.steps[kept].ready.contains(&asked.task);
            self.verified.asked += 1;
            let run = match observed {
                Observed::Run(run) => self.ordered(asked.nth, run)?,
                Observed::Stopped(step) if step == kept && asked.draws.is_empty() && !is_ready => {
                    self.verified.disabled += 1;
                    self.ask_without_disablers(asked);
                    return Ok(());
                }
                Observed::Stopped(_) => return asked.refused(Gap::Differs),
            };
            // A run without all kept steps is not the run that the decisions determine.
            if run.numbers.get(..kept).map(sum) != Some(asked.before()) {
                return asked.refused(Gap::Differs);
            }
            if self.classes.contains(&run.class()) { Ok(()) } else { asked.refused(Gap::Missing) }
        })
    }

    /// Handles a task that is not enabled after the kept steps. For each step that may have disabled the task, adds the
    /// question without that step.
    fn ask_without_disablers(&mut self, asked: &Asked) {
        let Asked { of, kept, task, .. } = asked;
        let steps = &of.run.steps;
        let creates = |step: &Step| step.effects.contains(&Effect::Spawned(*task));
        let is_base = |at: &&usize| steps[**at].task == *task || creates(&steps[**at]);
        let base = kept.iter().rev().find(is_base).copied().unwrap_or_default();
        let guards = steps[base].guards.iter().filter(|(own, _)| own == task);
        let disables = |one: &Effect| guards.clone().any(|(_, guard)| may_disable(one, guard));
        for step in kept.iter().copied().filter(|step| !of.is_from(*step, base)) {
            if steps[step].effects.iter().any(disables) {
                let others = kept.iter().copied().filter(|other| !of.is_from(step, *other));
                let (of, kept) = (of.clone(), others.collect());
                self.ask(Asked { of, kept, draws: Vec::new(), ..*asked });
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
    /// Returns a hash of the kept steps.
    fn before(&self) -> u128 {
        sum(self.kept.iter().map(|kept| &self.of.numbers[*kept]))
    }

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

    /// Returns the gap that the answer shows.
    fn refused(&self, gap: fn(String, Decisions) -> Gap) -> Result<(), Gap> {
        let Asked { nth, of, at, task, draws, .. } = self;
        let Run { tasks, steps, .. } = &of.run;
        let other = draws.last().map_or("steps".to_owned(), |value| format!("draws {value}"));
        let (first, own) = (&tasks[*task], &tasks[steps[*at].task]);
        let change =
            format!("as run {nth}, but task {first} {other} before step {at} of task {own}");
        Err(gap(change, self.decisions()))
    }
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Gap::Empty => f.write_str("it has no run"),
            Gap::Program(why) => write!(f, "its runs cannot be made: {why}"),
            Gap::Unfit(nth, why) => write!(f, "run {nth}, or one beside it, proves nothing: {why}"),
            Gap::Differs(change, _) => write!(f, "a step differs in an equal order: {change}"),
            Gap::Missing(change, _) => write!(f, "a run is missing: {change}"),
        }
    }
}

impl std::error::Error for Gap {}
