//! The functions that instrumented code calls for plain accesses, in programs that are searched for
//! data races.

use std::ffi::{c_int, c_void};

use super::blocks;
use super::captured;
use super::fault::Step;
use super::orders;
use super::race;
use super::switch::frame_pointer;
use super::thread::{current, outside};

/// The maximum number of bytes of one copy that are checked.
const CHECKED: usize = 1 << 16;

/// Checks an access of the current simulated thread, in a function with this frame pointer.
#[inline]
fn access(address: usize, size: usize, is_write: bool, frame: usize) {
    let Some(thread) = current() else { return };
    if captured::has(thread, address) {
        return;
    }
    let trace = thread.trace(frame);
    // All variables of the caller are above this frame.
    let by = (&*thread, frame);
    let run = thread.run_of();
    let owner = run.owner(address, by);
    let invalid = blocks::invalid(address, size);
    if invalid.is_some() || owner.has_returned() {
        let label = if is_write { "write" } else { "read" };
        let at = invalid.unwrap_or(address);
        let fault = outside(|| run.misuse(at, by, Step::new(label, thread.number, trace)));
        thread.fail(fault);
        return;
    }
    let (Some(detector), Some(orders)) = (race::detector(), orders::orders()) else { return };
    let number = thread.number;
    let size = size.min(CHECKED);
    let race = outside(|| {
        detector.lend(&owner, address, size);
        detector.plain(orders, number, address, size, is_write, &trace)
    });
    let is_above = thread.lent.get() < frame && thread.has_on_stack(frame);
    let gone = if is_above { thread.returned(frame, &trace) } else { None };
    if let Some(fault) = race.or(gone) {
        thread.fail(fault);
    }
}

/// Defines functions with the names that the compiler calls, for accesses of several sizes.
macro_rules! accesses {
    ($($name:ident $size:literal $is_write:literal)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(address: usize) {
            access(address, $size, $is_write, frame_pointer());
        }
    )*};
}

accesses! {
    __tsan_read1 1 false
    __tsan_read2 2 false
    __tsan_read4 4 false
    __tsan_read8 8 false
    __tsan_read16 16 false
    __tsan_write1 1 true
    __tsan_write2 2 true
    __tsan_write4 4 true
    __tsan_write8 8 true
    __tsan_write16 16 true
    __tsan_unaligned_read2 2 false
    __tsan_unaligned_read4 4 false
    __tsan_unaligned_read8 8 false
    __tsan_unaligned_read16 16 false
    __tsan_unaligned_write2 2 true
    __tsan_unaligned_write4 4 true
    __tsan_unaligned_write8 8 true
    __tsan_unaligned_write16 16 true
    __tsan_read_write1 1 true
    __tsan_read_write2 2 true
    __tsan_read_write4 4 true
    __tsan_read_write8 8 true
    __tsan_read_write16 16 true
    __tsan_unaligned_read_write2 2 true
    __tsan_unaligned_read_write4 4 true
    __tsan_unaligned_read_write8 8 true
    __tsan_unaligned_read_write16 16 true
    __tsan_vptr_read 8 false
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_vptr_update(address: usize, _table: usize) {
    access(address, 8, true, frame_pointer());
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_read_range(address: usize, size: usize) {
    access(address, size, false, frame_pointer());
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_write_range(address: usize, size: usize) {
    access(address, size, true, frame_pointer());
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_memcpy(
    to: *mut c_void,
    from: *const c_void,
    size: usize,
) -> *mut c_void {
    access(from as usize, size, false, frame_pointer());
    access(to as usize, size, true, frame_pointer());
    // SAFETY: the caller guarantees the arguments.
    unsafe { libc::memcpy(to, from, size) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_memmove(
    to: *mut c_void,
    from: *const c_void,
    size: usize,
) -> *mut c_void {
    access(from as usize, size, false, frame_pointer());
    access(to as usize, size, true, frame_pointer());
    // SAFETY: the caller guarantees the arguments.
    unsafe { libc::memmove(to, from, size) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_memset(to: *mut c_void, byte: c_int, size: usize) -> *mut c_void {
    access(to as usize, size, true, frame_pointer());
    // SAFETY: the caller guarantees the arguments.
    unsafe { libc::memset(to, byte, size) }
}
