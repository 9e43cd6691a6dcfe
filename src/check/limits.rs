//! How much a check may cost, and what it refuses to check.

use std::error::Error;
use std::fmt;

/// How long a search may go on: in configurations, not in seconds.
///
/// A configuration is one position in the history with one state of the model and one set of
/// operations already ordered; the table of those seen costs some 100 bytes each, besides the state
/// itself. When the budget is used up, the verdict is
/// [`Verdict::Unknown`](crate::verdict::Verdict::Unknown).
///
/// ```
/// use sim::check::Budget;
/// let small = Budget::nodes(1000);
/// assert_eq!(small.nodes, 1000);
/// assert_eq!(Budget::default().nodes, 2_000_000);
/// ```
#[derive(Clone, Copy)]
pub struct Budget<'a> {
    /// How many configurations may be visited, over all parts of a history together.
    pub nodes: u64,
    /// Asked every few thousand elementary steps; `true` ends the search. This is how a caller who
    /// owns a clock limits time. Verdicts then depend on that clock.
    pub stop: Option<&'a dyn Fn() -> bool>,
}

impl Budget<'_> {
    /// At most this many configurations, and no callback.
    pub const fn nodes(nodes: u64) -> Self {
        Budget { nodes, stop: None }
    }
}

impl Default for Budget<'_> {
    /// Two million configurations: a few seconds, and a quarter of a gigabyte besides the states.
    fn default() -> Self {
        Budget::nodes(2_000_000)
    }
}

impl fmt::Debug for Budget<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stop = self.stop.map(|_| "a callback");
        f.debug_struct("Budget").field("nodes", &self.nodes).field("stop", &stop).finish()
    }
}

/// What is left of a [`Budget`] while a history is checked.
pub(super) struct Meter<'a> {
    budget: Budget<'a>,
    /// Configurations visited.
    pub(super) nodes: u64,
    work: u32,
}

impl<'a> Meter<'a> {
    // Rare enough to cost nothing, often enough to answer within a millisecond on small states.
    const WORK_BETWEEN_POLLS: u32 = 4096;

    pub(super) fn new(budget: &Budget<'a>) -> Self {
        Meter { budget: *budget, nodes: 0, work: 0 }
    }

    /// Counts one configuration and the steps it took to reach it. False if that is one too many.
    #[must_use]
    pub(super) fn visit(&mut self, work: u32) -> bool {
        if self.nodes == self.budget.nodes {
            return false;
        }
        self.nodes += 1;
        self.work(work)
    }

    /// Counts steps that led to no new configuration. False if the caller wants to stop.
    #[must_use]
    pub(super) fn work(&mut self, work: u32) -> bool {
        self.work = self.work.saturating_add(work);
        if self.work < Self::WORK_BETWEEN_POLLS {
            return true;
        }
        self.work = 0;
        !self.budget.stop.is_some_and(|stop| stop())
    }
}

/// A history that contradicts itself, so that no verdict on it would mean anything.
///
/// ```
/// use sim::check::{linearizable, models::{Register, RegisterOp, RegisterRet}, Budget};
/// use sim::history::Operation;
/// let read = Operation {
///     client: 0,
///     op: RegisterOp::Read,
///     invoked: 5,
///     returned: Some((RegisterRet::Value(0), 4)),
/// };
/// let error = linearizable(&Register::new(0u64), &[read], &Budget::default()).unwrap_err();
/// assert_eq!(error.operation, 0);
/// assert_eq!(error.to_string(), "operation 0 returned at 4, not after its invocation at 5");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Malformed {
    /// The index of the operation at fault.
    pub operation: usize,
    /// What is wrong with it.
    pub kind: MalformedKind,
}

/// What is wrong with a history.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum MalformedKind {
    /// An operation returned no later than it was invoked.
    ReturnNotAfterInvocation {
        /// When it was invoked.
        invoked: u64,
        /// When it returned.
        returned: u64,
    },
    /// Two events have the same time, so that their order is not known.
    SameTime {
        /// The index of the other operation.
        other: usize,
        /// The time they share.
        time: u64,
    },
    /// A client invoked an operation before its last one returned, where the order of a client's
    /// operations matters. A client whose operation never returned has to go on as another.
    ClientOverlaps {
        /// The client.
        client: u32,
        /// The index of the operation that was still open.
        other: usize,
    },
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operation = self.operation;
        match self.kind {
            MalformedKind::ReturnNotAfterInvocation { invoked, returned } => write!(
                f,
                "operation {operation} returned at {returned}, not after its invocation at {invoked}"
            ),
            MalformedKind::SameTime { other, time } => {
                write!(f, "operations {other} and {operation} both have an event at time {time}")
            }
            MalformedKind::ClientOverlaps { client, other } => write!(
                f,
                "client {client} invoked operation {operation} before its operation {other} \
                 returned: give it another client's number"
            ),
        }
    }
}

impl Error for Malformed {}
