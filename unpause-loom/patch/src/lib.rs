//! unpause-loom under the name of loom.

#![forbid(unsafe_code)]

pub use real::*;
