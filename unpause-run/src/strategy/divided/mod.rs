//! A search divided among workers, in rounds.
//!
//! A [`Job`] is a part of the tree of runs. In each round, a worker executes a [`Slice`] of each job: some runs, depth
//! first. Slices of one round do not affect each other. After all slices, [`SearchTree::merge`] grants their requests
//! in the order of the jobs and redistributes the work. The search is therefore a function of the body: the runs, their
//! numbers and the reported run are the same for any number of workers.
//!
//! A *shared frame* is a frame above the root of some job. Three rules make the division sound:
//!
//! * A run may request a task in a shared frame above it ([`Wish`]). The merge evaluates the request against the
//!   current frame. If workers evaluated requests alone, two workers could each add an initial where one initial is
//!   enough.
//! * The backtrack set of a shared frame has a fixed order: the order in which tasks were added. Below a task, only the
//!   tasks before it sleep, whether they are done, in progress, or not begun. If two siblings slept below each other,
//!   each would leave their common classes to the other.
//! * A sleeping sibling has the footprint of its step over *all* values that it may draw. If no run has shown this
//!   footprint, a *probe* executes the steps of the path and this step.
//!
//! The tree is pure data: it does not refer to a program, and a footprint only caches the result of a probe.

mod classes;
mod division_rules;
mod estimate;
mod job;
mod share;
mod top;

pub use self::estimate::{LEVEL_COST, ProbeRoot, SHOWN_WIDTH, TreeEstimate, TreeProbes};
pub use self::job::{
    Entry, FrameId, Job, Known, Noticed, Part, PathFrame, PathStep, Probed, Rest, SampledRun, Seat,
    Sibling, Slice, WAYS_MAX, Wish, never_sleeps,
};

#[cfg(any(test, feature = "planted"))]
#[allow(
    unused_imports,
    reason = "for the tests of the engine, which the real build does not have"
)]
pub use self::division_rules::without_rule;
pub use self::division_rules::{DivisionRule, DivisionRules};
pub use self::top::{Division, Look, SampledStep, Top};

use std::sync::Arc;
use unpause_ordered::Map;

use self::classes::Classes;
use super::search::{Apart, SearchBound, SearchProgress};
use crate::run::ids::TaskId;

/// The sizes of rounds, slices and jobs. The sizes affect the numbers of the runs of a search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sizes {
    /// The number of runs of the first round, which has one job.
    pub first: u64,
    /// The minimum number of runs of a slice.
    pub slice: u64,
    /// If slices exceed the minimum, a round has at most (runs so far / `grow`) runs.
    pub grow: u64,
    /// The maximum number of jobs created by division. Requests create further jobs.
    pub jobs: u64,
}

impl Sizes {
    /// The sizes of every search, except in tests of the division.
    pub const USUAL: Sizes = Sizes { first: 256, slice: 32, grow: 16, jobs: 128 };

    /// Returns the number of jobs after `made` runs.
    fn jobs_after(self, made: u64) -> u64 {
        (made / self.slice).clamp(1, self.jobs)
    }
}

/// A frame above the roots of jobs.
#[derive(Clone, Debug, Default)]
struct SharedFrame {
    /// The backtrack set: each task with its footprint, if known.
    order: Vec<Sibling>,
}

/// The tree of a divided search, between two rounds.
#[derive(Debug)]
pub struct SearchTree {
    sizes: Sizes,
    known: Known,
    frames: Map<FrameId, SharedFrame>,
    next_frame: FrameId,
    jobs: Vec<Job>,
    next_job: u64,
    /// The number of times that the search restarted or went to another level.
    generation: u32,
    /// The number of rounds since the last change of `generation`.
    round: u64,
    /// The bound of the search, if any.
    bound: Option<TreeBound>,
    /// The number of runs since the search started or restarted.
    runs: u64,
    blocked: u64,
    repeated: u64,
    /// The number of runs that do not count because the search restarted.
    void: u64,
    classes: Classes,
    /// True if other processes search the rest of the tree.
    is_share: bool,
    /// The top of the share, at which probes begin, and each level of a bounded search.
    begin: Option<Top>,
    /// The number of runs, counted or not, before the current level of a bounded search.
    below_level: u64,
    /// The share of this search, as a part of the whole tree.
    whole: f64,
    /// The estimated number of runs, if any.
    estimate: Option<TreeEstimate>,
    /// The estimate for the live display. No decision depends on this estimate.
    live: Option<TreeEstimate>,
    /// The bound below which classes are recorded, and the number of recorded classes; `None` without recording.
    written: Option<(u64, u64)>,
}

