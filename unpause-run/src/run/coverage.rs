//! Coverage of interleavings. A [`Report`](crate::report::Report) includes it on request.
//!
//! If two runs differ only in the order of independent steps, no task can distinguish them. Runs that no task can
//! distinguish belong to one *class* (Mazurkiewicz 1977), and a seed that repeats a class shows nothing new. The module
//! `census` computes the class of a run; this module holds the resulting data.

use crate::run::ids::{Spot, TaskPath};

/// Coverage by the runs of a passing test.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Coverage {
    /// The number of runs.
    pub runs: u64,
    /// The number of classes of these runs.
    pub classes: u64,
    /// For each hundred runs, in seed order, the number of new classes; the last hundred may be shorter.
    pub new_per_hundred: Vec<u64>,
    /// The number of classes seen once.
    pub once: u64,
    /// The number of classes seen twice.
    pub twice: u64,
    /// Blind spots.
    pub blind: Blind,
    /// True if tasks share something outside this library. The sign is a wakeup through it, or a difference caused by
    /// the order of steps that share nothing else. Orders of such accesses are not counted, so [`unseen`](Self::unseen)
    /// does not include them.
    pub foreign: bool,
}

/// Blind spots: objects, tasks and values whose alternatives no run tried.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Blind {
    /// Objects that several tasks accessed, but without two conflicting accesses that occurred in both orders.
    pub objects: Vec<BlindObject>,
    /// Tasks with several steps that no other task preempted.
    pub tasks: Vec<TaskPath>,
    /// Draws for which some values never occurred.
    pub draws: Vec<BlindDraw>,
}

/// An object without conflicting accesses in both orders.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlindObject {
    /// The kind of the object, such as `atomic`.
    pub kind: &'static str,
    /// The place that created the object.
    pub place: Spot,
    /// The index of the object, from 0, among the objects created at this place.
    pub ordinal: u32,
}

/// A draw for which some values never occurred.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BlindDraw {
    /// The task that made the draw.
    pub task: TaskPath,
    /// The index of the draw among the draws of its task, from 0.
    pub nth: u32,
    /// The exclusive upper bound of the value; at most 64, because larger draws are not counted.
    pub bound: u64,
    /// The values that never occurred.
    pub never: Vec<u64>,
}

/// The normal deviate for a 95 % interval.
const DEVIATIONS: f64 = 1.96;

/// The largest number of classes seen once for which the lower end of the interval is 0: e^-3 is more than 2.5 %.
const LAST: u64 = 3;

impl Coverage {
    /// Returns the probability, 0 to 1, that one more run belongs to an unseen class. The estimate of Good and Turing
    /// (Good 1953) is the number of classes seen once, divided by the number of runs.
    ///
    /// The estimate covers only classes that the strategy can reach, weighted by their frequency. A result of 0 means
    /// that further seeds are of little use. A 0 does not mean that the rest of the program is correct.
    ///
    /// ```
    /// let coverage = sim::run::coverage::Coverage { runs: 200, once: 3, ..Default::default() };
    /// assert_eq!(coverage.unseen(), 0.015);
    /// ```
    pub fn unseen(&self) -> f64 {
        if self.runs == 0 { 1.0 } else { self.once as f64 / self.runs as f64 }
    }

    /// Returns an interval that contains the probability of a new class in 95 % of cases, as its two ends, each 0 to 1.
    ///
    /// The estimate [`unseen`](Self::unseen) alone is not enough. A class that occurs once in a thousand runs is
    /// usually missing from three hundred runs, and possibly no class among these runs was seen just once.
    ///
    /// # Method
    /// The difference between the estimate and the truth has a variance of about (r + 2 t) / n², for n runs, r classes
    /// seen once and t seen twice. The distribution of this difference is nearly normal (Esty, *A Normal Limit Law for
    /// a Nonparametric Estimator of the Coverage of a Random Sample*, Annals of Statistics 1983; Robbins 1968 for its
    /// expectation). The interval has all values x of the truth for which |r - n x| is at most 1.96 standard
    /// deviations. The variance n x (1 - x) + 2 t is computed from x and not from r (Wilson 1927). The interval
    /// therefore has a width even if r and t are 0: its upper end is then 3.8 / n. The lower end is 0 if at most 3
    /// classes were seen once. In that case, these classes may have been the last. A class is seen exactly once with a
    /// probability of at most 1 / e, and e^-3 exceeds the 2.5 % allowed below the interval.
    ///
    /// The method assumes independent runs with the same probabilities. Default seeds violate this slightly: they run
    /// under different strategies, and neighboring seeds share what their strategy has learned. The interval was
    /// measured for 1,664 pairs of a program and a number of seeds, half of them generated programs. The interval
    /// contains the truth in 95.2 % of the pairs: in 98.7 % if a program has few classes, but in 89.1 % if it has more
    /// than a hundred. In the latter case the truth is above the interval in 9.5 %.
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
