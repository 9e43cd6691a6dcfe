//! The search as a worker of a divided search: takes over a part, finds missing footprints by probes, and returns the
//! rest of the part.
//!
//! A part contains only choices. The first run of a slice observes everything else again. The first run plans from step
//! 0, so that it also finds the open reversals of the path again. With a later start, the requests would depend on the
//! state left in memory.

use std::sync::Arc;

use super::looks::Sight;
use super::observe::Observer;
use super::{Course, Explorer, SearchFrame};
use crate::run::choice::{Draw, Mismatch, View};
use crate::run::ids::TaskId;
use crate::strategy::divided::{
    DivisionRule, DivisionRules, Entry, Noticed, Part, PathFrame, Probed, Rest, SampledRun, Seat,
    Sibling, Slice, WAYS_MAX, Wish, never_sleeps,
};
use crate::strategy::footprint::Footprint;
use crate::strategy::search::{Apart, Drawn};

/// The place of an explorer in a divided search. The default is the place of a search that is not divided.
#[derive(Debug, Default)]
pub(super) struct PartPlace {
    pub(super) seat: Seat,
    /// The requests for shared frames.
    pub(super) wishes: Vec<Wish>,
    /// The footprints that still need a probe, and the current probe.
    left: Vec<Unknown>,
    pub(super) probe: Option<Probe>,
    pub(super) probed: Probed,
    rules: DivisionRules,
    /// The end of the classes that the slice returns; `None` for all classes.
    pub(super) class_end: Option<u64>,
    /// The random steps of a sampled run.
    pub(super) sample: Option<SampledRun>,
    /// `Some` if the run is a look or a sampled run.
    pub(super) look: Option<Sight>,
}

/// A footprint that a probe must find.
#[derive(Clone, Debug)]
struct Unknown {
    /// The position of the frame.
    at: usize,
    task: TaskId,
    /// The position among the done tasks of the frame; `None` for the footprint of the current step.
    nth: Option<usize>,
}

/// The runs that find one footprint. For each tuple of drawn values, one run takes the steps before a frame and one
/// step there.
#[derive(Debug)]
pub(super) struct Probe {
    unknown: Unknown,
    draws: Vec<Drawn>,
    drawn: usize,
    footprint: Footprint,
    /// True if the step was taken and the observer has read it.
    is_read: bool,
    /// The knowledge before the probe. The knowledge is restored afterwards, because a probe must add nothing.
    before: (Apart, Noticed),
}

impl Explorer {
    /// Takes over a part of the search.
    pub(super) fn adopt(&mut self, part: Part) {
        let Part { path, fixed, stack, known, sample } = part;
        let (root, bare) = (path.len(), path.len() + stack.len());
        let seat = Seat { root, fixed, bare, is_through: false };
        let (rules, class_end) = (known.rules, known.class_end);
        let mut place = PartPlace { seat, rules, class_end, sample, ..PartPlace::default() };
        self.observer.begin_part(known.apart, &known.noticed);
        self.frames.resize_with(self.frames.len().max(bare), SearchFrame::default);
        for (at, frame) in path.into_iter().enumerate() {
            let PathFrame { task, draws, order, before } = frame;
            self.frames[at].choose(task, draws, order);
            place.sleep(&mut self.frames[at], at, before);
        }
        for (at, entry) in (root..).zip(stack) {
            let Entry { task, draws, done, untaken, partial, .. } = entry;
            let tasks = done.iter().map(|sibling| sibling.task);
            let order = tasks.chain([task]).chain(untaken).collect();
            // A nonzero draw shows that the step was already taken with other values.
            let was_taken = draws.iter().any(|drawn| !drawn.given && drawn.value > 0);
            self.frames[at].choose(task, draws, order);
            place.sleep(&mut self.frames[at], at, done);
            match partial {
                Some(partial) => self.frames[at].footprint.clone_from(&partial),
                None if was_taken => place.left.push(Unknown { at, task, nth: None }),
                None => {}
            }
        }
        place.left.reverse();
        self.place = place;
        (self.depth, self.course) = (bare, Course::On);
        (self.runs, self.blocked) = (0, 0);
        self.classes.clear();
    }

    /// Prepares a probe run. Returns `false` if all footprints are known.
    pub(super) fn next_probe(&mut self) -> bool {
        if self.place.probe.is_some() {
            return true;
        }
        let Some(unknown) = self.place.left.pop() else { return false };
        let footprint = Footprint { task: unknown.task, ..Footprint::default() };
        let before = (self.observer.apart(), self.observer.noticed().clone());
        let (draws, drawn) = (Vec::new(), 0);
        let probe = Probe { unknown, draws, drawn, footprint, is_read: false, before };
        self.place.probe = Some(probe);
        true
    }

