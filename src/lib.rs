//! Runs concurrent Rust under a scheduler of its own.

#![forbid(unsafe_code)]

pub mod choice;
pub mod event;
pub mod history;
pub mod ids;
pub mod op;
pub mod run;
pub mod trace;
pub mod verdict;
