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

use super::held_guards::Held;
use super::later::Later;
use crate::run::op::kind::Kind;
use crate::run::op::of_tokio::{permits, readers};
use crate::run::op::{Access, Op};
use crate::seam::{Call, CallOps, Came, Here, Owner, Wrapped, here};

/// The operations of a lock.
#[derive(Debug)]
struct Ops {
    read: CallOps,
    /// The operations of a successful and of a failed call.
    try_read: [Op; 2],
    end_reading: Op,
    write: CallOps,
    /// The operations of a successful and of a failed call.
    try_write: [Op; 2],
    end_writing: Op,
    downgrade: Op,
}

const fn attempts(name: &'static str, done: Kind, failed: Kind) -> [Op; 2] {
    [Op::of_kind(name, Access::Tell, done), Op::of_kind(name, Access::Peek, failed)]
}

/// The names of a call and of its wait in the queue.
const READING: (&str, &str) = ("read", "queue_to_read");
const WRITING: (&str, &str) = ("write", "queue_to_write");

/// Operations of a lock with any number of readers.
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

/// Operations of a lock with a limited number of readers, where readers compete for permits.
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

/// The maximum number of readers of a tokio lock.
const READERS_MAX: u32 = u32::MAX >> 3;

/// tokio's [`RwLock`](::tokio::sync::RwLock): a value for one exclusive task or many readers, in the order of requests.
/// A reader that requests the lock while a writer waits gets it after that writer.
///
/// Reading or writing is a point; dropping the guard is not. Cancel safe: a dropped call loses its place in the queue.
///
/// Unlike in tokio's lock, the type of the value must be `Sized`.
///
/// ```
/// use sim::tokio::sync::RwLock;
/// # sim::block_on(async {
/// let lock = RwLock::new(1);
/// let (one, two) = (lock.read().await, lock.read().await);
/// assert_eq!(*one + *two, 2);
/// drop((one, two));
/// *lock.write().await += 1;
/// assert_eq!(lock.into_inner(), 2);
/// # });
/// ```
pub struct RwLock<T> {
    wrapped: Wrapped,
    ops: &'static Ops,
    real: Later<(T, u32), Real<T>>,
}

fn make<T>((value, readers): (T, u32)) -> Real<T> {
    Real::with_max_readers(value, readers)
}

impl<T> RwLock<T> {
    /// Creates a lock around `value`.
    #[track_caller]
    pub fn new(value: T) -> RwLock<T> {
        let real = Later::new((value, READERS_MAX), make);
        RwLock { wrapped: Wrapped::new("rwlock", here()), ops: &UNLIMITED, real }
    }

    /// Creates a lock around `value` with at most `max_reads` concurrent readers. Panics if `max_reads` is more than
    /// tokio allows.
    ///
    /// ```
    /// use sim::tokio::sync::RwLock;
    /// # sim::block_on(async {
    /// let lock = RwLock::with_max_readers(1, 2);
    /// let _readers = [lock.read().await, lock.read().await];
    /// assert!(lock.try_read().is_err());
    /// # });
    /// ```
    #[track_caller]
    pub fn with_max_readers(value: T, max_reads: u32) -> RwLock<T> {
        assert!(
            max_reads <= READERS_MAX,
            "a RwLock may not be created with more than {READERS_MAX} readers"
        );
        let real = Later::new((value, max_reads), make);
        RwLock { wrapped: Wrapped::new("rwlock", here()), ops: &LIMITED, real }
    }

    /// Like [`new`](Self::new), for a constant. Only one run can use such a lock.
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

    /// Waits until no task holds the lock for writing, and no earlier write request waits.
    ///
    /// ```
    /// use sim::tokio::sync::RwLock;
    /// # sim::block_on(async {
    /// let lock = RwLock::new(1);
    /// let reader = lock.read().await;
    /// let write = async { *lock.write().await = 2 };
    /// let read = async { *lock.read().await };
    /// // The second reader waits, because a writer waits before it.
    /// let ((), read, ()) = sim::join!(write, read, async { drop(reader) });
    /// assert_eq!(read, 2);
    /// # });
    /// ```
    #[track_caller]
    pub fn read(&self) -> impl Future<Output = RwLockReadGuard<'_, T>> + use<'_, T> {
        self.read_at(here())
    }

