//! Estimates the number of runs of a search, from a few hundred looks.
//!
//! The backtrack sets of the search are not known in advance, so Knuth's estimate on the tree of the search is biased.
//! The estimate therefore uses the tree of *all* enabled tasks, in which the children of a node are known at once. In
//! this tree, sleep sets alone leave exactly one complete leaf for each class. A probe descends level by level and
//! keeps at most `width` random nodes per level. This is stochastic enumeration (Rubinstein, *Stochastic enumeration
//! method for counting NP-hard problems*, 2013); with width 1, it is Knuth's estimate of 1975. The expected value of a
//! probe is the number of classes.
//!
//! A step that draws values is a node for each tuple of values. If there are too many tuples, the probe follows only a
//! random tuple, draw by draw. This tuple represents all tuples: its factor is the product of the bounds of its draws,
//! which are the branching degrees in Knuth's estimate. The value of a draw may decide if further draws follow, so the
//! probe looks again after each random value.
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
        let half = QUANTILE * (squares / (count - 1.0)).sqrt() / count.sqrt();
        Some(TreeEstimate {
            runs: mean,
            low: (mean - half).max(0.0),
            high: mean + half,
            width: self.width,
        })
    }
}

#[cfg(test)]
mod tests {
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
        let mut probes = TreeProbes::seeded(Apart::NOTHING, width, seed);
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
    fn a_step_with_very_many_tuples_takes_few_looks() {
        let program: Program = |steps| match steps[0].len() {
            0..10 => Next::Draw(10),
            _ => Next::End,
        };
        assert_eq!(estimated(program, 8, 0).runs, 1e10);
    }
}
