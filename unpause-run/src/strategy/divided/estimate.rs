//! Estimates the number of runs of a search, from a few hundred looks.
//!
//! The backtrack sets of the search are not known in advance, so Knuth's estimate on the tree of the search is biased.
//! The estimate therefore uses the tree of *all* enabled tasks, in which the children of a node are known at once. In
//! this tree, sleep sets alone leave exactly one complete leaf for each class. A probe descends level by level and
//! keeps at most `width` random nodes per level. Such probes are stochastic enumeration (Rubinstein, *Stochastic
//! enumeration method for counting NP-hard problems*, 2013); with width 1, they are Knuth's estimate of 1975. The
//! expected value of a probe is the number of classes.
//!
//! Neighbours on a level have similar subtrees, because they have the same ancestors. The kept nodes are therefore a
//! systematic sample: they have equal distances, and only the first is random. In a model with 67 programs of 1,000 to
//! 200,000 classes, the median error with width 32 is then 7 %, instead of 9 % with independent nodes.
//!
//! A step that draws values is a node for each tuple of values. If there are too many tuples, the probe follows only a
//! random tuple, draw by draw. This tuple represents all tuples: its factor is the product of the bounds of its draws,
//! which are the branching degrees in Knuth's estimate. The value of a draw may decide if further draws follow, so the
//! probe looks again after each random value.
//!
//! In the tree of a bounded search, the children of a node are its tasks within the bound, and each leaf is a run. The
//! probes of a share begin at its jobs instead of at the root.

use super::top::{Look, Top};
use super::{Job, Part, SearchTree, Sizes, WAYS_MAX};
use crate::run::rng::Rng;
use crate::strategy::search::{Apart, Drawn};

/// The number of probes of an estimate.
pub const PROBES: usize = 12;

/// The number of standard errors from the estimate to the ends of the interval, on a logarithmic scale. Probes have a
/// skewed distribution, so Student's quantile (2.2) is too small. In the model above, 95 % of the intervals contain the
/// true number with width 8, and 96 % with width 32.
const QUANTILE: f64 = 2.6;

/// The estimated number of runs of a search.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TreeEstimate {
    pub runs: f64,
    /// The 95 % confidence interval is `low` to `high`. If the tree is very uneven, the confidence of the interval is
    /// lower.
    pub low: f64,
    pub high: f64,
    /// The width of the probes.
    pub width: usize,
}

/// The minimum width of the probes of a displayed estimate; narrower probes are too imprecise.
pub const SHOWN_WIDTH: usize = 8;

impl TreeEstimate {
    /// Returns `true` if the estimate is good enough to be shown.
    pub fn is_shown(&self) -> bool {
        self.width >= SHOWN_WIDTH
    }
}

