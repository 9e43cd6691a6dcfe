//! Recorders as a run sees them: they hold its histories, and answer for other orders of its calls.

use unpause_check::history::HistoryRecord;

/// When a recorded call might have been, in another order of the same steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Timed {
    /// The number of the call in its history.
    pub(crate) call: usize,
    /// As in [`Operation`](unpause_check::Operation).
    pub(crate) invoked: u64,
    /// When it returned, if it did.
    pub(crate) returned: Option<u64>,
}

/// A history that is being recorded.
pub(crate) trait HistorySource: Send + Sync {
    /// The history as it stands, in text.
    fn record(&self) -> HistoryRecord;

    /// Whether it would be linearizable if it were of these calls alone, at these times. They are
    /// listed by time of invocation. A check that ends without knowing says no.
    fn holds_at(&self, times: &[Timed]) -> bool;
}