/// The bound of a search that proceeds level by level.
#[derive(Clone, Copy, Debug)]
struct TreeBound {
    what: &'static str,
    most: u32,
    through: Option<u32>,
    /// The number of runs up to and including level `through`.
    runs: u64,
}

impl SearchTree {
    /// Creates a search of all runs.
    pub fn new(sizes: Sizes, apart: Apart) -> SearchTree {
        let known = Known { apart, ..Known::default() };
        SearchTree {
            sizes,
            known,
            frames: Map::new(),
            next_frame: 0,
            jobs: vec![Job::default()],
            next_job: 1,
            generation: 0,
            round: 0,
            bound: None,
            runs: 0,
            blocked: 0,
            repeated: 0,
            void: 0,
            classes: Classes::default(),
            written: None,
            is_share: false,
            begin: None,
            below_level: 0,
            whole: 1.0,
            estimate: None,
            live: None,
        }
    }

    /// Makes the search record its slices.
    pub fn recorded(self) -> SearchTree {
        SearchTree { written: Some((u64::MAX, 0)), ..self }
    }

    /// Returns the number of times that the search restarted or went to another level.
    pub fn generation(&self) -> u32 {
        self.generation
    }

    /// Returns the number of times that the search restarted, so that its runs up to then do not count. The runs of a
    /// bounded search count on all later levels.
    pub fn restarts(&self) -> u32 {
        self.generation - self.known.level
    }

    /// Returns the number of rounds since the last change of the generation.
    pub fn round(&self) -> u64 {
        self.round
    }

    /// Adds a bound on a quantity: all runs of level 0 come first, then all runs of level 1, up to level `most`.
    pub fn within(self, what: &'static str, most: u32) -> SearchTree {
        SearchTree { bound: Some(TreeBound { what, most, through: None, runs: 0 }), ..self }
    }

    /// Returns the number of jobs.
    pub fn jobs(&self) -> usize {
        self.jobs.len()
    }

    /// Returns the number of the job at this position. A job keeps its number in all rounds.
    pub fn number_of(&self, at: usize) -> u64 {
        self.jobs[at].number
    }

