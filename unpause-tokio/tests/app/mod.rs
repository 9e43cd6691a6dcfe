//! An application that is written for tokio and knows nothing of this library. Each part has a version with a bug,
//! beside the correct version, for tests that find the bug.

#![allow(dead_code, unreachable_pub)] // Each test program uses some of it, as if it were a crate.

pub mod account;
pub mod chat;
pub mod count;
pub mod pool;
