//! The values behind [`lazy_static!`](crate::lazy_static!).

use std::cell::UnsafeCell;
use std::fmt;
use std::sync::Once;

pub use crate::thread::{AccessError, panicking, yield_now};

/// A static whose value is made at its first use in a run, and dropped at the end of the run.
pub struct Lazy<T> {
    /// Whether this run has made the value. New at the end of each run.
    once: UnsafeCell<Once>,
    make: fn() -> T,
    value: UnsafeCell<Option<T>>,
}

// SAFETY: the value is written once, by `Once`, and dropped when all threads of the run have ended. As loom does, this
// takes values that are not `Sync`.
unsafe impl<T> Sync for Lazy<T> {}

impl<T: 'static> Lazy<T> {
    #[doc(hidden)]
    pub const fn new(make: fn() -> T) -> Lazy<T> {
        Lazy { once: UnsafeCell::new(Once::new()), make, value: UnsafeCell::new(None) }
    }

    /// The value.
    pub fn get(&'static self) -> &'static T {
        // SAFETY: written only when all threads of a run have ended.
        unsafe { &*self.once.get() }.call_once(|| {
            let value = (self.make)();
            // SAFETY: `Once` lets one thread in, before all others read.
            unsafe { *self.value.get() = Some(value) };
            unpause_model::at_end(|| {
                // SAFETY: all threads of the run have ended, so nobody else has a reference to either.
                let value = unsafe {
                    *self.once.get() = Once::new();
                    (*self.value.get()).take()
                };
                drop(value);
            });
        });
        // SAFETY: written above, and not taken before the end of the run.
        match unsafe { &*self.value.get() } {
            Some(value) => value,
            None => panic!("attempted to access lazy_static during shutdown"),
        }
    }
}

impl<T> fmt::Debug for Lazy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lazy { .. }")
    }
}
