//! Exhaustive search: runs until no run is left that would be another one for anybody.
//!
//! Source-DPOR with sleep sets (Abdulla, Aronsson, Jonsson, Sagonas: Optimal Dynamic Partial Order
//! Reduction, POPL 2014, algorithm 1). Each run begins like an earlier one up to a step and differs
//! there. Where, is learnt from races: two steps that conflict and could have come in the other
//! order. One run is enough for all that differ in the order of steps that do not conflict.
//!
//! # Where this differs from the paper
//!
//! - A step's footprint is all that one poll did. It is cut into segments where it found a task to
//!   have ended ([`happens_before`](super::happens_before)).
//! - A lock competes with whoever took it last, and not with the release that let it in; locks that
//!   nobody got are looked at when the run has ended, which is how deadlocks are found.
//! - The step that ends the run (the body returned, a task panicked) conflicts with every other: what
//!   was left of other tasks might have come before.
//! - An operation that was announced and then given up, because another branch was ready or the task was
//!   aborted, counts as done by the step that gave it up: in another order of steps it would be.
//! - What a step did besides its operation, such as to give up a lock, is held to be possible in every run
//!   at that place of the task ([`effects`]).
//! - What a step draws are branches of its own.
//! - A task that waits for a change is let go on by any of several. What it looked at counts as read by
//!   the step in which it goes on, and that step could have come before a change if another one had let
//!   the task go on.
//! - A task that wakes another by something that is not of this library conflicts with its steps.
//!   What the two share is not seen, so such a search says that it proves nothing.
//!
//! The search is a function of the body: the n-th run is the same whenever it is asked for.

pub(crate) mod closure;
mod effects;
mod observe;
mod races;
mod walk;

use std::sync::Arc;

pub(crate) use self::closure::Orders;
pub(crate) use self::observe::Observer;
pub(crate) use self::walk::Exhaustive;

use self::races::{Reversal, reversals};
use super::footprint::{Footprint, Item};
use super::happens_before::{HappensBefore, Late};
use super::search::Progress;
use crate::choice::{Draw, Mismatch, Status, View};
use crate::history::Timed;
use crate::ids::TaskId;
use crate::op::Access;
use crate::run::{DrawRecord, StepRecord};

/// How many orders of recorded calls are looked at for one run; one that has more makes them runs.
const ORDERS_MAX: u32 = 20_000;

/// A step of the current run, and what is known of the runs that begin like it up to there.
#[derive(Debug, Default)]
struct Frame {
    /// Who could step, by number.
    enabled: Vec<TaskId>,
    /// Who does.
    task: TaskId,
    /// Who did, does or will, in one run or another.
    backtrack: Vec<TaskId>,
    /// What those did who are done.
    done: Vec<Arc<Footprint>>,
    /// Steps with which nothing new can begin here, because earlier runs had it.
    sleep: Vec<Arc<Footprint>>,
    /// Tasks whose steps do not sleep here, because others will not do the same without them.
    awake: Vec<TaskId>,
    /// What the step drew, and below what.
    draws: Vec<(u64, u64)>,
    /// What it did, whatever it drew.
    footprint: Footprint,
    /// How many operations had been done before it.
    events: usize,
}

impl Frame {
    fn sleeps(&self, task: TaskId) -> bool {
        self.sleep.iter().any(|asleep| asleep.task == task)
    }

    /// Who is to step here next, if anybody.
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
    observer: Observer,
    /// How many values the current step has drawn.
    drawn: usize,
    course: Course,
    /// What was left when the run ended: who was about to do what, and whether it waits for a lock.
    left: Vec<(Footprint, bool)>,
    runs: u64,
    blocked: u64,
    reversal: Reversal,
    /// How often nobody could begin a reversal, which is then tried with everybody.
    pub(crate) astray: u64,
    /// How often a step was kept from sleeping, so that some classes may be run twice.
    pub(crate) restless: u64,
    /// How often a step was held to be able to do more than it did, so that some classes may be run twice.
    pub(crate) wary: u64,
}

