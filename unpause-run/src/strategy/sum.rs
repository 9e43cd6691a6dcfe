//! Exact failure probabilities under a random scheduler that rarely switches, computed as a sum over all schedules.
//!
//! The sum visits all decisions depth first. The probability of failure after a prefix depends only on its state: its
//! class and the task that a [sticky](super::after::Then::Sticky) schedule prefers. A prefix with a known state is
//! therefore not continued again, so the sum has one term per state and not per run.
//!
//! The sum makes the same assumptions as the [`exhaustive`](super::exhaustive) search. The sum is given up if tasks
//! share something outside this library. The sum does not vary drawn values, so [`Held`](super::held::Held) must answer
//! the draws.

// tidy: never iterated: looked up only
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::after::{ONE_SWITCH_IN, continues};
use super::exhaustive::Observer;
use super::happens_before::HappensBefore;
use super::search::Apart;
use crate::run::choice::{Draw, Mismatch, Strategy, View};
use crate::run::ids::{Seed, TaskId};

/// The class of a prefix, and the task that a sticky schedule prefers after it.
type State = (u64, Option<TaskId>);

/// The sum, shared by its driver and the strategy of its worker.
#[derive(Clone, Debug)]
pub struct Sum(Arc<Mutex<Terms>>);

/// The progress of a sum.
#[derive(Clone, PartialEq, Debug)]
pub enum Summed {
    /// More runs are needed.
    Open,
    /// The probability of failure before each step of the given run, up to the last step with a choice.
    Exact(Vec<f64>),
    /// Tasks share something that the sum cannot see.
    Blind,
}

#[derive(Debug, Default)]
struct Terms {
    /// The tasks of the steps of the given run. The result covers the prefixes of this run.
    path: Vec<TaskId>,
    frames: Vec<Frame>,
    known: HashMap<State, f64>,
    /// The last run was cut at a prefix. The number is the probability of failure after the prefix.
    cut: Option<f64>,
    blind: bool,
    /// For each prefix of the path, by its number of steps, the probability of failure after it.
    exact: Vec<f64>,
    done: bool,
}

/// A step of the current run.
#[derive(Debug)]
struct Frame {
    tasks: Vec<TaskId>,
    /// The position of the task that takes the step in the current run.
    at: usize,
    state: State,
    /// The position of the preferred task.
    preferred: Option<usize>,
    /// The sum over the tasks so far.
    sum: f64,
    /// True if the previous steps are the first steps of the path.
    on_path: bool,
}

impl Frame {
    /// Returns the probability that this step goes to the task of the current run.
    fn weight(&self) -> f64 {
        let n = self.tasks.len() as f64;
        let switch = 1.0 / ONE_SWITCH_IN as f64;
        match self.preferred {
            Some(_) if self.tasks.len() == 1 => 1.0,
            Some(at) if at == self.at => 1.0 - switch,
            Some(_) => switch / (n - 1.0),
            None => 1.0 / n,
        }
    }
}

impl Sum {
    /// Creates a sum for the prefixes of the run with these tasks.
    pub fn new(path: Vec<TaskId>) -> Sum {
        Sum(Arc::new(Mutex::new(Terms { path, ..Terms::default() })))
    }

    /// Returns the strategy that answers the choices of all runs, one run after the other.
    pub fn strategy(&self) -> Box<dyn Strategy> {
        Box::new(SumStrategy {
            sum: self.clone(),
            observer: Observer::default(),
            order: HappensBefore::default(),
        })
    }

    fn terms(&self) -> MutexGuard<'_, Terms> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns `true` if the last run was cut, because the probability of its continuations is known.
    pub fn is_cut(&self) -> bool {
        self.terms().cut.is_some()
    }

    /// Adds the last run. `failed` has no meaning for a run that was cut.
    pub fn add(&self, failed: bool) -> Summed {
        let mut terms = self.terms();
        if terms.blind {
            return Summed::Blind;
        }
        terms.add(if failed { 1.0 } else { 0.0 });
        match terms.done {
            true => Summed::Exact(terms.exact.clone()),
            false => Summed::Open,
        }
    }
}

impl Terms {
    /// Adds the value of a run to the sums of its steps. Removes the steps whose sums are complete.
    fn add(&mut self, value: f64) {
        let mut value = self.cut.take().unwrap_or(value);
        while let Some(frame) = self.frames.last_mut() {
            frame.sum += value * frame.weight();
            frame.at += 1;
            if frame.at < frame.tasks.len() {
                return;
            }
            value = frame.sum;
            if frame.tasks.len() > 1 {
                self.known.insert(frame.state, value);
            }
            if frame.on_path {
                let depth = self.frames.len() - 1;
                self.exact.resize(self.exact.len().max(depth + 1), f64::NAN);
                self.exact[depth] = value;
            }
            self.frames.pop();
        }
        self.done = true;
    }

    /// Adds the next step. Returns `false` if the probability after the prefix is already known.
    fn push(&mut self, view: &View<'_>, class: u64) -> bool {
        let depth = self.frames.len();
        let preferred = continues(view).map(|at| view.candidates()[at]);
        let state = (class, preferred);
        let mut tasks = view.candidates().to_vec();
        tasks.sort_unstable();
        let parent_on_path = self.frames.last().is_none_or(|frame| frame.on_path && frame.at == 0);
        let next = self.path.get(depth).filter(|_| parent_on_path);
        let on_path = match next.and_then(|next| tasks.iter().position(|task| task == next)) {
            // The first run defines the path, so no prefix of it is cut.
            Some(first) => {
                tasks.swap(0, first);
                true
            }
            None => false,
        };
        if tasks.len() > 1 && self.known.contains_key(&state) {
            self.cut = self.known.get(&state).copied();
            return false;
        }
        let preferred = preferred.and_then(|last| tasks.iter().position(|task| *task == last));
        self.frames.push(Frame { tasks, at: 0, state, preferred, sum: 0.0, on_path });
        true
    }
}

/// The strategy of the sum.
struct SumStrategy {
    sum: Sum,
    observer: Observer,
    order: HappensBefore,
}

impl Strategy for SumStrategy {
    fn begin(&mut self, _: Seed) {
        self.order.truncate(0);
        self.observer.begin_anew();
        // Enables all differences from the start. A run that learns a difference would otherwise compute different
        // classes for the same steps than earlier runs.
        let all = Apart::ORDERS.and(Apart::COUNTS).and(Apart::DEATHS).and(Apart::NODES);
        self.observer.tell_apart(all);
    }

    fn sees_forced_steps(&self) -> bool {
        true
    }

    fn pick(&mut self, view: &View<'_>) -> Result<usize, Mismatch> {
        let depth = view.step() as usize;
        if depth > 0 {
            self.observer.after(view);
            self.observer.add_to(&mut self.order);
        }
        let mut terms = self.sum.terms();
        terms.blind |= self.observer.is_blind() || self.observer.apart().steps;
        if depth >= terms.frames.len() && !terms.push(view, self.order.class()) {
            let (new, known) = ("a new state".to_owned(), "a known one".to_owned());
            return Err(Mismatch::new(view.step(), new, known));
        }
        let frame = &terms.frames[depth];
        let task = frame.tasks[frame.at];
        drop(terms);
        self.observer.before(view, task);
        let at = view.candidates().iter().position(|candidate| *candidate == task);
        at.ok_or_else(|| {
            let (same, other) = ("the same candidates".to_owned(), "others".to_owned());
            Mismatch::new(view.step(), same, other)
        })
    }

    fn draw(&mut self, _: &Draw) -> Result<u64, Mismatch> {
        Ok(0)
    }
}
