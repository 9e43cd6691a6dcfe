//! Exhaustive search: dynamic partial-order reduction with sleep sets. Runs belong to the same class if they differ
//! only in the order of steps that do not conflict (Mazurkiewicz). The search explores one run per class.
//!
//! The search is depth-first: each run shares a prefix with the previous run and takes a different step after it.
//! [`plan`] computes the backtrack sets from the *announcements* of the runs so far, which are the pending operations,
//! done or not. The basis is Flanagan and Godefroid, *Dynamic Partial-Order Reduction for Model Checking Software*
//! (POPL 2005), with sleep sets. If the initials of source sets are certain, the search uses them (Abdulla, Aronsson,
//! Jonsson, Sagonas: *Optimal Dynamic Partial Order Reduction*, POPL 2014).
//!
//! The search assumes three things: a run is a function of its decisions, the declarations of [`op`](crate::run::op)
//! hold, and footprints contain all effects of tasks on each other. If tasks wake each other through something outside
//! this library, the search sees only the wake-up and not the shared state. The search then restarts and treats all
//! steps as conflicting. The restarted search explores every order of steps, and is still a proof.
//!
//! The values that a step draws are branches of its frame. The search is a function of the body, so the n-th run is
//! always the same.

pub mod closure;
mod contacts;
mod looks;
pub mod node_lives;
mod observe;
mod plan;
mod search_part;
mod walk;

use std::sync::Arc;

pub use self::closure::ClosureVerdict;
pub use self::observe::Observer;
#[cfg(any(test, feature = "planted"))]
#[allow(
    unused_imports,
    reason = "for the tests of the engine, which the real build does not have"
)]
pub use self::plan::{Rule, without};
pub use self::walk::Exhaustive;

use self::plan::{OpenReversal, Rules};
use self::search_part::PartPlace;
use super::footprint::Footprint;
use super::happens_before::{HappensBefore, Index};
use super::search::{Apart, Drawn, SearchProgress};
use crate::run::choice::{Draw, Mismatch, View};
use crate::run::ids::TaskId;
use crate::run::recording::Timed;
use crate::run::{DrawRecord, StepRecord};

/// The maximum number of orders of recorded calls that are checked for one run. If there are more orders, each order
/// becomes a separate run.
const ORDERS_MAX: u32 = 20_000;

/// A step of the current run. The step is a node of the search stack, shared by all runs with the same earlier steps.
#[derive(Debug, Default)]
struct SearchFrame {
    /// The enabled tasks, by number.
    enabled: Vec<TaskId>,
    /// The task that takes the step in the current run.
    task: TaskId,
    /// The backtrack set: the tasks that take this step in some run, past or future.
    backtrack: Vec<TaskId>,
    /// The footprints of the steps whose subtrees are explored.
    done: Vec<Arc<Footprint>>,
    /// The sleep set: steps with continuations that earlier runs have fully explored.
    sleep: Vec<Arc<Footprint>>,
    draws: Vec<Drawn>,
    /// The footprint of the step: the union over all values drawn so far.
    footprint: Footprint,
    /// The numbers of events and of objects before the step.
    events: usize,
    objects: usize,
    /// Reversals of races with this step that later steps, in this run or another run, may make possible.
    open: Vec<OpenReversal>,
}

impl SearchFrame {
    /// Returns the step of `task` in the sleep set, if any.
    fn asleep(&self, task: TaskId) -> Option<&Arc<Footprint>> {
        self.sleep.iter().find(|asleep| asleep.task == task)
    }

    fn sleeps(&self, task: TaskId) -> bool {
        self.asleep(task).is_some()
    }

    /// Clears all fields but keeps the allocations.
    fn clear(&mut self) {
        self.enabled.clear();
        self.backtrack.clear();
        self.done.clear();
        self.sleep.clear();
        self.draws.clear();
        self.footprint.items.clear();
        self.footprint.ways = 0;
        self.open.clear();
    }

