//! System calls by number: `futex`, which std and parking_lot use to wait, `getrandom`, and calls on descriptors.

use std::ffi::{c_int, c_long};

use super::clock::{Readings, fail, nanoseconds};
use super::entropy;
use super::heap;
use super::net::by_number;
use super::orders;
use super::polled;
use super::real::real;
use super::request::Request;
use super::statics;
use super::switch::frame_pointer;
use super::thread::{Thread, current, outside};
use super::threads;

/// The commands of `membarrier` that are a fence for other threads. The other commands only query or register.
const MEMBARRIERS: c_int = libc::MEMBARRIER_CMD_GLOBAL
    | libc::MEMBARRIER_CMD_GLOBAL_EXPEDITED
    | libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED;

type Call = unsafe extern "C" fn(c_long, usize, usize, usize, usize, usize, usize) -> c_long;

#[unsafe(no_mangle)]
unsafe extern "C" fn syscall(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    if let Some(thread) = current() {
        match number {
            libc::SYS_futex => {
                // SAFETY: the caller guarantees the arguments.
                if let Some(result) = unsafe { futex(thread, frame_pointer(), a, b, c, d) } {
                    return result;
                }
            }
            libc::SYS_getrandom => {
                // SAFETY: the caller guarantees the buffer.
                unsafe { entropy::fill(thread, frame_pointer(), a as *mut u8, b) };
                return b as c_long;
            }
            libc::SYS_gettid => return threads::number(thread).into(),
            // rustix calls these functions only by number.
            // SAFETY: the caller guarantees the arguments.
            libc::SYS_eventfd2 => return unsafe { by_number::eventfd(a as _, b as _) }.into(),
            libc::SYS_timerfd_create => {
                // SAFETY: the caller guarantees the arguments.
                return unsafe { by_number::timerfd_create(a as _, b as _) }.into();
            }
            libc::SYS_epoll_pwait2 => {
                // SAFETY: the caller guarantees the arguments.
                let found =
                    unsafe { by_number::epoll_pwait2(a as _, b as _, c as _, d as _, e as _) };
                return found.into();
            }
            // A program that does not find io_uring uses epoll instead.
            libc::SYS_io_uring_setup => {
                super::compiled::note_entered("io_uring_setup");
                return fail(libc::ENOSYS);
            }
            _ => {}
        }
    }
    // SAFETY: the caller guarantees the buffer.
    if number == libc::SYS_getrandom && unsafe { polled::fill(a as *mut u8, b) } {
        return b as c_long;
    }
    // SAFETY: the caller guarantees the arguments.
    let result = unsafe { real!(c"syscall", Call)(number, a, b, c, d, e, f) };
    if number == libc::SYS_membarrier
        && result == 0
        && a as c_int & MEMBARRIERS != 0
        && let (Some(thread), Some(orders)) = (current(), orders::orders())
    {
        outside(|| orders.fence_of_all(thread.number));
    }
    result
}

/// Performs a wait or a wake of a simulated thread. Returns `None` for other operations.
///
/// # Safety
/// The arguments must be valid for the system call.
unsafe fn futex(
    thread: &mut Thread,
    frame: usize,
    word: usize,
    operation: usize,
    value: usize,
    timeout: usize,
) -> Option<c_long> {
    let of_wall_clock = operation as c_int & libc::FUTEX_CLOCK_REALTIME != 0;
    let clock = if of_wall_clock { libc::CLOCK_REALTIME } else { libc::CLOCK_MONOTONIC };
    match (operation & 0x7f) as c_int {
        operation @ (libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET) => {
            // SAFETY: the caller guarantees the arguments.
            let time = unsafe { nanoseconds(timeout as *const libc::timespec) };
            // Without the bitset commands, the time is a duration.
            let deadline = match operation {
                libc::FUTEX_WAIT => time.map(|time| thread.run().in_nanoseconds(time)),
                _ => time.map(|time| thread.run().at(clock, time)),
            };
            thread.readings = Readings::default();
            outside(|| {
                let waits = &mut thread.run().shared_waits;
                if statics::is_shared(word) && !waits.contains(&word) {
                    waits.push(word);
                }
            });
            // The carrier reads the word, so an invalid address must fail here, as for an atomic operation.
            // SAFETY: the caller guarantees that the word is valid.
            unsafe { std::ptr::read_volatile(word as *const u8) };
            let request = Request::Wait { word, expected: value as u32, deadline };
            let answer = thread.stop(request, (0, frame));
            if let Some(orders) = orders::orders() {
                // The kernel executes fences here, whatever the memory orders of the program are.
                outside(|| orders.receive(thread.number, word));
            }
            Some(match answer {
                0 => 0,
                error => fail(error as c_int),
            })
        }
        libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET => {
            let wake_system = || {
                // SAFETY: a wake has no effect on memory.
                outside(|| unsafe {
                    real!(c"syscall", Call)(libc::SYS_futex, word, operation, value, 0, 0, 0)
                })
            };
            // An OS thread may wait here for a lock that the run shares with it, for example the lock that std takes
            // when a thread begins. The run must not depend on that thread, so this wake is not a request. It precedes
            // the request, because the run may end with a request.
            let is_shared = outside(|| statics::is_shared(word));
            if is_shared {
                let woken = wake_system();
                if !thread.run().shared_waits.contains(&word) {
                    return Some(woken);
                }
            }
            let count = value as u32;
            if let Some(orders) = orders::orders() {
                outside(|| orders.publish(thread.number, word));
            }
            let woken = thread.stop(Request::Wake { word, count }, (0, frame)) as c_long;
            if woken == 0 && !is_shared && !heap::has(word) {
                wake_system();
            }
            Some(woken)
        }
        _ => None,
    }
}
