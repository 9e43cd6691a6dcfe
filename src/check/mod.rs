//! Checkers: does a history have a sequential explanation?
//!
//! A [`Model`] says what an object does when it is used by one client at a time; a checker takes a
//! history of concurrent [`Operation`](crate::history::Operation)s and gives a
//! [`Verdict`](crate::verdict::Verdict). Checkers are pure: they count configurations, not
//! seconds, and the same history always gets the same verdict with the same evidence.

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
