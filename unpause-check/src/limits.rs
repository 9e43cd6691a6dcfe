//! How much a check may cost, and what it refuses to check.

use std::error::Error;
use std::fmt;

use super::hash::Table;
use crate::verdict::Limit;

/// How long a search may go on: in configurations and bytes, not in seconds.
///
/// A configuration is one position in the history with one state of the model and one set of
/// operations already ordered; the table of those seen costs some 100 bytes each, besides the state
/// itself. When any of the budget is used up, the verdict is
/// [`Verdict::Unknown`](crate::verdict::Verdict::Unknown), which says what it was.
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
    /// How many configurations may be visited, over all parts of a history together.
    pub nodes: u64,
    /// How many bytes the tables of a search may take, besides the history and the few words for each of its
    /// operations that every checker needs. Parts that are searched at the same time share them. What
    /// a state of a model takes is estimated from what its `Hash` feeds: three times that.
    pub memory: usize,
    /// Asked every few thousand elementary steps; `true` ends the search. This is how a caller who
    /// owns a clock limits time. Verdicts then depend on that clock.
    pub stop: Option<&'a dyn Fn() -> bool>,
}

impl Budget<'_> {
    /// At most this many configurations, a gigabyte, and no callback.
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

/// What is left of a [`Budget`] while a history is checked.
///
/// Once something is used up, every question is answered with no. So a loop may just end where it is, as
/// long as nobody concludes from what it did not find: whoever convicts a history asks
/// [`is_over`](Meter::is_over) before.
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

    /// A meter for something beside this check: with other nodes, and the same memory and clock.
    pub(super) fn beside(&self, nodes: u64) -> Meter<'a> {
        Meter::new(&Budget { nodes, ..self.budget })
    }

    /// Counts one configuration and the steps it took to reach it. False if that is one too many.
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

    /// Counts steps that led to no new configuration. False if the caller wants to stop.
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

    /// Takes note of how many bytes are held now, all told. False if that is too much.
    #[must_use]
    pub(super) fn hold(&mut self, bytes: usize) -> bool {
        if bytes > self.budget.memory {
            self.over.get_or_insert(Limit::Memory);
        }
        self.over.is_none()
    }

    /// Whether something was used up.
    pub(super) fn is_over(&self) -> bool {
        self.over.is_some()
    }

    /// What was used up first.
    pub(super) fn limit(&self) -> Limit {
        self.over.unwrap_or_default()
    }
}

/// A vector of so many entries is kept from one part of a history to the next, and not counted, so that what
/// was searched before makes no difference.
pub(super) const ENTRIES_KEPT: usize = 1 << 12;

/// The same for a table.
pub(super) const ROWS_KEPT: usize = 1 << 16;

/// The bytes that a vector takes, or will while it grows for its next entry; none if it is small.
pub(super) fn vec_bytes<T>(vec: &Vec<T>) -> usize {
    let now = vec.capacity() * size_of::<T>();
    match vec.capacity() {
        small if small < ENTRIES_KEPT => 0,
        full if full == vec.len() => 3 * now,
        _ => now,
    }
}

/// The bytes that a hash table takes, or will while it grows for its next entry; none if it is small.
pub(super) fn table_bytes<K, V>(table: &Table<K, V>) -> usize {
    // One in eight buckets stays free, and each has a byte of its own.
    let now = table.capacity() * 8 / 7 * (size_of::<(K, V)>() + 1);
    match table.capacity() {
        small if small < ROWS_KEPT => 0,
        full if full == table.len() => 3 * now,
        _ => now,
    }
}

/// A history that contradicts itself, so that no verdict on it would mean anything.
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
