//! unpause-loom under the name of loom.

pub use real::*;
