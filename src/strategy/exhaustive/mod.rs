//! Exhaustive search: dynamic partial-order reduction with sleep sets. Explores one run for each class of
//! runs that differ only in the order of steps that do not conflict (Mazurkiewicz).
//!
//! Depth first: each run begins like an earlier one up to a step and differs there. [`plan`] says where, from
//! the *announcements* of the runs so far: the operations that tasks stood at, whatever became of them. The
//! base is Flanagan and Godefroid, *Dynamic Partial-Order Reduction for Model Checking Software* (POPL 2005),
//! with sleep sets and with the initials of source sets (Abdulla, Aronsson, Jonsson, Sagonas: *Optimal Dynamic
//! Partial Order Reduction*, POPL 2014) where these are certain.
//!
//! What the search assumes: that a run is a function of its decisions, that the declarations of [`op`](crate::run::op)
//! hold, and that footprints have all that tasks do to each other. A task that wakes another by something
//! that is not of this library is seen, what the two share is not: such a search says that it proves nothing.
//!
//! What one step draws are branches of its frame. The search is a function of the body: the n-th run is the
//! same whenever it is asked for.

mod classes;
pub(crate) mod closure;
mod observe;
mod plan;
mod walk;

use std::sync::Arc;

pub(crate) use self::closure::Orders;
pub(crate) use self::observe::Observer;
#[cfg(test)]
#[allow(
    unused_imports,
    reason = "for the tests of the engine, which the real build does not have"
)]
pub(crate) use self::plan::{Rule, without};
pub(crate) use self::walk::Exhaustive;

use self::classes::Classes;
use self::plan::{Open, Rules};
use super::footprint::Footprint;
use super::happens_before::{HappensBefore, Index};
use super::search::Progress;
use crate::run::choice::{Draw, Mismatch, View};
use crate::run::ids::TaskId;
use crate::run::recording::Timed;
use crate::run::{DrawRecord, StepRecord};

/// How many orders of recorded calls are looked at for one run; one that has more makes them runs.
const ORDERS_MAX: u32 = 20_000;

/// A step of the current run, and what is known of the runs that begin like it up to there.
#[derive(Debug, Default)]
struct Frame {
    /// The tasks that could step, by number.
    enabled: Vec<TaskId>,
    /// The one that does.
    task: TaskId,
    /// Those that did, do or will, in one run or another.
    backtrack: Vec<TaskId>,
    /// The steps of those that are done.
    done: Vec<Arc<Footprint>>,
    /// Steps with which nothing new can begin here, because earlier runs had it.
    sleep: Vec<Arc<Footprint>>,
    draws: Vec<Drawn>,
    /// What it did, whatever it drew.
    footprint: Footprint,
    /// How many operations had been done before it, and how many objects there were.
    events: usize,
    objects: usize,
    /// Tasks that would have to go first here, and that later steps of this or other runs may let do so.
    open: Vec<Open>,
}

/// A value that a step drew.
#[derive(Clone, Copy, Debug)]
struct Drawn {
    value: u64,
    bound: u64,
    /// Whether no other value is to be tried.
    given: bool,
}

impl Frame {
    /// What `task` would do here, if that was done by earlier runs.
    fn asleep(&self, task: TaskId) -> Option<&Arc<Footprint>> {
        self.sleep.iter().find(|asleep| asleep.task == task)
    }

    fn sleeps(&self, task: TaskId) -> bool {
        self.asleep(task).is_some()
    }

    /// The task that takes the step in the next run, if there is one.
    fn next(&self) -> Option<TaskId> {
        let is_done = |task: &TaskId| self.done.iter().any(|done| done.task == *task);
        self.backtrack.iter().copied().find(|task| !is_done(task) && !self.sleeps(*task))
    }
}

/// How the current run is going.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Course {
    On,
    /// Whatever it did next, an earlier run did it.
    Blocked,
    Ended,
    /// The search begins anew.
    Restarted,
}

/// The search.
#[derive(Debug)]
pub(crate) struct Explorer {
    frames: Vec<Frame>,
    /// How many frames there are; those behind keep their allocations.
    depth: usize,
    /// Steps below this one are as in the run before.
    kept: usize,
    order: HappensBefore,
    /// The races of the steps that are new in this run: an earlier step, and a later one.
    races: Vec<(Index, Index)>,
    observer: Observer,
    /// How many values the current step has drawn.
    drawn: usize,
    course: Course,
    runs: u64,
    blocked: u64,
    /// The classes of those runs that count.
    classes: Classes,
    rules: Rules,
    /// How often nobody could begin what was planned, which is then tried with everybody. Never, unless
    /// tasks share what is not seen.
    pub(crate) astray: u64,
}

