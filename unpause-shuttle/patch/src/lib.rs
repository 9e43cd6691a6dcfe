//! unpause-shuttle under the name of shuttle.

#![forbid(unsafe_code)]

pub use real::*;
