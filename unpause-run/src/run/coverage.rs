//! Coverage of interleavings, part of a [`Report`](crate::report::Report) on request.
//!
//! If two runs differ only in the order of independent steps, no task can tell them apart: they are
//! of one *class* (Mazurkiewicz 1977), and a seed that repeats a class shows nothing new. The
//! module `census` computes the class of a run; this one has the resulting data.

use crate::run::ids::{Spot, TaskPath};

/// Coverage by the runs of a passing test.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Coverage {
    /// The number of runs.
    pub runs: u64,
    /// The number of their classes.
    pub classes: u64,
    /// For each hundred runs, in the order of their seeds, how many classes were new; the last hundred
    /// may be shorter.
    pub new_per_hundred: Vec<u64>,
    /// The number of classes seen once.
    pub once: u64,
    /// The number of classes seen twice.
    pub twice: u64,
    /// Blind spots.
    pub blind: Blind,
    /// True if tasks share something outside this library: they woke each other through it, or the order of steps
    /// that share nothing else made a difference. Orders of accesses to it are not counted, so
    /// [`unseen`](Self::unseen) does not include them.
    pub foreign: bool,
}

/// Blind spots: objects, tasks and values whose alternatives no run tried.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Blind {
    /// Objects that several tasks accessed, without two accesses that conflict coming in both orders.
    pub objects: Vec<BlindObject>,
    /// Tasks that no other one preempted, although they had several steps.
    pub tasks: Vec<TaskPath>,
    /// Draws some of whose values were never drawn.
    pub draws: Vec<BlindDraw>,
}

/// An object without a chance decision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlindObject {
    /// Its kind, such as `atomic`.
    pub kind: &'static str,
    /// The place that created it.
    pub place: Spot,
    /// Its number, from 0, among the objects created there.
    pub ordinal: u32,
}

/// A draw some of whose values never came.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BlindDraw {
    /// The task that drew.
    pub task: TaskPath,
    /// The index among its draws, from 0.
    pub nth: u32,
    /// The exclusive upper bound of the value; at most 64, because larger draws are not counted.
    pub bound: u64,
    /// The values that never came.
    pub never: Vec<u64>,
}

/// The normal deviate of 95 %.
const DEVIATIONS: f64 = 1.96;

/// So many classes seen once may have been the last: e^-3 is more than 2.5 %.
const LAST: u64 = 3;

impl Coverage {
    /// The probability, 0 to 1, that one run more is of a class not seen so far: the estimate of Good
    /// and Turing (Good 1953), which is classes seen once by runs.
    ///
    /// It accounts for the classes that the strategy reaches, in proportion to their frequency. 0
    /// means that further seeds are of little use. It does not mean that the rest of the program is
    /// correct.
    ///
    /// ```
    /// let coverage = sim::run::coverage::Coverage { runs: 200, once: 3, ..Default::default() };
    /// assert_eq!(coverage.unseen(), 0.015);
    /// ```
    pub fn unseen(&self) -> f64 {
        if self.runs == 0 { 1.0 } else { self.once as f64 / self.runs as f64 }
    }

    /// An interval that has the probability of a new class in 95 % of cases: its ends, each 0 to 1.
    ///
    /// The estimate [`unseen`](Self::unseen) alone says too little: a class that comes once in a thousand runs is
    /// mostly not among three hundred, and no class among them need be seen just once.
    ///
    /// # Method
    /// The difference between the estimate and the truth has a variance of about (r + 2 t) / n², for n runs, r classes
    /// seen once and t seen twice, and a nearly normal distribution (Esty, *A Normal Limit Law for a Nonparametric
    /// Estimator of the Coverage of a Random Sample*, Annals of Statistics 1983; Robbins 1968 for its expectation). The
    /// interval has all values x of the truth for which |r - n x| is at most 1.96 standard deviations. The variance is
    /// computed from x and not from r (Wilson 1927), n x (1 - x) + 2 t, so the interval has a width even if r and t are
    /// 0: the upper end is then 3.8 / n. The lower end is 0 if at most 3 classes were seen once. Each may have been the
    /// last: a class is seen exactly once with a probability of at most 1 / e, and e^-3 is more than the 2.5 % that may
    /// be below the interval.
    ///
    /// The method assumes independent runs with the same probabilities. Seeds of the default are not quite that: they
    /// run under different strategies, and neighbours share what their strategy has learnt. Of 1,664 pairs of programs
    /// and numbers of seeds, half of them generated programs, 95.2 % have the truth in the interval: 98.7 % if a
    /// program has few classes, but 89.1 % if it has more than a hundred, where the truth is above the interval in 9.5
    /// %.
    ///
    /// ```
    /// use sim::run::coverage::Coverage;
    ///
    /// let coverage = Coverage { runs: 300, classes: 7, ..Default::default() };
    /// let (low, high) = coverage.unseen_interval();
    /// assert!(low == 0.0 && 0.012 < high && high < 0.013);
    /// let coverage = Coverage { runs: 300, classes: 290, once: 280, twice: 10, ..Default::default() };
    /// let (low, high) = coverage.unseen_interval();
    /// assert!(0.85 < low && low < 280.0 / 300.0 && high < 1.0);
    /// ```
    pub fn unseen_interval(&self) -> (f64, f64) {
        if self.runs == 0 {
            return (0.0, 1.0);
        }
        let [runs, once, twice] = [self.runs, self.once, self.twice].map(|count| count as f64);
        let square = DEVIATIONS * DEVIATIONS;
        // (once - n x)² = square * (n x (1 - x) + 2 twice), in y = n x: a y² - 2 b y + c = 0.
        let (a, b) = (1.0 + square / runs, once + square / 2.0);
        let c = once * once - 2.0 * square * twice;
        let root = (b * b - a * c).max(0.0).sqrt();
        let [low, high] = [b - root, b + root].map(|end| (end / a / runs).clamp(0.0, 1.0));
        (if self.once <= LAST { 0.0 } else { low }, high)
    }
}
