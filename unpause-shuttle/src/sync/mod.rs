//! shuttle's `sync`: std's items.

pub use std::sync::{
    Arc, Barrier, BarrierWaitResult, Condvar, LockResult, Mutex, MutexGuard, Once, OnceState,
    PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError, TryLockResult,
    WaitTimeoutResult, Weak, mpsc,
};

/// shuttle's `atomic`: std's items.
pub mod atomic {
    pub use std::sync::atomic::*;
}
