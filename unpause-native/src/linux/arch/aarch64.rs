//! AArch64, with its procedure call standard (AAPCS64). UNTESTED: the assembly was run in an emulator, called by a C
//! program. The Rust code has never been run. See `docs/native-limits.md`, section Platforms.
//!
//! The thread pointer is the register `tpidr_el0`, which user code may write. The variables of the program are above it
//! (variant 1 of thread-local storage), and not below as on x86-64, so `Image::offset` is positive. The return address
//! is in the register `x30`. The registers `d8` to `d15` and `fpcr` are switched.

use std::arch::{asm, naked_asm};
use std::ffi::c_void;
use std::mem::offset_of;
use std::sync::atomic::AtomicU32;

use crate::linux::switch::Context;
use crate::linux::thread::Thread;

/// The number of bytes for the registers of a suspended thread on its stack: `x29`, `x30`, `x19` to `x28`, `d8` to
/// `d15`, `fpcr`, and eight unused bytes.
const SAVED: usize = 176;

/// Suspends the current thread in `from` and continues the thread suspended in `to`.
///
/// # Safety
/// `to` must be the state of a suspended thread that no OS thread runs. Its stack and its thread-local block must
/// exist. `from` must be valid until the thread is continued.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn switch(from: *mut Context, to: *const Context) {
    naked_asm!(
        "stp x29, x30, [sp, #-176]!",
        "stp x19, x20, [sp, #16]",
        "stp x21, x22, [sp, #32]",
        "stp x23, x24, [sp, #48]",
        "stp x25, x26, [sp, #64]",
        "stp x27, x28, [sp, #80]",
        "stp d8, d9, [sp, #96]",
        "stp d10, d11, [sp, #112]",
        "stp d12, d13, [sp, #128]",
        "stp d14, d15, [sp, #144]",
        "mrs x9, fpcr",
        // The second word has a known value: see `Thread::registers`.
        "stp x9, xzr, [sp, #160]",
        "mov x9, sp",
        "str x9, [x0, {stack_pointer}]",
        "ldr x9, [x1, {stack_pointer}]",
        "mov sp, x9",
        "ldr x9, [x1, {thread_pointer}]",
        "msr tpidr_el0, x9",
        "ldr x9, [sp, #160]",
        "msr fpcr, x9",
        "ldp d14, d15, [sp, #144]",
        "ldp d12, d13, [sp, #128]",
        "ldp d10, d11, [sp, #112]",
        "ldp d8, d9, [sp, #96]",
        "ldp x27, x28, [sp, #80]",
        "ldp x25, x26, [sp, #64]",
        "ldp x23, x24, [sp, #48]",
        "ldp x21, x22, [sp, #32]",
        "ldp x19, x20, [sp, #16]",
        "ldp x29, x30, [sp], #176",
        "ret",
        stack_pointer = const offset_of!(Context, stack_pointer),
        thread_pointer = const offset_of!(Context, thread_pointer),
    )
}

/// Prepares the stack of a thread that begins with `entry` when it is continued. Returns its stack pointer.
///
/// # Safety
/// The 176 bytes below `top` must be unused, and `top` must be a multiple of 16.
pub(crate) unsafe fn begin(top: usize, entry: *const ()) -> usize {
    let control: usize;
    // SAFETY: the instruction only reads a register.
    unsafe { asm!("mrs {}, fpcr", out(reg) control, options(nostack, nomem, preserves_flags)) };
    let frame = (top - SAVED) as *mut usize;
    // SAFETY: the caller guarantees that the memory is unused.
    unsafe {
        std::ptr::write_bytes(frame, 0, SAVED / 8);
        // x29 is 0, which ends the chain of frames. x30 is the return address of the switch.
        *frame.add(1) = entry as usize;
        *frame.add(20) = control;
    }
    frame as usize
}

