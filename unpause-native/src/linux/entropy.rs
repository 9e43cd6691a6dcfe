//! Random bytes. In a run they are a stream that depends on a key, which the first call requests from the carrier.
//!
//! A run without simulated threads has a stream, too: see `polled.rs`.

use std::ffi::{c_uint, c_void};

use super::polled;
use super::real::real;
use super::request::Request;
use super::switch::frame_pointer;
use super::thread::{Thread, current};

/// Fills the buffer with the next bytes of the stream. `frame` is the frame pointer of the caller.
///
/// # Safety
/// The buffer must be valid for writes of `size` bytes.
pub(crate) unsafe fn fill(thread: &mut Thread, frame: usize, buffer: *mut u8, size: usize) {
    let mut state = match thread.run().random {
        Some(state) => state,
        None => thread.stop(Request::Key, (0, frame)),
    };
    for at in 0..size {
        // SAFETY: the caller guarantees the size of the buffer.
        unsafe { buffer.add(at).write(next_byte(&mut state)) };
    }
    thread.run().random = Some(state);
}

/// Returns the next byte of the stream: the upper byte of each number of splitmix64 (Steele, Lea, Flood 2014, figure
/// 17).
pub(crate) fn next_byte(state: &mut u64) -> u8 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut mixed = *state;
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((mixed ^ mixed >> 31) >> 56) as u8
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getrandom(buffer: *mut c_void, size: usize, flags: c_uint) -> isize {
    if let Some(thread) = current() {
        // SAFETY: the caller guarantees the buffer.
        unsafe { fill(thread, frame_pointer(), buffer.cast(), size) };
        return size as isize;
    }
    // SAFETY: the caller guarantees the buffer.
    if unsafe { polled::fill(buffer.cast(), size) } {
        return size as isize;
    }
    type Random = unsafe extern "C" fn(*mut c_void, usize, c_uint) -> isize;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"getrandom", Random)(buffer, size, flags) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getentropy(buffer: *mut c_void, size: usize) -> i32 {
    if let Some(thread) = current() {
        // SAFETY: the caller guarantees the buffer.
        unsafe { fill(thread, frame_pointer(), buffer.cast(), size) };
        return 0;
    }
    // SAFETY: the caller guarantees the buffer.
    if unsafe { polled::fill(buffer.cast(), size) } {
        return 0;
    }
    type Entropy = unsafe extern "C" fn(*mut c_void, usize) -> i32;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"getentropy", Entropy)(buffer, size) }
}
