//! What clients asked and what they were told: the input of the checkers.
//!
//! An [`Operation`] is one client-level call with the times of its invocation and its return. Times
//! are positions in one total order and say nothing but before and after. [`HistoryRecord`] is the
//! same with the texts of operations in place of their values: what a report shows.

mod lines;

use crate::verdict::Verdict;

pub use self::lines::Written;
pub use self::lines::json_lines;

/// One call of a client: what it asked, what it was told, and when.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Operation<O, R> {
    /// The client that called, from 0. A client has one call open at a time.
    pub client: u32,
    /// What was asked.
    pub op: O,
    /// When it was invoked. All times of a history are different.
    pub invoked: u64,
    /// What came back and when, later than `invoked`. None if nothing did: the operation may or
    /// may not have taken effect, at any time after its invocation.
    pub returned: Option<(R, u64)>,
}

impl<O, R> Operation<O, R> {
    /// The time of the return, or later than everything if there was none.
    pub fn end(&self) -> u64 {
        self.returned.as_ref().map_or(u64::MAX, |(_, time)| *time)
    }

    /// Whether this operation returned before `other` was invoked: the real-time order.
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
    /// What a checker said of it, if one was asked. Its indices are those of `operations`.
    pub verdict: Option<Verdict>,
    /// The history as JSON lines, which the package `unpause-histories` reads; none if the model does not say
    /// how ([`Model::written`](crate::Model::written)).
    pub lines: Option<String>,
}
