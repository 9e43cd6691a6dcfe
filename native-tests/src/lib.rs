//! Programs with plain threads: see `tests/`. [`corpus`] has those with known bugs, [`sizes`] those whose runs are
//! timed.

#![forbid(unsafe_code)]

pub mod corpus;
pub mod sizes;

/// The primitives of these programs. `sim-bench`, which compiles the files too, has shuttle's and loom's here.
mod names {
    pub(crate) use std::{sync, thread};
}
