//! Programs with plain threads for the tests in `tests/`. [`corpus`] has the programs with known bugs, and [`sizes`]
//! has the programs with timed runs.

#![forbid(unsafe_code)]

pub mod corpus;
pub mod sizes;

/// The primitives of these programs. `sim-bench` also compiles the files, with shuttle's and loom's primitives here.
mod names {
    pub(crate) use std::{sync, thread};
}
