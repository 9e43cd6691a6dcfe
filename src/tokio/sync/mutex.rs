//! The mutex.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use ::tokio::sync::{
    MappedMutexGuard as RealMapped, Mutex as Real, MutexGuard as RealGuard,
    OwnedMappedMutexGuard as RealOwnedMapped, OwnedMutexGuard as RealOwned, TryLockError,
};

use super::held_guards::{Held, guards, writers};
use super::later::Later;
use crate::run::op::of_tokio::permits;
use crate::run::op::{Access, Op};
use crate::seam::{Call, CallOps, Came, Here, Owner, Wrapped, here};

const LOCK: CallOps = CallOps::acting(
    ("lock", "queue_to_lock"),
    [permits::TAKE, permits::FIND_CLOSED, permits::QUEUE, permits::HEAR],
    CallOps::leave_the_queue(permits::LEAVE),
);
const TRY: [&Op; 2] = [
    &Op::of_kind("try_lock", Access::Tell, permits::TAKE),
    &Op::of_kind("try_lock", Access::Peek, permits::FAIL),
];
const UNLOCK: Op = Op::of_kind("unlock", Access::Tell, permits::GIVE);

/// tokio's [`Mutex`](::tokio::sync::Mutex): a value that one task at a time may use, in the order of requests.
///
/// Locking is a point; dropping the guard is not. Cancel safe: a dropped call loses its place in the queue.
/// [`sim::Mutex`](crate::Mutex) has no queue.
///
/// Unlike in tokio's mutex, the type of the value must be `Sized`.
///
/// ```
/// use sim::tokio::sync::Mutex;
/// use std::sync::Arc;
/// # sim::block_on(async {
/// let sum = Arc::new(Mutex::new(0));
/// sim::map_concurrently(1..=3, |n| {
///     let sum = sum.clone();
///     async move { *sum.lock().await += n }
/// })
/// .await;
/// assert_eq!(*sum.lock().await, 6);
/// # });
/// ```
pub struct Mutex<T> {
    wrapped: Wrapped,
    real: Later<T, Real<T>>,
}

impl<T> Mutex<T> {
    /// Creates a mutex around `value`.
    #[track_caller]
    pub fn new(value: T) -> Mutex<T> {
        Mutex { wrapped: Wrapped::new("mutex", here()), real: Later::new(value, Real::new) }
    }

    /// Like [`new`](Self::new), for a constant. Only one run can use such a mutex.
    #[track_caller]
    pub const fn const_new(value: T) -> Mutex<T> {
        Mutex { wrapped: Wrapped::of_static("mutex", here()), real: Later::new(value, Real::new) }
    }

    /// Waits for the lock.
    ///
    /// ```
    /// use sim::tokio::sync::Mutex;
    /// # sim::block_on(async {
    /// let order = Mutex::new(Vec::new());
    /// let guard = order.lock().await;
    /// let first = async { order.lock().await.push("first") };
    /// let second = async { order.lock().await.push("second") };
    /// // Both wait for the lock until the guard is dropped.
    /// sim::join!(first, second, async { drop(guard) });
    /// assert_eq!(order.into_inner(), ["first", "second"]);
    /// # });
    /// ```
    #[track_caller]
    pub fn lock(&self) -> impl Future<Output = MutexGuard<'_, T>> + use<'_, T> {
        self.lock_at(here())
    }

