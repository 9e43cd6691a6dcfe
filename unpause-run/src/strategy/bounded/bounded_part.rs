//! The bounded search as a worker of a divided search. A bounded search has no requests for shared frames and no
//! sleeping tasks, so a part needs no probes.

use super::{BoundedFrame, BoundedStack};
use crate::run::choice::{Mismatch, View};
use crate::run::ids::TaskId;
use crate::run::rng::mix;
use crate::strategy::divided::{Entry, Look, Part, PathFrame, Rest, Seat, Sibling, Slice};

/// The place of a stack in a divided search. The default is the place of a search that is not divided.
#[derive(Debug, Default)]
pub(super) struct BoundedPlace {
    /// True if the search is divided.
    pub(super) is_part: bool,
    pub(super) seat: Seat,
    /// The tasks of the frames for which only the choices are known.
    tasks: Vec<TaskId>,
    /// `Some` if the run is a look. A look ends at the first frame below the path, and finds the tasks there.
    look: Option<Vec<TaskId>>,
    /// A hash of the facts on which the runs below the look depend.
    state: u64,
    /// True if the path costs more than the bound, so that no run is below it.
    pub(super) is_beyond: bool,
}

impl BoundedStack {
    /// Takes over a part of the search.
    pub(super) fn adopt(&mut self, part: Part) {
        let Part { path, fixed, stack, known, .. } = part;
        let root = path.len();
        let path = path.into_iter().map(|PathFrame { task, draws, .. }| (task, draws));
        let stack = stack.into_iter().map(|Entry { task, draws, .. }| (task, draws));
        let mut tasks = Vec::new();
        for (at, (task, draws)) in path.chain(stack).enumerate() {
            if self.frames.len() == at {
                self.frames.push(BoundedFrame::default());
            }
            self.frames[at].draws = draws;
            tasks.push(task);
        }
        self.depth = tasks.len();
        let seat = Seat { root, fixed, bare: tasks.len(), is_through: false };
        self.place =
            BoundedPlace { is_part: true, seat, tasks, look: None, state: 0, is_beyond: false };
        self.within = known.level;
        (self.left_out, self.ended, self.has_stores) = (false, false, false);
        (self.runs, self.repeated) = (0, 0);
    }

    /// Fills in a frame for which only the choices are known. Returns its task.
    pub(super) fn see_frame(&mut self, step: usize, view: &View<'_>) -> Result<TaskId, Mismatch> {
        self.fill(step, view);
        let task = self.place.tasks[step];
        let frame = &mut self.frames[step];
        let Some(at) = frame.order.iter().position(|other| *other == task) else {
            let (expected, found) = (format!("a step of task {}", task.0), "none".to_owned());
            return Err(Mismatch::new(view.step(), expected, found));
        };
        frame.at = at;
        Ok(task)
    }

    /// Makes the next run end at the first frame below the path.
    pub(super) fn begin_look(&mut self) {
        self.place.look = Some(Vec::new());
    }

    /// Returns the cost of the first `steps` steps.
    pub(super) fn cost_of(&self, steps: usize) -> u32 {
        let last = steps.checked_sub(1).map(|last| &self.frames[last]);
        last.map_or(0, |last| last.spent + (self.measure.cost)(last.at, last.goes_on))
    }

    /// Returns the cost of the run so far.
    pub(super) fn cost(&self) -> u32 {
        self.cost_of(self.depth)
    }

    /// Checks if the path costs more than the bound. Must be called after all steps of the path.
    pub(super) fn see_path(&mut self) -> bool {
        self.place.is_beyond = self.cost_of(self.place.seat.root) > self.within;
        self.left_out |= self.place.is_beyond;
        self.place.is_beyond
    }

    /// Ends the run at a new frame if the run is a look, or if the path is beyond the bound.
    pub(super) fn end_at_path(&mut self, step: usize, view: &View<'_>) -> Result<(), Mismatch> {
        let end = |end: &str| Err(Mismatch::new(view.step(), "nothing".to_owned(), end.to_owned()));
        if step == self.place.seat.root && self.see_path() {
            return end("the end of a path that costs too much");
        }
        let Some(look) = &mut self.place.look else { return Ok(()) };
        let frame = &self.frames[step];
        look.extend(&frame.order[..frame.tasks_within(self.measure, self.within)]);
        let order = frame.order.iter().map(|task| u64::from(task.0));
        self.place.state = order.fold(mix(frame.spent.into(), frame.goes_on.into()), mix);
        end("the end of a look")
    }

    /// Ends a look and returns its result.
    pub(super) fn end_look(&mut self) -> Look {
        let BoundedPlace { seat, look, state, is_beyond, .. } = std::mem::take(&mut self.place);
        let last = seat.root.checked_sub(1).map(|last| self.frames[last].draws.clone());
        Look {
            draws: last.unwrap_or_default(),
            tasks: look.unwrap_or_default(),
            // A share may have complete runs at its top that cost more than the bound.
            is_end: self.ended && !is_beyond,
            state,
            ..Look::default()
        }
    }

    /// Ends the slice. Returns the results of its runs and the rest of the part.
    pub(super) fn leave(&mut self) -> Slice {
        let place = std::mem::take(&mut self.place);
        let mut slice = Slice { runs: self.runs, repeated: self.repeated, ..Slice::default() };
        slice.noticed.left_out = self.left_out;
        slice.noticed.has_stores = self.has_stores;
        if place.seat.has_no_rest() {
            return slice;
        }
        let last = place.seat.root.checked_sub(1).map(|last| self.frames[last].draws.clone());
        let stack = self.frames[place.seat.root.min(self.depth)..self.depth].iter();
        let stack = stack.map(|frame| {
            let tasks = frame.tasks_within(self.measure, self.within).max(frame.at + 1);
            Entry {
                task: frame.order[frame.at],
                draws: frame.draws.clone(),
                done: frame.order[..frame.at].iter().copied().map(Sibling::unknown).collect(),
                untaken: frame.order[frame.at + 1..tasks].to_vec(),
                partial: None,
                whole: None,
            }
        });
        slice.rest = Some(Rest { draws: last.unwrap_or_default(), stack: stack.collect() });
        slice
    }
}
