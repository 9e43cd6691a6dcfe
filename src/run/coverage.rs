//! How much of what there is was seen: what a [`Report`](crate::report::Report) states when asked.
//!
//! Two runs that differ only in the order of steps that do not depend on each other are one and the same
//! to every task: they are of one *class* (Mazurkiewicz 1977), and a seed that runs a class again tells
//! nothing new. Which class a run is of is computed in `census`; here is what comes of it, as data.

use crate::run::ids::{Spot, TaskPath};

/// What the runs of a passing test saw.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Coverage {
    /// How many runs there were.
    pub runs: u64,
    /// How many classes they were of.
    pub classes: u64,
    /// For each hundred runs, in the order of their seeds, how many classes were new; the last hundred
    /// may be shorter.
    pub new_per_hundred: Vec<u64>,
    /// How many classes were seen once.
    pub once: u64,
    /// What was there and was never tried.
    pub blind: Blind,
    /// Whether tasks share something that is not of this library: they woke each other by it, or steps that touch
    /// nothing else in common made a difference in another order. Orders of what they do to it are not counted,
    /// so [`unseen`](Self::unseen) says nothing of them.
    pub foreign: bool,
}

/// What was there in some run and was never tried in any.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Blind {
    /// Objects that several tasks accessed, without two accesses that conflict coming in both orders.
    pub objects: Vec<BlindObject>,
    /// Tasks that no other one preempted, although they had several steps.
    pub tasks: Vec<TaskPath>,
    /// Draws some of whose values were never drawn.
    pub draws: Vec<BlindDraw>,
}

/// An object of which nothing was decided by chance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlindObject {
    /// What it is, such as `atomic`.
    pub kind: &'static str,
    /// Where it was created.
    pub place: Spot,
    /// Its number, from 0, among the objects created there.
    pub ordinal: u32,
}

/// A draw some of whose values never came.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BlindDraw {
    /// The task that drew.
    pub task: TaskPath,
    /// Which of its draws it was, from 0.
    pub nth: u32,
    /// What the value was to be below; at most 64, larger draws are not looked at.
    pub bound: u64,
    /// The values that never came.
    pub never: Vec<u64>,
}

impl Coverage {
    /// The probability, 0 to 1, that one run more is of a class not seen so far: the estimate of Good
    /// and Turing (Good 1953), which is classes seen once by runs.
    ///
    /// It knows of the classes that the strategy reaches, in proportion to how often it does. 0 says
    /// that further seeds are of little use, not that the rest of the program is right.
    ///
    /// ```
    /// let coverage = sim::run::coverage::Coverage { runs: 200, once: 3, ..Default::default() };
    /// assert_eq!(coverage.unseen(), 0.015);
    /// ```
    pub fn unseen(&self) -> f64 {
        if self.runs == 0 { 1.0 } else { self.once as f64 / self.runs as f64 }
    }
}