    async fn lock_at(&self, here: Here) -> MutexGuard<'_, T> {
        let lock = self.real.get().lock();
        let real = Call::new(&self.wrapped, &LOCK, here, lock, |_| Came::Holds).await;
        MutexGuard { real, held: Held::new(self, &UNLOCK, here) }
    }

    /// Like [`lock`](Self::lock); the guard owns a reference to the mutex.
    ///
    /// ```
    /// use sim::tokio::sync::Mutex;
    /// use std::sync::Arc;
    /// # sim::block_on(async {
    /// let mutex = Arc::new(Mutex::new(1));
    /// let mut guard = mutex.clone().lock_owned().await;
    /// sim::spawn(async move { *guard += 1 }).detach();
    /// // The task holds the lock until it ends.
    /// assert_eq!(*mutex.lock().await, 2);
    /// # });
    /// ```
    #[track_caller]
    pub fn lock_owned(self: Arc<Self>) -> impl Future<Output = OwnedMutexGuard<T>> + use<T> {
        self.lock_owned_at(here())
    }

    async fn lock_owned_at(self: Arc<Self>, here: Here) -> OwnedMutexGuard<T> {
        let lock = self.real.get().clone().lock_owned();
        let real = Call::new(&self.wrapped, &LOCK, here, lock, |_| Came::Holds).await;
        OwnedMutexGuard { real, held: Held::new(self, &UNLOCK, here) }
    }

    /// Acquires the lock if it is free. This call is not a point.
    ///
    /// # Errors
    /// If the lock is not free.
    ///
    /// ```
    /// use sim::tokio::sync::Mutex;
    ///
    /// let mutex = Mutex::new(1);
    /// let guard = mutex.try_lock().unwrap();
    /// assert!(mutex.try_lock().is_err());
    /// drop(guard);
    /// assert!(mutex.try_lock().is_ok());
    /// ```
    #[track_caller]
    pub fn try_lock(&self) -> Result<MutexGuard<'_, T>, TryLockError> {
        let here = here();
        let real = self.wrapped.attempt_to_hold(TRY, here, || self.real.get().try_lock())?;
        Ok(MutexGuard { real, held: Held::new(self, &UNLOCK, here) })
    }

    /// Like [`try_lock`](Self::try_lock); the guard owns a reference to the mutex.
    ///
    /// # Errors
    /// If the lock is not free.
    #[track_caller]
    pub fn try_lock_owned(self: Arc<Self>) -> Result<OwnedMutexGuard<T>, TryLockError> {
        let here = here();
        let lock = self.real.get();
        let real = self.wrapped.attempt_to_hold(TRY, here, || lock.clone().try_lock_owned())?;
        Ok(OwnedMutexGuard { real, held: Held::new(self, &UNLOCK, here) })
    }

    /// Outside of runs, blocks the thread until the lock is free. In a run, this call fails the run: await
    /// [`lock`](Self::lock) instead.
    ///
    /// ```
    /// use sim::tokio::sync::Mutex;
    ///
    /// let mutex = Mutex::new(1);
    /// *mutex.blocking_lock() += 1;
    /// assert_eq!(mutex.into_inner(), 2);
    /// ```
    #[track_caller]
    pub fn blocking_lock(&self) -> MutexGuard<'_, T> {
        let here = here();
        self.wrapped.blocks("blocking_lock", "lock().await", here);
        let real = self.real.get().blocking_lock();
        MutexGuard { real, held: Held::new(self, &UNLOCK, here) }
    }

    /// Like [`blocking_lock`](Self::blocking_lock); the guard owns a reference to the mutex.
    #[track_caller]
    pub fn blocking_lock_owned(self: Arc<Self>) -> OwnedMutexGuard<T> {
        let here = here();
        self.wrapped.blocks("blocking_lock_owned", "lock_owned().await", here);
        let real = self.real.get().clone().blocking_lock_owned();
        OwnedMutexGuard { real, held: Held::new(self, &UNLOCK, here) }
    }

    /// Returns the value. `&mut` proves that no task holds the lock, so this is not a point.
    pub fn get_mut(&mut self) -> &mut T {
        self.real.get_mut().get_mut()
    }

    /// Returns the value.
    pub fn into_inner(self) -> T {
        self.real.into_inner().into_inner()
    }
}

impl<T> Owner for Mutex<T> {
    fn wrapped(&self) -> &Wrapped {
        &self.wrapped
    }
}

impl<T: Default> Default for Mutex<T> {
    #[track_caller]
    fn default() -> Mutex<T> {
        Mutex::new(T::default())
    }
}

impl<T> From<T> for Mutex<T> {
    #[track_caller]
    fn from(value: T) -> Mutex<T> {
        Mutex::new(value)
    }
}

impl<T: fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.real.get().fmt(f)
    }
}

/// The guard of a locked [`Mutex`].
#[must_use = "if unused, the mutex is freed at once"]
pub struct MutexGuard<'a, T> {
    // Dropped in this order, so that the run records the release after the real release.
    real: RealGuard<'a, T>,
    held: Held<&'a Mutex<T>>,
}

