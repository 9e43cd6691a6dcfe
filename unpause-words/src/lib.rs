//! Words that users type: durations, and the name that a mistyped name means.
//!
//! The attribute macro, the library and the command line read the same words. A macro crate can only export macros, so
//! what the three share is a crate below all of them. It has no dependencies, because each build of a test waits for
//! it. It reads no file and no environment.
//!
//! This crate is a part of [unpause](https://docs.rs/unpause). Its items may change in any version.

#![forbid(unsafe_code)]

pub mod duration;

mod closest;

pub use closest::closest;
