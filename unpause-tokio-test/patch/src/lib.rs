//! `unpause-tokio-test` by the name of tokio-test, for `[patch.crates-io]`.

#![forbid(unsafe_code)]

extern crate tokio_test as names;

pub use names::*;
