//! Variables of functions that have returned. Planted accesses must be found; right programs beside them pass.
#![allow(unsafe_code, reason = "the errors that are planted need it")]

use std::hint::black_box;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::mpsc;
use std::thread::{self, Thread};

/// A word on the stack of the thread that waits for it.
struct Latch {
    is_set: AtomicBool,
    /// The number of threads that have set it.
    count: AtomicUsize,
    waiting: Thread,
}

/// A function waits for a latch that another thread sets. The setter counts before or after it sets it.
fn waits(counts_first: bool) {
    let latch = Latch {
        is_set: AtomicBool::new(false),
        count: AtomicUsize::new(0),
        waiting: thread::current(),
    };
    let address = &raw const latch as usize;
    let setter = thread::spawn(move || {
        // SAFETY: the latch lives until it is set, and no longer.
        let latch = unsafe { &*(address as *const Latch) };
        let waiting = latch.waiting.clone();
        if counts_first {
            latch.count.fetch_add(1, SeqCst);
        }
        latch.is_set.store(true, SeqCst);
        if !counts_first {
            latch.count.fetch_add(1, SeqCst);
        }
        waiting.unpark();
    });
    while !latch.is_set.load(SeqCst) {
        thread::park();
    }
    // It would be longer than the function if the thread were joined here.
    drop(setter);
}

#[inline(never)]
fn returns_when_the_latch_is_set(counts_first: bool) {
    waits(counts_first);
    black_box(());
}

#[sim::test(native, seeds = 1000, must_fail)]
fn a_latch_is_used_after_its_owner_has_returned() {
    returns_when_the_latch_is_set(false);
    thread::yield_now();
}

#[sim::test(native, seeds = 1000)]
fn a_latch_is_used_before_its_owner_has_returned() {
    returns_when_the_latch_is_set(true);
    thread::yield_now();
}

/// A thread returns the address of its variable, or the variable itself.
fn value_of_a_thread(boxed: bool) -> u64 {
    let (address, kept) = thread::spawn(move || {
        let boxed = boxed.then(|| Box::new(AtomicU64::new(7)));
        let own = AtomicU64::new(7);
        let address = boxed.as_deref().map_or(&raw const own, |boxed| &raw const *boxed);
        (black_box(address) as usize, boxed)
    })
    .join()
    .unwrap();
    // SAFETY: violated unless it is boxed.
    let value = unsafe { &*(address as *const AtomicU64) }.load(SeqCst);
    drop(kept);
    value
}

#[sim::test(native, seeds = 3, must_fail)]
fn a_variable_of_a_thread_that_has_ended_is_loaded() {
    black_box(value_of_a_thread(false));
}

#[sim::test(native, seeds = 100)]
fn a_box_of_a_thread_that_has_ended_is_loaded() {
    assert_eq!(value_of_a_thread(true), 7);
}

#[inline(never)]
fn address_of_a_local() -> *const AtomicU64 {
    let local = AtomicU64::new(7);
    black_box(&raw const local)
}

#[sim::test(native, seeds = 3, must_fail)]
fn a_function_returns_the_address_of_its_variable() {
    // SAFETY: none.
    black_box(unsafe { &*address_of_a_local() }.load(SeqCst));
}

/// One thread writes to a variable of another thread, which waits for it or returns early.
fn written_by_another(waits: bool) -> u64 {
    let (sender, receiver) = mpsc::channel();
    let mut sum = black_box([1u64; 4]);
    let address = &raw mut sum as usize;
    let writer = thread::spawn(move || {
        receiver.recv().unwrap();
        // SAFETY: violated unless the owner waits.
        unsafe { *(address as *mut u64) += 1 };
    });
    sender.send(()).unwrap();
    if waits {
        writer.join().unwrap();
    }
    sum[3]
}

#[inline(never)]
fn calls(waits: bool) {
    assert_eq!(written_by_another(waits), 1);
    thread::yield_now();
}

#[sim::test(native, races, seeds = 1000, must_fail)]
fn a_variable_is_written_after_its_function_has_returned() {
    calls(false);
    thread::yield_now();
}

#[sim::test(native, races, seeds = 100)]
fn a_variable_is_written_before_its_function_returns() {
    calls(true);
}

#[sim::test(native, seeds = 100)]
fn scoped_threads_borrow_from_functions_that_wait() {
    fn sum(depth: u64) -> u64 {
        let (own, others) = (AtomicU64::new(depth), AtomicU64::new(0));
        thread::scope(|scope| {
            scope.spawn(|| own.fetch_add(1, SeqCst));
            if depth > 0 {
                scope.spawn(|| others.fetch_add(sum(depth - 1), SeqCst));
            }
        });
        own.into_inner() + others.into_inner()
    }
    assert_eq!(sum(3), 10);
}

/// A thread writes to a variable before its first operation. Its owner may wait for a message after the write.
#[inline(never)]
fn lends(waits: bool) {
    let variable = black_box(AtomicU64::new(0));
    let address = &raw const variable as usize;
    let (sender, receiver) = mpsc::channel();
    let writer = thread::spawn(move || {
        // SAFETY: violated unless the owner waits.
        unsafe { *(address as *mut u64) += 1 };
        // The owner may be gone.
        _ = sender.send(());
    });
    if waits {
        receiver.recv().unwrap();
    }
    drop(writer);
}

#[sim::test(native, races, seeds = 100, must_fail)]
fn nothing_orders_a_return_after_a_write() {
    lends(false);
    thread::yield_now();
}

#[sim::test(native, races, seeds = 100)]
fn a_message_orders_a_return_after_a_write() {
    lends(true);
    thread::yield_now();
}
