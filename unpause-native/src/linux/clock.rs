//! Functions of libc that read a clock or sleep: virtual time, in nanoseconds. It moves when all threads wait; a thread
//! that does nothing but read it waits, too.

use std::ffi::{c_int, c_long};

use super::real::real;
use super::request::Request;
use super::switch::frame_pointer;
use super::thread::current;

const SECOND: u64 = 1_000_000_000;

/// A thread that has read the clock so often, and has not waited in between, may loop until a time. It sleeps before
/// each further reading.
const READS: u32 = 16;

/// The length of the first of these sleeps. It doubles with each one: some dozen readings come to any time.
const SLEEP: u64 = 1_000;

/// The nanoseconds of a time. `None` if they are more than 2^64, or the time is invalid.
///
/// # Safety
/// `time` is null or valid.
pub(crate) unsafe fn nanoseconds(time: *const libc::timespec) -> Option<u64> {
    // SAFETY: the caller's.
    let time = unsafe { time.as_ref() }?;
    let seconds = u64::try_from(time.tv_sec).ok()?.checked_mul(SECOND)?;
    seconds.checked_add(u64::try_from(time.tv_nsec).ok()?)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: libc::clockid_t, time: *mut libc::timespec) -> c_int {
    if let Some(thread) = current() {
        thread.clock_reads = thread.clock_reads.saturating_add(1);
        if let Some(more) = thread.clock_reads.checked_sub(READS) {
            let until = thread.run().now.saturating_add(SLEEP << more.min(40));
            thread.stop(Request::Sleep { until }, (0, frame_pointer()));
        }
        let now = thread.run().now;
        let (seconds, rest) = (now / SECOND, now % SECOND);
        // SAFETY: the caller has room for the time.
        unsafe {
            *time = libc::timespec { tv_sec: seconds as i64, tv_nsec: rest as c_long };
        }
        return 0;
    }
    type GetTime = unsafe extern "C" fn(libc::clockid_t, *mut libc::timespec) -> c_int;
    // SAFETY: the caller's arguments.
    unsafe { real!(c"clock_gettime", GetTime)(clock, time) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn clock_nanosleep(
    clock: libc::clockid_t,
    flags: c_int,
    time: *const libc::timespec,
    left: *mut libc::timespec,
) -> c_int {
    if let Some(thread) = current() {
        // SAFETY: the caller's time.
        let Some(time) = (unsafe { nanoseconds(time) }) else { return libc::EINVAL };
        let until = match flags & libc::TIMER_ABSTIME {
            0 => thread.run().now.saturating_add(time),
            _ => time,
        };
        thread.clock_reads = 0;
        thread.stop(Request::Sleep { until }, (0, frame_pointer()));
        return 0;
    }
    type Sleep = unsafe extern "C" fn(
        libc::clockid_t,
        c_int,
        *const libc::timespec,
        *mut libc::timespec,
    ) -> c_int;
    // SAFETY: the caller's arguments.
    unsafe { real!(c"clock_nanosleep", Sleep)(clock, flags, time, left) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nanosleep(time: *const libc::timespec, left: *mut libc::timespec) -> c_int {
    if current().is_some() {
        // SAFETY: the caller's arguments.
        return match unsafe { clock_nanosleep(libc::CLOCK_MONOTONIC, 0, time, left) } {
            0 => 0,
            error => fail(error),
        };
    }
    type Sleep = unsafe extern "C" fn(*const libc::timespec, *mut libc::timespec) -> c_int;
    // SAFETY: the caller's arguments.
    unsafe { real!(c"nanosleep", Sleep)(time, left) }
}

/// Sets `errno` and returns -1.
pub(crate) fn fail<T: From<i8>>(error: c_int) -> T {
    // SAFETY: libc gives each thread an `errno`.
    unsafe { *libc::__errno_location() = error };
    T::from(-1)
}
