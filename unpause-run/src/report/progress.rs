//! The progress of a search over time, and the estimated number of its runs.

/// The progress of a search at one moment.
///
/// Two points are equal if they differ only in their times, because the same search takes another time in each process.
#[derive(Clone, Copy, Debug)]
pub struct ProgressPoint {
    /// The number of runs so far.
    pub runs: u64,
    /// The completed part, as in [`Searched::part`](super::Searched::part).
    pub part: Option<f64>,
    /// The estimated number of all runs, at least `runs`. The number has an `interval`, unless the search is complete
    /// and the number is therefore exact. `None` if it is unknown. For a bounded search, the number of all runs within
    /// its next bound.
    pub total: Option<u64>,
    /// The ends of an interval that contains the true number of all runs with a probability of about 95 %.
    pub interval: Option<(u64, u64)>,
    /// The time since the search began. This time is not a function of the search.
    pub milliseconds: u64,
}

impl PartialEq for ProgressPoint {
    fn eq(&self, other: &ProgressPoint) -> bool {
        let ProgressPoint { runs, part, total, interval, milliseconds: _ } = *self;
        (runs, part, total, interval) == (other.runs, other.part, other.total, other.interval)
    }
}

/// The estimated number of all runs of a search. For a bounded search, the number of all runs within its next bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunsEstimate {
    /// The estimated number of runs. The estimate is unbiased.
    pub runs: u64,
    /// The lower end of an interval that contains the true number with a probability of about 95 %.
    pub low: u64,
    /// The upper end of the interval.
    pub high: u64,
}

/// The statement that a search needs more runs than its limit allows, because the lower end of its estimate is higher.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Excess {
    /// The limit on the number of runs.
    pub limit: u64,
    /// The bounded search that fits into this limit. `None` if no such search was found.
    pub fits: Option<FittingBound>,
}

/// A bounded search that is complete within the run limit of another search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FittingBound {
    /// The highest bound on the number of preemptions for which the runs of all bounds up to it fit into the limit.
    pub preemptions: u32,
    /// The estimated number of runs within this bound.
    pub runs: u64,
}
