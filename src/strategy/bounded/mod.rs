//! Bounded search: all runs that stray little from a simple schedule, then those that stray more.
//!
//! Most bugs need few of what makes a schedule unusual. So runs are made in the order of how much there
//! is of it: first all that have none, then all that have one, and so on up to a bound, or until no run
//! was left out. What is counted is said by a [`Measure`], one file each: [`preemptions`] and
//! [`delays`].
//!
//! The search is depth-first over the decisions of a run, from scratch each time: a run begins like the
//! one before it up to a step, takes the next candidate there, and goes on by the measure's schedule,
//! which costs nothing. No two of the runs that count have the same decisions, and within the bound
//! there is no other: what is promised holds whatever tasks share, seen or not. It is not combined with
//! partial-order reduction, which would skip runs whose equals the bound leaves out (Coons, Musuvathi,
//! McKinley: Bounded Partial-Order Reduction, OOPSLA 2013); orders that make no difference count.
//!
//! To have a run of cost c, those that it begins like are run again: the runs with less, once for each
//! number up to the bound. They do not count. The price is a fraction of the last round, and what is
//! kept is one path: O(steps of a run * tasks), however many runs there are.
//!
//! Values drawn are branches that cost nothing, unless they are given.

mod delays;
mod preemptions;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(crate) use self::delays::DELAYS;
pub(crate) use self::preemptions::PREEMPTIONS;

use super::search::{Progress, Search, Within};
use crate::run::board::Status;
use crate::run::choice::{Draw, Mismatch, Strategy, View};
use crate::run::ids::{Seed, TaskId};
use crate::run::op::Access;
use crate::run::{DrawRecord, StepRecord};

/// What is counted.
pub(crate) struct Measure {
    /// One of it, in a word.
    pub(crate) what: &'static str,
    /// What it costs that the candidate at this place steps. They stand in the order of their numbers,
    /// which is that in which they were spawned, beginning with the task of the last step if it
    /// [goes on](Turn::goes_on), else with the one behind it, and round. The first costs nothing, none
    /// less than those before it.
    pub(crate) cost: fn(place: usize, goes_on: bool) -> u32,
}

/// A search within a bound that its driver and the strategy of its worker share.
#[derive(Clone)]
pub(crate) struct Bounded(Arc<Mutex<Tree>>);

impl Bounded {
    /// Will count by `measure`, up to `most` or without end.
    pub(crate) fn new(measure: &'static Measure, most: Option<u32>) -> Bounded {
        Bounded(Arc::new(Mutex::new(Tree {
            measure,
            most: most.unwrap_or(u32::MAX),
            within: 0,
            left_out: false,
            through: None,
            frames: Vec::new(),
            depth: 0,
            kept: 0,
            ended: false,
            runs: 0,
            repeated: 0,
        })))
    }

    fn tree(&self) -> MutexGuard<'_, Tree> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Search for Bounded {
    fn strategy(&self) -> Box<dyn Strategy> {
        Box::new(Walk { search: self.clone(), step: 0, drawn: 0 })
    }

    fn advance(&self, _: bool) -> bool {
        let mut tree = self.tree();
        tree.take_in();
        tree.turn()
    }

    fn is_blocked(&self) -> bool {
        self.tree().is_repeated()
    }

    fn progress(&self) -> Progress {
        self.tree().progress()
    }

    fn decisions(&self) -> (Vec<StepRecord>, Vec<DrawRecord>) {
        self.tree().decisions()
    }
}

/// A step of the current run, and what else can be done there.
#[derive(Debug, Default)]
struct Turn {
    /// Who could step, in the order of [`Measure::cost`].
    order: Vec<TaskId>,
    /// Whether the task of the last step could go on and did not yield.
    goes_on: bool,
    /// Who does, by the place in that order.
    at: usize,
    /// What the steps before it cost.
    spent: u32,
    draws: Vec<Drawn>,
    /// How many operations had been done before it.
    events: usize,
}

