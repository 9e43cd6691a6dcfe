//! The budget of a check, and the errors of histories that cannot be checked.

use std::error::Error;
use std::fmt;

use super::hash::Table;
use crate::verdict::Limit;

/// The budget of a search, in configurations and bytes instead of seconds.
///
/// A configuration is one position in the history with one model state and one set of operations already ordered. The
/// table of visited configurations needs about 100 bytes for each, besides the state itself. When any part of the
/// budget is used up, the verdict is [`Verdict::Unknown`](crate::verdict::Verdict::Unknown) and names that part.
///
/// ```
/// use unpause_check::Budget;
/// let small = Budget { memory: 64 << 20, ..Budget::nodes(1000) };
/// assert_eq!(small.nodes, 1000);
/// assert_eq!(Budget::default().nodes, 2_000_000);
/// assert_eq!(Budget::default().memory, 1 << 30);
/// ```
#[derive(Clone, Copy)]
pub struct Budget<'a> {
    /// The maximum number of configurations visited, for all parts of a history together.
    pub nodes: u64,
    /// The maximum number of bytes in the tables of a search. The history itself does not count, nor do the few words
    /// per operation that every checker needs. Parts searched at the same time share these bytes. The size of a state
    /// is estimated as three times the bytes that it feeds to its `Hash`.
    pub memory: usize,
    /// A callback, called every few thousand elementary steps; if it returns `true`, the search ends. A caller with a
    /// clock can limit the time in this way, but verdicts then depend on that clock.
    pub stop: Option<&'a dyn Fn() -> bool>,
}

impl Budget<'_> {
    /// Returns a budget of this many configurations and one gigabyte, without a callback.
    ///
    /// ```
    /// use unpause_check::Budget;
    /// let budget = Budget { memory: 64 << 20, ..Budget::nodes(1000) };
    /// assert!(budget.stop.is_none());
    /// ```
    pub const fn nodes(nodes: u64) -> Self {
        Budget { nodes, memory: 1 << 30, stop: None }
    }
}

impl Default for Budget<'_> {
    /// Returns a budget of two million configurations, which take a few seconds, and one gigabyte.
    fn default() -> Self {
        Budget::nodes(2_000_000)
    }
}

impl fmt::Debug for Budget<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stop = self.stop.map(|_| "a callback");
        let Budget { nodes, memory, .. } = self;
        f.debug_struct("Budget")
            .field("nodes", nodes)
            .field("memory", memory)
            .field("stop", &stop)
            .finish()
    }
}

/// The rest of a [`Budget`] during the check of a history.
///
/// Once a limit is reached, every request returns `false`, and loops may simply end. A missing result then proves
/// nothing: check [`is_over`](Meter::is_over) before you report a violation.
pub(super) struct Meter<'a> {
    budget: Budget<'a>,
    /// Configurations visited.
    pub(super) nodes: u64,
    work: u32,
    over: Option<Limit>,
}

impl<'a> Meter<'a> {
    // Rare enough to cost nothing, but frequent enough to stop within a millisecond if states are small.
    const WORK_BETWEEN_POLLS: u32 = 4096;

    pub(super) fn new(budget: &Budget<'a>) -> Self {
        Meter { budget: *budget, nodes: 0, work: 0, over: None }
    }

    /// Returns a meter without limits.
    pub(super) fn unlimited() -> Meter<'static> {
        Meter::new(&Budget { nodes: u64::MAX, memory: usize::MAX, stop: None })
    }

    /// Returns a meter for a secondary check, with a separate limit of `nodes`, and the same memory limit and `stop`
    /// callback.
    pub(super) fn beside(&self, nodes: u64) -> Meter<'a> {
        Meter::new(&Budget { nodes, ..self.budget })
    }

    /// Counts one configuration and the steps needed to reach it. Returns `false` if a limit is reached.
    #[must_use]
    pub(super) fn visit(&mut self, work: u32) -> bool {
        if self.nodes == self.budget.nodes {
            self.over.get_or_insert(Limit::Nodes);
        }
        if self.over.is_some() {
            return false;
        }
        self.nodes += 1;
        self.work(work)
    }

    /// Counts steps that led to no new configuration. Returns `false` if a limit is reached or `stop` returned `true`.
    #[must_use]
    pub(super) fn work(&mut self, work: u32) -> bool {
        self.work = self.work.saturating_add(work);
        if self.work >= Self::WORK_BETWEEN_POLLS {
            self.work = 0;
            if self.budget.stop.is_some_and(|stop| stop()) {
                self.over.get_or_insert(Limit::Stop);
            }
        }
        self.over.is_none()
    }

    /// Records the number of bytes held in total. Returns `false` if the limit is exceeded.
    #[must_use]
    pub(super) fn hold(&mut self, bytes: usize) -> bool {
        if bytes > self.budget.memory {
            self.over.get_or_insert(Limit::Memory);
        }
        self.over.is_none()
    }

    /// Returns `true` if a limit was reached.
    pub(super) fn is_over(&self) -> bool {
        self.over.is_some()
    }

    /// Returns the limit that was reached first.
    pub(super) fn limit(&self) -> Limit {
        self.over.unwrap_or_default()
    }
}

/// A vector of up to this many entries is reused for the next part of a history and not counted, so earlier parts do
/// not affect the budget.
pub(super) const ENTRIES_KEPT: usize = 1 << 12;

/// The corresponding limit for the rows of a table.
pub(super) const ROWS_KEPT: usize = 1 << 16;

/// Returns the bytes that a vector occupies, including the copy while it grows for its next entry; 0 if it is small.
pub(super) fn vec_bytes<T>(vec: &Vec<T>) -> usize {
    let now = vec.capacity() * size_of::<T>();
    match vec.capacity() {
        small if small < ENTRIES_KEPT => 0,
        full if full == vec.len() => 3 * now,
        _ => now,
    }
}

/// Returns the bytes that a hash table occupies, including the copy while it grows for its next entry; 0 if it is
/// small.
pub(super) fn table_bytes<K, V>(table: &Table<K, V>) -> usize {
    // One bucket in eight stays free, and each bucket has one control byte.
    let now = table.capacity() * 8 / 7 * (size_of::<(K, V)>() + 1);
    match table.capacity() {
        small if small < ROWS_KEPT => 0,
        full if full == table.len() => 3 * now,
        _ => now,
    }
}

/// The error of a history that contradicts itself, so that a verdict on it would have no meaning.
///
/// ```
/// use unpause_check::{linearizable, models::{Register, RegisterOp, RegisterRet}, Budget};
/// use unpause_check::history::Operation;
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
    /// The kind of error.
    pub kind: MalformedKind,
}

/// The kind of error in a malformed history.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum MalformedKind {
    /// The return of an operation is not later than its invocation.
    ReturnNotAfterInvocation {
        /// The time of the invocation.
        invoked: u64,
        /// The time of the return.
        returned: u64,
    },
    /// Two events have the same time, so their order is unknown.
    SameTime {
        /// The index of the other operation.
        other: usize,
        /// The time of both events.
        time: u64,
    },
    /// A client invoked an operation before its previous operation returned, but the condition depends on the order of
    /// a client's operations. If an operation never returns, record the later operations of its client under a new
    /// client number.
    ClientOverlaps {
        /// The client.
        client: u32,
        /// The index of the other operation, which was still open.
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
