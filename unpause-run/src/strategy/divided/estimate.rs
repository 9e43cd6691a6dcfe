//! Estimates the number of runs of a search, from some hundreds to some thousands of looks.
//!
//! The backtrack sets of the search are not known in advance, so Knuth's estimate on the tree of the search is biased.
//! The estimate therefore uses the tree of *all* enabled tasks, in which the children of a node are known at once. In
//! this tree, sleep sets alone leave exactly one complete leaf for each class. The estimate descends level by level. On
//! each level it keeps a random sample of the nodes, and each kept node represents a number of nodes: its *weight*. The
//! sum of the weights of all complete leaves is the estimate, and its expected value is the number of classes.
//!
//! Two facts make the sample precise:
//!
//! * Nodes are in one *stratum* if each task has taken the same number of steps and if the same steps sleep. If values
//!   do not affect the steps that follow, the subtrees of a stratum are equal. Then two representatives, whose weights
//!   are the sum of all weights, are as good as all nodes of the stratum (Chen, *Heterogeneous sampling: a
//!   deterministic method for tree size estimation*, 1992). See [`strata`].
//! * Most nodes of the tree have no complete leaf below, because a step sleeps that no other step can wake up. Random
//!   runs show the steps that conflict. The estimate visits few nodes that are probably [barren](Node::is_barren), and
//!   their weights keep the expected value. See [`known_steps`].
//!
//! The interval comes from a bootstrap: each node has 64 further weights. A weight of this kind follows from another
//! sample of the nodes that the real sample has kept. The deviation of the 64 sums is the error of the estimate.
//!
//! A step that draws values is a node for each tuple of values. If there are too many tuples, random
//! values of each draw represent all values of the draw. The value of a draw may decide if further draws follow, so
//! there is another look after each random value.
//!
//! In the tree of a bounded search, the children of a node are its tasks within the bound, and each leaf is a run. The
//! estimate of a share begins at its jobs instead of at the root.

mod known_steps;
mod strata;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use self::known_steps::{KnownSteps, Progress, count_step};
use self::strata::{Candidate, drawn_again, sample, thin};
use super::top::{Look, Top};
use super::{Job, Part, SampledRun, SearchTree, Sizes, WAYS_MAX};
use crate::run::ids::TaskId;
use crate::run::rng::{Rng, mix};
use crate::strategy::search::{Apart, Drawn};

/// The cost of each level of an estimate of width 1, in runs.
pub const LEVEL_COST: usize = 12;

/// The number of further weights of each node, for the interval.
const WEIGHTS: usize = 64;

/// The number of standard errors from the estimate to the ends of the interval, on a logarithmic scale.
const QUANTILE: f64 = 2.5;

/// The minimum standard error of an estimate that has not visited all nodes, as a part of the estimate.
const ERROR_MIN: f64 = 0.01;

/// The part of the cost for sampled runs, and the part of the looks of a level at nodes that are probably barren.
const SAMPLED: f64 = 1.0 / 16.0;

/// The part of the lower levels for which an estimate saves steps. The last levels have few strata.
const SAVED: f64 = 0.7;

/// The number of tuples of values that represent the tuples of a step, if there are too many.
const VALUES: u64 = 16;

/// The minimum number of looks of a level.
const LOOKS_MIN: f64 = 4.0;

/// The estimated number of runs of a search.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TreeEstimate {
    pub runs: f64,
    /// The 95 % confidence interval is `low` to `high`. If the tree is very uneven, the confidence of the interval is
    /// lower.
    pub low: f64,
    pub high: f64,
    /// The width of the estimate, which is proportional to its cost.
    pub width: usize,
}

/// The minimum width of a displayed estimate; a narrower estimate is too imprecise.
pub const SHOWN_WIDTH: usize = 8;

impl TreeEstimate {
    /// Returns `true` if the estimate is good enough to be shown.
    pub fn is_shown(&self) -> bool {
        self.width >= SHOWN_WIDTH
    }
}

/// The part of a tree that an estimate explores: the whole tree, or a share. In a bounded search, the part contains
/// only the runs within the current bound.
#[derive(Clone, Debug)]
pub struct ProbeRoot {
    apart: Apart,
    level: u32,
    top: Top,
    is_share: bool,
}

