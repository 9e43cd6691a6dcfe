//! The output of simulated threads to the standard output and error: kept for the report of the
//! run, not shown in each.
//!
//! Functions of C that write (`printf`) call libc's own and are not seen here.

use std::cell::{Cell, UnsafeCell};
use std::ffi::{c_int, c_void};

use super::std_state::streams;
use super::thread::{current, outside};

/// The largest number of bytes that are kept of a run. The rest is left out.
const KEPT: usize = 16 << 10;

struct Shared(UnsafeCell<Vec<u8>>);

// SAFETY: used by the only carrier of a run and by its threads, which run one at a time, on the carrier's thread of the
// system.
unsafe impl Sync for Shared {}

static WRITTEN: Shared = Shared(UnsafeCell::new(Vec::new()));

thread_local! {
    /// True while the carrier writes what std has buffered for simulated threads.
    static FLUSHES: Cell<bool> = const { Cell::new(false) };
}

/// Forgets what earlier runs wrote.
pub(crate) fn begin() {
    // SAFETY: see `Shared`.
    unsafe { (*WRITTEN.0.get()).clear() };
}

/// Takes what std has buffered. For the carrier, when a run has used a standard stream of std.
fn flush() {
    FLUSHES.set(true);
    streams::flush();
    FLUSHES.set(false);
}

/// The text that the threads of the last run wrote to the standard output and error.
pub fn take_output() -> String {
    String::from_utf8_lossy(&take_bytes()).into_owned()
}

/// The same as bytes.
pub(crate) fn take_bytes() -> Vec<u8> {
    // SAFETY: see `Shared`.
    unsafe { std::mem::take(&mut *WRITTEN.0.get()) }
}

/// The output of a run that another process has made.
pub(crate) fn set(written: Vec<u8>) {
    // SAFETY: see `Shared`.
    unsafe { *WRITTEN.0.get() = written };
}

/// Keeps bytes for the standard output or error, if they are of a run. Returns `false` for others.
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

/// The bytes of a buffer of C.
///
/// # Safety
/// As for `write`.
unsafe fn bytes<'a>(buffer: *const c_void, size: usize) -> &'a [u8] {
    match size {
        0 => &[],
        // SAFETY: the caller's.
        _ => unsafe { std::slice::from_raw_parts(buffer.cast(), size) },
    }
}

/// Keeps the bytes of a call of `write` for the standard output or error, if it is of a run. Returns `false` for
/// others.
///
/// # Safety
/// As for `write`.
pub(crate) unsafe fn takes(file: c_int, buffer: *const c_void, size: usize) -> bool {
    // SAFETY: the caller's arguments.
    (file == 1 || file == 2) && keeps(file, unsafe { bytes(buffer, size) })
}

/// The same for a call of `writev`. Returns the number of bytes kept.
///
/// # Safety
/// As for `writev`.
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
        // SAFETY: the caller's arguments.
        let bytes = unsafe {
            let part = &*parts.add(part);
            bytes(part.iov_base, part.iov_len)
        };
        keeps(file, bytes);
        size += bytes.len();
    }
    Some(size as isize)
}

/// The run is over: its output is complete. The locks of the streams are free.
pub(crate) fn end() {
    if streams::take_used() {
        flush();
    }
}
