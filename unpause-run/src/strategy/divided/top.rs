//! Divides a search among processes that do not see each other.
//!
//! The frames at the top of the tree take *every* enabled task that does not sleep. So no run below can ask for a task
//! there, and each process searches its own jobs to the end. Every process makes the same top for itself, by looks:
//! runs of the steps of a job that end where its next frame begins.
//!
//! A bounded search has one top for all levels, whose frames have the tasks of every cost. So the runs of a share are
//! the same on each level, and it knows by itself whether there are any of a higher cost. A job whose path costs more
//! than the level has no run there.

use super::{FrameId, Job, Part, PathStep, Probed, SearchTree, SharedFrame, Sibling};
use crate::run::ids::TaskId;
use crate::strategy::search::{Apart, Drawn};

/// A look at the frame below the path of a job.
#[derive(Clone, Debug, Default)]
pub struct Look {
    /// The values that the last step of the path drew.
    pub draws: Vec<Drawn>,
    /// The enabled tasks that do not sleep. Empty if the run ends before the frame, or repeats another one.
    pub tasks: Vec<TaskId>,
    /// True if the run ends before the frame.
    pub is_end: bool,
    /// Differences that were learnt to distinguish runs: the search begins again.
    pub learnt: Option<Apart>,
    pub probed: Probed,
}

/// The jobs of one process, of `of` processes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Division {
    /// From 1.
    pub number: u64,
    pub of: u64,
    /// The least number of jobs of each process, if the search has as many.
    pub jobs: u64,
}

impl Division {
    /// The jobs of one of these processes. With this many, the largest share is seldom more than 1.2 times the mean.
    pub fn of(number: u64, of: u64) -> Division {
        Division { number, of, jobs: 16 }
    }
}

/// The top of the tree of one process, as data.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Top {
    /// The differences that distinguish runs.
    pub apart: Apart,
    /// The runs that do not count because the search began again.
    pub void: u64,
    /// The shared frames, each with its backtrack set.
    pub frames: Vec<(FrameId, Vec<TaskId>)>,
    /// The paths of the jobs, each with the number of fixed draws of its last step.
    pub jobs: Vec<(Vec<PathStep>, usize)>,
}

impl SearchTree {
    /// Returns `true` if the search is a share, and its top is not made.
    pub fn needs_top(&self) -> bool {
        self.round == 0
    }

    /// The top, as data.
    pub fn top(&self) -> Top {
        let order = |frame: &SharedFrame| frame.order.iter().map(|sibling| sibling.task).collect();
        Top {
            apart: self.known.apart,
            void: self.void,
            frames: self.frames.iter().map(|(id, frame)| (*id, order(frame))).collect(),
            jobs: self.jobs.iter().map(|job| (job.path.clone(), job.fixed)).collect(),
        }
    }

    /// Continues from a top that was made before.
    ///
    /// # Errors
    /// If a job is not below the frames of the top.
    pub fn take_top(&mut self, generation: u32, top: Top) -> Result<(), String> {
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

    /// Replaces the tree by a top.
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

    /// The job at this position, for a look while the top is made.
    pub fn part_of_top(&mut self, at: usize) -> Part {
        let mut part = self.part(at);
        part.known.level = self.bound.map_or(0, |bound| bound.most);
        part
    }

    /// The next job to look below, while the top is made. `None` if the top has enough jobs for this division.
    pub fn to_look_at(&self, division: Division) -> Option<usize> {
        let is_enough = self.jobs.len() as u64 >= division.of * division.jobs;
        if is_enough { None } else { self.jobs.iter().position(|job| !job.is_seen) }
    }

    /// Replaces a job by a job for each task of the frame that was seen below it, and for the other values of its
    /// last step. They come behind all others, so that the top grows level by level.
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

    /// The jobs below a path that was looked at: jobs for the other values of its last step, and a job for each task of
    /// the frame that was seen. The latter is the job itself if there is no task.
    pub(super) fn expand(&mut self, mut job: Job, look: Look) -> (Vec<Job>, Vec<Job>) {
        self.remember(&job.path, look.probed);
        let mut values = Vec::new();
        if let Some((last, above)) = job.path.split_last_mut() {
            last.draws = look.draws;
            for nth in (job.fixed..last.draws.len()).rev().filter(|nth| last.draws[*nth].has_next())
            {
                let mut draws = last.draws[..=nth].to_vec();
                draws[nth].value += 1;
                let path = above.iter().cloned().chain([PathStep { draws, ..*last }]).collect();
                values.push(self.new_job(path, nth));
            }
            job.fixed = last.draws.len();
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

    /// Keeps the jobs of one process.
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
        self.every_level = self.bound.map(|_| self.top());
        self.whole = self.left().max(f64::MIN_POSITIVE);
    }
}
