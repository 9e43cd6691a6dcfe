//! Calls at the limits of a run: a full heap, an infinite time, descriptors that are ready for something else.

#![allow(unsafe_code, reason = "std has no call that polls a descriptor")]

use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

/// libc's `pollfd`.
#[repr(C)]
struct Polled {
    descriptor: i32,
    wanted: i16,
    found: i16,
}

/// `POLLIN`.
const READABLE: i16 = 1;

unsafe extern "C" {
    fn poll(polled: *mut Polled, count: u64, timeout: i32) -> i32;
}

/// A vector that does not fit into the heap of a run when it grows. The one thread does the same in each run, and the
/// second run begins with the heap of the first one.
#[sim::test(native, seeds = 2)]
fn an_allocation_that_grows_beyond_the_heap_is_of_libc() {
    let mut bytes = vec![1_u8; 300 << 20];
    bytes.reserve_exact(300 << 20);
    assert_eq!(bytes[(300 << 20) - 1], 1);
}

/// A socket that can be written to, and is polled for bytes.
#[sim::test(native, seeds = 100)]
fn a_poll_for_bytes_is_woken_by_bytes() {
    let (own, mut other) = UnixStream::pair().unwrap();
    let writer = thread::spawn(move || {
        other.write_all(b"x").unwrap();
        other
    });
    let mut polled = Polled { descriptor: own.as_raw_fd(), wanted: READABLE, found: 0 };
    // SAFETY: there is one descriptor.
    assert_eq!(unsafe { poll(&mut polled, 1, -1) }, 1);
    assert_eq!(polled.found, READABLE);
    drop(writer.join().unwrap());
}

/// More threads than have memory of their own. One of them may leak a value.
fn many_threads(leaking: Option<u64>) {
    for number in 0..300 {
        let thread = thread::spawn(move || {
            let value = Box::new(number);
            if leaking == Some(number) {
                std::hint::black_box(Box::leak(value));
                return number;
            }
            *value
        });
        assert_eq!(thread.join().unwrap(), number);
    }
}

#[sim::test(native, leaks, seeds = 2, max_steps = 1_000_000)]
fn many_threads_leak_nothing() {
    many_threads(None);
}

#[sim::test(native, leaks, seeds = 2, max_steps = 1_000_000, must_fail)]
fn one_of_many_threads_leaks() {
    many_threads(Some(150));
}

#[sim::test(native, seeds = 10)]
fn a_thread_that_sleeps_for_ever_holds_up_nobody() {
    thread::spawn(|| thread::sleep(Duration::MAX));
    thread::sleep(Duration::from_secs(1));
}