    async fn read_at(&self, here: Here) -> RwLockReadGuard<'_, T> {
        let read = self.real.get().read();
        let real = Call::new(&self.wrapped, &self.ops.read, here, read, |_| Came::Holds).await;
        RwLockReadGuard { real, held: self.hold(&self.ops.end_reading, here) }
    }

    /// Like [`read`](Self::read); the guard owns a reference to the lock.
    ///
    /// ```
    /// use sim::tokio::sync::RwLock;
    /// use std::sync::Arc;
    /// # sim::block_on(async {
    /// let lock = Arc::new(RwLock::new(7));
    /// let guard = lock.clone().read_owned().await;
    /// let task = sim::spawn(async move { *guard });
    /// assert_eq!(task.await.unwrap(), 7);
    /// # });
    /// ```
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

    /// Waits until no other task holds the lock.
    #[track_caller]
    pub fn write(&self) -> impl Future<Output = RwLockWriteGuard<'_, T>> + use<'_, T> {
        self.write_at(here())
    }

    async fn write_at(&self, here: Here) -> RwLockWriteGuard<'_, T> {
        let write = self.real.get().write();
        let real = Call::new(&self.wrapped, &self.ops.write, here, write, |_| Came::Holds).await;
        RwLockWriteGuard { real, held: self.hold(&self.ops.end_writing, here), ops: self.ops }
    }

    /// Like [`write`](Self::write); the guard owns a reference to the lock.
    ///
    /// ```
    /// use sim::tokio::sync::RwLock;
    /// use std::sync::Arc;
    /// # sim::block_on(async {
    /// let lock = Arc::new(RwLock::new(1));
    /// let mut guard = lock.clone().write_owned().await;
    /// sim::spawn(async move { *guard += 1 }).detach();
    /// // The task holds the lock until it ends.
    /// assert_eq!(*lock.read().await, 2);
    /// # });
    /// ```
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

    /// Acquires the lock for reading if that needs no wait. This call is not a point.
    ///
    /// # Errors
    /// If a wait is needed.
    ///
    /// ```
    /// use sim::tokio::sync::RwLock;
    ///
    /// let lock = RwLock::new(1);
    /// let reader = lock.try_read().unwrap();
    /// assert!(lock.try_read().is_ok());
    /// drop(reader);
    /// let _writer = lock.try_write().unwrap();
    /// assert!(lock.try_read().is_err());
    /// ```
    #[track_caller]
    pub fn try_read(&self) -> Result<RwLockReadGuard<'_, T>, TryLockError> {
        let here = here();
        let real = self.attempt(&self.ops.try_read, here, |real| real.try_read())?;
        Ok(RwLockReadGuard { real, held: self.hold(&self.ops.end_reading, here) })
    }

    /// Like [`try_read`](Self::try_read); the guard owns a reference to the lock.
    ///
    /// # Errors
    /// If a wait is needed.
    #[track_caller]
    pub fn try_read_owned(self: Arc<Self>) -> Result<OwnedRwLockReadGuard<T>, TryLockError> {
        let here = here();
        let real = self.attempt(&self.ops.try_read, here, |real| real.clone().try_read_owned())?;
        let release = &self.ops.end_reading;
        Ok(OwnedRwLockReadGuard { real, held: Held::new(self, release, here) })
    }

    /// Acquires the lock for writing if that needs no wait. This call is not a point.
    ///
    /// # Errors
    /// If a wait is needed.
    ///
    /// ```
    /// use sim::tokio::sync::RwLock;
    ///
    /// let lock = RwLock::new(1);
    /// let reader = lock.try_read().unwrap();
    /// assert!(lock.try_write().is_err());
    /// drop(reader);
    /// *lock.try_write().unwrap() += 1;
    /// assert_eq!(lock.into_inner(), 2);
    /// ```
    #[track_caller]
    pub fn try_write(&self) -> Result<RwLockWriteGuard<'_, T>, TryLockError> {
        let here = here();
        let real = self.attempt(&self.ops.try_write, here, |real| real.try_write())?;
        let held = self.hold(&self.ops.end_writing, here);
        Ok(RwLockWriteGuard { real, held, ops: self.ops })
    }

    /// Like [`try_write`](Self::try_write); the guard owns a reference to the lock.
    ///
    /// # Errors
    /// If a wait is needed.
    #[track_caller]
    pub fn try_write_owned(self: Arc<Self>) -> Result<OwnedRwLockWriteGuard<T>, TryLockError> {
        let here = here();
        let real =
            self.attempt(&self.ops.try_write, here, |real| real.clone().try_write_owned())?;
        let release = &self.ops.end_writing;
        Ok(OwnedRwLockWriteGuard { real, held: Held::new(self, release, here) })
    }

    /// Outside of runs, blocks the thread until it may read. In a run, this call fails the run: await
    /// [`read`](Self::read) instead.
    #[track_caller]
    pub fn blocking_read(&self) -> RwLockReadGuard<'_, T> {
        let here = here();
        self.wrapped.blocks("blocking_read", "read().await", here);
        let real = self.real.get().blocking_read();
        RwLockReadGuard { real, held: self.hold(&self.ops.end_reading, here) }
    }

    /// Outside of runs, blocks the thread until it may write. In a run, this call fails the run: await
    /// [`write`](Self::write) instead.
    #[track_caller]
    pub fn blocking_write(&self) -> RwLockWriteGuard<'_, T> {
        let here = here();
        self.wrapped.blocks("blocking_write", "write().await", here);
        let real = self.real.get().blocking_write();
        RwLockWriteGuard { real, held: self.hold(&self.ops.end_writing, here), ops: self.ops }
    }

    /// Returns the value. `&mut` proves that no other task uses it, so this is not a point.
    pub fn get_mut(&mut self) -> &mut T {
        self.real.get_mut().get_mut()
    }

    /// Returns the value.
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