impl Default for Explorer {
    fn default() -> Explorer {
        Explorer {
            frames: Vec::new(),
            depth: 0,
            kept: 0,
            order: HappensBefore::default(),
            races: Vec::new(),
            observer: Observer::default(),
            drawn: 0,
            course: Course::On,
            runs: 0,
            blocked: 0,
            classes: Classes::default(),
            rules: Rules::default(),
            astray: 0,
        }
    }
}

impl Explorer {
    /// A run begins.
    fn begin(&mut self) {
        self.course = Course::On;
        self.drawn = 0;
        self.observer.begin();
        self.kept = self.depth.saturating_sub(1);
        self.order.truncate(self.kept as u32);
        self.races.clear();
    }

    /// Who takes the next step. The scheduling decision, on one screen.
    fn pick(&mut self, view: &View<'_>) -> Result<TaskId, Mismatch> {
        let step = view.step() as usize;
        if step > self.kept {
            self.observer.after(view);
            self.add_step(step - 1);
        }
        self.drawn = 0;
        if step < self.depth {
            let frame = &self.frames[step];
            let same = frame.enabled.len() == view.candidates().len()
                && view.candidates().contains(&frame.task)
                && frame.events == view.events().len();
            if !same {
                return Err(differs(frame, view));
            }
        } else {
            self.add_frame(view);
            let frame = &self.frames[step];
            let awake = |task: &TaskId| !frame.sleeps(*task);
            let last = view.last().filter(|last| frame.enabled.contains(last) && awake(last));
            let Some(task) = last.or_else(|| frame.enabled.iter().copied().find(awake)) else {
                self.depth -= 1;
                self.course = Course::Blocked;
                return Err(Mismatch::new(
                    view.step(),
                    "something new".to_owned(),
                    "nothing that an earlier run did not do".to_owned(),
                ));
            };
            let frame = &mut self.frames[step];
            frame.task = task;
            frame.backtrack.push(task);
        }
        let task = self.frames[step].task;
        if step >= self.kept {
            self.observer.before(view, task);
        }
        Ok(task)
    }

    /// The value of a draw; one that is given is not varied.
    fn draw(&mut self, draw: &Draw, step: usize, given: Option<u64>) -> Result<u64, Mismatch> {
        let frame = &mut self.frames[step];
        let nth = self.drawn;
        self.drawn += 1;
        let value = match frame.draws.get(nth) {
            None => {
                let value = given.unwrap_or(0);
                frame.draws.push(Drawn { value, bound: draw.bound, given: given.is_some() });
                value
            }
            Some(drawn) if drawn.bound == draw.bound => drawn.value,
            Some(Drawn { bound, .. }) => {
                return Err(Mismatch::new(
                    step as u32,
                    format!("a draw of a value below {bound}"),
                    format!("a draw of a value below {}", draw.bound),
                ));
            }
        };
        if given.is_none() {
            self.observer.drew(value, draw.bound);
        }
        Ok(value)
    }

    /// The run ended.
    fn end(&mut self, view: &View<'_>) {
        self.course = Course::Ended;
        if view.step() as usize > self.kept {
            self.observer.after_last(view);
        }
    }

    /// Takes in the run that ended. `cut` tells whether its last step ended it, although tasks may have
    /// been left that could go on.
    fn take_in(&mut self, cut: bool) {
        if self.observer.take_learnt() {
            // Steps that were swapped may not be.
            self.runs += 1;
            self.restart();
            return;
        }
        match self.course {
            Course::Restarted => return,
            Course::Blocked => self.blocked += 1,
            Course::On | Course::Ended => {
                self.runs += 1;
                self.depth = self.depth.min(self.frames.len());
                if cut {
                    self.observer.over();
                }
                if self.depth > self.kept {
                    self.add_step(self.depth - 1);
                }
                self.classes.add(self.order.class());
            }
        }
        self.plan();
    }

    /// From the start, knowing better. What was run so far does not count.
    fn restart(&mut self) {
        self.blocked += self.runs;
        self.runs = 0;
        self.classes = Classes::default();
        self.depth = 0;
        self.astray = 0;
        self.course = Course::Restarted;
    }

