//! Looks and sampled runs, which show parts of the tree for an estimate or for the top of a division.
//!
//! A look ends at the first frame below the path, and shows the tasks there. A sampled run continues with random steps,
//! and shows the items of its steps. Neither counts as a run of the search.

use std::sync::Arc;

use super::{Course, Explorer, SearchFrame};
use crate::run::ids::TaskId;
use crate::run::rng::{Rng, mix};
use crate::strategy::divided::{Look, SampledRun};
use crate::strategy::footprint::Footprint;

/// The facts that a look or a sampled run has found so far.
#[derive(Debug, Default)]
pub(super) struct Sight {
    /// The enabled tasks that do not sleep.
    tasks: Vec<TaskId>,
    asleep: Vec<Arc<Footprint>>,
    state: u64,
    /// The random choices and the maximum number of steps of a sampled run.
    sample: Option<(Rng, usize)>,
}

impl Sight {
    /// Sees a new frame. Returns the task of the next step of a sampled run; `None` if the run ends here.
    pub(super) fn see(&mut self, step: usize, frame: &SearchFrame) -> Option<TaskId> {
        match &mut self.sample {
            Some((rng, steps_max)) if step < *steps_max => {
                let nth = rng.below(frame.enabled.len().max(1) as u64);
                frame.enabled.get(nth as usize).copied()
            }
            Some(_) => None,
            None => {
                let awake = frame.enabled.iter().copied().filter(|task| !frame.sleeps(*task));
                self.tasks = awake.collect();
                self.asleep.clone_from(&frame.sleep);
                let enabled = frame.enabled.iter().map(|task| u64::from(task.0));
                self.state = enabled.fold(0, mix);
                None
            }
        }
    }

    /// Returns a value for a draw of a sampled run.
    pub(super) fn draw(&mut self, bound: u64) -> Option<u64> {
        self.sample.as_mut().map(|(rng, _)| rng.below(bound.max(1)))
    }
}

impl Explorer {
    /// Makes the next run a look, or a sampled run if the part asks for one.
    pub(super) fn begin_look(&mut self) {
        let of_run = |run: SampledRun| (Rng::new(run.seed), run.steps_max);
        let sample = self.place.sample.take().map(of_run);
        self.place.look = Some(Sight { sample, ..Sight::default() });
    }

    /// Ends a look or a sampled run, and returns its result. `cut` is true if the last step ended the run.
    pub(super) fn end_look(&mut self, cut: bool) -> Look {
        let place = std::mem::take(&mut self.place);
        let sight = place.look.unwrap_or_default();
        let is_end = self.course == Course::Ended;
        if sight.sample.is_some() {
            return self.end_sample(is_end, cut);
        }
        let draws = self.draws_of_path(place.seat);
        let learnt = self.observer.take_learnt().then(|| self.observer.apart());
        let last = place.seat.root.checked_sub(1).map(|last| &self.frames[last]);
        let is_whole = |frame: &&SearchFrame| frame.draws.is_empty() && !is_end;
        let footprint = last.filter(is_whole).map(|frame| Arc::new(frame.footprint.clone()));
        let Sight { tasks, asleep, state, .. } = sight;
        let probed = place.probed;
        Look { draws, tasks, is_end, learnt, probed, footprint, asleep, state, steps: Vec::new() }
    }

    /// Returns the steps of a sampled run.
    fn end_sample(&mut self, is_end: bool, cut: bool) -> Look {
        if is_end && self.depth > 0 {
            self.observer.end(cut);
            self.add_step(self.depth - 1);
        }
        let step = |at| (self.order.task_of(at), self.order.items_of(at).to_vec());
        let steps = (0..self.order.steps()).map(step).collect();
        Look { is_end, steps, ..Look::default() }
    }
}
