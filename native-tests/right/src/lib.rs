//! What the small programs share: plain memory, and futures on plain threads.

mod futures;

use std::cell::UnsafeCell;

pub use futures::block_on;

/// A plain value. The caller must order its accesses: that is what is checked.
#[derive(Default)]
pub struct Plain(UnsafeCell<u64>);

// SAFETY: none. The programs that use it order its accesses, and a race is what they look for.
#[allow(unsafe_code, reason = "a race has to be possible")]
unsafe impl Sync for Plain {}

#[allow(unsafe_code, reason = "a race has to be possible")]
impl Plain {
    pub fn set(&self, value: u64) {
        // SAFETY: as above.
        unsafe { *self.0.get() = value }
    }

    pub fn get(&self) -> u64 {
        // SAFETY: as above.
        unsafe { *self.0.get() }
    }

    pub fn add(&self, value: u64) {
        self.set(self.get() + value);
    }
}