/// The part of a tree that probes explore: the whole tree, or a share. In a bounded search, the part contains only the
/// runs within the current bound.
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

    /// Restricts the probes to the runs of a bounded search with at most this cost.
    pub fn within(self, level: u32) -> ProbeRoot {
        ProbeRoot { level, ..self }
    }

    /// Returns `true` if the probes explore only a share of the tree.
    pub fn is_share(&self) -> bool {
        self.is_share
    }

    /// Creates probes with at most `width` nodes per level. The estimate is a function of the body, because the random
    /// choices have a fixed seed.
    pub fn probes(&self, width: usize) -> TreeProbes {
        self.seeded(width, 0)
    }

    /// Creates the same probes with random choices from this seed.
    pub fn seeded(&self, width: usize, seed: u64) -> TreeProbes {
        let mut tree = SearchTree::new(Sizes::USUAL, self.apart);
        tree.known.level = self.level;
        let mut probes = TreeProbes {
            width,
            rng: Rng::new(seed),
            top: self.top.clone(),
            tree,
            weight: 1.0,
            level: Vec::new(),
            next: Vec::new(),
            sum: 0.0,
            done: Vec::new(),
        };
        probes.begin();
        probes
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

/// Probes of the tree of a search.
#[derive(Debug)]
pub struct TreeProbes {
    width: usize,
    rng: Rng,
    /// The jobs at which each probe begins.
    top: Top,
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
    fn begin(&mut self) {
        (self.weight, self.sum) = (1.0, 0.0);
        self.level.clear();
        self.tree.begin_at(self.top.clone());
        // These jobs are the first level, which may also have too many nodes.
        self.next = std::mem::take(&mut self.tree.jobs).into_iter().map(|job| (job, 1.0)).collect();
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

    /// Reduces the level to a systematic sample of `width` nodes. Each node has the same probability to be in it.
    fn thin(&mut self) {
        let count = self.level.len();
        if count > self.width {
            self.weight *= count as f64 / self.width as f64;
            let start = self.rng.below(count as u64) as usize;
            let (mut kept, mut at) = (sampled(count, self.width, start).peekable(), 0);
            self.level.retain(|_| {
                let is_kept = kept.next_if_eq(&at).is_some();
                at += 1;
                is_kept
            });
        }
        self.tree.jobs = self.level.iter().map(|(job, _)| job.clone()).collect();
        self.tree.forget_frames();
    }

    /// Adds a look below the node of the last part.
    pub fn add(&mut self, mut look: Look) {
        let Some((_, mut factor)) = self.level.pop() else { return };
        let mut job = self.tree.jobs.remove(0);
        self.tree.remember(&job.path, std::mem::take(&mut look.probed));
        if self.has_many_tuples(&look.draws) {
            // The factor already includes the draws in the path, and other nodes have their other values.
            let first = job.path.last().map_or(0, |last| last.draws.len());
            let others = self.tree.other_values(&job.path, &look.draws, job.fixed..first);
            self.level.extend(others.into_iter().map(|job| (job, factor)));
            job.fixed = look.draws.len();
            for nth in first..look.draws.len() {
                let Drawn { value: looked_at, bound, given } = look.draws[nth];
                if given {
                    continue;
                }
                factor *= bound as f64;
                let value = self.rng.below(bound);
                if value != looked_at {
                    look.draws.truncate(nth + 1);
                    look.draws[nth].value = value;
                    job.fixed = nth + 1;
                    job.path.last_mut().expect("a step has drawn").draws = look.draws;
                    self.level.push((job, factor));
                    return;
                }
            }
        }
        if look.is_end {
            self.sum += self.weight * factor;
        }
        let (values, tasks) = self.tree.expand(job, look);
        self.level.extend(values.into_iter().map(|job| (job, factor)));
        let below = tasks.into_iter().filter(|job| !job.is_seen);
        self.next.extend(below.map(|job| (job, factor)));
    }

    /// Returns `true` if a step with these draws has too many tuples of values for a node each.
    fn has_many_tuples(&self, draws: &[Drawn]) -> bool {
        let free = draws.iter().filter(|drawn| !drawn.given);
        let tuples: f64 = free.map(|drawn| drawn.bound as f64).product();
        tuples > self.width.max(WAYS_MAX as usize) as f64
    }

    /// Returns the estimate from the complete probes; `None` if there are fewer than three.
    pub fn estimate(&self) -> Option<TreeEstimate> {
        let count = self.done.len() as f64;
        if self.done.len() < 3 {
            return None;
        }
        let mean = self.done.iter().sum::<f64>() / count;
        let squares = self.done.iter().map(|one| (one - mean).powi(2)).sum::<f64>();
        let error = (squares / (count - 1.0)).sqrt() / count.sqrt();
        // If no probe reached a run, the mean is 0.
        let factor = (QUANTILE * error / mean.max(f64::MIN_POSITIVE)).exp();
        Some(TreeEstimate {
            runs: mean,
            low: mean / factor,
            high: mean * factor,
            width: self.width,
        })
    }
}

/// Returns the positions of a systematic sample of `width` of `count` nodes, in increasing order. For all starts below
/// `count` together, the samples contain each position `width` times.
fn sampled(count: usize, width: usize, start: usize) -> impl Iterator<Item = usize> {
    (0..width).map(move |nth| (start + nth * count) / width)
}

#[cfg(test)]
mod tests {
    use super::super::PathStep;
    use super::*;
    use crate::run::ids::TaskId;

    /// The continuation of a program with one task.
    enum Next {
        /// A draw of a value below this bound.
        Draw(u64),
        /// The next step.
        Step,
        End,
    }

    /// A program, as a function of the values that each step has drawn so far.
    type Program = fn(&[Vec<u64>]) -> Next;

    /// Returns the number of runs, by brute force.
    fn count(program: Program, steps: &mut Vec<Vec<u64>>) -> u64 {
        match program(steps) {
            Next::End => 1,
            Next::Step => {
                steps.push(Vec::new());
                let runs = count(program, steps);
                steps.pop();
                runs
            }
            Next::Draw(bound) => {
                let at = steps.len() - 1;
                let mut runs = 0;
                for value in 0..bound {
                    steps[at].push(value);
                    runs += count(program, steps);
                    steps[at].pop();
                }
                runs
            }
        }
    }

    /// Executes the steps of a path, and finds the draws of its last step.
    fn look(program: Program, part: &Part) -> Look {
        let value = |drawn: &Drawn| drawn.value;
        let mut steps: Vec<Vec<u64>> =
            part.path.iter().map(|step| step.draws.iter().map(value).collect()).collect();
        let mut draws = part.path.last().map_or(Vec::new(), |last| last.draws.clone());
        let tasks = vec![TaskId(0)];
        if steps.is_empty() {
            return Look { tasks, ..Look::default() };
        }
        loop {
            match program(&steps) {
                Next::Draw(bound) => {
                    steps.last_mut().expect("a step draws").push(0);
                    draws.push(Drawn { value: 0, bound, given: false });
                }
                Next::Step => return Look { draws, tasks, ..Look::default() },
                Next::End => return Look { draws, is_end: true, ..Look::default() },
            }
        }
    }

    fn estimated(program: Program, width: usize, seed: u64) -> TreeEstimate {
        let mut probes = ProbeRoot::whole(Apart::NOTHING).seeded(width, seed);
        while let Some(part) = probes.part() {
            probes.add(look(program, &part));
        }
        probes.estimate().expect("all probes were made")
    }

    /// A large draw between two small ones decides about the last draw, and about a draw of the next step.
    const MIXED: Program = |steps| match steps {
        [first] => match first[..] {
            [] => Next::Draw(3),
            [_] => Next::Draw(20),
            [_, 0..10] => Next::Draw(2),
            _ => Next::Step,
        },
        [first, second] if second.is_empty() && first[1] % 2 == 1 => Next::Draw(3),
        _ => Next::End,
    };

    #[test]
    fn an_estimate_with_several_draws_in_a_step_is_the_number_of_runs() {
        let runs = count(MIXED, &mut vec![Vec::new()]);
        assert_eq!(runs, 180);
        assert_eq!(estimated(MIXED, usize::MAX, 0).runs, runs as f64);
        for width in [1, 8, 32] {
            let seeds = 0..300;
            let sum: f64 = seeds.clone().map(|seed| estimated(MIXED, width, seed).runs).sum();
            let mean = sum / seeds.count() as f64;
            assert!((mean / runs as f64 - 1.0).abs() < 0.05, "{mean} with width {width}");
        }
    }

    #[test]
    fn a_sample_contains_each_node_with_the_same_probability() {
        for (count, width) in [(2, 1), (3, 2), (9, 8), (10, 4), (33, 32), (100, 7)] {
            let mut times = vec![0; count];
            for start in 0..count {
                let positions: Vec<usize> = sampled(count, width, start).collect();
                assert!(positions.windows(2).all(|pair| pair[0] < pair[1]), "{positions:?}");
                positions.into_iter().for_each(|at| times[at] += 1);
            }
            assert_eq!(times, vec![width; count]);
        }
    }

    #[test]
    fn an_interval_is_wider_above_the_estimate_and_holds_the_number_as_often_as_it_says() {
        let (runs, seeds) = (count(MIXED, &mut vec![Vec::new()]) as f64, 300);
        for width in [2, 8] {
            let mut held = 0;
            for seed in 0..seeds {
                let TreeEstimate { runs: mean, low, high, .. } = estimated(MIXED, width, seed);
                assert!(
                    0.0 < low && low <= mean && high - mean >= mean - low,
                    "{low} {mean} {high}"
                );
                held += u32::from((low..=high).contains(&runs));
            }
            assert!(held * 100 >= 93 * seeds as u32, "width {width}: {held} of {seeds}");
        }
    }

    #[test]
    fn probes_of_a_share_begin_at_its_jobs() {
        // The first step of the program draws 3 values, and the share has the first value and the last.
        let drawn = |value| vec![Drawn { value, bound: 3, given: false }];
        let step = |value| PathStep { frame: 0, task: TaskId(0), draws: drawn(value) };
        let jobs = vec![(vec![step(0)], 1), (vec![step(2)], 1)];
        let top = Top { frames: vec![(0, vec![TaskId(0)])], jobs, ..Top::default() };
        let mut tree = SearchTree::new(Sizes::USUAL, Apart::NOTHING);
        tree.take_top(0, top).expect("the jobs are below the frame");
        for width in [1, usize::MAX] {
            let mut probes = tree.probe_root().probes(width);
            while let Some(part) = probes.part() {
                probes.add(look(MIXED, &part));
            }
            let estimate = probes.estimate().expect("all probes were made");
            let is_exact = estimate.runs == 120.0;
            assert!(is_exact || width == 1 && estimate.high > 60.0, "{estimate:?}");
        }
    }

    #[test]
    fn a_step_with_very_many_tuples_takes_few_looks() {
        let program: Program = |steps| match steps[0].len() {
            0..10 => Next::Draw(10),
            _ => Next::End,
        };
        assert_eq!(estimated(program, 8, 0).runs, 1e10);
    }
}
