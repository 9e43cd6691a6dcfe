//! x86-64, with the calling convention of System V.
//!
//! The thread pointer is the register `fs`: written by `wrfsbase` where the kernel allows it (Linux 5.9), by the system
//! call `arch_prctl` elsewhere. The control registers of vectors and floating point are not switched.

use std::arch::{asm, naked_asm};
use std::ffi::c_void;
use std::mem::offset_of;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use crate::linux::switch::Context;

pub(crate) use crate::linux::weak::failure;

/// The bit of `AT_HWCAP2` that tells that user code may write `fs`.
const FSGSBASE: u64 = 1 << 1;

/// Suspends the current thread in `from` and continues the thread suspended in `to`.
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
pub(crate) static MAY_WRITE_FS: AtomicU32 = AtomicU32::new(2);

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
                rsp = const offset_of!(Context, stack_pointer),
                fs = const offset_of!(Context, thread_pointer),
            )
        }
    };
}

switch_by!(switch_by_register: "mov rax, [rsi + {fs}]", "wrfsbase rax");
// arch_prctl(ARCH_SET_FS, to.fs)
switch_by!(switch_by_call: "mov rsi, [rsi + {fs}]", "mov edi, 0x1002", "mov eax, 158", "syscall");

/// Makes the stack of a thread that begins with `entry` when it is continued. Returns its stack pointer.
///
/// # Safety
/// Nothing uses the 64 bytes below `top`, which is a multiple of 16.
pub(crate) unsafe fn begin(top: usize, entry: *const ()) -> usize {
    // Six registers, the function that it returns to, and no return address there.
    let frame = (top - 64) as *mut usize;
    // SAFETY: the caller's.
    unsafe {
        std::ptr::write_bytes(frame, 0, 8);
        *frame.add(6) = entry as usize;
    }
    frame as usize
}

/// Saves the stack pointer, sets `parked` to 1, wakes its waiter, and sleeps for ever without touching the stack
/// again: the stack below the saved pointer is free for a simulated thread.
///
/// # Safety
/// Both pointers are valid for the rest of the process.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn park(stack_pointer: *mut usize, parked: *const AtomicU32) -> ! {
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

/// The thread pointer: the base of the thread-local block of the current thread.
#[inline]
pub(crate) fn thread_pointer() -> usize {
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

/// The instruction and the frame pointer at which a signal came.
///
/// # Safety
/// The context of a handler.
pub(crate) unsafe fn interrupted(context: *const c_void) -> (usize, usize) {
    // SAFETY: the caller's.
    let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    (registers[libc::REG_RIP as usize] as usize, registers[libc::REG_RBP as usize] as usize)
}

/// The code that is written in the place of the first byte of an instruction.
pub(crate) type Code = u8;

/// A breakpoint: `int3`.
pub(crate) const BREAKPOINT: Code = 0xCC;

/// Replaces code. Other threads may execute it: they see the old code or the new one.
///
/// # Safety
/// Code in memory that can be written.
pub(crate) unsafe fn write_code(address: usize, code: Code) {
    // SAFETY: the caller's.
    unsafe { (*(address as *const AtomicU8)).store(code, Ordering::SeqCst) };
}

/// The address of the breakpoint at which a trap came, if it was one.
///
/// # Safety
/// The context of a handler.
pub(crate) unsafe fn trapped_at(context: *const c_void) -> usize {
    // SAFETY: the caller's. The trap comes behind the byte.
    unsafe { interrupted(context).0.wrapping_sub(1) }
}

/// Makes the thread continue at an address when the handler returns.
///
/// # Safety
/// The context of a handler, and an address at which the thread may continue.
pub(crate) unsafe fn continue_at(context: *mut c_void, address: usize) {
    // SAFETY: the caller's.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    registers[libc::REG_RIP as usize] = address as i64;
}

/// The address of the symbol that is linked with the replacements of std's functions; 0 if they are not linked.
#[unsafe(naked)]
pub(crate) extern "C" fn marker() -> usize {
    naked_asm!(
        ".weak unpause_std_replaced",
        "mov rax, [rip + unpause_std_replaced@GOTPCREL]",
        "ret",
    )
}

/// The address of the list of the toolchain's variables, which is linked with the replacements; 0 if it is not linked.
#[unsafe(naked)]
pub(crate) extern "C" fn variables_of_toolchain() -> usize {
    naked_asm!(
        ".weak unpause_std_variables",
        "mov rax, [rip + unpause_std_variables@GOTPCREL]",
        "ret",
    )
}

/// A function by the name that the compiler calls, with so many arguments: passes the address of the return address and
/// the frame pointer of the caller on, as two more.
macro_rules! entry {
    ($name:ident, 1, $to:ident) => { $crate::linux::arch::entry!($name, "rsi", "rdx", $to); };
    ($name:ident, 2, $to:ident) => { $crate::linux::arch::entry!($name, "rdx", "rcx", $to); };
    ($name:ident, 3, $to:ident) => { $crate::linux::arch::entry!($name, "rcx", "r8", $to); };
    ($name:ident, $address:literal, $frame:literal, $to:ident) => {
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            std::arch::naked_asm!(
                concat!("mov ", $address, ", rsp"),
                concat!("mov ", $frame, ", rbp"),
                "jmp {}",
                sym $to,
            )
        }
    };
}

/// The same for a compare-exchange, whose six registers are not enough: two memory orders become one number.
///
/// It returns to the code for a failure if the carrier has it fail.
macro_rules! entry_of_strong {
    ($name:ident, $to:ident) => {
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            std::arch::naked_asm!(
                "shl r8d, 8",
                "or ecx, r8d",
                "mov r8, rsp",
                "mov r9, rbp",
                // For the alignment. Not what was there: see `Thread::registers`.
                "push 0",
                "call {}",
                "add rsp, 8",
                // Moves the return address by the distance, and makes the lowest bit the opposite of the zero flag.
                "mov rcx, [rsp]",
                "sar rdx, 1",
                "lea rcx, [rcx + rdx]",
                "mov [rsp], rcx",
                "sbb edx, edx",
                "ret",
                sym $to,
            )
        }
    };
}

pub(crate) use {entry, entry_of_strong};
