//! The change from one stack and thread-local block to another.
//!
//! The registers that a function must keep for its caller are pushed, the stack pointer is saved, and those of the
//! other side are taken. The base of the thread-local block is the register `fs`: written by `wrfsbase` where the
//! kernel allows it (Linux 5.9), by the system call `arch_prctl` elsewhere.

use std::arch::{asm, naked_asm};
use std::mem::offset_of;
use std::sync::atomic::{AtomicU32, Ordering};

/// The saved state of a suspended thread.
#[derive(Default)]
#[repr(C)]
pub(crate) struct Context {
    /// The stack pointer.
    pub(crate) rsp: usize,
    /// The base of the thread-local block.
    pub(crate) fs: usize,
}

/// The bit of `AT_HWCAP2` that tells that user code may write `fs`.
const FSGSBASE: u64 = 1 << 1;

/// Suspends the current thread in `from` and continues the one suspended in `to`.
///
/// # Safety
/// `to` has the state of a suspended thread that runs nowhere, its stack and its thread-local block exist, and `from`
/// is valid until the thread is continued.
#[inline]
pub(crate) unsafe fn switch(from: *mut Context, to: *const Context) {
    // SAFETY: the caller promises it; the kernel allows `wrfsbase` if it says so.
    unsafe {
        match may_write_fs() {
            true => switch_by_register(from, to),
            false => switch_by_call(from, to),
        }
    }
}

/// The permission of user code to write `fs`: 0 no, 1 yes, 2 not known yet.
static MAY_WRITE_FS: AtomicU32 = AtomicU32::new(2);

/// Returns `true` if user code may write `fs`.
#[inline]
fn may_write_fs() -> bool {
    match MAY_WRITE_FS.load(Ordering::Relaxed) {
        2 => {
            // SAFETY: the call reads a value that the kernel gave to the process.
            let may = unsafe { libc::getauxval(libc::AT_HWCAP2) } & FSGSBASE != 0;
            MAY_WRITE_FS.store(u32::from(may), Ordering::Relaxed);
            may
        }
        known => known == 1,
    }
}

/// A function that saves the registers in `from`, takes the stack of `to`, writes `fs` as the instructions say, and
/// takes the registers of `to`. The instructions must keep `rsp`; `rsi` is the address of `to`.
macro_rules! switch_by {
    ($name:ident: $($write_fs:literal),*) => {
        #[unsafe(naked)]
        unsafe extern "C" fn $name(from: *mut Context, to: *const Context) {
            naked_asm!(
                "push rbp",
                "push rbx",
                "push r12",
                "push r13",
                "push r14",
                "push r15",
                "mov [rdi + {rsp}], rsp",
                "mov rsp, [rsi + {rsp}]",
                $($write_fs,)*
                "pop r15",
                "pop r14",
                "pop r13",
                "pop r12",
                "pop rbx",
                "pop rbp",
                "ret",
                rsp = const offset_of!(Context, rsp),
                fs = const offset_of!(Context, fs),
            )
        }
    };
}

switch_by!(switch_by_register: "mov rax, [rsi + {fs}]", "wrfsbase rax");
// arch_prctl(ARCH_SET_FS, to.fs)
switch_by!(switch_by_call: "mov rsi, [rsi + {fs}]", "mov edi, 0x1002", "mov eax, 158", "syscall");

/// Saves the stack pointer, sets `parked` to 1, wakes its waiter, and sleeps for ever without touching the stack
/// again: the stack below the saved pointer is free for a simulated thread.
///
/// # Safety
/// Both pointers are valid for the rest of the process.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn park(rsp: *mut usize, parked: *const AtomicU32) -> ! {
    naked_asm!(
        "mov [rdi], rsp",
        "mov rbx, rsi",
        "mov dword ptr [rbx], 1",
        // futex(parked, FUTEX_WAKE, 1)
        "mov rdi, rbx",
        "mov esi, 1",
        "mov edx, 1",
        "xor r10d, r10d",
        "mov eax, 202",
        "syscall",
        // futex(parked, FUTEX_WAIT, 1), again and again: nobody changes the word
        "2:",
        "mov rdi, rbx",
        "xor esi, esi",
        "mov edx, 1",
        "xor r10d, r10d",
        "mov eax, 202",
        "syscall",
        "jmp 2b",
    )
}

/// The base of the thread-local block of the current thread.
#[inline]
pub(crate) fn fs() -> usize {
    let base;
    // SAFETY: the first word of the block is its own address (System V ABI for thread-local storage, section 3.4.6).
    unsafe { asm!("mov {}, fs:[0]", out(reg) base, options(nostack, readonly, preserves_flags)) };
    base
}

/// The frame pointer of the caller. It is one if this crate is compiled with frame pointers.
#[inline(always)]
pub(crate) fn frame_pointer() -> usize {
    let frame;
    // SAFETY: reads a register.
    unsafe { asm!("mov {}, rbp", out(reg) frame, options(nostack, nomem, preserves_flags)) };
    frame
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ended, Execution, Request};

    /// The number of requests of a thread that spawns another one and waits for it.
    fn requests() -> usize {
        let body = || assert_eq!(std::thread::spawn(|| 7).join().unwrap(), 7);
        let mut execution = Execution::begin(Box::new(body)).unwrap();
        let mut requests = 0;
        while execution.ended().is_none() {
            requests += 1;
            if let Request::Join { thread } = execution.resume(0, 0) {
                while !matches!(execution.resume(thread, 0), Request::End) {}
            }
        }
        assert_eq!(execution.ended(), Some(Ended::Returned));
        requests
    }

    #[test]
    fn threads_are_switched_by_a_system_call_where_user_code_may_not_write_fs() {
        let expected = requests();
        MAY_WRITE_FS.store(0, Ordering::Relaxed);
        assert_eq!((requests(), requests()), (expected, expected));
        MAY_WRITE_FS.store(2, Ordering::Relaxed);
        assert_eq!(requests(), expected);
    }
}
