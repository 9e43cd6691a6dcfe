//! loom's `hint`, which is std's.

pub use std::hint::{spin_loop, unreachable_unchecked};
