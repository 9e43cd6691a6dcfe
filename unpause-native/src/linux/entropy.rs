//! Random bytes: in a run, a stream that the run's key decides.

use std::ffi::{c_uint, c_void};

use super::execution::Run;
use super::real::real;
use super::thread::current;

/// Fills the buffer with the next bytes of the stream.
///
/// # Safety
/// The buffer is valid for writes of `size` bytes.
pub(crate) unsafe fn fill(run: &mut Run, buffer: *mut u8, size: usize) {
    for at in 0..size {
        let byte = run.random_byte();
        // SAFETY: the caller's.
        unsafe { buffer.add(at).write(byte) };
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getrandom(buffer: *mut c_void, size: usize, flags: c_uint) -> isize {
    if let Some(thread) = current() {
        // SAFETY: the caller's buffer.
        unsafe { fill(thread.run(), buffer.cast(), size) };
        return size as isize;
    }
    type Random = unsafe extern "C" fn(*mut c_void, usize, c_uint) -> isize;
    // SAFETY: the caller's arguments.
    unsafe { real!(c"getrandom", Random)(buffer, size, flags) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getentropy(buffer: *mut c_void, size: usize) -> i32 {
    if let Some(thread) = current() {
        // SAFETY: the caller's buffer.
        unsafe { fill(thread.run(), buffer.cast(), size) };
        return 0;
    }
    type Entropy = unsafe extern "C" fn(*mut c_void, usize) -> i32;
    // SAFETY: the caller's arguments.
    unsafe { real!(c"getentropy", Entropy)(buffer, size) }
}
