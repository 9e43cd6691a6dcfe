//! Divides a search among processes that do not communicate.
//!
//! The frames at the top of the tree contain *every* enabled task that does not sleep. Runs below the top therefore
//! never request a task there, and each process searches its own jobs to the end. Each process computes the same top by
//! looks. A look is a run that takes the steps of a job and ends at the next frame.
//!
//! A bounded search has one top for all levels, with tasks of every cost in its frames. A share therefore has the same
//! jobs on each level, and can detect on its own if it has runs of a higher cost. A job has no run on a level if its
//! path costs more than the level.

use std::ops::Range;
use std::sync::Arc;

use super::{FrameId, Job, Part, PathStep, Probed, SearchTree, SharedFrame, Sibling};
use crate::run::ids::TaskId;
use crate::strategy::footprint::{Footprint, StepItem};
use crate::strategy::search::{Apart, Drawn};

/// A number of restarts that no search reaches, because each restart adds one of the differences in [`Apart`].
const RESTARTS_MAX: u32 = 1000;

/// A look at the frame below the path of a job.
#[derive(Clone, Debug, Default)]
pub struct Look {
    /// The values that the last step of the path drew.
    pub draws: Vec<Drawn>,
    /// The enabled tasks that do not sleep. Empty if the run ends before the frame or repeats another run.
    pub tasks: Vec<TaskId>,
    /// True if the run ends before the frame.
    pub is_end: bool,
    /// Newly learnt differences that must distinguish runs. If `Some`, the search must restart.
    pub learnt: Option<Apart>,
    pub probed: Probed,
    /// The footprint of the last step of the path, if the step drew no values and a frame follows.
    pub footprint: Option<Arc<Footprint>>,
    /// The steps that sleep at the frame.
    pub asleep: Vec<Arc<Footprint>>,
    /// A hash of other facts on which the runs below the frame depend, such as the enabled tasks.
    pub state: u64,
    /// The steps of a sampled run, in order. Empty for a look.
    pub steps: Vec<SampledStep>,
}

/// A step of a sampled run: its task, and its items.
pub type SampledStep = (TaskId, Vec<StepItem>);

/// The share of process `number` among `of` processes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Division {
    /// The number of the process, starting at 1.
    pub number: u64,
    pub of: u64,
    /// The minimum number of jobs per process, if the search has enough jobs.
    pub jobs: u64,
}

impl Division {
    /// Returns the share of one process. With 16 jobs per process, the largest share is rarely more than 1.2 times the
    /// mean.
    pub fn of(number: u64, of: u64) -> Division {
        Division { number, of, jobs: 16 }
    }
}

/// The top of the tree of one process.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Top {
    /// The differences that distinguish runs.
    pub apart: Apart,
    /// The number of runs that do not count because the search restarted.
    pub void: u64,
    /// The shared frames, each with its backtrack set.
    pub frames: Vec<(FrameId, Vec<TaskId>)>,
    /// The paths of the jobs, each with the number of fixed draws in its last step.
    pub jobs: Vec<(Vec<PathStep>, usize)>,
}

impl SearchTree {
    /// Returns `true` if the top of the tree must still be computed.
    pub fn needs_top(&self) -> bool {
        self.round == 0
    }

    /// Returns the top of the tree.
    pub fn top(&self) -> Top {
        let order = |frame: &SharedFrame| frame.order.iter().map(|sibling| sibling.task).collect();
        Top {
            apart: self.known.apart,
            void: self.void,
            frames: self.frames.iter().map(|(id, frame)| (*id, order(frame))).collect(),
            jobs: self.jobs.iter().map(|job| (job.path.clone(), job.fixed)).collect(),
        }
    }

    /// Continues from a top that was computed earlier.
    ///
    /// # Errors
    /// Returns an error if a job is not below the frames of the top, or if the search cannot have this generation.
    pub fn take_top(&mut self, generation: u32, top: Top) -> Result<(), String> {
        let restarts = generation.checked_sub(self.known.level);
        if restarts.is_none_or(|restarts| restarts > RESTARTS_MAX) {
            return Err("the top of the search belongs to an impossible generation".to_owned());
        }
        let is_in = |step: &PathStep| {
            let mut frames = top.frames.iter().filter(|(id, _)| *id == step.frame);
            frames.any(|(_, order)| order.contains(&step.task))
        };
        if !top.jobs.iter().all(|(path, _)| path.iter().all(is_in)) {
            return Err("a part of the search is not below its top".to_owned());
        }
        self.begin_again(top.apart);
        (self.generation, self.void) = (generation, top.void);
        self.begin_at(top);
        self.begin_share();
        Ok(())
    }

