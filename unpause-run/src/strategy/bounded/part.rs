//! The bounded search as a worker of a divided search. No run below a frame asks for anything there, and no task
//! sleeps, so a part has nothing to probe.

use super::{BoundedFrame, BoundedStack};
use crate::run::choice::{Mismatch, View};
use crate::run::ids::TaskId;
use crate::strategy::divided::{Entry, Part, PathFrame, Rest, Seat, Sibling, Slice};

/// The place of a stack in a divided search. The default is the place of a search that is not divided.
#[derive(Debug, Default)]
pub(super) struct Place {
    /// True if the search is divided.
    pub(super) is_part: bool,
    pub(super) seat: Seat,
    /// The tasks of the frames of which only the choices are known.
    tasks: Vec<TaskId>,
}

impl BoundedStack {
    /// Takes over a part of the search.
    pub(super) fn adopt(&mut self, part: Part) {
        let Part { path, fixed, stack, known } = part;
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
        self.place = Place { is_part: true, seat, tasks };
        self.within = known.level;
        (self.left_out, self.ended) = (false, false);
        (self.runs, self.repeated) = (0, 0);
    }

    /// Fills a frame of which only the choices are known. Returns its task.
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

    /// Ends the slice: returns what its runs have shown, and what is left.
    pub(super) fn leave(&mut self) -> Slice {
        let place = std::mem::take(&mut self.place);
        let mut slice = Slice { runs: self.runs, repeated: self.repeated, ..Slice::default() };
        slice.noticed.left_out = self.left_out;
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