/// Calls a function. The registers that a function preserves are then 0 at its begin, but for the frame pointer: the
/// function saves them on the stack, and its caller has other values there in each run.
///
/// # Safety
/// The function must be sound for this argument.
#[unsafe(naked)]
pub(crate) unsafe extern "C-unwind" fn call_with_zeros(
    function: unsafe extern "C-unwind" fn(*mut c_void),
    argument: *mut c_void,
) {
    naked_asm!(
        ".cfi_startproc",
        "stp x29, x30, [sp, #-96]!",
        ".cfi_def_cfa_offset 96",
        ".cfi_offset w29, -96",
        ".cfi_offset w30, -88",
        "stp x19, x20, [sp, #16]",
        ".cfi_offset w19, -80",
        ".cfi_offset w20, -72",
        "stp x21, x22, [sp, #32]",
        ".cfi_offset w21, -64",
        ".cfi_offset w22, -56",
        "stp x23, x24, [sp, #48]",
        ".cfi_offset w23, -48",
        ".cfi_offset w24, -40",
        "stp x25, x26, [sp, #64]",
        ".cfi_offset w25, -32",
        ".cfi_offset w26, -24",
        "stp x27, x28, [sp, #80]",
        ".cfi_offset w27, -16",
        ".cfi_offset w28, -8",
        "mov x29, sp",
        "mov x9, x0",
        "mov x0, x1",
        "mov x19, xzr",
        "mov x20, xzr",
        "mov x21, xzr",
        "mov x22, xzr",
        "mov x23, xzr",
        "mov x24, xzr",
        "mov x25, xzr",
        "mov x26, xzr",
        "mov x27, xzr",
        "mov x28, xzr",
        "blr x9",
        "ldp x19, x20, [sp, #16]",
        "ldp x21, x22, [sp, #32]",
        "ldp x23, x24, [sp, #48]",
        "ldp x25, x26, [sp, #64]",
        "ldp x27, x28, [sp, #80]",
        "ldp x29, x30, [sp], #96",
        ".cfi_def_cfa_offset 0",
        "ret",
        ".cfi_endproc",
    )
}

/// Saves the stack pointer, sets `parked` to 1, wakes its waiter, and sleeps for ever. It does not touch the stack
/// again, so a simulated thread can use the stack below the saved pointer.
///
/// # Safety
/// Both pointers must be valid for the rest of the process.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn park(stack_pointer: *mut usize, parked: *const AtomicU32) -> ! {
    naked_asm!(
        "mov x9, sp",
        "str x9, [x0]",
        "mov x19, x1",
        "mov w9, #1",
        "stlr w9, [x19]",
        // futex(parked, FUTEX_WAKE, 1)
        "mov x0, x19",
        "mov x1, #1",
        "mov x2, #1",
        "mov x3, #0",
        "mov x8, #98",
        "svc #0",
        // futex(parked, FUTEX_WAIT, 1), in a loop, because no thread changes the word
        "2:",
        "mov x0, x19",
        "mov x1, #0",
        "mov x2, #1",
        "mov x3, #0",
        "mov x8, #98",
        "svc #0",
        "b 2b",
    )
}

/// Returns the thread pointer of the current thread.
#[inline]
pub(crate) fn thread_pointer() -> usize {
    let base;
    // SAFETY: the instruction only reads a register.
    unsafe { asm!("mrs {}, tpidr_el0", out(reg) base, options(nostack, nomem, preserves_flags)) };
    base
}

/// Returns the frame pointer of the caller, if this crate is compiled with frame pointers.
#[inline(always)]
pub(crate) fn frame_pointer() -> usize {
    let frame;
    // SAFETY: the instruction only reads a register.
    unsafe { asm!("mov {}, x29", out(reg) frame, options(nostack, nomem, preserves_flags)) };
    frame
}

/// Returns the instruction pointer and the frame pointer at which a signal arrived.
///
/// # Safety
/// `context` must be the context of a signal handler.
pub(crate) unsafe fn interrupted(context: *const c_void) -> (usize, usize) {
    // SAFETY: the caller passes the context of a handler.
    let context = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext };
    (context.pc as usize, context.regs[29] as usize)
}

/// The code that replaces an instruction.
pub(crate) type Code = u32;

/// A breakpoint: `brk #0`.
pub(crate) const BREAKPOINT: Code = 0xD420_0000;

/// Replaces code. Other threads may execute it: they see the old code or the new one.
///
/// # Safety
/// The address must be code in writable memory.
pub(crate) unsafe fn write_code(address: usize, code: Code) {
    // SAFETY: the caller guarantees that the code is writable. The instructions make the data and instruction caches
    // consistent for the address.
    unsafe {
        (*(address as *const AtomicU32)).store(code, Ordering::SeqCst);
        asm!("dc cvau, {0}", "dsb ish", "ic ivau, {0}", "dsb ish", "isb", in(reg) address, options(nostack, preserves_flags));
    }
}

/// Returns the address of the breakpoint at which a trap arrived, if the trap was a breakpoint.
///
/// # Safety
/// `context` must be the context of a signal handler.
pub(crate) unsafe fn trapped_at(context: *const c_void) -> usize {
    // SAFETY: the caller passes the context of a handler.
    unsafe { interrupted(context).0 }
}

