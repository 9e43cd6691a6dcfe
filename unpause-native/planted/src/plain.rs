//! Memory that threads share without an order of its own.

use std::cell::UnsafeCell;

/// A plain value. The caller must order its accesses, and tests check if they are ordered.
#[derive(Default)]
pub struct Plain(UnsafeCell<u64>);

// SAFETY: none by itself. A race is an error of the tested program, which must be possible to be found.
unsafe impl Sync for Plain {}

impl Plain {
    /// Writes the value.
    pub fn set(&self, value: u64) {
        // SAFETY: the caller orders this access and all others, as far as the tested program is right.
        unsafe { *self.0.get() = value }
    }

    /// Reads the value.
    pub fn get(&self) -> u64 {
        // SAFETY: as in `set`.
        unsafe { *self.0.get() }
    }

    /// Reads the value, and writes the sum.
    pub fn add(&self, value: u64) {
        self.set(self.get() + value);
    }
}

/// The address of a value, for another thread. The bug is the caller's: the value may be gone.
pub struct Lent(usize);

impl Plain {
    /// Lends the value, for as long as the caller likes.
    pub fn lend(&self) -> Lent {
        Lent((&raw const *self) as usize)
    }
}

impl Lent {
    /// Writes the value.
    pub fn set(&self, value: u64) {
        // SAFETY: violated unless the owner waits.
        unsafe { &*(self.0 as *const Plain) }.set(value);
    }
}
