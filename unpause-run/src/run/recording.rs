//! Recorders from the viewpoint of a run: they hold its histories, and evaluate them for other orders of its calls.

use unpause_check::history::HistoryRecord;

use crate::run::ids::Place;

/// The possible times of a recorded call, in another order of the same steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timed {
    /// The number of the call in its history.
    pub call: usize,
    /// The time of the invocation, as in [`Operation`](unpause_check::Operation).
    pub invoked: u64,
    /// The time of the return, if the call returned.
    pub returned: Option<u64>,
}

/// A history that is being recorded.
pub trait HistorySource: Send + Sync {
    /// Returns the history in its current state, as text.
    fn record(&self) -> HistoryRecord;

    /// Returns the place that created the history, if calls were recorded and the program neither checked nor read
    /// them.
    fn unchecked(&self) -> Option<Place>;

    /// Returns `true` if a history of only these calls, at these times, is linearizable. `times` is sorted by
    /// invocation. If the check is undecided, this function returns `false`.
    fn holds_at(&self, times: &[Timed]) -> bool;
}
