//! A search that is divided among workers, in rounds.
//!
//! A [`Job`] is a part of the tree of runs. In each round a worker makes a [`Slice`] of each job: some runs, depth
//! first. Slices of one round do not see each other. When all are made, [`SearchTree::merge`] grants their requests,
//! in the order of the jobs, and shares out the work anew. So the search is a function of the body: the runs, their
//! numbers and the reported run are the same for any number of workers.
//!
//! A *shared frame* is a frame above the root of some job. Three rules make the division sound:
//!
//! * A run below may ask for a task in a shared frame ([`Wish`]). The wish is judged at the merge, in the frame as it
//!   is then. Judged by the worker alone, two workers could each add an initial where one is enough.
//! * The backtrack set of a shared frame has an order. It is the order in which tasks were added, and it never changes.
//!   Behind a task sleep only the tasks before it, whether they are done, under way, or not begun. If siblings slept
//!   behind each other, each would leave the common classes to the other.
//! * A sleeping sibling has the footprint of its step over *all* values that it may draw. Where no run has shown it, a
//!   *probe* does: the steps of the path, and that step.
//!
//! The tree is data: nothing in it refers to a program, and a footprint is only a memory of what a probe would find.

mod classes;
mod estimate;
mod job;
mod rules;
mod share;
mod top;

pub use self::estimate::{TreeEstimate, TreeProbes};
pub use self::job::{
    Entry, FrameId, Job, Known, Noticed, Part, PathFrame, PathStep, Probed, Rest, Seat, Sibling,
    Slice, WAYS_MAX, Wish, never_sleeps,
};

#[cfg(any(test, feature = "planted"))]
#[allow(
    unused_imports,
    reason = "for the tests of the engine, which the real build does not have"
)]
pub use self::rules::without_rule;
pub use self::rules::{DivisionRule, DivisionRules};
pub use self::top::{Division, Look, Top};

use std::sync::Arc;
use unpause_ordered::{Map, Set};

use self::classes::Classes;
use super::search::{Apart, SearchBound, SearchProgress};
use crate::run::ids::TaskId;

/// The sizes of rounds, slices and jobs. Runs of a search have other numbers with other sizes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sizes {
    /// The runs of the first round, which has one job.
    pub first: u64,
    /// The least number of runs of a slice.
    pub slice: u64,
    /// A round has at most the runs so far, divided by this number, if its slices are longer than the least.
    pub grow: u64,
    /// The number of jobs: at most this many by division. Wishes make others.
    pub jobs: u64,
}

impl Sizes {
    /// The sizes of every search that is not a test of the division.
    pub const USUAL: Sizes = Sizes { first: 256, slice: 32, grow: 16, jobs: 128 };

    /// The number of jobs after so many runs.
    fn jobs_after(self, made: u64) -> u64 {
        (made / self.slice).clamp(1, self.jobs)
    }
}

/// A frame above the roots of jobs.
#[derive(Clone, Debug, Default)]
struct SharedFrame {
    /// The backtrack set: each task with its footprint, if it is known.
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
    /// The number of times that the search began again, or went to another level.
    generation: u32,
    /// The number of rounds since then.
    round: u64,
    /// The bound of the search; `None` if it has none.
    bound: Option<TreeBound>,
    /// The runs since the search began, or began again.
    runs: u64,
    blocked: u64,
    repeated: u64,
    /// The runs that do not count because the search began again.
    void: u64,
    classes: Classes,
    /// True if other processes search the rest of the tree.
    is_share: bool,
    /// The top of the share of a bounded search, where each level begins.
    every_level: Option<Top>,
    /// The part of the tree that is its share.
    whole: f64,
    /// The number of its runs, if it was estimated.
    estimate: Option<TreeEstimate>,
    /// The same for whoever looks on: nothing depends on it.
    live: Option<TreeEstimate>,
    /// The classes below this number are written down, and so many were. `None` if none are.
    written: Option<(u64, u64)>,
}

/// The maximum number of classes of a search that are written down. If there are more, those below half of the number
/// are.
const WRITTEN_MAX: u64 = 1 << 16;