impl ProbeRoot {
    /// Returns the root of a whole tree, for a search that distinguishes runs by these differences.
    pub fn whole(apart: Apart) -> ProbeRoot {
        let root = (Vec::new(), 0);
        let top = Top { jobs: vec![root], ..Top::default() };
        ProbeRoot { apart, level: 0, top, is_share: false }
    }

    /// Restricts the estimate to the runs of a bounded search with at most this cost.
    pub fn within(self, level: u32) -> ProbeRoot {
        ProbeRoot { level, ..self }
    }

    /// Returns `true` if the estimate explores only a share of the tree.
    pub fn is_share(&self) -> bool {
        self.is_share
    }

    /// Creates the probes of an estimate of this width, for runs with about this number of steps. The estimate is a
    /// function of the body, because the random choices have a fixed seed.
    pub fn probes(&self, width: usize, length: u64) -> TreeProbes {
        self.seeded((width, length), 0)
    }

    /// Creates the same probes with random choices from this seed.
    pub fn seeded(&self, (width, length): (usize, u64), seed: u64) -> TreeProbes {
        let mut tree = SearchTree::new(Sizes::USUAL, self.apart);
        tree.known.level = self.level;
        tree.begin_at(self.top.clone());
        let weights: Arc<[f64]> = vec![1.0; WEIGHTS].into();
        let node = |job| Node { job, weight: 1.0, others: weights.clone(), is_barren: false };
        let level: Vec<Node> = std::mem::take(&mut tree.jobs).into_iter().map(node).collect();
        let is_whole = width == usize::MAX;
        let runs = (LEVEL_COST.saturating_mul(width) as f64) * length as f64;
        TreeProbes {
            width,
            length: length.max(2) as usize,
            left: if is_whole { f64::INFINITY } else { runs * length as f64 },
            samples: if is_whole { 0 } else { (runs * SAMPLED) as u64 },
            rng: Rng::new(seed),
            tree,
            known: KnownSteps::default(),
            level,
            seen: Vec::new(),
            sum: 0.0,
            sums: vec![0.0; WEIGHTS],
            is_sampled: false,
        }
    }
}

impl SearchTree {
    /// Returns the root for probes of this tree. For a share, the probes explore only the share.
    pub fn probe_root(&self) -> ProbeRoot {
        let root = ProbeRoot::whole(self.known.apart).within(self.known.level);
        match &self.begin {
            Some(top) => ProbeRoot { top: top.clone(), is_share: true, ..root },
            None => root,
        }
    }
}

/// A node of the tree.
#[derive(Clone, Debug)]
struct Node {
    job: Job,
    /// The number of nodes that this node represents.
    weight: f64,
    /// The further weights, as multiples of `weight`.
    others: Arc<[f64]>,
    /// True if probably no run below is complete.
    is_barren: bool,
}

/// The looks and sampled runs of an estimate.
#[derive(Debug)]
pub struct TreeProbes {
    width: usize,
    /// The number of steps of a run.
    length: usize,
    /// The number of steps that are left.
    left: f64,
    /// The number of sampled runs that are left.
    samples: u64,
    rng: Rng,
    tree: SearchTree,
    known: KnownSteps,
    /// The nodes of the level without a look so far. The last node is the next.
    level: Vec<Node>,
    /// The nodes of the level with tasks below.
    seen: Vec<Candidate>,
    /// The sums over the complete leaves, with the weights and with the further weights.
    sum: f64,
    sums: Vec<f64>,
    /// True if some nodes of the tree were left out.
    is_sampled: bool,
}

impl TreeProbes {
    /// Returns the next part for a look or for a sampled run; `None` if the estimate is complete.
    pub fn part(&mut self) -> Option<Part> {
        if self.samples > 0 {
            self.tree.jobs = vec![Job::default()];
            let (seed, steps_max) = (self.rng.below(u64::MAX), 2 * self.length);
            let sample = Some(SampledRun { seed, steps_max });
            return Some(Part { sample, ..self.tree.part(0) });
        }
        if self.level.is_empty() && !self.seen.is_empty() {
            self.descend();
        }
        let node = self.level.last()?;
        self.tree.jobs = vec![node.job.clone()];
        let part = self.tree.part(0);
        let mut runs = 1;
        for frame in &part.path {
            runs += frame.before.iter().filter(|sibling| sibling.footprint.is_none()).count();
        }
        self.left -= (runs * (part.path.len() + 1)) as f64;
        Some(part)
    }

