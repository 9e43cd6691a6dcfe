//! Shared memory and locks: the primitives of concurrent code.
//!
//! Names and semantics are as in std and tokio, but every access is an await point. Each primitive
//! is one file, written once on top of the seam. `docs/std.md` has a table of their points.

mod atomic;
mod cell;
mod condvar;
pub mod counted;
mod fence;
mod lazy_lock;
mod mutex;
mod once;
mod once_lock;
mod race_cell;
mod spin_until;

pub use std::sync::atomic::Ordering;

pub use self::atomic::Atomic;
pub use self::cell::Cell;
pub use self::condvar::{Condvar, Wait};
pub use self::fence::fence;
pub use self::lazy_lock::LazyLock;
pub use self::mutex::{Lock, Mutex, MutexGuard};
pub use self::once::{Once, OnceState};
pub use self::once_lock::OnceLock;
pub use self::race_cell::RaceCell;
pub use self::spin_until::spin_until;
pub use crate::seam::value::{Bits, Number, Value};
