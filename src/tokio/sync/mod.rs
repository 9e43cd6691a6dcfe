//! tokio's `sync`: semaphores, locks, notifications and channels.

mod barrier;
pub mod broadcast;
mod ends;
mod held_guards;
mod later;
pub mod mpsc;
mod mutex;
mod notify;
mod numbers;
mod once_cell;
pub mod oneshot;
mod rwlock;
mod semaphore;
mod set_once;
pub mod watch;

pub use ::tokio::sync::{
    AcquireError, BarrierWaitResult, SetError, SetOnceError, TryAcquireError, TryLockError,
};

pub use self::barrier::Barrier;
pub use self::mutex::{
    MappedMutexGuard, Mutex, MutexGuard, OwnedMappedMutexGuard, OwnedMutexGuard,
};
pub use self::notify::Notify;
pub use self::once_cell::OnceCell;
pub use self::rwlock::{
    OwnedRwLockMappedWriteGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock,
    RwLockMappedWriteGuard, RwLockReadGuard, RwLockWriteGuard,
};
pub use self::semaphore::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
pub use self::set_once::SetOnce;

/// The futures of [`Notify`].
pub mod futures {
    pub use super::notify::{Notified, OwnedNotified};
}
