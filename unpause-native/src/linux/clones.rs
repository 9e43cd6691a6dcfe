//! Threads that a program creates by `clone`, without `pthread_create`. Such a thread is not a thread of a run: it has
//! no stack and no thread-locals of its own that the run knows.
//!
//! In a run the call fails, and a message names it, like other calls that a run does not support. Outside of runs it
//! counts like `pthread_create`: see [`uncontrolled`](super::uncontrolled). Processes that share no memory with their
//! parent are left alone, and so is `vfork`.
//!
//! # Limits
//!
//! The system call in assembly is noticed only in a run, at the breakpoint of its instruction (`unseen.rs`).

use std::ffi::{c_int, c_long, c_void};

use super::bystanders;
use super::clock::fail;
use super::real::real;
use super::refused::refuse;
use super::switch::frame_pointer;
use super::thread::current;

/// The name of the call in reports.
pub(crate) const CLONE: &str = "clone, of a thread";

/// The remedy in the message.
pub(crate) const REMEDY: &str = "Use `pthread_create` or a thread of std";

/// Returns `true` if a `clone` with these flags creates a thread: it shares memory, and its creator does not wait.
fn is_thread(flags: u64) -> bool {
    flags & libc::CLONE_VM as u64 != 0 && flags & libc::CLONE_VFORK as u64 == 0
}

/// Returns `true` if a system call with this number and this first argument creates a thread.
///
/// # Safety
/// The argument must be valid for the system call.
pub(crate) unsafe fn creates_thread(number: c_long, argument: usize) -> bool {
    match number {
        libc::SYS_clone => is_thread(argument as u64),
        // SAFETY: the caller guarantees the pointer. The structure begins with the flags.
        libc::SYS_clone3 => argument != 0 && is_thread(unsafe { *(argument as *const u64) }),
        _ => false,
    }
}

/// Refuses to create a thread in a run. `frame` is the frame pointer of the called function. Returns `None` outside of
/// runs, where the thread is noted.
#[inline(always)]
pub(crate) fn refused(frame: usize) -> Option<c_int> {
    if current().is_some() {
        return Some(refuse(CLONE, REMEDY, frame));
    }
    bystanders::note_created();
    None
}

type Child = extern "C" fn(*mut c_void) -> c_int;

type Clone = unsafe extern "C" fn(
    Child,
    *mut c_void,
    c_int,
    *mut c_void,
    *mut c_void,
    *mut c_void,
    *mut c_void,
) -> c_int;

/// The last three arguments are optional. Both processors pass optional arguments like others.
#[unsafe(no_mangle)]
unsafe extern "C" fn clone(
    child: Child,
    stack: *mut c_void,
    flags: c_int,
    argument: *mut c_void,
    parent_number: *mut c_void,
    locals: *mut c_void,
    child_number: *mut c_void,
) -> c_int {
    if is_thread(flags as u32 as u64)
        && let Some(error) = refused(frame_pointer())
    {
        return fail(error);
    }
    // SAFETY: the caller guarantees the arguments.
    unsafe {
        real!(c"clone", Clone)(child, stack, flags, argument, parent_number, locals, child_number)
    }
}
