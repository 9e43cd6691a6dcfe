//! Checkers of recorded histories: is there a sequential order that explains the results of a concurrent object's
//! clients?
//!
//! A [`Model`] specifies the behavior of an object with one client at a time. A checker takes a history of concurrent
//! [`Operation`]s and returns a [`Verdict`]: consistent with a witness, violated with evidence, or unknown because a
//! budget ran out. Checkers are pure functions. The checkers count configurations, not seconds, so the same history
//! always gets the same verdict with the same evidence.
//!
//! ```
//! use unpause_check::models::{Register, RegisterOp::{Read, Write}, RegisterRet::{self, Done, Value}};
//! use unpause_check::{Budget, Operation, Verdict, linearizable};
//!
//! let call = |client, op, invoked, returned| Operation { client, op, invoked, returned };
//! // Client 1 reads the initial value after the write of 7 has returned.
//! let history: [Operation<_, RegisterRet<_>>; 2] = [
//!     call(0, Write(7), 1, Some((Done, 2))),
//!     call(1, Read, 3, Some((Value(0), 4))),
//! ];
//! let Verdict::Violated(evidence) = linearizable(&Register::new(0), &history, &Budget::default())? else {
//!     panic!("the read is stale");
//! };
//! assert_eq!(evidence.misfit, 1);
//! # Ok::<(), unpause_check::Malformed>(())
//! ```
//!
//! | question | function or module | cost |
//! |---|---|---|
//! | does each operation take effect between its call and its return? | [`linearizable()`] | O(n log n), or a search |
//! | the same, for many keys on several threads | [`linearizable_parallel`] | |
//! | the same, if only some calls precede others | [`linearizable_within`] | a search |
//! | the same online, with the event of the violation | [`online::Online`] | per event: the states still possible |
//! | the same online for a store with versions, for hours | [`chain`] | O(1) per event, constant memory |
//! | does one order explain each client's own sequence of results? | [`sequential()`] | a search |
//! | does one order explain all results, if calls may move between moments of rest? | [`quiescent()`] | a search |
//! | are transactions over several keys isolated? | [`transactions`] | about linear, exact for lists |
//! | does a client read its own writes, and never an older version than before? | [`session`] | O(n log n) |
//! | do replicas agree once updates stop? | [`eventual`] | O(n log n) |
//! | which orders of a few operations are possible? | [`forest()`] | proportional to their number |
//!
//! The check of linearizability takes O(n log n) if no value is written twice. If a value is written twice, the check
//! is a search, exponential in the overlap. The module [`models`] contains the models of this crate. A verdict names
//! the engine that [`linearizable()`] chose. [`picture::history_text`] draws a history. The package `unpause-histories`
//! reads recorded files (JSON lines, Jepsen's EDN and others), and `cargo unpause check` checks them from the command
//! line. The package `unpause` records histories of tests and re-exports this crate as `sim::check`.

#![forbid(unsafe_code)]

mod failed;
mod forest;
mod hash;
mod limits;
mod lines;
mod model;
mod parallel;
mod quiescent;
mod sequential;
mod within;

pub mod chain;
pub mod datum;
pub mod eventual;
pub mod history;
#[doc(hidden)]
pub mod json;
pub mod linearizable;
pub mod models;
pub mod online;
pub mod picture;
pub mod session;
pub mod transactions;
pub mod unique;
pub mod verdict;

pub use failed::explained_by_failed;
pub use forest::{Branch, BranchOutcome, Forest, forest};
pub use history::{HistoryRecord, Operation};
pub use limits::{Budget, Malformed, MalformedKind};
pub use linearizable::{linearizable, linearizable_counted, linearizable_parallel};
pub use model::{Key, Model};
pub use quiescent::quiescent;
pub use sequential::sequential;
pub use verdict::Verdict;
pub use within::linearizable_within;

// The code block of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

/// Returns `true` if tests use their large samples, that is, if the environment variable `UNPAUSE_LONG` is set to a
/// value other than 0.
#[cfg(test)]
fn long() -> bool {
    std::env::var_os("UNPAUSE_LONG").is_some_and(|value| value != "0")
}
