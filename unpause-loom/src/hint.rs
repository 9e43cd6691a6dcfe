//! loom's `hint`: std's.

pub use std::hint::{spin_loop, unreachable_unchecked};
