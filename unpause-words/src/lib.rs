//! Words typed by users: durations, and the known name closest to a mistyped name.
//!
//! The attribute macro, the library and the command line parse the same words. A macro crate can only export macros, so
//! the shared code is in this crate below all three. The crate has no dependencies, because each build of a test waits
//! for it. The crate reads no files and no environment variables.
//!
//! This crate is a part of [unpause](https://docs.rs/unpause), and its items may change in any version.

#![forbid(unsafe_code)]

pub mod duration;

mod closest;

pub use closest::closest;