/// A value that a step drew.
#[derive(Clone, Copy, Debug)]
struct Drawn {
    value: u64,
    bound: u64,
    /// Whether no other value is to be tried.
    given: bool,
}

/// The path that the search is on, in the tree of all runs.
struct Tree {
    measure: &'static Measure,
    /// No run is to cost more.
    most: u32,
    /// The runs that count now cost this much.
    within: u32,
    /// Whether there are runs that cost more.
    left_out: bool,
    /// All runs that cost this much, or less, are done.
    through: Option<u32>,
    frames: Vec<Turn>,
    /// How many frames there are; those behind keep their allocations.
    depth: usize,
    /// Steps below this one are as in the run before.
    kept: usize,
    /// Whether the run came to its end.
    ended: bool,
    runs: u64,
    repeated: u64,
}

impl Tree {
    fn begin(&mut self) {
        self.ended = false;
        self.kept = self.depth;
    }

    /// Who takes the next step.
    fn pick(&mut self, view: &View<'_>) -> Result<TaskId, Mismatch> {
        let step = view.step() as usize;
        if step < self.kept {
            let frame = &self.frames[step];
            let same = frame.order.len() == view.candidates().len()
                && view.candidates().contains(&frame.order[frame.at])
                && frame.events == view.events().len();
            if !same {
                return Err(differs(frame, view));
            }
            return Ok(frame.order[frame.at]);
        }
        let spent = self.cost();
        if self.frames.len() == step {
            self.frames.push(Turn::default());
        }
        self.depth = step + 1;
        let frame = &mut self.frames[step];
        frame.goes_on = view.last().is_some_and(|last| goes_on(view, last));
        frame.order.clear();
        frame.order.extend_from_slice(view.candidates());
        frame.order.sort_unstable();
        let first = match view.last() {
            Some(last) if frame.goes_on => frame.order.partition_point(|task| *task < last),
            Some(last) => frame.order.partition_point(|task| *task <= last),
            None => 0,
        };
        frame.order.rotate_left(first);
        frame.at = 0;
        frame.spent = spent;
        frame.draws.clear();
        frame.events = view.events().len();
        Ok(frame.order[0])
    }

    /// The `nth` value that the step draws. One that is given is not to be varied.
    fn draw(
        &mut self,
        step: usize,
        nth: usize,
        draw: &Draw,
        given: Option<u64>,
    ) -> Result<u64, Mismatch> {
        let draws = &mut self.frames[step].draws;
        match draws.get(nth) {
            None => {
                let value = given.unwrap_or(0);
                draws.push(Drawn { value, bound: draw.bound, given: given.is_some() });
                Ok(value)
            }
            Some(drawn) if drawn.bound == draw.bound => Ok(drawn.value),
            Some(drawn) => Err(Mismatch::new(
                step as u32,
                format!("a draw of a value below {}", drawn.bound),
                format!("a draw of a value below {}", draw.bound),
            )),
        }
    }

    /// What the run costs so far.
    fn cost(&self) -> u32 {
        let last = self.frames[..self.depth].last();
        last.map_or(0, |last| last.spent + (self.measure.cost)(last.at, last.goes_on))
    }

    /// Whether the run that ended was one of those that cost less.
    fn is_repeated(&self) -> bool {
        self.ended && self.cost() < self.within
    }

    fn take_in(&mut self) {
        match self.is_repeated() {
            true => self.repeated += 1,
            false => self.runs += 1,
        }
    }

    /// Turns to the next run; false if there is none.
    fn turn(&mut self) -> bool {
        while let Some(at) = self.depth.checked_sub(1) {
            let frame = &mut self.frames[at];
            while let Some(drawn) = frame.draws.pop() {
                if !drawn.given && drawn.value + 1 < drawn.bound {
                    frame.draws.push(Drawn { value: drawn.value + 1, ..drawn });
                    return true;
                }
            }
            if frame.at + 1 < frame.order.len() {
                let cost = (self.measure.cost)(frame.at + 1, frame.goes_on);
                if frame.spent.saturating_add(cost) <= self.within {
                    frame.at += 1;
                    return true;
                }
                self.left_out = true;
            }
            self.depth = at;
        }
        self.through = Some(self.within);
        if !self.left_out || self.within >= self.most {
            return false;
        }
        // From the start, to have those that cost one more.
        self.within += 1;
        self.left_out = false;
        true
    }