impl Default for Explorer {
    fn default() -> Explorer {
        Explorer {
            frames: Vec::new(),
            depth: 0,
            kept: 0,
            order: HappensBefore::default(),
            observer: Observer::default(),
            drawn: 0,
            course: Course::On,
            left: Vec::new(),
            runs: 0,
            blocked: 0,
            reversal: Reversal::default(),
            astray: 0,
            restless: 0,
            wary: 0,
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
                self.note_what_is_left(view);
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

    /// The value of a draw.
    fn draw(&mut self, draw: &Draw, step: usize) -> Result<u64, Mismatch> {
        let frame = &mut self.frames[step];
        let nth = self.drawn;
        self.drawn += 1;
        match frame.draws.get(nth) {
            None => {
                frame.draws.push((0, draw.bound));
                Ok(0)
            }
            Some((value, bound)) if *bound == draw.bound => Ok(*value),
            Some((_, bound)) => Err(Mismatch::new(
                step as u32,
                format!("a draw of a value below {bound}"),
                format!("a draw of a value below {}", draw.bound),
            )),
        }
    }

    /// The run ended.
    fn end(&mut self, view: &View<'_>) {
        self.course = Course::Ended;
        if view.step() as usize > self.kept {
            self.observer.after_last(view);
        }
        self.note_what_is_left(view);
    }

    /// Who was about to do what when the run ended or was given up.
    fn note_what_is_left(&mut self, view: &View<'_>) {
        self.left.clear();
        for (index, row) in view.tasks().iter().enumerate() {
            let task = TaskId(index as u32);
            let mut next = Footprint { task, items: Vec::new() };
            for announced in row.announced.iter() {
                let (access, Some(object)) = (announced.op.access, announced.object) else {
                    continue;
                };
                let item = Item::Object { object, access, takes: access.waits() };
                match access.waits() {
                    true => self.left.push((Footprint { task, items: vec![item] }, true)),
                    false => next.items.push(item),
                }
            }
            for watch in view.watches_of(task) {
                next.items.extend(watch.objects.iter().map(|object| Item::Object {
                    object: *object,
                    access: Access::Read,
                    takes: false,
                }));
            }
            if row.status == Status::Ready {
                self.left.push((next, false));
            }
        }
    }

    /// Takes in the run that ended. `cut` tells whether its last step ended it, although tasks may have
    /// been left that could go on.
    fn take_in(&mut self, cut: bool) {
        if self.observer.take_learnt() {
            // What was thought the same may not be.
            self.runs += 1;
            self.restart();
            return;
        }
        match self.course {
            Course::Restarted => {}
            Course::Blocked => {
                self.blocked += 1;
                // Whoever waits for a lock may take it before those do who did here, and so get to what no
                // other run shows.
                self.look_at_what_is_left(false);
            }
            Course::On | Course::Ended => {
                self.runs += 1;
                self.depth = self.depth.min(self.frames.len());
                if cut {
                    self.observer.over();
                }
                if self.depth > self.kept {
                    self.add_step(self.depth - 1);
                }
                self.look_at_what_is_left(cut);
            }
        }
    }

    /// From the start, knowing better. What was run so far does not count.
    fn restart(&mut self) {
        self.blocked += self.runs;
        self.runs = 0;
        self.depth = 0;
        self.astray = 0;
        self.restless = 0;
        self.wary = 0;
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
            while let Some((value, bound)) = frame.draws.pop() {
                if value + 1 < bound {
                    frame.draws.push((value + 1, bound));
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
        frame.awake.clear();
        frame.draws.clear();
        frame.footprint.items.clear();
        frame.events = view.events().len();
        frame.sleep.clear();
        if let Some(last) = before.last() {
            let done = last.done.iter().filter(|done| !last.awake.contains(&done.task));
            let asleep = last.sleep.iter().chain(done);
            frame.sleep.extend(asleep.filter(|step| !step.conflicts(&last.footprint)).cloned());
        }
    }

    /// Takes in what the last step did, and has every race that it has with earlier ones turned
    /// round in a later run.
    fn add_step(&mut self, step: usize) {
        let Explorer { frames, order, observer, reversal, astray, restless, .. } = self;
        let frame = &mut frames[step];
        self.wary += u64::from(observer.compare(order));
        frame.footprint.task = observer.task();
        frame.footprint.items.extend_from_slice(&observer.items);
        let task = observer.task();
        let mut found: Vec<Reversal> = Vec::new();
        let could = |step: u32| frames[step as usize].enabled.contains(&task);
        observer.add_to(order, step as u32, could, |order| {
            let late = order.latest();
            for rival in late.rivals.iter().filter(|rival| !observer.waited_for(order, **rival)) {
                reversals(order, *rival, &late, reversal, |reversal| {
                    found.push(Reversal { initials: reversal.initials.clone(), ..*reversal });
                });
            }
        });
        for reversal in found {
            plan(&mut frames[reversal.step as usize], &reversal, Some(task), (astray, restless));
        }
    }

    /// Locks that tasks waited for when the run ended might have been taken by them earlier; and if
    /// a step cut the run short, what others were about to do might have come before it.
    fn look_at_what_is_left(&mut self, cut: bool) {
        let Explorer { frames, order, left, reversal, astray, restless, .. } = self;
        let (mut known, mut rivals) = (Vec::new(), Vec::new());
        for (Footprint { task, items }, waits) in left.drain(..) {
            order.known_to(task, &mut known);
            rivals.clear();
            if waits {
                order.collect_holders(&items, &known, &mut rivals);
            } else if cut {
                let last = order.len().checked_sub(1);
                rivals.extend(last.filter(|last| !order.knows(&known, *last)));
            }
            let items = &items;
            let late = Late { task, items, end: order.len(), known: &known, rivals: &rivals };
            for rival in late.rivals {
                // What the last step alone let in could not have come before it.
                if !waits && !frames[order.step_of(*rival) as usize].enabled.contains(&task) {
                    continue;
                }
                reversals(order, *rival, &late, reversal, |reversal| {
                    let frame = &mut frames[reversal.step as usize];
                    plan(frame, reversal, Some(task), (astray, restless));
                });
            }
        }
    }

    /// How far the search is. To be asked between two runs.
    pub(crate) fn progress(&self) -> Progress {
        let (mut part, mut weight) = (0.0, 1.0);
        for frame in &self.frames[..self.depth] {
            let of = frame.backtrack.iter().filter(|task| !frame.sleeps(**task)).count().max(1);
            weight /= of as f64;
            part += weight * frame.done.len() as f64;
            for (value, bound) in &frame.draws {
                weight /= *bound as f64;
                part += weight * *value as f64;
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
            draws.extend(frame.draws.iter().map(|(value, bound)| DrawRecord {
                step,
                value: *value,
                bound: *bound,
            }));
        }
        (steps, draws)
    }
}

/// Sees to it that a reversal is tried, unless it is already.
fn plan(
    frame: &mut Frame,
    reversal: &Reversal,
    prefer: Option<TaskId>,
    (astray, restless): (&mut u64, &mut u64),
) {
    if reversal.parts {
        *restless += u64::from(!frame.awake.contains(&frame.task));
        frame.awake.push(frame.task);
    }
    let planned = |task: &TaskId| frame.backtrack.contains(task) || frame.sleeps(*task);
    if reversal.initials.iter().any(planned) {
        return;
    }
    let can = |task: &TaskId| frame.enabled.contains(task);
    let mut initials = reversal.initials.iter().copied().filter(can);
    let first = initials.next();
    let task = prefer.filter(|task| Some(*task) == first || initials.any(|other| other == *task));
    match task.or(first) {
        Some(task) => frame.backtrack.push(task),
        None => {
            *astray += 1;
            for task in frame.enabled.clone() {
                if !frame.backtrack.contains(&task) {
                    frame.backtrack.push(task);
                }
            }
        }
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
