//! Isolation of transactions: serializability and the levels around it, by cycles of dependencies.
//!
//! A transaction reads and writes several keys and commits or aborts as a whole. If every value is
//! written to a key only once, a read says whose write it saw; what must have come before what then
//! forms a graph, and a level of isolation is the absence of certain cycles in it (Adya 1999). That
//! this can be done from outside, in about linear time, is Elle's discovery (Kingsbury and Alvaro,
//! *Elle: Inferring Isolation Anomalies from Experimental Observations*, VLDB 2020).
//!
//! Two workloads are understood. In [`list_append`] a write appends to a list, so that each read
//! shows the whole past of its key: everything is known, and all verdicts from serializability on
//! are exact. In [`rw_register`] a write replaces the value, so that the order of writes is known only
//! in part. What the known part rules out is violated; otherwise an order is looked for.
//!
//! Unlike Elle, which says what it found no anomaly of, a verdict is `Consistent` only if that was
//! *proved*: for serializability and above by an order that was executed. Else it is `Unknown`.
//!
//! What it does not do: predicates, deletes, reads with an unknown result in a committed
//! transaction, values that repeat.

mod anomalies;
mod cycles;
mod graph;
mod ledger;
mod list_append;
mod lists;
mod order;
mod registers;
mod rw_register;
mod straight;

pub use anomalies::{Anomalies, Finding, Level};
pub(crate) use cycles::{Step, shortest_cycle};
pub(crate) use graph::{Draft, Graph, Kind, NONE};
pub use ledger::{Unusable, UnusableKind};
pub use list_append::{list_append, list_append_anomalies};
pub use rw_register::{rw_register, rw_register_anomalies};

use crate::history::Operation;

/// What a transaction does to one key, where keys hold lists.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ListCall<K, V> {
    /// Appends the value to the list.
    Append(K, V),
    /// Reads the whole list. A key that nobody appended to has the empty list.
    Read(K),
}

/// What a transaction does to one key, where keys hold one value or none.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum RegisterCall<K, V> {
    /// Replaces the value.
    Write(K, V),
    /// Reads the value. A key that nobody wrote to has none.
    Read(K),
}

/// How a transaction came back. One that did not come back at all may have committed.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Outcome<S> {
    /// It committed, and its reads saw these, in the order of the reads.
    Committed(Vec<S>),
    /// It surely did not take effect.
    Aborted,
}

/// A transaction on lists, its invocation and its return.
pub type ListTransaction<K, V> = Operation<Vec<ListCall<K, V>>, Outcome<Vec<V>>>;

/// A transaction on registers, its invocation and its return.
pub type RegisterTransaction<K, V> = Operation<Vec<RegisterCall<K, V>>, Outcome<Option<V>>>;
