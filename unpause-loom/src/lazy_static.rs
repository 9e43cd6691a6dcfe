//! The values behind [`lazy_static!`](crate::lazy_static!).

use std::cell::UnsafeCell;
use std::fmt;
use std::sync::Once;

pub use crate::thread::{AccessError, panicking, yield_now};

/// A static with a value that is created at its first use in a run, and dropped at the end of the run.
pub struct Lazy<T> {
    /// The state of the value's creation in this run, reset at the end of each run.
    once: UnsafeCell<Once>,
    make: fn() -> T,
    value: UnsafeCell<Option<T>>,
}

// SAFETY: the value is written once, guarded by `Once`, and dropped when all threads of the run have ended. Like in
// loom, the value need not be `Sync`.
unsafe impl<T> Sync for Lazy<T> {}

impl<T: 'static> Lazy<T> {
    #[doc(hidden)]
    pub const fn new(make: fn() -> T) -> Lazy<T> {
        Lazy { once: UnsafeCell::new(Once::new()), make, value: UnsafeCell::new(None) }
    }

    /// Returns the value.
    pub fn get(&'static self) -> &'static T {
        // SAFETY: `once` is written only when all threads of a run have ended.
        unsafe { &*self.once.get() }.call_once(|| {
            let value = (self.make)();
            // SAFETY: `Once` admits one thread, before any other thread reads the value.
            unsafe { *self.value.get() = Some(value) };
            unpause_model::at_end(|| {
                // SAFETY: all threads of the run have ended, so no other reference to `once` or `value` exists.
                let value = unsafe {
                    *self.once.get() = Once::new();
                    (*self.value.get()).take()
                };
                drop(value);
            });
        });
        // SAFETY: the value was written above, and is not taken before the end of the run.
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
