//! The reader-writer lock.

mod guards;

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use ::tokio::sync::{RwLock as Real, TryLockError};

pub use self::guards::{
    OwnedRwLockMappedWriteGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard,
    RwLockMappedWriteGuard, RwLockReadGuard, RwLockWriteGuard,
};

use super::held::Held;
use super::later::Later;
use crate::run::op::kind::Kind;
use crate::run::op::of_tokio::{permits, readers};
use crate::run::op::{Access, Op};
use crate::seam::{Call, CallOps, Came, Here, Owner, Wrapped, here};

/// The operations of a lock.
#[derive(Debug)]
struct Ops {
    read: CallOps,
    /// Done, failed.
    try_read: [Op; 2],
    end_reading: Op,
    write: CallOps,
    /// Done, failed.
    try_write: [Op; 2],
    end_writing: Op,
    downgrade: Op,
}

const fn attempts(name: &'static str, done: Kind, failed: Kind) -> [Op; 2] {
    [Op::of_kind(name, Access::Tell, done), Op::of_kind(name, Access::Peek, failed)]
}

/// The names of a call and of its queueing.
const READING: (&str, &str) = ("read", "queue_to_read");
const WRITING: (&str, &str) = ("write", "queue_to_write");

/// For a lock that any number of tasks may share.
const UNLIMITED: Ops = {
    use readers::*;
    const QUEUE_LEFT: Op = CallOps::leave_the_queue(LEAVE);
    Ops {
        read: CallOps::acting(READING, [READ, READ, QUEUE_TO_READ, HEAR_TO_READ], QUEUE_LEFT),
        try_read: attempts("try_read", READ, FAIL_TO_READ),
        end_reading: Op::of_kind("end_reading", Access::Tell, END_READING),
        write: CallOps::acting(WRITING, [WRITE, WRITE, QUEUE_TO_WRITE, HEAR_TO_WRITE], QUEUE_LEFT),
        try_write: attempts("try_write", WRITE, FAIL_TO_WRITE),
        end_writing: Op::of_kind("end_writing", Access::Tell, END_WRITING),
        downgrade: Op::of_kind("downgrade", Access::Tell, DOWNGRADE),
    }
};

/// For a lock that so many tasks may share: readers take permits from each other.
const LIMITED: Ops = {
    use permits::*;
    const QUEUE_LEFT: Op = CallOps::leave_the_queue(LEAVE);
    Ops {
        read: CallOps::acting(READING, [TAKE, TAKE, QUEUE, HEAR], QUEUE_LEFT),
        try_read: attempts("try_read", TAKE, FAIL),
        end_reading: Op::of_kind("end_reading", Access::Tell, GIVE),
        write: CallOps::acting(WRITING, [TAKE, TAKE, QUEUE, HEAR], QUEUE_LEFT),
        try_write: attempts("try_write", TAKE, FAIL),
        end_writing: Op::of_kind("end_writing", Access::Tell, GIVE),
        downgrade: Op::of_kind("downgrade", Access::Tell, GIVE),
    }
};

/// The number of tasks that may share a lock of tokio's.
const READERS_MAX: u32 = u32::MAX >> 3;

/// tokio's [`RwLock`](::tokio::sync::RwLock): a value for one exclusive task or many readers, in
/// the order of their requests. A reader that asks while a writer waits comes after it.
///
/// To read or write is a point; a guard that is dropped gives the lock up without one. Cancel safe: a dropped call
/// loses its place in the queue.
///
/// Unlike tokio's, its value has a known size.
pub struct RwLock<T> {
    wrapped: Wrapped,
    ops: &'static Ops,
    real: Later<(T, u32), Real<T>>,
}

fn make<T>((value, readers): (T, u32)) -> Real<T> {
    Real::with_max_readers(value, readers)
}

impl<T> RwLock<T> {
    /// A lock around `value`.
    #[track_caller]
    pub fn new(value: T) -> RwLock<T> {
        let real = Later::new((value, READERS_MAX), make);
        RwLock { wrapped: Wrapped::new("rwlock", here()), ops: &UNLIMITED, real }
    }

