//! loom's `Arc`: std's `Arc`, whose references must all be dropped before the end of a run.

use std::borrow::Borrow;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::pin::Pin;
use std::sync;

use unpause_model::{Kind, count};

/// A shared value.
pub struct Arc<T: ?Sized>(sync::Arc<T>);

impl<T> Arc<T> {
    /// Creates the first reference to a value.
    pub fn new(value: T) -> Arc<T> {
        Arc::from_std(sync::Arc::new(value))
    }

    /// Creates a pinned first reference to a value.
    pub fn pin(value: T) -> Pin<Arc<T>> {
        // SAFETY: the value does not move while it is shared.
        unsafe { Pin::new_unchecked(Arc::new(value)) }
    }

    /// Returns the value if this is its only reference.
    ///
    /// # Errors
    /// Returns the reference if other references exist.
    pub fn try_unwrap(this: Arc<T>) -> Result<T, Arc<T>> {
        sync::Arc::try_unwrap(this.into_std()).map_err(Arc::from_std)
    }
}

impl<T: ?Sized> Arc<T> {
    /// Wraps a std reference, for example to a `dyn Trait`.
    pub fn from_std(std: sync::Arc<T>) -> Arc<T> {
        count(Kind::References, 1);
        Arc(std)
    }

    fn into_std(self) -> sync::Arc<T> {
        let this = ManuallyDrop::new(self);
        count(Kind::References, -1);
        // SAFETY: read only once, because `self` is not dropped.
        unsafe { std::ptr::read(&this.0) }
    }

    /// Returns the number of references.
    pub fn strong_count(this: &Self) -> usize {
        sync::Arc::strong_count(&this.0)
    }

    /// Returns the value if this is its only reference.
    pub fn get_mut(this: &mut Self) -> Option<&mut T> {
        sync::Arc::get_mut(&mut this.0)
    }

    /// Returns `true` if both are references to the same value.
    pub fn ptr_eq(this: &Self, other: &Self) -> bool {
        sync::Arc::ptr_eq(&this.0, &other.0)
    }

    /// Returns a pointer to the value, for [`from_raw`](Self::from_raw).
    pub fn into_raw(this: Self) -> *const T {
        // The pointer still counts as a reference.
        let this = ManuallyDrop::new(this);
        sync::Arc::as_ptr(&this.0)
    }

    /// Returns a pointer to the value.
    pub fn as_ptr(this: &Self) -> *const T {
        sync::Arc::as_ptr(&this.0)
    }

    /// Returns the reference given to [`into_raw`](Self::into_raw).
    ///
    /// # Safety
    /// The same requirements as for std's function.
    pub unsafe fn from_raw(pointer: *const T) -> Arc<T> {
        // SAFETY: guaranteed by the caller.
        Arc(unsafe { sync::Arc::from_raw(pointer) })
    }

    /// Adds one to the number of references.
    ///
    /// # Safety
    /// The same requirements as for std's function.
    pub unsafe fn increment_strong_count(pointer: *const T) {
        count(Kind::References, 1);
        // SAFETY: guaranteed by the caller.
        unsafe { sync::Arc::increment_strong_count(pointer) }
    }

    /// Subtracts one from the number of references.
    ///
    /// # Safety
    /// The same requirements as for std's function.
    pub unsafe fn decrement_strong_count(pointer: *const T) {
        count(Kind::References, -1);
        // SAFETY: guaranteed by the caller.
        unsafe { sync::Arc::decrement_strong_count(pointer) }
    }
}

impl<T: ?Sized> Drop for Arc<T> {
    fn drop(&mut self) {
        count(Kind::References, -1);
    }
}

impl<T: ?Sized> Clone for Arc<T> {
    fn clone(&self) -> Arc<T> {
        Arc::from_std(self.0.clone())
    }
}

impl<T: ?Sized> Deref for Arc<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: ?Sized> AsRef<T> for Arc<T> {
    fn as_ref(&self) -> &T {
        &self.0
    }
}

impl<T: ?Sized> Borrow<T> for Arc<T> {
    fn borrow(&self) -> &T {
        &self.0
    }
}

impl<T: Default> Default for Arc<T> {
    fn default() -> Arc<T> {
        Arc::new(T::default())
    }
}

impl<T> From<T> for Arc<T> {
    fn from(value: T) -> Arc<T> {
        Arc::new(value)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}