    /// Returns `true` if no run is left.
    pub fn is_through(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Returns `true` if the search has a bound, so that it proceeds level by level.
    pub fn is_bounded(&self) -> bool {
        self.bound.is_some()
    }

    /// Returns the level of a bounded search.
    pub fn level(&self) -> u32 {
        self.known.level
    }

    /// Returns the number of runs so far, counted or not.
    pub fn made(&self) -> u64 {
        self.runs + self.blocked + self.repeated
    }

    /// Returns the number of runs on the current level of a bounded search, counted or not. Without a bound, returns
    /// the number of all runs since the search restarted.
    pub fn made_on_level(&self) -> u64 {
        self.made() - self.below_level
    }

    /// Returns the number of complete runs so far.
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// Returns the differences that distinguish runs.
    pub fn apart(&self) -> Apart {
        self.known.apart
    }

    /// Returns `true` if operations could choose among stores in some run, or if a run detected data races.
    pub fn has_stores(&self) -> bool {
        self.known.apart.stores || self.known.noticed.has_stores
    }

    /// Returns the first sign that tasks depend on something outside this library, described in words.
    pub fn contact(&self) -> Option<&str> {
        self.known.noticed.contact.as_deref()
    }

    /// Returns the maximum number of runs of each slice of the next round, at most `left` runs in total. If the total
    /// is exhausted, the last jobs get no slice.
    pub fn budgets(&self, left: u64) -> Vec<u64> {
        let each = match self.round {
            0 => self.sizes.first,
            _ => self
                .sizes
                .slice
                .max(self.made() / (self.sizes.grow * self.jobs.len().max(1) as u64)),
        };
        let mut left = left;
        let mut budget = || {
            let budget = each.min(left);
            left -= budget;
            (budget > 0).then_some(budget)
        };
        self.jobs.iter().map_while(|_| budget()).collect()
    }

    /// Returns the job at this position for a slice. Must be called once per round. The merge receives the job back as
    /// its rest.
    pub fn part(&mut self, at: usize) -> Part {
        let stack = std::mem::take(&mut self.jobs[at].stack);
        let job = &self.jobs[at];
        let path = job.path.iter().map(|step| {
            let frame = &self.frames[&step.frame];
            let is_own = |sibling: &&Sibling| sibling.task == step.task;
            let end = frame.order.iter().position(|sibling| is_own(&sibling)).unwrap_or_default();
            let end =
                if self.known.rules.has(DivisionRule::Order) { end } else { frame.order.len() };
            let before = frame.order[..end].iter().filter(|sibling| !is_own(sibling));
            PathFrame {
                task: step.task,
                draws: step.draws.clone(),
                order: frame.order.iter().map(|sibling| sibling.task).collect(),
                before: before.cloned().collect(),
            }
        });
        let known = Known { class_end: Some(self.class_end()), ..self.known.clone() };
        Part { path: path.collect(), fixed: job.fixed, stack, known, sample: None }
    }

    /// Ends a round with the slices of its jobs, in job order. If a slice has learnt something, later slices do not
    /// count and the search restarts.
    pub fn merge(&mut self, slices: Vec<Slice>) {
        let mut wishes = Vec::new();
        let mut jobs = std::mem::take(&mut self.jobs);
        let others = jobs.split_off(slices.len());
        for (mut job, slice) in jobs.into_iter().zip(slices) {
            self.runs += slice.runs;
            self.blocked += slice.blocked;
            self.repeated += slice.repeated;
            self.add_classes(&slice.classes);
            self.known.noticed.add(&slice.noticed);
            let learnt = slice.learnt.unwrap_or_default().and(self.known.noticed.apart());
            if slice.learnt.is_some() || learnt.and(self.known.apart) != self.known.apart {
                self.jobs.extend(others);
                self.begin_again(learnt);
                return;
            }
            self.remember(&job.path, slice.probed);
            if slice.rest.is_some() || self.known.rules.has(DivisionRule::Kept) {
                let of_job = |wish: Wish| (job.path[..=wish.depth].to_vec(), wish);
                wishes.extend(slice.wishes.into_iter().map(of_job));
            }
            if let Some(rest) = slice.rest {
                if let Some(last) = job.path.last_mut() {
                    last.draws = rest.draws;
                }
                job.stack = rest.stack;
                if !self.known.rules.has(DivisionRule::Current) {
                    job.stack.iter_mut().for_each(|entry| entry.partial = Some(Arc::default()));
                }
                self.jobs.push(job);
            }
        }
        self.jobs.extend(others);
        self.round += 1;
        if self.known.rules.has(DivisionRule::Wishes) {
            wishes.into_iter().for_each(|(path, wish)| self.grant(path, &wish));
        }
        let wanted = self.sizes.jobs_after(self.made());
        self.split_into(wanted);
        self.forget_frames();
        if self.jobs.is_empty() {
            self.next_level();
        }
    }

    /// Checks slices that were parsed from text lines.
    ///
    /// # Errors
    /// Returns an error if the slices do not belong to the next round.
    pub fn check(&self, slices: &[Slice]) -> Result<(), String> {
        let fits = |(job, slice): (&Job, &Slice)| {
            let path = job.path.len();
            slice.wishes.iter().all(|wish| wish.depth < path && !wish.initials.is_empty())
                && slice.rest.as_ref().is_none_or(|rest| path > 0 || rest.draws.is_empty())
        };
        let all = slices.len() <= self.jobs.len() && self.jobs.iter().zip(slices).all(fits);
        all.then_some(()).ok_or_else(|| "a slice is of another part of the search".to_owned())
    }

    /// Counts the runs of the last slices of an ended search.
    pub fn count(&mut self, slices: Vec<Slice>) {
        for slice in slices {
            self.runs += slice.runs;
            self.blocked += slice.blocked;
            self.repeated += slice.repeated;
            self.known.noticed.add(&slice.noticed);
        }
    }

    /// Restarts the search so that these differences also distinguish runs. The runs so far do not count.
    pub fn begin_again(&mut self, apart: Apart) {
        self.known.apart = self.known.apart.and(apart);
        self.void += self.made();
        (self.runs, self.blocked, self.repeated) = (0, 0, 0);
        self.classes = Classes::default();
        self.written = self.written.map(|_| (u64::MAX, 0));
        self.generation += 1;
        (self.estimate, self.live) = (None, None);
        (self.begin, self.below_level) = (None, 0);
        if self.known.rules.has(DivisionRule::Anew) || self.jobs.is_empty() {
            self.begin_round_one();
        }
    }

    fn begin_round_one(&mut self) {
        self.frames.clear();
        self.round = 0;
        self.jobs = vec![Job { number: self.next_job, ..Job::default() }];
        self.next_job += 1;
    }

    /// Advances a bounded search to the next level, if any.
    fn next_level(&mut self) {
        let Some(bound) = &mut self.bound else { return };
        (bound.through, bound.runs) = (Some(self.known.level), self.runs);
        let goes_on = self.known.noticed.left_out && self.known.level < bound.most;
        if goes_on {
            self.known.level += 1;
            self.generation += 1;
            self.known.noticed.left_out = false;
            // An estimate covers only its level.
            (self.estimate, self.live) = (None, None);
            self.below_level = self.made();
            match self.begin.clone() {
                Some(top) => self.begin_at(top),
                None => self.begin_round_one(),
            }
        }
    }

    /// Adds an initial to a shared frame, unless the frame already contains an initial. `path` ends at this frame.
    fn grant(&mut self, mut path: Vec<PathStep>, wish: &Wish) {
        let last = path.last_mut().expect("a wish names a frame of the path");
        let frame = self.frames.get_mut(&last.frame).expect("a job above it is not through");
        let is_there = |task: &TaskId| frame.order.iter().any(|sibling| sibling.task == *task);
        if wish.initials.iter().any(is_there) {
            return;
        }
        let Some(task) = wish.chosen() else { return };
        frame.order.push(Sibling::unknown(task));
        (last.task, last.draws) = (task, Vec::new());
        self.add_job(path, 0);
    }

    fn add_job(&mut self, path: Vec<PathStep>, fixed: usize) {
        let job = self.new_job(path, fixed);
        self.jobs.push(job);
    }

    fn new_job(&mut self, path: Vec<PathStep>, fixed: usize) -> Job {
        self.next_job += 1;
        Job { number: self.next_job - 1, path, fixed, ..Job::default() }
    }

    /// Stores the footprints that probes found for a job with this path.
    fn remember(&mut self, path: &[PathStep], probed: Probed) {
        for (depth, task, footprint) in probed {
            let Some(frame) = self.frames.get_mut(&path[depth].frame) else { continue };
            if let Some(sibling) = frame.order.iter_mut().find(|sibling| sibling.task == task) {
                sibling.footprint = Some(footprint);
            }
        }
    }

    /// Drops the frames that have no job below them.
    fn forget_frames(&mut self) {
        let mut used: Vec<FrameId> = Vec::new();
        self.jobs.iter().for_each(|job| used.extend(job.path.iter().map(|step| step.frame)));
        used.sort_unstable();
        self.frames.retain(|frame, _| used.binary_search(frame).is_ok());
    }

    /// Returns the progress of the search. Runs of slices that are not yet merged do not count.
    pub fn progress(&self) -> SearchProgress {
        let within =
            self.bound.map(|bound| SearchBound { what: bound.what, through: bound.through });
        let is_all = self.is_through() && !self.known.noticed.left_out;
        SearchProgress {
            runs: self.runs,
            blocked: self.blocked + self.void,
            repeated: self.repeated,
            part: self.part_done(),
            estimate: self.estimate.filter(TreeEstimate::is_shown),
            blind: self.known.noticed.blind,
            by_step: self.known.apart.steps,
            within: within.filter(|_| !is_all),
        }
    }

    /// Returns the explored part of the search; `None` if it is unknown, because no estimate is good enough.
    fn part_done(&self) -> Option<f64> {
        if self.is_through() {
            return Some(1.0);
        }
        let estimate = self.estimate.filter(TreeEstimate::is_shown);
        estimate.map(|estimate| self.part_of(estimate).clamp(0.0, 1.0))
    }

    /// Returns `true` if less than half of the search seems to be explored. Without a good estimate, this is a guess,
    /// which must not be shown: frames near the root get their siblings late, so the explored part is usually smaller.
    pub fn is_below_half(&self) -> bool {
        let by_siblings = 1.0 - self.left() / self.whole;
        let part = match self.estimate {
            Some(estimate) if estimate.is_shown() => self.part_of(estimate),
            Some(estimate) => self.part_of(estimate).min(by_siblings),
            None => by_siblings,
        };
        part < 0.5
    }

    /// Returns the explored part of the runs of the current level.
    fn part_of(&self, estimate: TreeEstimate) -> f64 {
        let before = self.bound.map_or(0, |bound| bound.runs);
        (self.runs - before) as f64 / (estimate.runs - before as f64).max(1.0)
    }

    /// Returns the estimated number of runs, if any. For a bounded search, returns the estimate for the runs within its
    /// current bound.
    pub fn estimate(&self) -> Option<TreeEstimate> {
        self.estimate
    }

    /// Returns the best estimate, if any, including an estimate for the live display.
    pub fn live_estimate(&self) -> Option<TreeEstimate> {
        let both = [self.estimate, self.live].into_iter().flatten();
        both.filter(TreeEstimate::is_shown).max_by_key(|estimate| estimate.width)
    }

    /// Sets the estimate for the live display.
    pub fn set_live(&mut self, estimate: Option<TreeEstimate>) {
        self.live = estimate;
    }

    /// Sets the estimated number of runs.
    pub fn set_estimate(&mut self, estimate: Option<TreeEstimate>) {
        self.estimate = estimate;
    }
}