    /// Evaluates a probe run. `cut` is true if the last step ended the run.
    pub(super) fn probed(&mut self, cut: bool) {
        let Explorer { place, observer, frames, .. } = self;
        let Some(probe) = &mut place.probe else { return };
        if std::mem::take(&mut probe.is_read) && self.course == Course::Ended {
            observer.end(cut);
        }
        for item in observer.items() {
            if !probe.footprint.items.contains(item) {
                probe.footprint.items.push(*item);
            }
        }
        observer.begin_part(probe.before.0, &probe.before.1);
        probe.footprint.ways += 1;
        let Unknown { at, task, nth } = probe.unknown;
        let frame = &mut frames[at];
        let tries_all = place.rules.has(DivisionRule::Values);
        let has_more = Drawn::advance(&mut probe.draws, 0) && tries_all;
        // For the current step, only the values before its next value count.
        if has_more && (nth.is_some() || !same_values(&probe.draws, &frame.draws)) {
            // Below the path, the search tried all values of an explored step, so the probe tries all of them, however
            // many there are.
            if at >= place.seat.root || probe.footprint.ways < WAYS_MAX {
                return;
            }
            let ways = probe.footprint.ways;
            probe.footprint = Footprint { ways, ..never_sleeps(task) };
        }
        let Probe { footprint, .. } = place.probe.take().expect("it is the current one");
        let Some(nth) = nth else {
            frame.footprint = footprint;
            return;
        };
        let footprint = Arc::new(footprint);
        frame.done[nth] = footprint.clone();
        if at < place.seat.root {
            place.probed.push((at, task, footprint));
        }
    }

    /// Returns the draws of the last step of the path.
    pub(super) fn draws_of_path(&self, seat: Seat) -> Vec<Drawn> {
        let last = seat.root.checked_sub(1);
        last.map_or_else(Vec::new, |last| self.frames[last].draws.clone())
    }

    /// Ends the slice. Returns the results of its runs and the rest of the part.
    pub(super) fn leave(&mut self) -> Slice {
        let place = std::mem::take(&mut self.place);
        let mut slice = Slice {
            wishes: place.wishes,
            probed: place.probed,
            noticed: self.observer.noticed().clone(),
            classes: std::mem::take(&mut self.classes),
            runs: self.runs,
            blocked: self.blocked,
            ..Slice::default()
        };
        if self.course == Course::Restarted {
            slice.learnt = Some(self.observer.apart());
            return slice;
        }
        if !place.seat.has_no_rest() {
            let stack = self.frames[place.seat.root.min(self.depth)..self.depth].iter();
            let stack = stack.map(SearchFrame::leave).collect();
            slice.rest = Some(Rest { draws: self.draws_of_path(place.seat), stack });
        }
        slice
    }
}

#[cfg(any(test, feature = "planted"))]
#[allow(dead_code, reason = "for the tests of the engine, which the real build does not have")]
impl Explorer {
    /// Returns the open reversals at the first `depth` frames: the frame, the task, and the last step of the prefix
    /// that needs the reversal.
    pub fn open_reversals(&self, depth: usize) -> Vec<(usize, TaskId, u32)> {
        let frames = self.frames[..depth.min(self.depth)].iter().enumerate();
        frames.flat_map(|(at, frame)| frame.open.iter().map(move |open| open.named(at))).collect()
    }

    /// Returns `true` if the task is in the backtrack set of a frame.
    pub fn is_planned(&self, at: usize, task: TaskId) -> bool {
        self.frames[at].backtrack.contains(&task)
    }

    /// Returns `true` if the search restarted.
    pub fn has_begun_again(&self) -> bool {
        self.course == Course::Restarted
    }

    /// Returns the number of frames in use.
    pub fn depth(&self) -> usize {
        self.depth
    }
}

impl PartPlace {
    /// Returns the first step from which a run plans, if it observed the steps from `kept` on.
    pub(super) fn plans_from(&self, kept: usize) -> usize {
        let plans_all = self.seat.bare == 0 || self.rules.has(DivisionRule::Replan);
        if plans_all { kept } else { self.seat.root.saturating_sub(1) }
    }

    /// Marks the siblings as done at a frame, so that they sleep below its current step. Requests a probe for each
    /// sibling with an unknown footprint.
    fn sleep(&mut self, frame: &mut SearchFrame, at: usize, siblings: Vec<Sibling>) {
        for (nth, Sibling { task, footprint }) in siblings.into_iter().enumerate() {
            frame.done.push(footprint.unwrap_or_else(|| {
                self.left.push(Unknown { at, task, nth: Some(nth) });
                Arc::new(Footprint { task, ..Footprint::default() })
            }));
        }
    }
}