    /// Returns the task that takes the step in the next run, if any.
    fn next(&self) -> Option<TaskId> {
        let is_done = |task: &TaskId| self.done.iter().any(|done| done.task == *task);
        self.backtrack.iter().copied().find(|task| !is_done(task) && !self.sleeps(*task))
    }
}

/// The state of the current run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Course {
    On,
    /// All enabled tasks are in the sleep set, so earlier runs have explored every continuation.
    Blocked,
    Ended,
    /// The search restarts from the first run.
    Restarted,
}

/// The search.
#[derive(Debug)]
pub struct Explorer {
    frames: Vec<SearchFrame>,
    /// The number of frames in use. Further frames are kept for their allocations.
    depth: usize,
    /// The length of the common prefix of the current run and the previous run.
    kept: usize,
    order: HappensBefore,
    /// The races of the new steps of this run: pairs of an earlier and a later step.
    races: Vec<(Index, Index)>,
    observer: Observer,
    /// The number of values that the current step has drawn.
    drawn: usize,
    course: Course,
    runs: u64,
    blocked: u64,
    /// The classes of the runs that count, below the end in `place`.
    classes: Vec<u64>,
    /// The part of a divided search that this search explores.
    place: PartPlace,
    rules: Rules,
    /// The number of reversals without an enabled initial, for which all enabled tasks were added to the backtrack set.
    /// Always 0 unless tasks share state that the search does not see.
    pub astray: u64,
    /// The fixed prefix: the tasks of the first steps of all runs.
    prefix: Vec<TaskId>,
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
            classes: Vec::new(),
            place: PartPlace::default(),
            rules: Rules::default(),
            astray: 0,
            prefix: Vec::new(),
        }
    }
}

impl Explorer {
    /// Begins a run.
    fn begin(&mut self) {
        self.course = Course::On;
        self.drawn = 0;
        self.observer.begin();
        // The first run of a slice observes all of its steps again.
        let is_first = self.place.seat.bare > 0;
        self.kept = if is_first { 0 } else { self.depth.saturating_sub(1) };
        self.order.truncate(self.kept as u32);
        self.races.clear();
    }