    /// Adds a look below the node of the last part, or a sampled run.
    pub fn add(&mut self, mut look: Look) {
        if self.samples > 0 {
            // A bounded search has no sleeping steps, so it returns no steps.
            self.samples = if look.steps.is_empty() { 0 } else { self.samples - 1 };
            self.left -= look.steps.len() as f64;
            self.length = self.length.max(look.steps.len());
            self.known.add_run(&look.steps);
            return;
        }
        let Some(mut node) = self.level.pop() else { return };
        let mut job = std::mem::take(&mut node.job);
        let mut probed = std::mem::take(&mut look.probed);
        if let (Some(footprint), Some(last)) = (look.footprint.take(), job.path.last()) {
            probed.push((job.path.len() - 1, last.task, footprint));
        }
        self.tree.remember(&job.path, probed);
        if self.has_many_tuples(&look.draws) {
            let Some(whole) = self.add_random_values(&mut look, job, &node) else { return };
            job = whole;
        }
        if look.is_end {
            self.sum += node.weight;
            for (sum, other) in self.sums.iter_mut().zip(node.others.iter()) {
                *sum += node.weight * other;
            }
        }
        let others = self.tree.other_values(&job.path, &look.draws, job.fixed..look.draws.len());
        self.level.extend(others.into_iter().map(|job| Node { job, ..node.clone() }));
        if let Some(last) = job.path.last_mut() {
            job.fixed = look.draws.len();
            last.draws = std::mem::take(&mut look.draws);
        }
        if !look.tasks.is_empty() {
            let candidate = self.candidate(Node { job, ..node }, look);
            self.seen.push(candidate);
        }
    }

    /// Continues with random values of a step that draws. Returns the job if its path already has all values; otherwise
    /// adds nodes with random values of the next draw to the level.
    fn add_random_values(&mut self, look: &mut Look, mut job: Job, node: &Node) -> Option<Job> {
        // The weight already includes the draws in the path, and other nodes have their other values.
        let first = job.path.last().map_or(0, |last| last.draws.len());
        let others = self.tree.other_values(&job.path, &look.draws, job.fixed..first);
        self.level.extend(others.into_iter().map(|job| Node { job, ..node.clone() }));
        self.is_sampled = true;
        let is_free = |nth: &usize| !look.draws[*nth].given;
        let Some(nth) = (first..look.draws.len()).find(is_free) else {
            job.fixed = look.draws.len();
            return Some(job);
        };
        let bound = look.draws[nth].bound;
        // The tuples of values that represent all tuples are shared out among the draws.
        let count = look.draws[..nth].iter().filter(|drawn| !drawn.given);
        let count = count.fold(VALUES, |left, drawn| left / left.min(drawn.bound)).min(bound);
        let again = match count == bound {
            true => vec![vec![1.0; WEIGHTS]; count as usize],
            false => drawn_again(count as usize, &mut self.rng),
        };
        // A bound may be almost 2^64.
        let begin_of = |nth: u64| (u128::from(nth) * u128::from(bound) / u128::from(count)) as u64;
        look.draws.truncate(nth + 1);
        for (value, factors) in (0u64..).zip(again) {
            // Each value comes from its own range of values.
            let from = begin_of(value);
            let values = begin_of(value + 1) - from;
            look.draws[nth].value = from + self.rng.below(values);
            let mut job = Job { fixed: nth + 1, ..job.clone() };
            job.path.last_mut()?.draws.clone_from(&look.draws);
            let weight = node.weight * values as f64;
            let others = node.others.iter().zip(factors).map(|(other, factor)| other * factor);
            self.level.push(Node { job, weight, others: others.collect(), ..*node });
        }
        None
    }

    /// Returns `true` if a step with these draws has too many tuples of values for a node each.
    fn has_many_tuples(&self, draws: &[Drawn]) -> bool {
        let free = draws.iter().filter(|drawn| !drawn.given);
        let tuples: f64 = free.map(|drawn| drawn.bound as f64).product();
        tuples > self.width.max(WAYS_MAX as usize) as f64
    }

