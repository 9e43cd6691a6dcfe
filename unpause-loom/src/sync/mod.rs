//! loom's `sync`: mostly std's items.

mod arc;
pub mod atomic;
mod notify;

pub use std::sync::{
    Barrier, BarrierWaitResult, Condvar, LockResult, Mutex, MutexGuard, PoisonError, RwLock,
    RwLockReadGuard, RwLockWriteGuard, TryLockError, TryLockResult, WaitTimeoutResult,
};

pub use self::arc::Arc;
pub use self::notify::Notify;

/// loom's `mpsc`: std's items.
pub mod mpsc {
    pub use std::sync::mpsc::{
        Receiver, RecvError, RecvTimeoutError, SendError, Sender, TryRecvError, channel,
    };
}
