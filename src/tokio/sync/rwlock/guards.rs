//! The guards of the reader-writer lock.

use std::sync::Arc;

use ::tokio::sync::{
    OwnedRwLockMappedWriteGuard as RealOwnedMapped, OwnedRwLockReadGuard as RealOwnedRead,
    OwnedRwLockWriteGuard as RealOwnedWrite, RwLockMappedWriteGuard as RealMapped,
    RwLockReadGuard as RealRead, RwLockWriteGuard as RealWrite,
};

use super::{Ops, RwLock};
use crate::seam::{Wrapped, here};
use crate::tokio::sync::held::{Held, guards, writers};

/// The guard of a [`RwLock`] that is read.
#[must_use = "if unused, the lock is given up at once"]
pub struct RwLockReadGuard<'a, U: ?Sized> {
    // Dropped in this order: the run learns the release after it.
    pub(super) real: RealRead<'a, U>,
    pub(super) held: Held<&'a Wrapped>,
}

/// The guard of a [`RwLock`] that is read, with the lock.
#[must_use = "if unused, the lock is given up at once"]
pub struct OwnedRwLockReadGuard<T, U: ?Sized = T> {
    pub(super) real: RealOwnedRead<T, U>,
    pub(super) held: Held<Arc<RwLock<T>>>,
}

/// The guard of a [`RwLock`] that is written.
#[must_use = "if unused, the lock is given up at once"]
pub struct RwLockWriteGuard<'a, T> {
    pub(super) real: RealWrite<'a, T>,
    pub(super) held: Held<&'a Wrapped>,
    pub(super) ops: &'static Ops,
}

/// The guard of a [`RwLock`] that is written, with the lock.
#[must_use = "if unused, the lock is given up at once"]
pub struct OwnedRwLockWriteGuard<T> {
    pub(super) real: RealOwnedWrite<T>,
    pub(super) held: Held<Arc<RwLock<T>>>,
}

/// The guard of a [`RwLock`] that is written, for a part of its value.
#[must_use = "if unused, the lock is given up at once"]
pub struct RwLockMappedWriteGuard<'a, U: ?Sized> {
    pub(super) real: RealMapped<'a, U>,
    pub(super) held: Held<&'a Wrapped>,
}

/// The guard of a [`RwLock`] that is written, for a part of its value, with the lock.
#[must_use = "if unused, the lock is given up at once"]
pub struct OwnedRwLockMappedWriteGuard<T, U: ?Sized = T> {
    pub(super) real: RealOwnedMapped<T, U>,
    pub(super) held: Held<Arc<RwLock<T>>>,
}

impl<'a, U: ?Sized> RwLockReadGuard<'a, U> {
    /// A guard for a part of the value.
    pub fn map<F, P: ?Sized>(this: Self, f: F) -> RwLockReadGuard<'a, P>
    where
        F: FnOnce(&U) -> &P,
    {
        RwLockReadGuard { real: RealRead::map(this.real, f), held: this.held }
    }

    /// A guard for a part of the value, if there is that part.
    ///
    /// # Errors
    /// The guard, if there is not.
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
    /// A guard for a part of the value.
    pub fn map<F, P: ?Sized>(this: Self, f: F) -> OwnedRwLockReadGuard<T, P>
    where
        F: FnOnce(&U) -> &P,
    {
        OwnedRwLockReadGuard { real: RealOwnedRead::map(this.real, f), held: this.held }
    }

    /// A guard for a part of the value, if there is that part.
    ///
    /// # Errors
    /// The guard, if there is not.
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

    /// The lock that it holds.
    pub fn rwlock(this: &Self) -> &Arc<RwLock<T>> {
        &this.held.owner
    }
}

impl<'a, T> RwLockWriteGuard<'a, T> {
    /// A guard for a part of the value.
    pub fn map<F, P: ?Sized>(this: Self, f: F) -> RwLockMappedWriteGuard<'a, P>
    where
        F: FnOnce(&mut T) -> &mut P,
    {
        RwLockMappedWriteGuard { real: RealWrite::map(this.real, f), held: this.held }
    }

