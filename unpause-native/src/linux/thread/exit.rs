//! `pthread_exit`: ends a simulated thread, and not the OS thread that carries the run.
//!
//! Like libc, it unwinds the stack, so that the destructors of Rust and C++ on the stack run. It aborts if a function
//! on the stack does not allow this. For example, `catch_unwind` of std does not let it pass, so a thread of std must
//! not call it. Handlers of `pthread_cleanup_push` in C do not run, unless the C code is compiled with `-fexceptions`.

use std::ffi::{c_int, c_void};

use super::{Thread, current, entry, finish, outside};
use crate::linux::death::Death;
use crate::linux::real::real;

/// The exception object of libgcc, and the result of the thread. Unwinding reuses the stack, so it is not on the stack.
#[repr(C, align(16))]
struct Exit {
    _class: u64,
    _cleanup: usize,
    _private: [usize; 2],
    result: *mut c_void,
}

/// The state of the unwinder.
#[repr(C)]
struct UnwindContext {
    _private: [u8; 0],
}

/// The function that the unwinder calls for each frame, before the destructors of the frame.
type Stop = extern "C" fn(
    version: c_int,
    actions: c_int,
    class: u64,
    exit: *mut Exit,
    context: *mut UnwindContext,
    thread: *mut c_void,
) -> c_int;

unsafe extern "C-unwind" {
    fn _Unwind_ForcedUnwind(exit: *mut Exit, stop: Stop, thread: *mut c_void) -> c_int;
    fn _Unwind_GetRegionStart(context: *mut UnwindContext) -> usize;
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_exit(result: *mut c_void) -> ! {
    if let Some(thread) = current() {
        let exit = Exit { _class: 0, _cleanup: 0, _private: [0; 2], result };
        let exit = outside(|| Box::into_raw(Box::new(exit)));
        let thread: *mut Thread = thread;
        // SAFETY: the exception object lives until `stop` frees it. The unwinder returns only if a function on the
        // stack does not allow unwinding, and has then changed nothing that this function uses.
        unsafe {
            _Unwind_ForcedUnwind(exit, stop, thread.cast());
            (*thread).die(Death::Abort)
        }
    }
    type RealExit = unsafe extern "C-unwind" fn(*mut c_void) -> !;
    // SAFETY: the caller guarantees the requirements of `pthread_exit`.
    unsafe { real!(c"pthread_exit", RealExit)(result) }
}

/// Ends the thread when the unwinder has reached the first function on its stack.
extern "C" fn stop(
    _version: c_int,
    actions: c_int,
    _class: u64,
    exit: *mut Exit,
    context: *mut UnwindContext,
    thread: *mut c_void,
) -> c_int {
    const CONTINUE: c_int = 0;
    const END_OF_STACK: c_int = 16;
    // SAFETY: the context is from the unwinder.
    let function = unsafe { _Unwind_GetRegionStart(context) };
    if actions & END_OF_STACK == 0 && function != entry as *const () as usize {
        return CONTINUE;
    }
    // SAFETY: `pthread_exit` has created the object on the thread that runs now. The unwinder does not continue.
    unsafe {
        let exit = outside(|| *Box::from_raw(exit));
        finish(thread.cast(), exit.result)
    }
}
