//! Checkers: does a history have a sequential explanation?
//!
//! A [`Model`] says what an object does when it is used by one client at a time; a checker takes a
//! history of concurrent [`Operation`](crate::history::Operation)s and gives a
//! [`Verdict`](crate::verdict::Verdict): consistent with a witness, violated with evidence, or unknown
//! because a budget ran out. Checkers are pure: they count configurations, not seconds, and the same
//! history always gets the same verdict with the same evidence.
//!
//! | to know whether | ask | cost |
//! |---|---|---|
//! | each operation takes effect between its call and its return | [`linearizable()`] | O(n log n) where no value is written twice, else a search that is exponential in what overlaps |
//! | the same, with many keys and threads to spare | [`linearizable_parallel`] | |
//! | the same, while it happens, and at which event it stops | [`online::Online`] | per event, what is still possible |
//! | the same, for a store with versions, over hours | [`chain`] | O(1) per event, flat memory |
//! | one order explains what each client saw by itself | [`sequential()`] | a search |
//! | the same between two moments at which nothing is under way | [`quiescent()`] | a search |
//! | transactions over several keys are isolated | [`transactions`] | about linear, for lists exact |
//! | a client sees its own writes, and none twice or backwards | [`session`] | O(n log n) |
//! | replicas agree once updates stop | [`eventual`] | O(n log n) |
//! | which orders there are at all, of a few operations | [`forest()`] | all of them |
//!
//! Models that come with the library are in [`models`]; which engine [`linearizable()`] chose stands in
//! its verdict.

mod forest;
mod hash;
mod limits;
mod lines;
mod model;
mod parallel;

pub mod chain;
pub mod eventual;
pub mod linearizable;
pub mod models;
pub mod online;
mod quiescent;
mod sequential;
pub mod session;
pub mod transactions;
pub mod unique;

pub use forest::{Branch, Forest, Growth, forest};
pub use limits::{Budget, Malformed, MalformedKind};
pub use linearizable::{linearizable, linearizable_counted, linearizable_parallel};
pub use model::{Key, Model};
pub use quiescent::quiescent;
pub use sequential::sequential;