    /// Returns a node after its look, with its stratum.
    fn candidate(&self, mut node: Node, mut look: Look) -> Candidate {
        let mut progress = Progress::new();
        node.job.path.iter().for_each(|step| count_step(&mut progress, step.task));
        let asleep = look.asleep.iter();
        let mut sleeping: Vec<TaskId> = asleep.clone().map(|step| step.task).collect();
        sleeping.sort_unstable();
        let state = sleeping.iter().fold(look.state, |hash, task| mix(hash, u64::from(task.0)));
        node.is_barren = asleep.clone().any(|step| self.known.never_wakes(step, &progress));
        // Behind a step that never wakes up, all siblings are barren.
        let free = look.tasks.iter().position(|task| self.known.is_free(*task, &progress));
        if let Some(free) = free {
            look.tasks[..=free].rotate_right(1);
        }
        let has_free = free.is_some() && !node.is_barren;
        let fertile = if has_free { 1 } else { look.tasks.len() };
        Candidate { node, look, progress, state, fertile }
    }

    /// Goes to the next level: samples the nodes of this level, and adds their children.
    fn descend(&mut self) {
        let seen = std::mem::take(&mut self.seen);
        let depth = seen.iter().map(|one| one.node.job.path.len()).max().unwrap_or_default();
        let below = self.length.saturating_sub(depth + 1) as f64;
        let last = depth + 1 + (SAVED * below) as usize;
        let steps: f64 = (depth + 1..=last).map(|depth| depth as f64 + 1.0).sum();
        let looks = (self.left / steps).max(LOOKS_MIN);
        let few = ((looks * SAMPLED) as usize).max(1);
        let (barren, fertile): (Vec<_>, Vec<_>) =
            seen.into_iter().partition(|one| one.node.is_barren);
        let children: usize = fertile.iter().map(|one| one.fertile).sum();
        let mut kept = fertile;
        if children as f64 > looks {
            let mean = children as f64 / kept.len() as f64;
            kept = thin(kept, ((looks / mean) as usize).max(1), &mut self.rng);
            self.is_sampled = true;
        }
        self.is_sampled |= barren.len() > few;
        kept.extend(sample(barren, few, &mut self.rng));
        let (mut level, mut barren) = (Vec::new(), Vec::new());
        for Candidate { node, look, fertile, .. } in kept {
            let (_, tasks) =
                self.tree.expand(node.job.clone(), Look { draws: node.draws(), ..look });
            for (nth, job) in tasks.into_iter().enumerate() {
                let is_barren = node.is_barren || nth >= fertile;
                let to = if is_barren { &mut barren } else { &mut level };
                to.push(Node { job, is_barren, ..node.clone() });
            }
        }
        self.is_sampled |= barren.len() > few;
        level.extend(sample(barren, few, &mut self.rng));
        // A look at a child shows the footprint with which the child sleeps behind its later siblings.
        level.reverse();
        self.tree.jobs = level.iter().map(|node| node.job.clone()).collect();
        self.tree.forget_frames();
        self.level = level;
    }

    /// Returns the estimate; `None` if it is incomplete, or if no complete run was found.
    pub fn estimate(&self) -> Option<TreeEstimate> {
        let is_complete = self.samples == 0 && self.level.is_empty() && self.seen.is_empty();
        let is_empty = self.sum == 0.0 && self.is_sampled;
        if !is_complete || is_empty {
            return None;
        }
        let (runs, width) = (self.sum, self.width);
        if !self.is_sampled {
            return Some(TreeEstimate { runs, low: runs, high: runs, width });
        }
        let squares: f64 = self.sums.iter().map(|sum| (sum / runs - 1.0).powi(2)).sum();
        let error = (squares / WEIGHTS as f64).sqrt().max(ERROR_MIN);
        let factor = (QUANTILE * error).exp();
        Some(TreeEstimate { runs, low: runs / factor, high: runs * factor, width })
    }
}

impl Node {
    /// Returns the draws of the last step of the path.
    fn draws(&self) -> Vec<Drawn> {
        self.job.path.last().map_or(Vec::new(), |last| last.draws.clone())
    }
}
