//! The guards of the reader-writer lock.

use std::sync::Arc;

use ::tokio::sync::{
    OwnedRwLockMappedWriteGuard as RealOwnedMapped, OwnedRwLockReadGuard as RealOwnedRead,
    OwnedRwLockWriteGuard as RealOwnedWrite, RwLockMappedWriteGuard as RealMapped,
    RwLockReadGuard as RealRead, RwLockWriteGuard as RealWrite,
};

use super::{Ops, RwLock};
use crate::seam::{Wrapped, here};
use crate::tokio::sync::held_guards::{Held, guards, writers};

/// The guard of a [`RwLock`] acquired for reading.
#[must_use = "if unused, the lock is given up at once"]
pub struct RwLockReadGuard<'a, U: ?Sized> {
    // Dropped in this order, so that the run records the release after the real release.
    pub(super) real: RealRead<'a, U>,
    pub(super) held: Held<&'a Wrapped>,
}

/// An owned guard of a [`RwLock`] acquired for reading: it keeps a reference to the lock.
#[must_use = "if unused, the lock is given up at once"]
pub struct OwnedRwLockReadGuard<T, U: ?Sized = T> {
    pub(super) real: RealOwnedRead<T, U>,
    pub(super) held: Held<Arc<RwLock<T>>>,
}

/// The guard of a [`RwLock`] acquired for writing.
#[must_use = "if unused, the lock is given up at once"]
pub struct RwLockWriteGuard<'a, T> {
    pub(super) real: RealWrite<'a, T>,
    pub(super) held: Held<&'a Wrapped>,
    pub(super) ops: &'static Ops,
}

/// An owned guard of a [`RwLock`] acquired for writing: it keeps a reference to the lock.
#[must_use = "if unused, the lock is given up at once"]
pub struct OwnedRwLockWriteGuard<T> {
    pub(super) real: RealOwnedWrite<T>,
    pub(super) held: Held<Arc<RwLock<T>>>,
}

/// The guard of a [`RwLock`] acquired for writing, for a part of its value.
///
/// ```
/// use sim::tokio::sync::{RwLock, RwLockWriteGuard};
/// # sim::block_on(async {
/// let pair = RwLock::new((1, 2));
/// let mut first = RwLockWriteGuard::map(pair.write().await, |pair| &mut pair.0);
/// *first = 7;
/// assert!(pair.try_read().is_err());
/// drop(first);
/// assert_eq!(pair.into_inner(), (7, 2));
/// # });
/// ```
#[must_use = "if unused, the lock is given up at once"]
pub struct RwLockMappedWriteGuard<'a, U: ?Sized> {
    pub(super) real: RealMapped<'a, U>,
    pub(super) held: Held<&'a Wrapped>,
}

/// An owned guard of a [`RwLock`] acquired for writing, for a part of its value: it keeps a
/// reference to the lock.
#[must_use = "if unused, the lock is given up at once"]
pub struct OwnedRwLockMappedWriteGuard<T, U: ?Sized = T> {
    pub(super) real: RealOwnedMapped<T, U>,
    pub(super) held: Held<Arc<RwLock<T>>>,
}

impl<'a, U: ?Sized> RwLockReadGuard<'a, U> {
    /// Returns a guard for a part of the value.
    ///
    /// ```
    /// use sim::tokio::sync::{RwLock, RwLockReadGuard};
    /// # sim::block_on(async {
    /// let pair = RwLock::new((1, 2));
    /// let first = RwLockReadGuard::map(pair.read().await, |pair| &pair.0);
    /// assert_eq!(*first, 1);
    /// # });
    /// ```
    pub fn map<F, P: ?Sized>(this: Self, f: F) -> RwLockReadGuard<'a, P>
    where
        F: FnOnce(&U) -> &P,
    {
        RwLockReadGuard { real: RealRead::map(this.real, f), held: this.held }
    }