    /// A lock around `value` that at most `max_reads` tasks may share. Panics if they are more than tokio allows.
    #[track_caller]
    pub fn with_max_readers(value: T, max_reads: u32) -> RwLock<T> {
        assert!(
            max_reads <= READERS_MAX,
            "a RwLock may not be created with more than {READERS_MAX} readers"
        );
        let real = Later::new((value, max_reads), make);
        RwLock { wrapped: Wrapped::new("rwlock", here()), ops: &LIMITED, real }
    }

    /// Like [`new`](Self::new), for a constant. In a run it can be used by one run only.
    #[track_caller]
    pub const fn const_new(value: T) -> RwLock<T> {
        let real = Later::new((value, READERS_MAX), make);
        RwLock { wrapped: Wrapped::of_static("rwlock", here()), ops: &UNLIMITED, real }
    }

    /// Like [`with_max_readers`](Self::with_max_readers), for a constant.
    #[track_caller]
    pub const fn const_with_max_readers(value: T, max_reads: u32) -> RwLock<T> {
        assert!(max_reads <= READERS_MAX);
        let real = Later::new((value, max_reads), make);
        RwLock { wrapped: Wrapped::of_static("rwlock", here()), ops: &LIMITED, real }
    }

    /// Waits until no task writes and none that asked before waits to.
    #[track_caller]
    pub fn read(&self) -> impl Future<Output = RwLockReadGuard<'_, T>> + use<'_, T> {
        self.read_at(here())
    }

