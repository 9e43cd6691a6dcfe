//! The sums over the runs of a lab: of samples, of searches of all interleavings, and of bounded searches.

/// The result of sampling.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(in crate::engine::simulate::why) struct Sampled {
    pub(in crate::engine::simulate::why) failed: u64,
    /// The number of runs that failed or passed.
    pub(in crate::engine::simulate::why) ended: u64,
}

/// The result of a search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::engine::simulate::why) enum Searched {
    /// Each interleaving was executed, and no run ended with `stop`.
    Through(Counts),
    /// A run had the end that stops the search.
    Stopped,
    /// More runs than allowed would be needed.
    Open,
    /// The search cannot be a proof: a run had no end, or the search does not see everything that tasks share.
    Blind,
}

/// The interleavings of a search.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(in crate::engine::simulate::why) struct Counts {
    /// The number of all interleavings.
    pub(in crate::engine::simulate::why) all: u64,
    pub(in crate::engine::simulate::why) failed: u64,
    /// The number of interleavings in which a task would have had to wait within a region.
    pub(in crate::engine::simulate::why) excused: u64,
    /// True if each order of steps counts as a separate interleaving.
    pub(in crate::engine::simulate::why) by_step: bool,
    /// True if the runs have another detail of locks than the explained run.
    pub(in crate::engine::simulate::why) is_exact: bool,
}

impl Counts {
    pub(in crate::engine::simulate::why) fn passed(&self) -> u64 {
        self.all - self.failed - self.excused
    }
}

/// The result of a bounded search in which no run failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::engine::simulate::why) struct Bounds {
    /// The maximum number of preemptions for which all runs passed. `None` if some runs without a preemption were not
    /// executed.
    pub(in crate::engine::simulate::why) through: Option<u32>,
    /// The number of runs that passed.
    pub(in crate::engine::simulate::why) runs: u64,
    /// The number of runs in which a task would have had to wait within a region.
    pub(in crate::engine::simulate::why) excused: u64,
    /// True if no run has more preemptions.
    pub(in crate::engine::simulate::why) is_all: bool,
}