impl SearchFrame {
    /// Resets the frame to these choices.
    fn choose(&mut self, task: TaskId, draws: Vec<Drawn>, order: Vec<TaskId>) {
        self.clear();
        (self.task, self.draws, self.backtrack) = (task, draws, order);
    }

    /// Returns the choices of the frame.
    fn leave(&self) -> Entry {
        let done = self
            .done
            .iter()
            .map(|footprint| Sibling { task: footprint.task, footprint: Some(footprint.clone()) });
        let is_left = |task: &TaskId| {
            *task != self.task
                && !self.sleeps(*task)
                && !self.done.iter().any(|done| done.task == *task)
        };
        let untaken: Vec<TaskId> = self.backtrack.iter().copied().filter(is_left).collect();
        let varies = self.draws.iter().any(|drawn| !drawn.given);
        let is_taken = !self.footprint.items.is_empty();
        let copy = || Arc::new(self.footprint.clone());
        Entry {
            task: self.task,
            draws: self.draws.clone(),
            done: done.collect(),
            partial: varies.then(copy),
            // Only the first frame with untaken tasks is given to other workers.
            whole: (!varies && is_taken && !untaken.is_empty()).then(copy),
            untaken,
        }
    }
}

impl Probe {
    /// Chooses the task of the next step.
    pub(super) fn pick(
        &mut self,
        view: &View<'_>,
        frames: &[SearchFrame],
        observer: &mut Observer,
    ) -> Result<TaskId, Mismatch> {
        let (step, at) = (view.step() as usize, self.unknown.at);
        self.drawn = 0;
        if step > at {
            observer.after(view);
            self.is_read = true;
            let found = "the end of a probe".to_owned();
            return Err(Mismatch::new(view.step(), "nothing".to_owned(), found));
        }
        let task = if step == at { self.unknown.task } else { frames[step].task };
        if !view.candidates().contains(&task) {
            let (expected, found) = (format!("a step of task {}", task.0), "none".to_owned());
            return Err(Mismatch::new(view.step(), expected, found));
        }
        if step == at {
            self.footprint.objects = view.objects();
            observer.before(view, task);
        }
        Ok(task)
    }

    /// Returns the value of a draw.
    pub(super) fn draw(
        &mut self,
        draw: &Draw,
        (step, given): (usize, Option<u64>),
        frames: &[SearchFrame],
        observer: &mut Observer,
    ) -> u64 {
        let nth = self.drawn;
        self.drawn += 1;
        if step < self.unknown.at {
            return frames[step].draws.get(nth).map_or(given.unwrap_or(0), |drawn| drawn.value);
        }
        if self.draws.len() == nth {
            let (value, bound) = (given.unwrap_or(0), draw.bound);
            self.draws.push(Drawn { value, bound, given: given.is_some() });
        }
        let value = self.draws[nth].value;
        if given.is_none() {
            observer.drew(value, draw.bound);
        }
        value
    }

    /// Records that the `nth` draw of the step made no difference.
    pub(super) fn settle(&mut self, step: usize, nth: usize) {
        if step == self.unknown.at {
            if let Some(drawn) = self.draws.get_mut(nth) {
                drawn.given |= drawn.value == 0;
            }
        }
    }

    /// Reads the state of the run after its last step.
    pub(super) fn end(&mut self, view: &View<'_>, observer: &mut Observer) {
        if view.step() as usize > self.unknown.at {
            observer.after_last(view);
            self.is_read = true;
        }
    }

    /// Returns the decisions of the probe at a frame: the task of the step, and its draws.
    pub(super) fn decision<'a>(
        &'a self,
        at: usize,
        frame: &'a SearchFrame,
    ) -> (TaskId, &'a [Drawn]) {
        match at == self.unknown.at {
            true => (self.unknown.task, &self.draws),
            false => (frame.task, &frame.draws),
        }
    }

    /// Returns the number of steps of the probe.
    pub(super) fn steps(&self) -> usize {
        self.unknown.at + 1
    }
}

/// Returns `true` if a step that begins with the draws `these` makes the draws `all`: later draws begin with 0.
fn same_values(these: &[Drawn], all: &[Drawn]) -> bool {
    let Some((first, rest)) = all.split_at_checked(these.len()) else { return false };
    let is_same = |(one, other): (&Drawn, &Drawn)| one.value == other.value;
    these.iter().zip(first).all(is_same) && rest.iter().all(|draw| draw.given || draw.value == 0)
}
