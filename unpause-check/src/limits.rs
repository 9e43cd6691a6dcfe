//! The budget of a check, and the errors of histories that cannot be checked.

use std::error::Error;
use std::fmt;

use super::hash::Table;
use crate::verdict::Limit;

/// The budget of a search: configurations and bytes, not seconds.
///
/// A configuration is one position in the history with one state of the model and one set of operations already
/// ordered; the table of visited ones costs some 100 bytes each, besides the state itself. When any part of the
/// budget is used up, the verdict is [`Verdict::Unknown`](crate::verdict::Verdict::Unknown) and names that
/// part.
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
    /// The number of configurations that may be visited, over all parts of a history together.
    pub nodes: u64,
    /// The number of bytes for the tables of a search, not counting the history and the few words for each of
    /// its operations that every checker needs. Parts that are searched at the same time share them. The size
    /// of a state is estimated as three times the bytes that it feeds to its `Hash`.
    pub memory: usize,
    /// Called every few thousand elementary steps; `true` ends the search. A caller with a clock limits time
    /// this way. Verdicts then depend on that clock.
    pub stop: Option<&'a dyn Fn() -> bool>,
}

impl Budget<'_> {
    /// At most this many configurations, a gigabyte, and no callback.
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
    /// Two million configurations, which take a few seconds, and a gigabyte.
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

/// The rest of a [`Budget`] while a history is checked.
///
/// Once a limit is reached, every request returns `false`. A loop may then just end, if nothing is concluded
/// from an absent result: check [`is_over`](Meter::is_over) before you report a violation.
pub(super) struct Meter<'a> {
    budget: Budget<'a>,
    /// Configurations visited.
    pub(super) nodes: u64,
    work: u32,
    over: Option<Limit>,
}

impl<'a> Meter<'a> {
    // Rare enough to cost nothing, often enough to answer within a millisecond on small states.
    const WORK_BETWEEN_POLLS: u32 = 4096;

    pub(super) fn new(budget: &Budget<'a>) -> Self {
        Meter { budget: *budget, nodes: 0, work: 0, over: None }
    }

    /// A meter that is never over.
    pub(super) fn unlimited() -> Meter<'static> {
        Meter::new(&Budget { nodes: u64::MAX, memory: usize::MAX, stop: None })
    }

    /// A meter for a secondary check: with its own nodes, and the same memory and clock.
    pub(super) fn beside(&self, nodes: u64) -> Meter<'a> {
        Meter::new(&Budget { nodes, ..self.budget })
    }

    /// Counts one configuration and the steps it took to reach it. Returns `false` if a limit is reached.
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

    /// Counts steps that led to no new configuration. Returns `false` if the caller wants to stop.
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

    /// The limit that was reached first.
    pub(super) fn limit(&self) -> Limit {
        self.over.unwrap_or_default()
    }
}

/// A vector of up to this many entries is kept from one part of a history to the next and not counted, so that
/// earlier parts make no difference.
pub(super) const ENTRIES_KEPT: usize = 1 << 12;

/// The same for a table.
pub(super) const ROWS_KEPT: usize = 1 << 16;

/// The bytes that a vector takes, or will take while it grows for its next entry; 0 if it is small.
pub(super) fn vec_bytes<T>(vec: &Vec<T>) -> usize {
    let now = vec.capacity() * size_of::<T>();
    match vec.capacity() {
        small if small < ENTRIES_KEPT => 0,
        full if full == vec.len() => 3 * now,
        _ => now,
    }
}

/// The bytes that a hash table takes, or will take while it grows for its next entry; 0 if it is small.
pub(super) fn table_bytes<K, V>(table: &Table<K, V>) -> usize {
    // One in eight buckets stays free, and each has a byte of its own.
    let now = table.capacity() * 8 / 7 * (size_of::<(K, V)>() + 1);
    match table.capacity() {
        small if small < ROWS_KEPT => 0,
        full if full == table.len() => 3 * now,
        _ => now,
    }
}

/// A history that contradicts itself, so that a verdict on it would have no meaning.
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
    /// An operation returned no later than it was invoked.
    ReturnNotAfterInvocation {
        /// The time of the invocation.
        invoked: u64,
        /// The time of the return.
        returned: u64,
    },
    /// Two events have the same time, so that their order is not known.
    SameTime {
        /// The index of the other operation.
        other: usize,
        /// The time they share.
        time: u64,
    },
    /// A client invoked an operation before its last one returned, and the condition depends on the order of a
    /// client's operations. Record a client whose operation never returned as a new client from then on.
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
