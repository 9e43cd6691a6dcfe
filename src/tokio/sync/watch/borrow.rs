//! The lock of the value. tokio's channel holds it while the value is borrowed or replaced.
//!
//! A task that waits for this lock blocks its thread. A run has only one thread, so such a call fails the run.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::real;
use crate::seam::{Here, Wrapped};

/// The current uses of the value.
#[derive(Debug)]
pub(super) struct Value {
    borrows: AtomicUsize,
    is_replaced: AtomicBool,
}

impl Value {
    pub(super) fn new() -> Arc<Value> {
        Arc::new(Value { borrows: AtomicUsize::new(0), is_replaced: AtomicBool::new(false) })
    }

    /// Fails the run if the value cannot be borrowed by this task now.
    pub(super) fn may_borrow(&self, name: &str, wrapped: &Wrapped, here: Here) {
        if self.is_replaced.load(Ordering::Relaxed) {
            let name = format!("{name} in a closure that changes the value");
            wrapped.blocks(&name, "it after the closure", here);
        }
    }

    /// Fails the run if the value cannot be replaced by this task now.
    pub(super) fn may_replace(&self, name: &str, wrapped: &Wrapped, here: Here) {
        self.may_borrow(name, wrapped, here);
        if self.borrows.load(Ordering::Relaxed) > 0 {
            let name = format!("{name} beside a `watch::Ref` of the channel");
            wrapped.blocks(&name, "it after the `Ref` is dropped", here);
        }
    }

    /// Marks the value as borrowed until the result is dropped.
    pub(super) fn borrow(&self) -> Borrow<'_> {
        self.borrows.fetch_add(1, Ordering::Relaxed);
        Borrow(self)
    }

    /// Marks the value as being replaced until the result is dropped.
    pub(super) fn replace(&self) -> Replace<'_> {
        self.is_replaced.store(true, Ordering::Relaxed);
        Replace(self)
    }
}

/// A borrow of the value.
pub(super) struct Borrow<'a>(&'a Value);

impl Drop for Borrow<'_> {
    fn drop(&mut self) {
        self.0.borrows.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A replacement of the value.
pub(super) struct Replace<'a>(&'a Value);

impl Drop for Replace<'_> {
    fn drop(&mut self) {
        self.0.is_replaced.store(false, Ordering::Relaxed);
    }
}

/// The value of a channel, which cannot be replaced while this guard exists.
///
/// Sending while the guard exists blocks the thread in tokio, and fails the run here.
///
/// ```
/// use sim::tokio::sync::watch;
/// # sim::block_on(async {
/// let (sender, mut receiver) = watch::channel(1);
/// sender.send(2).unwrap();
/// let value = receiver.borrow_and_update();
/// assert!(value.has_changed());
/// assert_eq!(*value, 2);
/// # });
/// ```
pub struct Ref<'a, T> {
    real: real::Ref<'a, T>,
    // This field is declared below tokio's object, so it is dropped after that object.
    _borrow: Borrow<'a>,
}

impl<'a, T> Ref<'a, T> {
    pub(super) fn new(real: real::Ref<'a, T>, value: &'a Value) -> Self {
        Ref { real, _borrow: value.borrow() }
    }

    /// Returns `true` if the receiver had not seen this version before.
    pub fn has_changed(&self) -> bool {
        self.real.has_changed()
    }
}

impl<T> Deref for Ref<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.real
    }
}

impl<T: fmt::Debug> fmt::Debug for Ref<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.real.fmt(f)
    }
}