    /// Returns a guard for a part of the value, if `f` returns that part.
    ///
    /// # Errors
    /// Returns the original guard if `f` returns `None`.
    ///
    /// ```
    /// use sim::tokio::sync::{RwLock, RwLockReadGuard};
    /// # sim::block_on(async {
    /// let list = RwLock::new(vec![1]);
    /// let sixth = RwLockReadGuard::try_map(list.read().await, |list| list.get(5));
    /// assert_eq!(*sixth.unwrap_err(), [1]);
    /// # });
    /// ```
    pub fn try_map<F, P: ?Sized>(this: Self, f: F) -> Result<RwLockReadGuard<'a, P>, Self>
    where
        F: FnOnce(&U) -> Option<&P>,
    {
        let held = this.held;
        match RealRead::try_map(this.real, f) {
            Ok(real) => Ok(RwLockReadGuard { real, held }),
            Err(real) => Err(RwLockReadGuard { real, held }),
        }
    }
}

impl<T, U: ?Sized> OwnedRwLockReadGuard<T, U> {
    /// Returns a guard for a part of the value.
    pub fn map<F, P: ?Sized>(this: Self, f: F) -> OwnedRwLockReadGuard<T, P>
    where
        F: FnOnce(&U) -> &P,
    {
        OwnedRwLockReadGuard { real: RealOwnedRead::map(this.real, f), held: this.held }
    }

    /// Returns a guard for a part of the value, if `f` returns that part.
    ///
    /// # Errors
    /// Returns the original guard if `f` returns `None`.
    pub fn try_map<F, P: ?Sized>(this: Self, f: F) -> Result<OwnedRwLockReadGuard<T, P>, Self>
    where
        F: FnOnce(&U) -> Option<&P>,
    {
        let held = this.held;
        match RealOwnedRead::try_map(this.real, f) {
            Ok(real) => Ok(OwnedRwLockReadGuard { real, held }),
            Err(real) => Err(OwnedRwLockReadGuard { real, held }),
        }
    }

    /// Returns the lock that the guard holds.
    pub fn rwlock(this: &Self) -> &Arc<RwLock<T>> {
        &this.held.owner
    }
}

impl<'a, T> RwLockWriteGuard<'a, T> {
    /// Returns a guard for a part of the value.
    pub fn map<F, P: ?Sized>(this: Self, f: F) -> RwLockMappedWriteGuard<'a, P>
    where
        F: FnOnce(&mut T) -> &mut P,
    {
        RwLockMappedWriteGuard { real: RealWrite::map(this.real, f), held: this.held }
    }

    /// Returns a guard for a part of the value, if `f` returns that part.
    ///
    /// # Errors
    /// Returns the original guard if `f` returns `None`.
    pub fn try_map<F, P: ?Sized>(this: Self, f: F) -> Result<RwLockMappedWriteGuard<'a, P>, Self>
    where
        F: FnOnce(&mut T) -> Option<&mut P>,
    {
        let (held, ops) = (this.held, this.ops);
        match RealWrite::try_map(this.real, f) {
            Ok(real) => Ok(RwLockMappedWriteGuard { real, held }),
            Err(real) => Err(RwLockWriteGuard { real, held, ops }),
        }
    }

