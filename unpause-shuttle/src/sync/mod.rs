//! shuttle's `sync`: std's items, and types of its own where shuttle's types differ from std's.

mod barrier;
mod rwlock;

pub use std::sync::{
    Arc, Condvar, LockResult, Mutex, MutexGuard, Once, OnceState, PoisonError, TryLockError,
    TryLockResult, WaitTimeoutResult, Weak, mpsc,
};

pub use self::barrier::{Barrier, BarrierWaitResult};
pub use self::rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// shuttle's `atomic`: std's items.
pub mod atomic {
    pub use std::sync::atomic::*;
}
