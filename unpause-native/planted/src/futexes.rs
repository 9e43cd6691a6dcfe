//! The system call `futex`, as programs with locks of their own call it. Each function returns libc's number, or a
//! negative error number.

use std::ptr::null;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// The errors of the call.
pub const EAGAIN: i64 = -11;
/// An argument is invalid.
pub const EINVAL: i64 = -22;
/// The system does not have the call.
pub const ENOSYS: i64 = -38;
/// The time is over.
pub const ETIMEDOUT: i64 = -110;

const FUTEX: i64 = if cfg!(target_arch = "x86_64") { 202 } else { 98 };
const FUTEX_WAITV: i64 = 449;

const WAIT: i32 = 0;
const WAKE: i32 = 1;
const REQUEUE: i32 = 3;
const CMP_REQUEUE: i32 = 4;
const WAKE_OP: i32 = 5;
const LOCK_PI: i32 = 6;
const WAIT_BITSET: i32 = 9;
const WAKE_BITSET: i32 = 10;

#[repr(C)]
struct Time {
    seconds: i64,
    nanoseconds: i64,
}

unsafe extern "C" {
    fn syscall(number: i64, ...) -> i64;
}

/// Makes the call, for a word of this process.
fn call(
    word: &AtomicU32,
    operation: i32,
    value: u32,
    fourth: usize,
    other: *const AtomicU32,
    last: u32,
) -> i64 {
    const PRIVATE: i32 = 128;
    // SAFETY: the words and the time exist, and the other arguments are numbers.
    let result =
        unsafe { syscall(FUTEX, word.as_ptr(), operation | PRIVATE, value, fourth, other, last) };
    with_error(result)
}

fn with_error(result: i64) -> i64 {
    match result {
        0.. => result,
        _ => -i64::from(std::io::Error::last_os_error().raw_os_error().unwrap_or(0)),
    }
}

/// Waits for a wake, if the word has this value.
pub fn wait(word: &AtomicU32, value: u32) -> i64 {
    call(word, WAIT, value, 0, null(), 0)
}

/// The same with a time limit.
pub fn wait_for(word: &AtomicU32, value: u32, limit: Duration) -> i64 {
    wait_for_raw(word, value, limit.as_secs() as i64, i64::from(limit.subsec_nanos()))
}

/// The same with any numbers as the limit.
pub fn wait_for_raw(word: &AtomicU32, value: u32, seconds: i64, nanoseconds: i64) -> i64 {
    let time = Time { seconds, nanoseconds };
    call(word, WAIT, value, (&raw const time) as usize, null(), 0)
}

/// Waits for a wake with one of these bits.
pub fn wait_bits(word: &AtomicU32, value: u32, bits: u32) -> i64 {
    call(word, WAIT_BITSET, value, 0, null(), bits)
}

/// Wakes threads that wait for the word.
pub fn wake(word: &AtomicU32, count: u32) -> i64 {
    call(word, WAKE, count, 0, null(), 0)
}

/// Wakes threads that wait for one of these bits.
pub fn wake_bits(word: &AtomicU32, count: u32, bits: u32) -> i64 {
    call(word, WAKE_BITSET, count, 0, null(), bits)
}

/// Wakes threads, and makes others wait for another word.
pub fn requeue(word: &AtomicU32, wakes: u32, moves: u32, to: &AtomicU32) -> i64 {
    call(word, REQUEUE, wakes, moves as usize, to, 0)
}

/// The same if the word has this value.
pub fn compare_and_requeue(
    word: &AtomicU32,
    value: u32,
    wakes: u32,
    moves: u32,
    to: &AtomicU32,
) -> i64 {
    call(word, CMP_REQUEUE, wakes, moves as usize, to, value)
}

/// Adds to another word, and wakes a thread that waits for the word. If the other word had this value, also wakes a
/// thread that waits for it.
pub fn add_and_wake(word: &AtomicU32, other: &AtomicU32, number: u32, value: u32) -> i64 {
    const ADD: u32 = 1;
    let code = ADD << 28 | (number & 0xfff) << 12 | (value & 0xfff);
    call(word, WAKE_OP, 1, 1, other, code)
}

/// Locks a word with priority inheritance.
pub fn lock_by_priority(word: &AtomicU32) -> i64 {
    call(word, LOCK_PI, 0, 0, null(), 0)
}

/// Calls the wait for several words, with no word.
pub fn wait_for_several() -> i64 {
    // SAFETY: there is no word, so no pointer is read.
    with_error(unsafe { syscall(FUTEX_WAITV, 0usize, 0, 0, 0usize, 1) })
}
