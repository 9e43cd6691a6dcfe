//! An application that is written for tokio and does not use this library. Each part has a correct version and a
//! version with a bug, for tests that must find the bug.

#![allow(dead_code, unreachable_pub)] // Each test program uses some of it, as if it were a crate.

pub mod account;
pub mod chat;
pub mod count;
pub mod pool;
