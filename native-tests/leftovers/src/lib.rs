//! Code under test: a counter that loses updates, and its fixed twin.

#![forbid(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;

/// Adds one in two steps.
pub fn add_in_two_steps(count: &AtomicUsize) {
    let value = count.load(SeqCst);
    count.store(value + 1, SeqCst);
}

/// Adds one.
pub fn add(count: &AtomicUsize) {
    count.fetch_add(1, SeqCst);
}

/// The number after two threads have added one.
pub fn after(add: fn(&AtomicUsize)) -> usize {
    let count = Arc::new(AtomicUsize::new(0));
    let other = count.clone();
    let thread = thread::spawn(move || add(&other));
    add(&count);
    thread.join().unwrap();
    count.load(SeqCst)
}