    async fn read_at(&self, here: Here) -> RwLockReadGuard<'_, T> {
        let read = self.real.get().read();
        let real = Call::new(&self.wrapped, &self.ops.read, here, read, |_| Came::Holds).await;
        RwLockReadGuard { real, held: self.hold(&self.ops.end_reading, here) }
    }

    /// Like [`read`](Self::read); the guard keeps the lock.
    #[track_caller]
    pub fn read_owned(self: Arc<Self>) -> impl Future<Output = OwnedRwLockReadGuard<T>> + use<T> {
        self.read_owned_at(here())
    }

    async fn read_owned_at(self: Arc<Self>, here: Here) -> OwnedRwLockReadGuard<T> {
        let read = self.real.get().clone().read_owned();
        let real = Call::new(&self.wrapped, &self.ops.read, here, read, |_| Came::Holds).await;
        let release = &self.ops.end_reading;
        OwnedRwLockReadGuard { real, held: Held::new(self, release, here) }
    }

    /// Waits until no task uses the value.
    #[track_caller]
    pub fn write(&self) -> impl Future<Output = RwLockWriteGuard<'_, T>> + use<'_, T> {
        self.write_at(here())
    }

    async fn write_at(&self, here: Here) -> RwLockWriteGuard<'_, T> {
        let write = self.real.get().write();
        let real = Call::new(&self.wrapped, &self.ops.write, here, write, |_| Came::Holds).await;
        RwLockWriteGuard { real, held: self.hold(&self.ops.end_writing, here), ops: self.ops }
    }

    /// Like [`write`](Self::write); the guard keeps the lock.
    #[track_caller]
    pub fn write_owned(self: Arc<Self>) -> impl Future<Output = OwnedRwLockWriteGuard<T>> + use<T> {
        self.write_owned_at(here())
    }

    async fn write_owned_at(self: Arc<Self>, here: Here) -> OwnedRwLockWriteGuard<T> {
        let write = self.real.get().clone().write_owned();
        let real = Call::new(&self.wrapped, &self.ops.write, here, write, |_| Came::Holds).await;
        let release = &self.ops.end_writing;
        OwnedRwLockWriteGuard { real, held: Held::new(self, release, here) }
    }

    /// Takes the lock to read if that needs no wait. Not a point.
    ///
    /// # Errors
    /// If it needs one.
    #[track_caller]
    pub fn try_read(&self) -> Result<RwLockReadGuard<'_, T>, TryLockError> {
        let here = here();
        let real = self.attempt(&self.ops.try_read, here, |real| real.try_read())?;
        Ok(RwLockReadGuard { real, held: self.hold(&self.ops.end_reading, here) })
    }

    /// Like [`try_read`](Self::try_read); the guard keeps the lock.
    ///
    /// # Errors
    /// If it needs a wait.
    #[track_caller]
    pub fn try_read_owned(self: Arc<Self>) -> Result<OwnedRwLockReadGuard<T>, TryLockError> {
        let here = here();
        let real = self.attempt(&self.ops.try_read, here, |real| real.clone().try_read_owned())?;
        let release = &self.ops.end_reading;
        Ok(OwnedRwLockReadGuard { real, held: Held::new(self, release, here) })
    }

    /// Takes the lock alone if that needs no wait. Not a point.
    ///
    /// # Errors
    /// If it needs one.
    #[track_caller]
    pub fn try_write(&self) -> Result<RwLockWriteGuard<'_, T>, TryLockError> {
        let here = here();
        let real = self.attempt(&self.ops.try_write, here, |real| real.try_write())?;
        let held = self.hold(&self.ops.end_writing, here);
        Ok(RwLockWriteGuard { real, held, ops: self.ops })
    }

    /// Like [`try_write`](Self::try_write); the guard keeps the lock.
    ///
    /// # Errors
    /// If it needs a wait.
    #[track_caller]
    pub fn try_write_owned(self: Arc<Self>) -> Result<OwnedRwLockWriteGuard<T>, TryLockError> {
        let here = here();
        let real =
            self.attempt(&self.ops.try_write, here, |real| real.clone().try_write_owned())?;
        let release = &self.ops.end_writing;
        Ok(OwnedRwLockWriteGuard { real, held: Held::new(self, release, here) })
    }

    /// Blocks the thread until it may read, outside of runs. In a run it fails the run: await [`read`](Self::read).
    #[track_caller]
    pub fn blocking_read(&self) -> RwLockReadGuard<'_, T> {
        let here = here();
        self.wrapped.blocks("blocking_read", "read().await", here);
        let real = self.real.get().blocking_read();
        RwLockReadGuard { real, held: self.hold(&self.ops.end_reading, here) }
    }

    /// Blocks the thread until it may write, outside of runs. In a run it fails the run: await
    /// [`write`](Self::write).
    #[track_caller]
    pub fn blocking_write(&self) -> RwLockWriteGuard<'_, T> {
        let here = here();
        self.wrapped.blocks("blocking_write", "write().await", here);
        let real = self.real.get().blocking_write();
        RwLockWriteGuard { real, held: self.hold(&self.ops.end_writing, here), ops: self.ops }
    }

    /// The value. `&mut` shows that no task uses it, so this is not a point.
    pub fn get_mut(&mut self) -> &mut T {
        self.real.get_mut().get_mut()
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.real.into_inner().into_inner()
    }

    fn hold(&self, release: &'static Op, here: Here) -> Held<&Wrapped> {
        Held::new(&self.wrapped, release, here)
    }

    fn attempt<'a, G>(
        &'a self,
        [done, failed]: &'static [Op; 2],
        here: Here,
        attempt: impl FnOnce(&'a Arc<Real<T>>) -> Result<G, TryLockError>,
    ) -> Result<G, TryLockError> {
        self.wrapped.attempt_to_hold([done, failed], here, || attempt(self.real.get()))
    }
}

impl<T> Owner for RwLock<T> {
    fn wrapped(&self) -> &Wrapped {
        &self.wrapped
    }
}

impl<T: Default> Default for RwLock<T> {
    #[track_caller]
    fn default() -> RwLock<T> {
        RwLock::new(T::default())
    }
}

impl<T> From<T> for RwLock<T> {
    #[track_caller]
    fn from(value: T) -> RwLock<T> {
        RwLock::new(value)
    }
}

impl<T: fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.real.get().fmt(f)
    }
}
