//! A queue with one slot, whose value is plain memory, and a variable that another thread writes. Plain accesses are
//! not points: only `--any --races` sees what is wrong.

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

/// Another thread writes to a variable of a function that waits for it, or returns.
#[inline(never)]
fn lends(waits: bool) {
    let value = Plain::default();
    let lent = value.lend();
    let (done, is_done) = std::sync::mpsc::channel::<()>();
    let writer = thread::spawn(move || {
        lent.set(7);
        _ = done.send(());
    });
    if waits {
        is_done.recv().unwrap();
        assert_eq!(value.get(), 7);
    }
    drop(writer);
}

#[test]
fn waits_for_the_writer_of_its_variable() {
    lends(true);
}

/// Other functions take the memory just below the test.
#[inline(never)]
fn calls(waits: bool) {
    let room = std::hint::black_box([0u64; 32]);
    lends(waits);
    std::hint::black_box(room);
}

#[test]
fn returns_before_its_variable_is_written() {
    calls(false);
    thread::yield_now();
}
