//! Coverage of interleavings, part of a [`Report`](crate::report::Report) on request.
//!
//! Two runs that differ only in the order of steps that do not depend on each other are one and the same to every
//! task: they are of one *class* (Mazurkiewicz 1977), and a seed that runs a class again tells nothing new. The
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
    /// Blind spots.
    pub blind: Blind,
    /// True if tasks share something outside this library: they woke each other through it, or the order of steps
    /// that share nothing else made a difference. Orders of accesses to it are not counted, so
    /// [`unseen`](Self::unseen) does not include them.
    pub foreign: bool,
}

/// Blind spots: objects, tasks and values that occurred in some run, but whose alternatives no run tried.
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
