//! The output of simulated threads to the standard output and error. It is stored for the report of the run, and not
//! printed during the run.
//!
//! C functions that write (`printf`) call libc's internal functions, so their output is not captured here.

use std::cell::{Cell, UnsafeCell};
use std::ffi::{c_int, c_void};

use super::std_state::streams;
use super::thread::{current, outside};

/// The maximum number of output bytes that are stored per run. The rest is dropped.
const KEPT: usize = 16 << 10;

struct Shared(UnsafeCell<Vec<u8>>);

// SAFETY: only the carrier of a run and the threads of the run use the value. They execute one at a time, on the
// carrier's OS thread.
unsafe impl Sync for Shared {}

static WRITTEN: Shared = Shared(UnsafeCell::new(Vec::new()));

thread_local! {
    /// True while the carrier writes the output that std has buffered for simulated threads.
    static FLUSHES: Cell<bool> = const { Cell::new(false) };
}

/// Removes the output of earlier runs.
pub(crate) fn begin() {
    // SAFETY: see `Shared`.
    unsafe { (*WRITTEN.0.get()).clear() };
}

/// Stores the output that std has buffered. Called by the carrier if a run has used a standard stream of std.
fn flush() {
    FLUSHES.set(true);
    streams::flush();
    FLUSHES.set(false);
}

/// Returns the text that the threads of the last run wrote to the standard output and error.
pub fn take_output() -> String {
    String::from_utf8_lossy(&take_bytes()).into_owned()
}

/// Returns this output as bytes.
pub(crate) fn take_bytes() -> Vec<u8> {
    // SAFETY: see `Shared`.
    unsafe { std::mem::take(&mut *WRITTEN.0.get()) }
}

/// Sets the output of a run in another process.
pub(crate) fn set(written: Vec<u8>) {
    // SAFETY: see `Shared`.
    unsafe { *WRITTEN.0.get() = written };
}

/// Stores bytes for the standard output or error, if they are from a run. Returns `false` for other bytes.
fn keeps(file: c_int, bytes: &[u8]) -> bool {
    let is_standard = file == libc::STDOUT_FILENO || file == libc::STDERR_FILENO;
    if !is_standard || (current().is_none() && !FLUSHES.get()) {
        return false;
    }
    outside(|| {
        // SAFETY: see `Shared`.
        let written = unsafe { &mut *WRITTEN.0.get() };
        let room = KEPT.saturating_sub(written.len());
        written.extend_from_slice(&bytes[..bytes.len().min(room)]);
    });
    true
}

/// Returns the bytes of a C buffer.
///
/// # Safety
/// The requirements are the same as for `write`.
unsafe fn bytes<'a>(buffer: *const c_void, size: usize) -> &'a [u8] {
    match size {
        0 => &[],
        // SAFETY: the caller guarantees the buffer.
        _ => unsafe { std::slice::from_raw_parts(buffer.cast(), size) },
    }
}

/// Stores the bytes of a `write` call for the standard output or error, if the call is from a run. Returns `false` for
/// other calls.
///
/// # Safety
/// The requirements are the same as for `write`.
pub(crate) unsafe fn takes(file: c_int, buffer: *const c_void, size: usize) -> bool {
    // SAFETY: the caller guarantees the arguments.
    (file == 1 || file == 2) && keeps(file, unsafe { bytes(buffer, size) })
}

/// Stores the bytes of a `writev` call in the same way. Returns the number of stored bytes.
///
/// # Safety
/// The requirements are the same as for `writev`.
pub(crate) unsafe fn takes_parts(
    file: c_int,
    parts: *const libc::iovec,
    count: c_int,
) -> Option<isize> {
    if !(file == 1 || file == 2) || !keeps(file, &[]) {
        return None;
    }
    let mut size = 0;
    for part in 0..count as usize {
        // SAFETY: the caller guarantees the arguments.
        let bytes = unsafe {
            let part = &*parts.add(part);
            bytes(part.iov_base, part.iov_len)
        };
        keeps(file, bytes);
        size += bytes.len();
    }
    Some(size as isize)
}

/// Completes the output at the end of the run. The locks of the streams must be free.
pub(crate) fn end() {
    if streams::take_used() {
        flush();
    }
}