/// An owned guard of a locked [`Mutex`]: it keeps a reference to the mutex.
#[must_use = "if unused, the mutex is freed at once"]
pub struct OwnedMutexGuard<T> {
    real: RealOwned<T>,
    held: Held<Arc<Mutex<T>>>,
}

/// The guard of a locked [`Mutex`], for a part of its value.
///
/// ```
/// use sim::tokio::sync::{Mutex, MutexGuard};
/// # sim::block_on(async {
/// let pair = Mutex::new((1, 2));
/// let mut first = MutexGuard::map(pair.lock().await, |pair| &mut pair.0);
/// *first = 7;
/// assert!(pair.try_lock().is_err());
/// drop(first);
/// assert_eq!(pair.into_inner(), (7, 2));
/// # });
/// ```
#[must_use = "if unused, the mutex is freed at once"]
pub struct MappedMutexGuard<'a, U: ?Sized> {
    real: RealMapped<'a, U>,
    held: Held<&'a Wrapped>,
}

/// An owned guard of a locked [`Mutex`], for a part of its value: it keeps a reference to the mutex.
#[must_use = "if unused, the mutex is freed at once"]
pub struct OwnedMappedMutexGuard<T, U: ?Sized> {
    real: RealOwnedMapped<T, U>,
    held: Held<Arc<Mutex<T>>>,
}

impl<'a, T> MutexGuard<'a, T> {
    /// Returns the mutex that the guard locks.
    pub fn mutex(this: &Self) -> &'a Mutex<T> {
        this.held.owner
    }
}

// A guard for a part of the value does not know the type of the whole value, so its owner is only the wrapped object.
impl<'a, T> From<Held<&'a Mutex<T>>> for Held<&'a Wrapped> {
    fn from(held: Held<&'a Mutex<T>>) -> Held<&'a Wrapped> {
        let wrapped = &held.owner.wrapped;
        held.owned_by(wrapped)
    }
}

impl<T> OwnedMutexGuard<T> {
    /// Returns the mutex that the guard locks.
    pub fn mutex(this: &Self) -> &Arc<Mutex<T>> {
        &this.held.owner
    }
}

/// Writes the conversion of a guard to a guard for a part of its value.
macro_rules! maps {
    ($([$($generics:tt)*] $guard:ty, $value:ty, $real:ident, $mapped:ident, [$($part:tt)*], [$($sized:tt)*])*) => {$(
        impl<$($generics)*> $guard {
            /// Returns a guard for a part of the value.
            pub fn map<P $($sized)*, F>(this: Self, f: F) -> $mapped<$($part)*, P>
            where
                F: FnOnce(&mut $value) -> &mut P,
            {
                $mapped { real: $real::map(this.real, f), held: this.held.into() }
            }

            /// Returns a guard for a part of the value, if `f` returns that part.
            ///
            /// # Errors
            /// Returns the original guard if `f` returns `None`.
            ///
            /// ```
            /// use sim::tokio::sync::{Mutex, MutexGuard};
            /// # sim::block_on(async {
            /// let list = Mutex::new(vec![1]);
            /// let guard = list.lock().await;
            /// let sixth = MutexGuard::try_map(guard, |list| list.get_mut(5));
            /// assert_eq!(*sixth.unwrap_err(), [1]);
            /// # });
            /// ```
            pub fn try_map<P $($sized)*, F>(this: Self, f: F) -> Result<$mapped<$($part)*, P>, Self>
            where
                F: FnOnce(&mut $value) -> Option<&mut P>,
            {
                let held = this.held;
                match $real::try_map(this.real, f) {
                    Ok(real) => Ok($mapped { real, held: held.into() }),
                    Err(real) => Err(Self { real, held }),
                }
            }
        }

        guards!([$($generics)*] $guard, $value);
        writers!([$($generics)*] $guard, $value);
    )*};
}

maps! {
    ['a, T] MutexGuard<'a, T>, T, RealGuard, MappedMutexGuard, ['a], [: ?Sized]
    [T] OwnedMutexGuard<T>, T, RealOwned, OwnedMappedMutexGuard, [T], [: ?Sized]
    ['a, U: ?Sized] MappedMutexGuard<'a, U>, U, RealMapped, MappedMutexGuard, ['a], []
    [T, U: ?Sized] OwnedMappedMutexGuard<T, U>, U, RealOwnedMapped, OwnedMappedMutexGuard, [T], []
}