/// The bound of a search that goes from level to level.
#[derive(Clone, Copy, Debug)]
struct TreeBound {
    what: &'static str,
    most: u32,
    through: Option<u32>,
    /// The number of runs up to level `through`.
    runs: u64,
}

impl SearchTree {
    /// A search of all runs.
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
            every_level: None,
            whole: 1.0,
            estimate: None,
            live: None,
        }
    }

    /// The same, with its slices written down.
    pub fn recorded(self) -> SearchTree {
        SearchTree { written: Some((u64::MAX, 0)), ..self }
    }

    /// The classes below this number are written down.
    pub fn class_bound(&self) -> u64 {
        self.written.map_or(0, |(bound, _)| bound)
    }

    /// The number of times that the search began again, or went to another level.
    pub fn generation(&self) -> u32 {
        self.generation
    }

    /// The number of rounds since then.
    pub fn round(&self) -> u64 {
        self.round
    }

    /// The same, with a bound on a quantity: all runs of level 0 come first, then all of level 1, up to `most`.
    pub fn within(self, what: &'static str, most: u32) -> SearchTree {
        SearchTree { bound: Some(TreeBound { what, most, through: None, runs: 0 }), ..self }
    }

    /// The number of jobs.
    pub fn jobs(&self) -> usize {
        self.jobs.len()
    }

    /// The number of the job at this position, which stays the same in all rounds.
    pub fn number_of(&self, at: usize) -> u64 {
        self.jobs[at].number
    }

    /// Returns `true` if there is no other run.
    pub fn is_through(&self) -> bool {
        self.jobs.is_empty()
    }

    /// True if the search has a bound, so that it goes from level to level.
    pub fn is_bounded(&self) -> bool {
        self.bound.is_some()
    }

    /// The level of a bounded search.
    pub fn level(&self) -> u32 {
        self.known.level
    }

    /// The runs so far, counted or not.
    pub fn made(&self) -> u64 {
        self.runs + self.blocked + self.repeated
    }

    /// The complete runs so far.
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// The differences that distinguish runs.
    pub fn apart(&self) -> Apart {
        self.known.apart
    }

    /// The first sign that tasks depend on something that is not of this library, in words.
    pub fn contact(&self) -> Option<&str> {
        self.known.noticed.contact.as_deref()
    }

    /// The maximum numbers of runs of the slices of the next round, of which all together have at most `left`. The
    /// last jobs have no slice if nothing is left for them.
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

    /// The job at this position, for a slice. To be called once in a round; the merge gets the job back as its rest.
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
        Part { path: path.collect(), fixed: job.fixed, stack, known: self.known.clone() }
    }

    /// Ends a round with the slices of its jobs, in their order. If one has learnt something, it is the last that
    /// counts, and the search begins again.
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
            wishes.extend(
                slice.wishes.into_iter().map(|wish| (job.path[..=wish.depth].to_vec(), wish)),
            );
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
        while (self.jobs.len() as u64) < wanted && self.split() {}
        self.forget_frames();
        if self.jobs.is_empty() {
            self.next_level();
        }
    }

    /// Checks slices that were read from lines.
    ///
    /// # Errors
    /// If they are no slices of the next round.
    pub fn check(&self, slices: &[Slice]) -> Result<(), String> {
        let fits = |(job, slice): (&Job, &Slice)| {
            let path = job.path.len();
            slice.wishes.iter().all(|wish| wish.depth < path && !wish.initials.is_empty())
                && slice.rest.as_ref().is_none_or(|rest| path > 0 || rest.draws.is_empty())
        };
        let all = slices.len() <= self.jobs.len() && self.jobs.iter().zip(slices).all(fits);
        all.then_some(()).ok_or_else(|| "a slice is of another part of the search".to_owned())
    }

    fn add_classes(&mut self, classes: &[u64]) {
        let Some((mut bound, mut count)) = self.written else {
            classes.iter().for_each(|class| self.classes.add(*class));
            return;
        };
        for class in classes.iter().filter(|class| **class < bound) {
            self.classes.add(*class);
            count += 1;
        }
        while count > WRITTEN_MAX {
            (bound, count) = (bound / 2, count / 2);
        }
        self.written = Some((bound, count));
    }

    /// Counts the runs of the last slices of a search that is over.
    pub fn count(&mut self, slices: Vec<Slice>) {
        for slice in slices {
            self.runs += slice.runs;
            self.blocked += slice.blocked;
            self.repeated += slice.repeated;
            self.known.noticed.add(&slice.noticed);
        }
    }

    /// Begins again, with runs distinguished by these differences, too. The runs so far do not count.
    pub fn begin_again(&mut self, apart: Apart) {
        self.known.apart = self.known.apart.and(apart);
        self.void += self.made();
        (self.runs, self.blocked, self.repeated) = (0, 0, 0);
        self.classes = Classes::default();
        self.written = self.written.map(|_| (u64::MAX, 0));
        self.generation += 1;
        (self.estimate, self.live) = (None, None);
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

    /// Goes to the next level of a bounded search, if any.
    fn next_level(&mut self) {
        let Some(bound) = &mut self.bound else { return };
        (bound.through, bound.runs) = (Some(self.known.level), self.runs);
        let goes_on = self.known.noticed.left_out && self.known.level < bound.most;
        if goes_on {
            self.known.level += 1;
            self.generation += 1;
            self.known.noticed.left_out = false;
            match self.every_level.clone() {
                Some(top) => self.begin_at(top),
                None => self.begin_round_one(),
            }
        }
    }

    /// Adds an initial to a shared frame, unless one is there. `path` ends at that frame.
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

    /// Keeps the footprints of probes that were made for a job with this path.
    fn remember(&mut self, path: &[PathStep], probed: Probed) {
        for (depth, task, footprint) in probed {
            let Some(frame) = self.frames.get_mut(&path[depth].frame) else { continue };
            if let Some(sibling) = frame.order.iter_mut().find(|sibling| sibling.task == task) {
                sibling.footprint = Some(footprint);
            }
        }
    }

    /// Drops the frames that no job is below.
    fn forget_frames(&mut self) {
        let used: Set<FrameId> =
            self.jobs.iter().flat_map(|job| job.path.iter().map(|step| step.frame)).collect();
        self.frames.retain(|frame, _| used.contains(frame));
    }

    /// The progress of the search. Runs of a slice that is not merged do not count.
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

    /// The part of the search that is done.
    fn part_done(&self) -> f64 {
        // Frames near the root learn of their siblings late, so this is too high rather than too low.
        let by_siblings = 1.0 - self.left() / self.whole;
        match self.estimate.map(|estimate| (estimate.is_shown(), self.part_of(estimate))) {
            Some((true, part)) if !self.is_through() => part,
            Some((false, part)) if !self.is_through() => part.min(by_siblings),
            _ => by_siblings,
        }
        .clamp(0.0, 1.0)
    }

    /// The part of the runs of the current level that is done.
    fn part_of(&self, estimate: TreeEstimate) -> f64 {
        let before = self.bound.map_or(0, |bound| bound.runs);
        (self.runs - before) as f64 / (estimate.runs - before as f64).max(1.0)
    }

    /// The part of the search that is done, for whoever looks on. `None` if nobody knows.
    pub fn live_part(&self) -> Option<f64> {
        match self.bound {
            Some(_) => Some(self.part_done()),
            None => self.live.map(|estimate| self.part_of(estimate).min(1.0)),
        }
    }

    /// Sets the estimate for whoever looks on.
    pub fn set_live(&mut self, estimate: Option<TreeEstimate>) {
        self.live = estimate;
    }

    /// Sets the estimated number of runs.
    pub fn set_estimate(&mut self, estimate: Option<TreeEstimate>) {
        self.estimate = estimate;
    }

    /// Sorts the classes of the runs, for [`has_class`](Self::has_class).
    pub fn sort_classes(&mut self) {
        self.classes.sort();
    }

    /// Returns `true` if a run was of this class, `None` if that is not known: others may have had it, or it is not
    /// written down.
    pub fn has_class(&self, class: u64) -> Option<bool> {
        if self.is_share { None } else { self.has_own_class(class) }
    }

    /// The same, without the other shares.
    pub fn has_own_class(&self, class: u64) -> Option<bool> {
        let is_written = self.written.is_none_or(|(bound, _)| class < bound);
        if is_written { self.classes.has(class) } else { None }
    }
}
