//! shuttle's `hint`, which is std's.

pub use std::hint::*;
