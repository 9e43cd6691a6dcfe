//! A queue of one place, whose value is plain memory. Plain accesses are no points: only `--any --races` sees the wrong order.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::thread;

use planted::Plain;

#[derive(Default)]
struct Queue {
    value: Plain,
    is_full: AtomicBool,
}

/// Sends a value. The bug: it is published before it is written.
fn hands_over(is_right: bool) {
    let queue = Arc::new(Queue::default());
    let other = queue.clone();
    let sender = thread::spawn(move || {
        if is_right {
            other.value.set(7);
        }
        other.is_full.store(true, Release);
        if !is_right {
            other.value.set(7);
        }
    });
    if queue.is_full.load(Acquire) {
        assert_eq!(queue.value.get(), 7);
    }
    sender.join().unwrap();
}

#[test]
fn publishes_before_it_writes() {
    hands_over(false);
}

#[test]
fn writes_before_it_publishes() {
    hands_over(true);
}
