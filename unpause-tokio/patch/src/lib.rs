//! `unpause-tokio` by the name of tokio, for `[patch.crates-io]`.

#![forbid(unsafe_code)]

extern crate tokio as names;

pub use names::*;