    /// A guard for a part of the value, if there is that part.
    ///
    /// # Errors
    /// The guard, if there is not.
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

    /// A guard that a function may also get from [`map`](Self::map).
    pub fn into_mapped(this: Self) -> RwLockMappedWriteGuard<'a, T> {
        RwLockMappedWriteGuard { real: RealWrite::into_mapped(this.real), held: this.held }
    }

    /// Lets others read, too, without giving the lock up in between. Not a point.
    #[track_caller]
    pub fn downgrade(self) -> RwLockReadGuard<'a, T> {
        let (wrapped, ops) = (self.held.owner, self.ops);
        let real = wrapped.act(&ops.downgrade, here(), || self.real.downgrade());
        RwLockReadGuard { real, held: self.held.releasing(&ops.end_reading) }
    }

    /// Lets others read, too, and returns a guard for a part of the value. Not a point.
    ///
    /// No other task uses the value while `f` is called.
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

    /// Like [`downgrade_map`](Self::downgrade_map), if the value has that part.
    ///
    /// # Errors
    /// The guard, if the value does not have the part. The lock is then written as before.
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
    /// A guard for a part of the value.
    pub fn map<F, P: ?Sized>(this: Self, f: F) -> OwnedRwLockMappedWriteGuard<T, P>
    where
        F: FnOnce(&mut T) -> &mut P,
    {
        OwnedRwLockMappedWriteGuard { real: RealOwnedWrite::map(this.real, f), held: this.held }
    }

    /// A guard for a part of the value, if there is that part.
    ///
    /// # Errors
    /// The guard, if there is not.
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

    /// A guard that a function may also get from [`map`](Self::map).
    pub fn into_mapped(this: Self) -> OwnedRwLockMappedWriteGuard<T> {
        OwnedRwLockMappedWriteGuard {
            real: RealOwnedWrite::into_mapped(this.real),
            held: this.held,
        }
    }

    /// Lets others read, too, without giving the lock up in between. Not a point.
    #[track_caller]
    pub fn downgrade(self) -> OwnedRwLockReadGuard<T> {
        let OwnedRwLockWriteGuard { real, held } = self;
        let ops = held.owner.ops;
        let real = held.owner.wrapped.act(&ops.downgrade, here(), || real.downgrade());
        OwnedRwLockReadGuard { real, held: held.releasing(&ops.end_reading) }
    }

    /// Lets others read, too, and returns a guard for a part of the value. Not a point.
    ///
    /// No other task uses the value while `f` is called.
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

    /// Like [`downgrade_map`](Self::downgrade_map), if the value has that part.
    ///
    /// # Errors
    /// The guard, if the value does not have the part. The lock is then written as before.
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

    /// The lock that it holds.
    pub fn rwlock(this: &Self) -> &Arc<RwLock<T>> {
        &this.held.owner
    }
}

impl<'a, U: ?Sized> RwLockMappedWriteGuard<'a, U> {
    /// A guard for a part of the part.
    pub fn map<F, P: ?Sized>(this: Self, f: F) -> RwLockMappedWriteGuard<'a, P>
    where
        F: FnOnce(&mut U) -> &mut P,
    {
        RwLockMappedWriteGuard { real: RealMapped::map(this.real, f), held: this.held }
    }

    /// A guard for a part of the part, if there is that part.
    ///
    /// # Errors
    /// The guard, if there is not.
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
    /// A guard for a part of the part.
    pub fn map<F, P: ?Sized>(this: Self, f: F) -> OwnedRwLockMappedWriteGuard<T, P>
    where
        F: FnOnce(&mut U) -> &mut P,
    {
        OwnedRwLockMappedWriteGuard { real: RealOwnedMapped::map(this.real, f), held: this.held }
    }

    /// Returns a guard for a part of the part, if it has that part.
    ///
    /// # Errors
    /// The guard, if it does not.
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

    /// The lock that it holds.
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
