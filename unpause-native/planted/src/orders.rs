//! Fences and writes without instrumentation, for tests of memory orders.

use std::sync::atomic::AtomicU32;

/// Writes an atomic without an atomic operation, as a C function may do.
pub fn write_unseen(word: &AtomicU32, value: u32) {
    // SAFETY: aligned and valid. The write is a single instruction on the processors of the tests.
    unsafe { word.as_ptr().write_volatile(value) };
}

/// Reads an atomic without an atomic operation.
pub fn read_unseen(word: &AtomicU32) -> u32 {
    // SAFETY: as above.
    unsafe { word.as_ptr().read_volatile() }
}

/// A fence of each thread of the process, by the system call `membarrier`. Returns `false` if the system has none.
pub fn membarrier() -> bool {
    unsafe extern "C" {
        fn syscall(number: i64, ...) -> i64;
    }
    const MEMBARRIER: i64 = if cfg!(target_arch = "x86_64") { 324 } else { 283 };
    const GLOBAL: i32 = 1;
    // SAFETY: no argument is a pointer.
    unsafe { syscall(MEMBARRIER, GLOBAL, 0, 0) == 0 }
}