/// Makes the thread continue at an address when the handler returns.
///
/// # Safety
/// `context` must be the context of a signal handler, and the thread must be able to continue at the address.
pub(crate) unsafe fn continue_at(context: *mut c_void, address: usize) {
    // SAFETY: the caller passes the context of a handler.
    unsafe { (*context.cast::<libc::ucontext_t>()).uc_mcontext.pc = address as u64 };
}

/// Returns the number and the first argument of a system call. `address` is the address of its instruction, which is
/// `code`. Returns `None` for other instructions.
///
/// # Safety
/// `context` must be the context of a signal handler, and the address must be code.
pub(crate) unsafe fn system_call(
    context: *const c_void,
    _address: usize,
    code: Code,
) -> Option<(i64, usize)> {
    // SAFETY: the caller passes the context of a handler.
    let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.regs };
    // `svc`, with any number.
    let is_it = code & 0xFFE0_001F == 0xD400_0001;
    is_it.then_some((registers[8] as i64, registers[0] as usize))
}

/// Makes the thread continue after the system call at an address, with an error as its result.
///
/// # Safety
/// `context` must be the context of a signal handler, and the address must be a system call.
pub(crate) unsafe fn end_system_call(context: *mut c_void, address: usize, error: i32) {
    // SAFETY: the caller passes the context of a handler.
    unsafe {
        (*context.cast::<libc::ucontext_t>()).uc_mcontext.regs[0] = (-i64::from(error)) as u64;
        continue_at(context, address + 4);
    }
}

/// Returns the address of the symbol that is linked with the replacements of std functions, or 0 if they are not
/// linked.
#[unsafe(naked)]
pub(crate) extern "C" fn marker() -> usize {
    naked_asm!(
        ".weak unpause_std_replaced",
        "adrp x0, :got:unpause_std_replaced",
        "ldr x0, [x0, :got_lo12:unpause_std_replaced]",
        "ret",
    )
}

/// Returns the address of the list of the toolchain's variables, which is linked with the replacements. Returns 0 if it
/// is not linked.
#[unsafe(naked)]
pub(crate) extern "C" fn variables_of_toolchain() -> usize {
    naked_asm!(
        ".weak unpause_std_variables",
        "adrp x0, :got:unpause_std_variables",
        "ldr x0, [x0, :got_lo12:unpause_std_variables]",
        "ret",
    )
}

/// The return address of a compare-exchange that fails although it sees the expected value.
#[derive(Clone, Copy)]
pub(crate) struct Return(std::convert::Infallible);

impl Return {
    /// Returns the address as one number.
    pub(crate) fn packed(self) -> usize {
        match self.0 {}
    }
}

/// Returns `None`, because no compare-exchange can be made to fail on this platform. A search with the chance `weak`
/// reports this.
pub(crate) fn failure(_: &Thread) -> Option<Return> {
    None
}

/// Defines a function with the name that the compiler calls, for this number of arguments. It passes two additional
/// arguments: the address of the saved return address, and the frame pointer of the caller.
macro_rules! entry {
    ($name:ident, 1, $to:ident) => { $crate::linux::arch::entry!($name, "x1", "x2", $to); };
    ($name:ident, 2, $to:ident) => { $crate::linux::arch::entry!($name, "x2", "x3", $to); };
    ($name:ident, 3, $to:ident) => { $crate::linux::arch::entry!($name, "x3", "x4", $to); };
    ($name:ident, $address:literal, $frame:literal, $to:ident) => {
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            std::arch::naked_asm!(
                concat!("mov ", $frame, ", x29"),
                "stp x29, x30, [sp, #-16]!",
                concat!("add ", $address, ", sp, #8"),
                "bl {}",
                "ldp x29, x30, [sp], #16",
                "ret",
                sym $to,
            )
        }
    };
}

/// Like `entry`, but for a compare-exchange, whose two memory orders are passed as one number.
macro_rules! entry_of_strong {
    ($name:ident, $to:ident) => {
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            std::arch::naked_asm!(
                "lsl w4, w4, #8",
                "orr w3, w3, w4",
                "mov x5, x29",
                "stp x29, x30, [sp, #-16]!",
                "add x4, sp, #8",
                "bl {}",
                "ldp x29, x30, [sp], #16",
                "ret",
                sym $to,
            )
        }
    };
}

pub(crate) use {entry, entry_of_strong};
