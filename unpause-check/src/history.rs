//! A recorded history, the input of the checkers: the operations of clients with their results.
//!
//! An [`Operation`] is one client-level call with the times of its invocation and its return. Times are
//! positions in one total order; only before and after have a meaning. [`HistoryRecord`] is a history as a
//! report shows it, with the texts of operations in place of their values.

mod lines;

use crate::verdict::Verdict;

pub use self::lines::Written;
pub use self::lines::json_lines;

/// One call of a client: operation, result and times.
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
    /// The client that called, from 0. A client has one call open at a time.
    pub client: u32,
    /// The operation that was called.
    pub op: O,
    /// The time of the invocation. All times of a history are different.
    pub invoked: u64,
    /// The result and the time of the return, later than `invoked`. `None` if the call never
    /// returned: the operation may or may not have taken effect, at any time after its invocation.
    pub returned: Option<(R, u64)>,
}

impl<O, R> Operation<O, R> {
    /// The time of the return, or `u64::MAX` if there was none.
    pub fn end(&self) -> u64 {
        self.returned.as_ref().map_or(u64::MAX, |(_, time)| *time)
    }

    /// Returns `true` if this operation returned before `other` was invoked: the real-time order.
    pub fn precedes(&self, other: &Operation<O, R>) -> bool {
        self.end() < other.invoked
    }
}

/// A history as a report shows it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HistoryRecord {
    /// The name of the model it is checked against, such as `counter`.
    pub model: String,
    /// The names of the clients; an operation's `client` is an index into it.
    pub clients: Vec<String>,
    /// The operations by time of invocation; the result is `None` while there is none.
    pub operations: Vec<Operation<String, String>>,
    /// The verdict of a checker, if the history was checked. Its indices are indices of
    /// `operations`.
    pub verdict: Option<Verdict>,
    /// The history as JSON lines, which the package `unpause-histories` reads; `None` if the model
    /// does not define them ([`Model::written`](crate::Model::written)).
    pub lines: Option<String>,
    /// A sentence about the verdict that the operations do not show, such as the failed call that
    /// would explain it; `None` if there is nothing to say.
    pub remark: Option<String>,
}
