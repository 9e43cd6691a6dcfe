//! Splits jobs, and measures the unexplored part of the tree.

use super::{DivisionRule, Entry, Job, PathStep, SearchTree, SharedFrame, Sibling, WAYS_MAX};
use crate::strategy::search::Drawn;

/// Returns `true` if these draws have unexplored values from position `from` on.
fn has_values(draws: &[Drawn], from: usize) -> bool {
    draws.iter().skip(from).any(Drawn::has_next)
}

impl Entry {
    fn has_more(&self) -> bool {
        !self.untaken.is_empty() || has_values(&self.draws, 0)
    }
}

impl Job {
    /// Returns the depth of the first frame that can be split.
    fn splits_at(&self) -> Option<usize> {
        let above = self.path.len();
        if self.path.last().is_some_and(|last| has_values(&last.draws, self.fixed)) {
            return Some(above - 1);
        }
        let first = self.stack.iter().position(Entry::has_more)?;
        Some(above + first)
    }
}

impl SearchTree {
    /// Splits jobs until there are `wanted` jobs or no job can be split.
    pub(super) fn split_into(&mut self, wanted: u64) {
        if self.jobs.len() as u64 >= wanted {
            return;
        }
        // A split changes the depths of one job only.
        let mut depths: Vec<Option<usize>> = self.jobs.iter().map(Job::splits_at).collect();
        while (self.jobs.len() as u64) < wanted {
            let numbered = (0..).zip(&depths).filter_map(|(at, depth)| Some(((*depth)?, at)));
            let Some((depth, at)) = numbered.min() else { return };
            let before = self.jobs.len();
            self.split(depth, at);
            depths[at] = self.jobs[at].splits_at();
            depths.extend(self.jobs[before..].iter().map(Job::splits_at));
        }
    }

    /// Splits the job at position `at` at its shallowest splittable frame, which has this depth. All branches of this
    /// frame that are not yet begun become new jobs.
    fn split(&mut self, depth: usize, at: usize) {
        let mut job = std::mem::take(&mut self.jobs[at]);
        let local = (depth + 1).saturating_sub(job.path.len());
        let mut untaken = Vec::new();
        let mut fixed = job.fixed;
        for entry in job.stack.drain(..local) {
            fixed = 0;
            untaken.clone_from(&entry.untaken);
            job.path.push(self.share(entry));
        }
        let (last, above) = job.path.split_last().expect("a frame is given away");
        let given: Vec<usize> =
            (fixed..last.draws.len()).rev().filter(|nth| last.draws[*nth].has_next()).collect();
        let values = given.into_iter().map(|nth| {
            let mut draws = last.draws[..=nth].to_vec();
            draws[nth].value += 1;
            (PathStep { draws, ..*last }, nth)
        });
        let tasks =
            untaken.into_iter().map(|task| (PathStep { task, draws: Vec::new(), ..*last }, 0));
        let parts: Vec<(PathStep, usize)> = values.chain(tasks).collect();
        let above = above.to_vec();
        job.fixed = match self.known.rules.has(DivisionRule::Given) {
            true => last.draws.len(),
            false => fixed,
        };
        self.jobs[at] = job;
        for (step, fixed) in parts {
            let path = above.iter().cloned().chain([step]).collect();
            self.add_job(path, fixed);
        }
    }

    /// Turns a frame of a stack into a shared frame.
    fn share(&mut self, entry: Entry) -> PathStep {
        let known = |mut sibling: Sibling| {
            // Drops footprints over more tuples of values, because a probe by another worker would not try that many
            // tuples.
            sibling.footprint = sibling.footprint.filter(|found| found.ways <= WAYS_MAX);
            sibling
        };
        let own = Sibling { task: entry.task, footprint: entry.whole };
        let untaken = entry.untaken.into_iter().map(Sibling::unknown);
        let order = entry.done.into_iter().chain([own]).map(known).chain(untaken).collect();
        let frame = self.next_frame;
        self.next_frame += 1;
        self.frames.insert(frame, SharedFrame { order });
        PathStep { frame, task: entry.task, draws: entry.draws }
    }

    /// Returns the unexplored part of the tree of runs, from 0 to 1. This part is Knuth's estimate (1975), which
    /// assumes that siblings have equally large subtrees.
    pub(super) fn left(&self) -> f64 {
        self.jobs.iter().map(|job| self.left_of(job)).sum::<f64>()
    }

    fn left_of(&self, job: &Job) -> f64 {
        let (mut left, mut weight) = (0.0, 1.0);
        for (depth, step) in job.path.iter().enumerate() {
            weight /= self.frames[&step.frame].order.len().max(1) as f64;
            let is_last = depth + 1 == job.path.len();
            let fixed = if is_last { job.fixed } else { step.draws.len() };
            left += values_left(&step.draws, fixed, &mut weight);
        }
        for entry in &job.stack {
            weight /= (entry.done.len() + 1 + entry.untaken.len()) as f64;
            left += weight * entry.untaken.len() as f64;
            left += values_left(&entry.draws, 0, &mut weight);
        }
        left + weight
    }
}

/// Returns the unexplored part of a step's values, and updates `weight` to the weight of its current values.
fn values_left(draws: &[Drawn], fixed: usize, weight: &mut f64) -> f64 {
    let mut left = 0.0;
    for (nth, drawn) in draws.iter().enumerate().filter(|(_, drawn)| !drawn.given) {
        *weight /= drawn.bound as f64;
        if nth >= fixed {
            left += *weight * (drawn.bound - 1 - drawn.value) as f64;
        }
    }
    left
}
