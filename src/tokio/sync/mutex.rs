//! The mutex.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use ::tokio::sync::{
    MappedMutexGuard as RealMapped, Mutex as Real, MutexGuard as RealGuard,
    OwnedMappedMutexGuard as RealOwnedMapped, OwnedMutexGuard as RealOwned, TryLockError,
};

use super::held::{Held, guards, writers};
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

/// tokio's [`Mutex`](::tokio::sync::Mutex): a value for one task at a time, in the order of their
/// requests.
///
/// To lock is a point; a guard that is dropped gives the lock up without one. Cancel safe: a dropped call loses its
/// place in the queue. [`sim::Mutex`](crate::Mutex) has no queue.
///
/// Unlike tokio's, its value has a known size.
pub struct Mutex<T> {
    wrapped: Wrapped,
    real: Later<T, Real<T>>,
}

impl<T> Mutex<T> {
    /// A mutex around `value`.
    #[track_caller]
    pub fn new(value: T) -> Mutex<T> {
        Mutex { wrapped: Wrapped::new("mutex", here()), real: Later::new(value, Real::new) }
    }

    /// Like [`new`](Self::new), for a constant. In a run it can be used by one run only.
    #[track_caller]
    pub const fn const_new(value: T) -> Mutex<T> {
        Mutex { wrapped: Wrapped::of_static("mutex", here()), real: Later::new(value, Real::new) }
    }

    /// Waits for the lock.
    #[track_caller]
    pub fn lock(&self) -> impl Future<Output = MutexGuard<'_, T>> + use<'_, T> {
        self.lock_at(here())
    }

    async fn lock_at(&self, here: Here) -> MutexGuard<'_, T> {
        let lock = self.real.get().lock();
        let real = Call::new(&self.wrapped, &LOCK, here, lock, |_| Came::Holds).await;
        MutexGuard { real, held: Held::new(self, &UNLOCK, here) }
    }

    /// Like [`lock`](Self::lock); the guard keeps the mutex.
    #[track_caller]
    pub fn lock_owned(self: Arc<Self>) -> impl Future<Output = OwnedMutexGuard<T>> + use<T> {
        self.lock_owned_at(here())
    }

    async fn lock_owned_at(self: Arc<Self>, here: Here) -> OwnedMutexGuard<T> {
        let lock = self.real.get().clone().lock_owned();
        let real = Call::new(&self.wrapped, &LOCK, here, lock, |_| Came::Holds).await;
        OwnedMutexGuard { real, held: Held::new(self, &UNLOCK, here) }
    }

    /// Takes the lock if it is free. Not a point.
    ///
    /// # Errors
    /// If it is not.
    #[track_caller]
    pub fn try_lock(&self) -> Result<MutexGuard<'_, T>, TryLockError> {
        let here = here();
        let real = self.wrapped.attempt_to_hold(TRY, here, || self.real.get().try_lock())?;
        Ok(MutexGuard { real, held: Held::new(self, &UNLOCK, here) })
    }

    /// Like [`try_lock`](Self::try_lock); the guard keeps the mutex.
    ///
    /// # Errors
    /// If it is not free.
    #[track_caller]
    pub fn try_lock_owned(self: Arc<Self>) -> Result<OwnedMutexGuard<T>, TryLockError> {
        let here = here();
        let lock = self.real.get();
        let real = self.wrapped.attempt_to_hold(TRY, here, || lock.clone().try_lock_owned())?;
        Ok(OwnedMutexGuard { real, held: Held::new(self, &UNLOCK, here) })
    }

    /// Blocks the thread until the lock is free, outside of runs. In a run it fails the run: await
    /// [`lock`](Self::lock).
    #[track_caller]
    pub fn blocking_lock(&self) -> MutexGuard<'_, T> {
        let here = here();
        self.wrapped.blocks("blocking_lock", "lock().await", here);
        let real = self.real.get().blocking_lock();
        MutexGuard { real, held: Held::new(self, &UNLOCK, here) }
    }

    /// Like [`blocking_lock`](Self::blocking_lock); the guard keeps the mutex.
    #[track_caller]
    pub fn blocking_lock_owned(self: Arc<Self>) -> OwnedMutexGuard<T> {
        let here = here();
        self.wrapped.blocks("blocking_lock_owned", "lock_owned().await", here);
        let real = self.real.get().clone().blocking_lock_owned();
        OwnedMutexGuard { real, held: Held::new(self, &UNLOCK, here) }
    }

    /// The value. `&mut` shows that no task holds the lock, so this is not a point.
    pub fn get_mut(&mut self) -> &mut T {
        self.real.get_mut().get_mut()
    }

    /// The value.
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
    // Dropped in this order: the run learns the release after it.
    real: RealGuard<'a, T>,
    held: Held<&'a Mutex<T>>,
}

/// The guard of a locked [`Mutex`], with the mutex.
#[must_use = "if unused, the mutex is freed at once"]
pub struct OwnedMutexGuard<T> {
    real: RealOwned<T>,
    held: Held<Arc<Mutex<T>>>,
}

/// The guard of a locked [`Mutex`], for a part of its value.
#[must_use = "if unused, the mutex is freed at once"]
pub struct MappedMutexGuard<'a, U: ?Sized> {
    real: RealMapped<'a, U>,
    held: Held<&'a Wrapped>,
}

/// The guard of a locked [`Mutex`], for a part of its value, with the mutex.
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

// A guard for a part of the value has no type of the whole.
impl<'a, T> From<Held<&'a Mutex<T>>> for Held<&'a Wrapped> {
    fn from(held: Held<&'a Mutex<T>>) -> Held<&'a Wrapped> {
        let wrapped = &held.owner.wrapped;
        held.owned_by(wrapped)
    }
}

impl<T> OwnedMutexGuard<T> {
    /// The mutex that it locks.
    pub fn mutex(this: &Self) -> &Arc<Mutex<T>> {
        &this.held.owner
    }
}

/// Writes the mapping of a guard to one for a part of its value.
macro_rules! maps {
    ($([$($generics:tt)*] $guard:ty, $value:ty, $real:ident, $mapped:ident, [$($part:tt)*], [$($sized:tt)*])*) => {$(
        impl<$($generics)*> $guard {
            /// A guard for a part of the value.
            pub fn map<P $($sized)*, F>(this: Self, f: F) -> $mapped<$($part)*, P>
            where
                F: FnOnce(&mut $value) -> &mut P,
            {
                $mapped { real: $real::map(this.real, f), held: this.held.into() }
            }

            /// A guard for a part of the value, if there is that part.
            ///
            /// # Errors
            /// The guard, if there is not.
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
