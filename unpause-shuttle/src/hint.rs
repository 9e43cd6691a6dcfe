//! shuttle's `hint`: std's.

pub use std::hint::*;