    /// Asks `holds` about the histories that the run stands for which was just taken in.
    fn look_at_orders(&self, holds: &mut dyn FnMut(usize, &[Timed]) -> bool) -> Orders {
        if self.course != Course::Ended || self.observer.tells_orders_apart() {
            return Orders::Hold;
        }
        closure::look(&self.order, ORDERS_MAX, holds)
    }

    /// From now on, each order of calls is a run of its own; what was run so far does not count.
    fn tell_orders_apart(&mut self) {
        self.observer.tell_orders_apart();
        self.restart();
    }

    /// Turns to the next run; false if there is none.
    fn turn(&mut self) -> bool {
        if self.course == Course::Restarted {
            return true;
        }
        while let Some(at) = self.depth.checked_sub(1) {
            let frame = &mut self.frames[at];
            // The step will be another one.
            frame.open.clear();
            while let Some(drawn) = frame.draws.pop() {
                if !drawn.given && drawn.value + 1 < drawn.bound {
                    frame.draws.push(Drawn { value: drawn.value + 1, ..drawn });
                    return true;
                }
            }
            frame.done.push(Arc::new(std::mem::take(&mut frame.footprint)));
            if let Some(task) = frame.next() {
                frame.task = task;
                return true;
            }
            self.depth = at;
        }
        false
    }

    /// A step that no run has taken so far.
    fn add_frame(&mut self, view: &View<'_>) {
        let step = self.depth;
        if self.frames.len() == step {
            self.frames.push(Frame::default());
        }
        self.depth += 1;
        let (before, frame) = self.frames.split_at_mut(step);
        let frame = &mut frame[0];
        frame.enabled.clear();
        frame.enabled.extend_from_slice(view.candidates());
        frame.enabled.sort_unstable();
        frame.backtrack.clear();
        frame.done.clear();
        frame.draws.clear();
        frame.footprint.items.clear();
        frame.objects = view.objects();
        frame.open.clear();
        frame.events = view.events().len();
        frame.sleep.clear();
        if let Some(last) = before.last() {
            let items = self.order.items_of(step as Index - 1);
            let asleep = last.sleep.iter().chain(&last.done);
            frame.sleep.extend(asleep.filter(|step| !step.conflicts(last.task, items)).cloned());
        }
    }

    /// Takes in what the last step did.
    fn add_step(&mut self, step: usize) {
        let Explorer { frames, order, observer, races, .. } = self;
        let frame = &mut frames[step];
        (frame.footprint.task, frame.footprint.objects) = (observer.task(), frame.objects);
        for item in observer.items() {
            // What it did with other draws is there already.
            if !frame.footprint.items.contains(item) {
                frame.footprint.items.push(*item);
            }
        }
        observer.add_to(order);
        races.extend(order.races().iter().map(|earlier| (*earlier, step as Index)));
    }

    /// How far the search is. To be asked between two runs.
    pub(crate) fn progress(&self) -> Progress {
        let (mut part, mut weight) = (0.0, 1.0);
        for frame in &self.frames[..self.depth] {
            let of = frame.backtrack.iter().filter(|task| !frame.sleeps(**task)).count().max(1);
            weight /= of as f64;
            part += weight * frame.done.len() as f64;
            for drawn in frame.draws.iter().filter(|drawn| !drawn.given) {
                weight /= drawn.bound as f64;
                part += weight * drawn.value as f64;
            }
        }
        if self.depth == 0 {
            part = 1.0;
        }
        let Explorer { runs, blocked, .. } = *self;
        let blind = self.observer.is_blind();
        Progress { runs, blocked, part, blind, ..Progress::default() }
    }

    /// The decisions of the run that is on, for doing it again.
    pub(crate) fn decisions(&self) -> (Vec<StepRecord>, Vec<DrawRecord>) {
        let (mut steps, mut draws) = (Vec::new(), Vec::new());
        for (step, frame) in self.frames[..self.depth].iter().enumerate() {
            let candidates = frame.enabled.len() as u32;
            steps.push(StepRecord { task: frame.task, candidates, preempts: false });
            let step = step as u32;
            draws.extend(frame.draws.iter().map(|drawn| DrawRecord {
                step,
                value: drawn.value,
                bound: drawn.bound,
            }));
        }
        (steps, draws)
    }
}

/// The run is not the one that began like it.
fn differs(frame: &Frame, view: &View<'_>) -> Mismatch {
    let tell = |tasks: usize, events: usize| {
        format!("{tasks} tasks that can step, after {events} operations")
    };
    Mismatch::new(
        view.step(),
        tell(frame.enabled.len(), frame.events),
        tell(view.candidates().len(), view.events().len()),
    )
}
