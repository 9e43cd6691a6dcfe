//! The progress of a search over time.

/// The progress of a search at one moment.
///
/// Two points are equal if they differ only in their times, because the same search takes another time in each process.
#[derive(Clone, Copy, Debug)]
pub struct ProgressPoint {
    /// The number of runs so far.
    pub runs: u64,
    /// The completed part, as in [`Searched::part`](super::Searched::part).
    pub part: f64,
    /// The estimated number of all runs, at least `runs`. Without an `interval`, the number is extrapolated from
    /// `part`, and therefore usually too low. `None` if it is unknown. For a bounded search, the number of all runs
    /// within its next bound, and never extrapolated.
    pub total: Option<u64>,
    /// The ends of an interval that contains the true number of all runs with a probability of about 95 %. `None` if
    /// the number was not estimated by probes.
    pub interval: Option<(u64, u64)>,
    /// The time since the search began. It is not a function of the search.
    pub milliseconds: u64,
}

impl PartialEq for ProgressPoint {
    fn eq(&self, other: &ProgressPoint) -> bool {
        let ProgressPoint { runs, part, total, interval, milliseconds: _ } = *self;
        (runs, part, total, interval) == (other.runs, other.part, other.total, other.interval)
    }
}