    /// Chooses the task of the next step. The whole scheduling decision is in this function.
    fn pick(&mut self, view: &View<'_>) -> Result<TaskId, Mismatch> {
        let step = view.step() as usize;
        if let Some(probe) = &mut self.place.probe {
            return probe.pick(view, &self.frames, &mut self.observer);
        }
        if step > self.kept {
            self.observer.after(view);
            self.add_step(step - 1);
        }
        self.drawn = 0;
        if step < self.place.seat.bare {
            self.see_frame(step, view);
        }
        if step < self.depth {
            let frame = &self.frames[step];
            let same = (step < self.prefix.len() || frame.enabled.len() == view.candidates().len())
                && view.candidates().contains(&frame.task)
                && frame.events == view.events().len();
            // An earlier run had the same prefix, and a run is a function of its decisions.
            if !same {
                return Err(differs(frame, view));
            }
        } else {
            self.add_frame(view);
            let frame = &self.frames[step];
            let sampled = match &mut self.place.look {
                Some(sight) => Some(sight.see(step, frame).ok_or_else(|| nothing_new(view))?),
                None => None,
            };
            let awake = |task: &TaskId| !frame.sleeps(*task);
            // Continues with the last task if possible, so that the first run of a subtree has few switches.
            let last = view.last().filter(|last| frame.enabled.contains(last) && awake(last));
            let first = || frame.enabled.iter().copied().find(awake);
            let Some(task) = sampled.or(last).or_else(first) else {
                self.depth -= 1;
                self.course = Course::Blocked;
                return Err(nothing_new(view));
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

    /// Returns the value of a draw. The search does not vary a given value.
    fn draw(&mut self, draw: &Draw, step: usize, given: Option<u64>) -> Result<u64, Mismatch> {
        if let Some(probe) = &mut self.place.probe {
            return Ok(probe.draw(draw, (step, given), &self.frames, &mut self.observer));
        }
        let frame = &mut self.frames[step];
        let nth = self.drawn;
        self.drawn += 1;
        let value = match frame.draws.get(nth) {
            None => {
                let sampled = self.place.look.as_mut().and_then(|sight| sight.draw(draw.bound));
                let value = given.or(sampled).unwrap_or(0);
                let given = given.is_some() || !self.rules.varies(draw.why);
                frame.draws.push(Drawn { value, bound: draw.bound, given });
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

    /// Stops the search from exploring other values for the `nth` draw of the step. Does nothing if tasks share unseen
    /// state, because the step may have changed part of this state.
    fn settle(&mut self, step: usize, nth: usize) {
        if self.observer.apart().steps {
            return;
        }
        if let Some(probe) = &mut self.place.probe {
            probe.settle(step, nth);
            return;
        }
        if let Some(drawn) = self.frames[step].draws.get_mut(nth) {
            drawn.given |= drawn.value == 0;
        }
    }

    /// Ends the run.
    fn end(&mut self, view: &View<'_>) {
        self.course = Course::Ended;
        if let Some(probe) = &mut self.place.probe {
            probe.end(view, &mut self.observer);
            return;
        }
        if view.step() as usize > self.kept {
            self.observer.after_last(view);
        }
    }

    /// Evaluates the ended run: adds its last step and plans later runs. `cut` is true if the last step ended the run,
    /// although other tasks may still be enabled.
    fn finish_run(&mut self, cut: bool) {
        self.judge_run(cut);
        self.place.seat.bare = 0;
    }

    fn judge_run(&mut self, cut: bool) {
        match self.course {
            Course::Restarted => return,
            Course::Blocked => self.blocked += 1,
            Course::On | Course::Ended => {
                self.runs += 1;
                self.depth = self.depth.min(self.frames.len());
                self.observer.end(cut);
                if self.depth > self.kept {
                    self.add_step(self.depth - 1);
                }
                let class = self.order.class();
                if self.place.class_end.is_none_or(|end| class < end) {
                    self.classes.push(class);
                }
            }
        }
        if self.observer.take_learnt() {
            // Steps that the search treated as independent may conflict.
            self.restart();
            return;
        }
        self.plan();
    }

    /// Restarts the search with the learnt footprints. The runs so far do not count.
    fn restart(&mut self) {
        self.blocked += self.runs;
        self.runs = 0;
        self.classes.clear();
        self.depth = 0;
        self.astray = 0;
        self.course = Course::Restarted;
    }

    /// Calls `holds` with the other histories in the class of the last finished run.
    fn look_at_orders(&self, holds: &mut dyn FnMut(usize, &[Timed]) -> bool) -> ClosureVerdict {
        if self.course != Course::Ended || self.observer.apart().orders {
            return ClosureVerdict::Consistent;
        }
        closure::check_orders(&self.order, ORDERS_MAX, holds)
    }

    /// Restarts the search so that these differences also distinguish runs. The runs so far do not count.
    fn tell_apart(&mut self, differences: Apart) {
        self.observer.tell_apart(differences);
        self.restart();
    }

    /// Backtracks to the next run. Returns `false` if no run is left.
    fn next_run(&mut self) -> bool {
        if self.course == Course::Restarted {
            return true;
        }
        while let Some(at) = self.depth.checked_sub(1) {
            let (seat, is_root) = (self.place.seat, self.depth == self.place.seat.root);
            let frame = &mut self.frames[at];
            // The open reversals belong to the step that is now replaced.
            frame.open.clear();
            frame.footprint.ways += 1;
            if Drawn::advance(&mut frame.draws, seat.varies_from(self.depth)) {
                return true;
            }
            if is_root {
                break;
            }
            frame.done.push(Arc::new(std::mem::take(&mut frame.footprint)));
            if let Some(task) = frame.next() {
                frame.task = task;
                return true;
            }
            self.depth = at;
        }
        self.place.seat.is_through = true;
        false
    }

    /// Adds a frame for a step that no run has taken so far.
    fn add_frame(&mut self, view: &View<'_>) {
        let step = self.depth;
        if self.frames.len() == step {
            self.frames.push(SearchFrame::default());
        }
        self.depth += 1;
        self.frames[step].clear();
        self.see_frame(step, view);
    }

    /// Fills in all fields of a frame except its choices.
    fn see_frame(&mut self, step: usize, view: &View<'_>) {
        let (before, frame) = self.frames.split_at_mut(step);
        let frame = &mut frame[0];
        frame.enabled.clear();
        match self.prefix.get(step) {
            // The step has no alternatives, so no race with it is reversed.
            Some(task) if view.candidates().contains(task) => frame.enabled.push(*task),
            _ => frame.enabled.extend_from_slice(view.candidates()),
        }
        frame.enabled.sort_unstable();
        frame.objects = view.objects();
        frame.events = view.events().len();
        frame.sleep.clear();
        if let Some(last) = before.last() {
            let items = self.order.items_of(step as Index - 1);
            let asleep = last.sleep.iter().chain(&last.done);
            frame.sleep.extend(asleep.filter(|step| !step.conflicts(last.task, items)).cloned());
        }
    }

    /// Adds the footprint of the last step to its frame and to the happens-before order, and collects its races.
    fn add_step(&mut self, step: usize) {
        let Explorer { frames, order, observer, races, .. } = self;
        let frame = &mut frames[step];
        (frame.footprint.task, frame.footprint.objects) = (observer.task(), frame.objects);
        for item in observer.items() {
            // The footprint already contains the items of runs with other draws.
            if !frame.footprint.items.contains(item) {
                frame.footprint.items.push(*item);
            }
        }
        observer.add_to(order);
        races.extend(order.races().iter().map(|earlier| (*earlier, step as Index)));
    }

    /// Returns the progress of the search. Valid between two runs.
    pub fn progress(&self) -> SearchProgress {
        let Explorer { runs, blocked, .. } = *self;
        let (blind, by_step) = (self.observer.is_blind(), self.observer.apart().steps);
        SearchProgress { runs, blocked, blind, by_step, ..SearchProgress::default() }
    }

    /// Returns the decisions of the current run, so that it can be repeated.
    pub fn decisions(&self) -> (Vec<StepRecord>, Vec<DrawRecord>) {
        let (mut steps, mut draws) = (Vec::new(), Vec::new());
        let probe = self.place.probe.as_ref();
        let depth = probe.map_or(self.depth, |probe| probe.steps());
        for (at, frame) in self.frames[..depth].iter().enumerate() {
            let candidates = frame.enabled.len() as u32;
            let own = || (frame.task, &*frame.draws);
            let (task, drawn) = probe.map_or_else(own, |probe| probe.decision(at, frame));
            steps.push(StepRecord { task, candidates, preempts: false });
            let step = at as u32;
            draws.extend(drawn.iter().map(|drawn| DrawRecord {
                step,
                value: drawn.value,
                bound: drawn.bound,
                given: drawn.given,
                why: "",
            }));
        }
        (steps, draws)
    }
}

/// Returns the mismatch of a run that is cut short.
fn nothing_new(view: &View<'_>) -> Mismatch {
    let found = "nothing that an earlier run did not do".to_owned();
    Mismatch::new(view.step(), "something new".to_owned(), found)
}

/// Returns the mismatch of a run that differs from the repeated prefix.
fn differs(frame: &SearchFrame, view: &View<'_>) -> Mismatch {
    let tell = |tasks: usize, events: usize| {
        format!("{tasks} tasks that can step, after {events} operations")
    };
    Mismatch::new(
        view.step(),
        tell(frame.enabled.len(), frame.events),
        tell(view.candidates().len(), view.events().len()),
    )
}
