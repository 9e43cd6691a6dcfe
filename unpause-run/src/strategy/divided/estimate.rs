//! Estimates the number of runs of a search, from a few hundred looks.
//!
//! The backtrack sets of the search are not known in advance, so Knuth's estimate on the tree of the search is biased.
//! The estimate therefore uses the tree of *all* enabled tasks, in which the children of a node are known at once. In
//! this tree, sleep sets alone leave exactly one complete leaf for each class. A probe descends level by level and
//! keeps at most `width` random nodes per level. This is stochastic enumeration (Rubinstein, *Stochastic enumeration
//! method for counting NP-hard problems*, 2013); with width 1, it is Knuth's estimate of 1975. The expected value of a
//! probe is the number of classes.
//!
//! In the tree of a bounded search, the children of a node are its tasks within the bound, and each leaf is a run.

use super::top::Look;
use super::{Job, Part, SearchTree, Sizes, WAYS_MAX};
use crate::run::rng::Rng;
use crate::strategy::search::{Apart, Drawn};

/// The number of probes of an estimate.
const PROBES: usize = 12;

/// Two-sided 95 % quantile of Student's distribution with 11 degrees of freedom.
const QUANTILE: f64 = 2.2;

/// The estimated number of runs of a search.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TreeEstimate {
    pub runs: f64,
    /// The 95 % confidence interval is `low` to `high`. In rare cases, if the tree is very uneven, its confidence is
    /// lower.
    pub low: f64,
    pub high: f64,
    /// The width of the probes.
    pub width: usize,
}

/// The minimum width of the probes of a displayed estimate; narrower probes are too imprecise.
const SHOWN_WIDTH: usize = 8;

impl TreeEstimate {
    /// Returns `true` if the estimate is good enough to be shown.
    pub fn is_shown(&self) -> bool {
        self.width >= SHOWN_WIDTH
    }
}

/// Probes of the tree of a search. The estimate is a function of the body, because the random choices have a fixed
/// seed.
#[derive(Debug)]
pub struct TreeProbes {
    width: usize,
    rng: Rng,
    tree: SearchTree,
    /// The number of runs that each node of the level represents.
    weight: f64,
    /// The nodes of the level without a look so far, each with its own factor.
    level: Vec<(Job, f64)>,
    next: Vec<(Job, f64)>,
    /// The estimate of the current probe.
    sum: f64,
    done: Vec<f64>,
}

impl TreeProbes {
    /// Creates probes with at most `width` nodes per level, for a search that distinguishes runs by these differences.
    pub fn new(apart: Apart, width: usize) -> TreeProbes {
        TreeProbes::seeded(apart, width, 0)
    }

    /// Creates the same probes with random choices from this seed.
    pub fn seeded(apart: Apart, width: usize, seed: u64) -> TreeProbes {
        let mut probes = TreeProbes {
            width,
            rng: Rng::new(seed),
            tree: SearchTree::new(Sizes::USUAL, apart),
            weight: 1.0,
            level: Vec::new(),
            next: Vec::new(),
            sum: 0.0,
            done: Vec::new(),
        };
        probes.begin();
        probes
    }

    /// Restricts the probes to the runs of a bounded search with at most this cost.
    pub fn within(mut self, level: u32) -> TreeProbes {
        self.tree.known.level = level;
        self
    }

    fn begin(&mut self) {
        (self.weight, self.sum) = (1.0, 0.0);
        self.level = vec![(Job::default(), 1.0)];
        self.next.clear();
        self.tree.frames.clear();
    }

    /// Returns the next node for a look; `None` if all probes are complete.
    pub fn part(&mut self) -> Option<Part> {
        while self.level.is_empty() {
            if self.next.is_empty() {
                self.done.push(self.sum);
                if self.done.len() == PROBES {
                    return None;
                }
                self.begin();
                continue;
            }
            self.level = std::mem::take(&mut self.next);
            self.thin();
        }
        let (job, _) = self.level.last()?;
        self.tree.jobs = vec![job.clone()];
        Some(self.tree.part(0))
    }

    /// Reduces the level to a random part with `width` nodes.
    fn thin(&mut self) {
        let count = self.level.len();
        if count > self.width {
            self.weight *= count as f64 / self.width as f64;
            for at in 0..self.width {
                let other = at as u64 + self.rng.below((count - at) as u64);
                self.level.swap(at, other as usize);
            }
            self.level.truncate(self.width);
        }
        self.tree.jobs = self.level.iter().map(|(job, _)| job.clone()).collect();
        self.tree.forget_frames();
    }

    /// Adds a look below the node of the last part.
    pub fn add(&mut self, look: Look) {
        let Some((_, mut factor)) = self.level.pop() else { return };
        // A step with many values also represents the steps with its other values.
        let is_many = |drawn: &&Drawn| !drawn.given && drawn.bound > u64::from(WAYS_MAX);
        let many = look.draws.iter().filter(is_many).map(|drawn| drawn.bound as f64);
        let stands_for: f64 = many.product();
        factor *= stands_for;
        if look.is_end {
            self.sum += self.weight * factor;
        }
        let job = self.tree.jobs.remove(0);
        let (mut values, tasks) = self.tree.expand(job, look);
        if stands_for > 1.0 {
            values.clear();
        }
        self.level.extend(values.into_iter().map(|job| (job, factor)));
        let below = tasks.into_iter().filter(|job| !job.is_seen);
        self.next.extend(below.map(|job| (job, factor)));
    }

    /// Returns the estimate from the complete probes; `None` if there are fewer than three.
    pub fn estimate(&self) -> Option<TreeEstimate> {
        let count = self.done.len() as f64;
        if self.done.len() < 3 {
            return None;
        }
        let mean = self.done.iter().sum::<f64>() / count;
        let squares = self.done.iter().map(|one| (one - mean).powi(2)).sum::<f64>();
        let half = QUANTILE * (squares / (count - 1.0)).sqrt() / count.sqrt();
        Some(TreeEstimate {
            runs: mean,
            low: (mean - half).max(0.0),
            high: mean + half,
            width: self.width,
        })
    }
}
