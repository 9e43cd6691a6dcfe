//! A program with an allocator of its own, which counts in statics.

#![allow(unsafe_code, reason = "an allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use leftover_tests::{add, add_in_two_steps, after};

struct Counting;

static USED: AtomicUsize = AtomicUsize::new(0);

// SAFETY: the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        USED.fetch_add(layout.size(), SeqCst);
        // SAFETY: the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), SeqCst);
        // SAFETY: the caller's.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn memory_is_counted() {
    let before = USED.load(SeqCst);
    let memory = vec![1u8; 1000];
    assert!(USED.load(SeqCst) >= before + 1000);
    drop(memory);
    assert_eq!(after(add), 2);
}

#[test]
fn an_update_is_lost() {
    assert_eq!(after(add_in_two_steps), 2);
}