    /// Returns a guard of the same type as the result of [`map`](Self::map), for the whole value.
    pub fn into_mapped(this: Self) -> RwLockMappedWriteGuard<'a, T> {
        RwLockMappedWriteGuard { real: RealWrite::into_mapped(this.real), held: this.held }
    }

    /// Admits other readers without releasing the lock in between. This call is not a point.
    ///
    /// ```
    /// use sim::tokio::sync::RwLock;
    /// # sim::block_on(async {
    /// let lock = RwLock::new(1);
    /// let mut writer = lock.write().await;
    /// *writer += 1;
    /// let reader = writer.downgrade();
    /// assert!(lock.try_write().is_err());
    /// assert_eq!((*reader, *lock.read().await), (2, 2));
    /// # });
    /// ```
    #[track_caller]
    pub fn downgrade(self) -> RwLockReadGuard<'a, T> {
        let (wrapped, ops) = (self.held.owner, self.ops);
        let real = wrapped.act(&ops.downgrade, here(), || self.real.downgrade());
        RwLockReadGuard { real, held: self.held.releasing(&ops.end_reading) }
    }

    /// Admits other readers, and returns a guard for a part of the value. This call is not a point.
    ///
    /// No other task uses the value during the call of `f`.
    #[track_caller]
    pub fn downgrade_map<F, P: ?Sized>(this: Self, f: F) -> RwLockReadGuard<'a, P>
    where
        F: FnOnce(&T) -> &P,
    {
        let RwLockWriteGuard { real, held, ops } = this;
        let downgrade = || RealWrite::downgrade_map(real, f);
        let real = held.owner.act(&ops.downgrade, here(), downgrade);
        RwLockReadGuard { real, held: held.releasing(&ops.end_reading) }
    }

    /// Like [`downgrade_map`](Self::downgrade_map), if `f` returns a part.
    ///
    /// # Errors
    /// Returns the original guard if `f` returns `None`. The lock is still held for writing.
    ///
    /// ```
    /// use sim::tokio::sync::{RwLock, RwLockWriteGuard};
    /// # sim::block_on(async {
    /// let list = RwLock::new(vec![1]);
    /// let sixth = RwLockWriteGuard::try_downgrade_map(list.write().await, |list| list.get(5));
    /// let mut writer = sixth.unwrap_err();
    /// writer.push(2);
    /// assert!(list.try_read().is_err());
    /// # });
    /// ```
    #[track_caller]
    pub fn try_downgrade_map<F, P: ?Sized>(this: Self, f: F) -> Result<RwLockReadGuard<'a, P>, Self>
    where
        F: FnOnce(&T) -> Option<&P>,
    {
        let RwLockWriteGuard { real, held, ops } = this;
        match RealWrite::try_downgrade_map(real, f) {
            Ok(real) => {
                held.owner.record(&ops.downgrade, here());
                Ok(RwLockReadGuard { real, held: held.releasing(&ops.end_reading) })
            }
            Err(real) => Err(RwLockWriteGuard { real, held, ops }),
        }
    }
}

impl<T> OwnedRwLockWriteGuard<T> {
    /// Returns a guard for a part of the value.
    pub fn map<F, P: ?Sized>(this: Self, f: F) -> OwnedRwLockMappedWriteGuard<T, P>
    where
        F: FnOnce(&mut T) -> &mut P,
    {
        OwnedRwLockMappedWriteGuard { real: RealOwnedWrite::map(this.real, f), held: this.held }
    }

    /// Returns a guard for a part of the value, if `f` returns that part.
    ///
    /// # Errors
    /// Returns the original guard if `f` returns `None`.
    pub fn try_map<F, P: ?Sized>(
        this: Self,
        f: F,
    ) -> Result<OwnedRwLockMappedWriteGuard<T, P>, Self>
    where
        F: FnOnce(&mut T) -> Option<&mut P>,
    {
        let held = this.held;
        match RealOwnedWrite::try_map(this.real, f) {
            Ok(real) => Ok(OwnedRwLockMappedWriteGuard { real, held }),
            Err(real) => Err(OwnedRwLockWriteGuard { real, held }),
        }
    }

    /// Returns a guard of the same type as the result of [`map`](Self::map), for the whole value.
    pub fn into_mapped(this: Self) -> OwnedRwLockMappedWriteGuard<T> {
        OwnedRwLockMappedWriteGuard {
            real: RealOwnedWrite::into_mapped(this.real),
            held: this.held,
        }
    }

    /// Admits other readers without releasing the lock in between. This call is not a point.
    #[track_caller]
    pub fn downgrade(self) -> OwnedRwLockReadGuard<T> {
        let OwnedRwLockWriteGuard { real, held } = self;
        let ops = held.owner.ops;
        let real = held.owner.wrapped.act(&ops.downgrade, here(), || real.downgrade());
        OwnedRwLockReadGuard { real, held: held.releasing(&ops.end_reading) }
    }

    /// Admits other readers, and returns a guard for a part of the value. This call is not a point.
    ///
    /// No other task uses the value during the call of `f`.
    #[track_caller]
    pub fn downgrade_map<F, P: ?Sized>(this: Self, f: F) -> OwnedRwLockReadGuard<T, P>
    where
        F: FnOnce(&T) -> &P,
    {
        let OwnedRwLockWriteGuard { real, held } = this;
        let ops = held.owner.ops;
        let downgrade = || RealOwnedWrite::downgrade_map(real, f);
        let real = held.owner.wrapped.act(&ops.downgrade, here(), downgrade);
        OwnedRwLockReadGuard { real, held: held.releasing(&ops.end_reading) }
    }

