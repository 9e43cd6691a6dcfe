//! Allocations that must be freed before the end of a run.

pub use std::alloc::Layout;

use unpause_model::{Kind, count};

/// Allocates like `std::alloc::alloc`, and tracks the allocation.
///
/// # Safety
/// The same requirements as for std's function.
pub unsafe fn alloc(layout: Layout) -> *mut u8 {
    count(Kind::Allocations, 1);
    // SAFETY: guaranteed by the caller.
    unsafe { std::alloc::alloc(layout) }
}

/// Allocates like `std::alloc::alloc_zeroed`, and tracks the allocation.
///
/// # Safety
/// The same requirements as for std's function.
pub unsafe fn alloc_zeroed(layout: Layout) -> *mut u8 {
    count(Kind::Allocations, 1);
    // SAFETY: guaranteed by the caller.
    unsafe { std::alloc::alloc_zeroed(layout) }
}

/// Frees like `std::alloc::dealloc`, and ends the tracking.
///
/// # Safety
/// The same requirements as for std's function.
pub unsafe fn dealloc(memory: *mut u8, layout: Layout) {
    count(Kind::Allocations, -1);
    // SAFETY: guaranteed by the caller.
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
    /// Starts to track a value.
    pub fn new(value: T) -> Track<T> {
        count(Kind::Allocations, 1);
        Track { value, _tracked: Tracked }
    }

    /// Returns the value.
    pub fn get_ref(&self) -> &T {
        &self.value
    }

    /// Returns the value.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.value
    }

    /// Returns the value, which is no longer tracked.
    pub fn into_inner(self) -> T {
        self.value
    }
}