    /// Replaces the tree with a top.
    pub(super) fn begin_at(&mut self, top: Top) {
        let Top { frames, jobs, .. } = top;
        self.round = 1;
        self.next_frame = frames.iter().map(|(id, _)| id + 1).max().unwrap_or_default();
        let shared = |order: Vec<TaskId>| SharedFrame {
            order: order.into_iter().map(Sibling::unknown).collect(),
        };
        self.frames = frames.into_iter().map(|(id, order)| (id, shared(order))).collect();
        self.jobs.clear();
        jobs.into_iter().for_each(|(path, fixed)| self.add_job(path, fixed));
    }

    /// Returns the job at this position for a look during the computation of the top.
    pub fn part_of_top(&mut self, at: usize) -> Part {
        let mut part = self.part(at);
        part.known.level = self.bound.map_or(0, |bound| bound.most);
        part
    }

    /// Returns the next job that needs a look during the computation of the top. `None` if the top has enough jobs for
    /// this division.
    pub fn to_look_at(&self, division: Division) -> Option<usize> {
        let is_enough = self.jobs.len() as u64 >= division.of * division.jobs;
        if is_enough { None } else { self.jobs.iter().position(|job| !job.is_seen) }
    }

    /// Replaces a job with one job for each task of the frame below it, and jobs for the other values of its last step.
    /// The new jobs come after all other jobs, so that the top grows level by level.
    pub fn look_below(&mut self, at: usize, look: Look) {
        if let Some(learnt) = look.learnt {
            self.begin_again(learnt);
            return;
        }
        let job = self.jobs.remove(at);
        let (values, tasks) = self.expand(job, look);
        self.jobs.extend(values);
        self.jobs.extend(tasks);
    }

    /// Returns the jobs that replace a job after a look: jobs for the other values of its last step, and one job for
    /// each task of the frame below it. If there is no task, the second list contains only the job itself.
    pub(super) fn expand(&mut self, mut job: Job, look: Look) -> (Vec<Job>, Vec<Job>) {
        self.remember(&job.path, look.probed);
        let values = self.other_values(&job.path, &look.draws, job.fixed..look.draws.len());
        if let Some(last) = job.path.last_mut() {
            job.fixed = look.draws.len();
            last.draws = look.draws;
        }
        if look.tasks.is_empty() {
            return (values, vec![Job { is_seen: true, ..job }]);
        }
        let frame = self.next_frame;
        self.next_frame += 1;
        let order = look.tasks.iter().copied().map(Sibling::unknown).collect();
        self.frames.insert(frame, SharedFrame { order });
        let below = |task| {
            let step = PathStep { frame, task, draws: Vec::new() };
            job.path.iter().cloned().chain([step]).collect()
        };
        let tasks = look.tasks.into_iter().map(|task| self.new_job(below(task), 0)).collect();
        (values, tasks)
    }

    /// Returns jobs for the other values of the draws at these positions. `draws` are the draws of the last step of the
    /// path.
    pub(super) fn other_values(
        &mut self,
        path: &[PathStep],
        draws: &[Drawn],
        positions: Range<usize>,
    ) -> Vec<Job> {
        let mut jobs = Vec::new();
        let Some((last, above)) = path.split_last() else { return jobs };
        for nth in positions.rev().filter(|nth| draws[*nth].has_next()) {
            let mut draws = draws[..=nth].to_vec();
            draws[nth].value += 1;
            let path = above.iter().cloned().chain([PathStep { draws, ..*last }]).collect();
            jobs.push(self.new_job(path, nth));
        }
        jobs
    }

    /// Keeps only the jobs of one process.
    pub fn keep_share(&mut self, division: Division) {
        let mut nth = 0;
        self.jobs.retain(|_| {
            nth += 1;
            (nth - 1) % division.of == division.number - 1
        });
        self.forget_frames();
        self.round = 1;
        self.begin_share();
    }

    fn begin_share(&mut self) {
        self.is_share = true;
        self.begin = Some(self.top());
        self.whole = self.left().max(f64::MIN_POSITIVE);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Sizes;
    use super::*;

    #[test]
    fn a_top_of_an_impossible_generation_is_an_error() {
        let at_level = |level| {
            let mut tree = SearchTree::new(Sizes::USUAL, Apart::NOTHING).within("preemption", 8);
            tree.known.level = level;
            tree
        };
        let job = (Vec::new(), 0);
        let top = Top { jobs: vec![job], ..Top::default() };
        for (level, generation) in [(0, u32::MAX), (0, RESTARTS_MAX + 1), (3, 2)] {
            let mut tree = at_level(level);
            assert!(tree.take_top(generation, top.clone()).is_err(), "{generation}");
            assert_eq!((tree.generation(), tree.round()), (0, 0));
        }
        let mut tree = at_level(3);
        assert!(tree.take_top(4, top).is_ok());
        assert_eq!((tree.generation(), tree.restarts()), (4, 1));
    }
}