    /// Like [`downgrade_map`](Self::downgrade_map), if `f` returns a part.
    ///
    /// # Errors
    /// Returns the original guard if `f` returns `None`. The lock is still held for writing.
    #[track_caller]
    pub fn try_downgrade_map<F, P: ?Sized>(
        this: Self,
        f: F,
    ) -> Result<OwnedRwLockReadGuard<T, P>, Self>
    where
        F: FnOnce(&T) -> Option<&P>,
    {
        let OwnedRwLockWriteGuard { real, held } = this;
        let ops = held.owner.ops;
        match RealOwnedWrite::try_downgrade_map(real, f) {
            Ok(real) => {
                held.owner.wrapped.record(&ops.downgrade, here());
                Ok(OwnedRwLockReadGuard { real, held: held.releasing(&ops.end_reading) })
            }
            Err(real) => Err(OwnedRwLockWriteGuard { real, held }),
        }
    }

    /// Returns the lock that the guard holds.
    pub fn rwlock(this: &Self) -> &Arc<RwLock<T>> {
        &this.held.owner
    }
}

impl<'a, U: ?Sized> RwLockMappedWriteGuard<'a, U> {
    /// Returns a guard for a subpart of the part.
    pub fn map<F, P: ?Sized>(this: Self, f: F) -> RwLockMappedWriteGuard<'a, P>
    where
        F: FnOnce(&mut U) -> &mut P,
    {
        RwLockMappedWriteGuard { real: RealMapped::map(this.real, f), held: this.held }
    }

    /// Returns a guard for a subpart of the part, if `f` returns that subpart.
    ///
    /// # Errors
    /// Returns the original guard if `f` returns `None`.
    pub fn try_map<F, P: ?Sized>(this: Self, f: F) -> Result<RwLockMappedWriteGuard<'a, P>, Self>
    where
        F: FnOnce(&mut U) -> Option<&mut P>,
    {
        let held = this.held;
        match RealMapped::try_map(this.real, f) {
            Ok(real) => Ok(RwLockMappedWriteGuard { real, held }),
            Err(real) => Err(RwLockMappedWriteGuard { real, held }),
        }
    }
}

impl<T, U: ?Sized> OwnedRwLockMappedWriteGuard<T, U> {
    /// Returns a guard for a subpart of the part.
    pub fn map<F, P: ?Sized>(this: Self, f: F) -> OwnedRwLockMappedWriteGuard<T, P>
    where
        F: FnOnce(&mut U) -> &mut P,
    {
        OwnedRwLockMappedWriteGuard { real: RealOwnedMapped::map(this.real, f), held: this.held }
    }

    /// Returns a guard for a subpart of the part, if `f` returns that subpart.
    ///
    /// # Errors
    /// Returns the original guard if `f` returns `None`.
    pub fn try_map<F, P: ?Sized>(
        this: Self,
        f: F,
    ) -> Result<OwnedRwLockMappedWriteGuard<T, P>, Self>
    where
        F: FnOnce(&mut U) -> Option<&mut P>,
    {
        let held = this.held;
        match RealOwnedMapped::try_map(this.real, f) {
            Ok(real) => Ok(OwnedRwLockMappedWriteGuard { real, held }),
            Err(real) => Err(OwnedRwLockMappedWriteGuard { real, held }),
        }
    }

    /// Returns the lock that the guard holds.
    pub fn rwlock(this: &Self) -> &Arc<RwLock<T>> {
        &this.held.owner
    }
}

guards! {
    ['a, U: ?Sized] RwLockReadGuard<'a, U>, U
    [T, U: ?Sized] OwnedRwLockReadGuard<T, U>, U
    ['a, T] RwLockWriteGuard<'a, T>, T
    [T] OwnedRwLockWriteGuard<T>, T
    ['a, U: ?Sized] RwLockMappedWriteGuard<'a, U>, U
    [T, U: ?Sized] OwnedRwLockMappedWriteGuard<T, U>, U
}

writers! {
    ['a, T] RwLockWriteGuard<'a, T>, T
    [T] OwnedRwLockWriteGuard<T>, T
    ['a, U: ?Sized] RwLockMappedWriteGuard<'a, U>, U
    [T, U: ?Sized] OwnedRwLockMappedWriteGuard<T, U>, U
}
