//! A recorded history, the input of the checkers: the operations of clients with their results.
//!
//! An [`Operation`] is one client-level call with the times of its invocation and its return. Times are positions in
//! one total order: only their order has a meaning, not their distance. [`HistoryRecord`] is a history in the form that
//! reports show, with texts of the operations instead of their values.

mod lines;

use crate::verdict::Verdict;

pub use self::lines::Written;
pub use self::lines::json_lines;

/// One call of a client, with operation, result and times.
///
/// ```
/// use unpause_check::Operation;
/// use unpause_check::models::{RegisterOp::*, RegisterRet::*};
/// // client 0: |- Write(1) -|
/// // client 1:                |- Read …
/// let write = Operation { client: 0, op: Write(1_u64), invoked: 0, returned: Some((Done::<u64>, 1)) };
/// let read = Operation { client: 1, op: Read, invoked: 2, returned: None };
/// assert!(write.precedes(&read) && !read.precedes(&write));
/// assert_eq!(read.end(), u64::MAX);
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Operation<O, R> {
    /// The client that made the call, numbered from 0. A client has at most one pending call.
    pub client: u32,
    /// The operation that was called.
    pub op: O,
    /// The time of the invocation. All times of a history are different.
    pub invoked: u64,
    /// The result and the time of the return, later than `invoked`. `None` if the call never returned. The operation
    /// may then have taken effect at any time after its invocation, or never.
    pub returned: Option<(R, u64)>,
}

impl<O, R> Operation<O, R> {
    /// Returns the time of the return, or `u64::MAX` if the call never returned.
    pub fn end(&self) -> u64 {
        self.returned.as_ref().map_or(u64::MAX, |(_, time)| *time)
    }

    /// Returns `true` if this operation returned before the invocation of `other` (the real-time order).
    pub fn precedes(&self, other: &Operation<O, R>) -> bool {
        self.end() < other.invoked
    }
}

/// A history in the form that reports show.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HistoryRecord {
    /// The name of the model for the check, such as `counter`.
    pub model: String,
    /// The names of the clients. The `client` of an operation is an index into this list.
    pub clients: Vec<String>,
    /// The operations, sorted by time of invocation. A result is `None` if the call has not returned.
    pub operations: Vec<Operation<String, String>>,
    /// The verdict of a checker, if the history was checked. The indices of the verdict refer to `operations`.
    pub verdict: Option<Verdict>,
    /// The history as JSON lines, which the package `unpause-histories` reads; `None` if the model does not define the
    /// JSON form ([`Model::written`](crate::Model::written)).
    pub lines: Option<String>,
    /// An additional remark about the verdict, such as a failed call that would explain the violation; `None` without a
    /// remark.
    pub remark: Option<String>,
}
