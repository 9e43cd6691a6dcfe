//! Allocations that must be gone at the end of a run.

pub use std::alloc::Layout;

use unpause_model::{Kind, count};

/// `std::alloc::alloc`.
///
/// # Safety
/// As for std's function.
pub unsafe fn alloc(layout: Layout) -> *mut u8 {
    count(Kind::Allocations, 1);
    // SAFETY: the caller's.
    unsafe { std::alloc::alloc(layout) }
}

/// `std::alloc::alloc_zeroed`.
///
/// # Safety
/// As for std's function.
pub unsafe fn alloc_zeroed(layout: Layout) -> *mut u8 {
    count(Kind::Allocations, 1);
    // SAFETY: the caller's.
    unsafe { std::alloc::alloc_zeroed(layout) }
}

/// `std::alloc::dealloc`.
///
/// # Safety
/// As for std's function.
pub unsafe fn dealloc(memory: *mut u8, layout: Layout) {
    count(Kind::Allocations, -1);
    // SAFETY: the caller's.
    unsafe { std::alloc::dealloc(memory, layout) }
}

/// A value that must be dropped before a run ends.
#[derive(Debug)]
pub struct Track<T> {
    value: T,
    _tracked: Tracked,
}

#[derive(Debug)]
struct Tracked;

impl Drop for Tracked {
    fn drop(&mut self) {
        count(Kind::Allocations, -1);
    }
}

impl<T> Track<T> {
    /// Tracks a value.
    pub fn new(value: T) -> Track<T> {
        count(Kind::Allocations, 1);
        Track { value, _tracked: Tracked }
    }

    /// The value.
    pub fn get_ref(&self) -> &T {
        &self.value
    }

    /// The value.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.value
    }

    /// The value, which is not tracked any more.
    pub fn into_inner(self) -> T {
        self.value
    }
}
