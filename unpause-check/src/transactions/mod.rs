//! Isolation of transactions: serializability and the levels around it, decided by dependency cycles.
//!
//! A transaction reads and writes several keys and commits or aborts as a whole. If every value is written to a key
//! only once, the value of a read identifies its write. The dependencies between transactions then form a graph, and an
//! isolation level is the absence of certain cycles in this graph (Adya 1999). Elle showed that a client-side checker
//! can decide this in about linear time (Kingsbury and Alvaro, *Elle: Inferring Isolation Anomalies from Experimental
//! Observations*, VLDB 2020).
//!
//! The module supports two workloads. In [`list_append()`] a write appends to a list, so each read shows the whole past
//! of its key. The version order is then known, and all verdicts from serializability on are exact. In
//! [`rw_register()`] a write replaces the value, so the order of writes is known only in part. A history is violated if
//! the known part rules it out; otherwise the checker searches for an order.
//!
//! Elle reports the anomalies that it found. In contrast, this checker returns `Consistent` only if consistency is
//! *proved*: for serializability and above, by an order that was executed. If consistency is not proved, the verdict is
//! `Unknown`.
//!
//! Not supported: predicates, deletes, reads with an unknown result in a committed transaction, and repeated values.

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

pub use anomalies::{Anomalies, IsolationAnomaly, Level};
pub(crate) use cycles::{CycleEdge, shortest_cycle};
pub(crate) use graph::{EdgeKind, Graph, GraphDraft, NONE};
pub use ledger::{Unusable, UnusableKind};
pub use list_append::{list_append, list_append_anomalies};
pub use rw_register::{rw_register, rw_register_anomalies};

use crate::history::Operation;

/// A call of a transaction on one key, for keys that hold lists.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ListCall<K, V> {
    /// Appends the value to the list.
    Append(K, V),
    /// Reads the whole list. A key without appends has the empty list.
    Read(K),
}

/// A call of a transaction on one key, for keys that hold one value or no value.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum RegisterCall<K, V> {
    /// Replaces the value.
    Write(K, V),
    /// Reads the value. A key without writes has no value.
    Read(K),
}

/// The result of a transaction. A transaction without a result may have committed.
///
/// ```
/// use unpause_check::transactions::{RegisterCall::*, RegisterTransaction, TransactionOutcome::*};
/// // A transaction that read 1 from "x", nothing from "y", and wrote 2 to "y".
/// let transaction: RegisterTransaction<&str, u64> = RegisterTransaction {
///     client: 0,
///     op: vec![Read("x"), Read("y"), Write("y", 2)],
///     invoked: 0,
///     returned: Some((Committed(vec![Some(1), None]), 1)),
/// };
/// # assert_eq!(transaction.end(), 1);
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum TransactionOutcome<S> {
    /// The transaction committed, and its reads returned these values, in the order of the reads.
    Committed(Vec<S>),
    /// The transaction is known to have had no effect.
    Aborted,
}

/// A transaction on lists, with its invocation and its return.
pub type ListTransaction<K, V> = Operation<Vec<ListCall<K, V>>, TransactionOutcome<Vec<V>>>;

/// A transaction on registers, with its invocation and its return.
pub type RegisterTransaction<K, V> =
    Operation<Vec<RegisterCall<K, V>>, TransactionOutcome<Option<V>>>;