    fn progress(&self) -> Progress {
        let (mut part, mut weight) = (0.0, 1.0);
        for frame in &self.frames[..self.depth] {
            let cost =
                |place| frame.spent.saturating_add((self.measure.cost)(place, frame.goes_on));
            let of = (0..frame.order.len()).take_while(|place| cost(*place) <= self.within);
            weight /= of.count().max(1) as f64;
            part += weight * frame.at as f64;
            for drawn in frame.draws.iter().filter(|drawn| !drawn.given) {
                weight /= drawn.bound as f64;
                part += weight * drawn.value as f64;
            }
        }
        // At its end it has looked whether there are more expensive ones.
        let all = self.depth == 0 && self.through == Some(self.within) && !self.left_out;
        let within = Within { what: self.measure.what, through: self.through };
        Progress {
            runs: self.runs,
            repeated: self.repeated,
            part,
            within: (!all).then_some(within),
            ..Progress::default()
        }
    }

    fn decisions(&self) -> (Vec<StepRecord>, Vec<DrawRecord>) {
        let (mut steps, mut draws) = (Vec::new(), Vec::new());
        for (step, frame) in self.frames[..self.depth].iter().enumerate() {
            let (task, candidates) = (frame.order[frame.at], frame.order.len() as u32);
            steps.push(StepRecord { task, candidates, preempts: frame.goes_on && frame.at > 0 });
            draws.extend(frame.draws.iter().map(|drawn| DrawRecord {
                step: step as u32,
                value: drawn.value,
                bound: drawn.bound,
            }));
        }
        (steps, draws)
    }
}

/// Whether the task of the last step can go on and does not yield: as a step record has it.
fn goes_on(view: &View<'_>, last: TaskId) -> bool {
    let row = view.task(last);
    let yields = row.announced.iter().all(|announced| announced.op.access == Access::Yield);
    row.status == Status::Ready && !yields
}

/// The run is not the one that began like it.
fn differs(frame: &Turn, view: &View<'_>) -> Mismatch {
    let tell = |tasks: usize, events: usize| {
        format!("{tasks} tasks that can step, after {events} operations")
    };
    Mismatch::new(
        view.step(),
        tell(frame.order.len(), frame.events),
        tell(view.candidates().len(), view.events().len()),
    )
}

/// Answers the choices of one run after the other.
struct Walk {
    search: Bounded,
    /// The step being taken, and how many values it has drawn.
    step: usize,
    drawn: usize,
}

impl Walk {
    fn answer(&mut self, draw: &Draw, given: Option<u64>) -> Result<u64, Mismatch> {
        let nth = self.drawn;
        self.drawn += 1;
        self.search.tree().draw(self.step, nth, draw, given)
    }
}

impl Strategy for Walk {
    fn begin(&mut self, _: Seed) {
        self.search.tree().begin();
    }

    fn sees_forced_steps(&self) -> bool {
        true
    }

    fn pick(&mut self, view: &View<'_>) -> Result<usize, Mismatch> {
        (self.step, self.drawn) = (view.step() as usize, 0);
        let task = self.search.tree().pick(view)?;
        Ok(view.task(task).candidate())
    }

    fn given(&mut self, draw: &Draw, value: u64) -> Result<u64, Mismatch> {
        self.answer(draw, Some(value))
    }

    fn draw(&mut self, draw: &Draw) -> Result<u64, Mismatch> {
        self.answer(draw, None)
    }

    fn end(&mut self, _: &View<'_>) -> Result<(), Mismatch> {
        self.search.tree().ended = true;
        Ok(())
    }
}
