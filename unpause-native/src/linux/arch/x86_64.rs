//! x86-64, with the calling convention of System V.
//!
//! The thread pointer is the register `fs`. It is written by `wrfsbase` where the kernel allows it (Linux 5.9), and by
//! the system call `arch_prctl` elsewhere. The control registers for vectors and floating point are not switched.

use std::arch::{asm, naked_asm};
use std::ffi::c_void;
use std::mem::offset_of;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use crate::linux::switch::Context;

pub(crate) use crate::linux::weak::failure;

/// The bit of `AT_HWCAP2` that is set if user code may write `fs`.
const FSGSBASE: u64 = 1 << 1;

/// Suspends the current thread in `from` and continues the thread suspended in `to`.
///
/// # Safety
/// `to` must be the state of a suspended thread that no OS thread runs. Its stack and its thread-local block must
/// exist. `from` must be valid until the thread is continued.
#[inline]
pub(crate) unsafe fn switch(from: *mut Context, to: *const Context) {
    // SAFETY: the caller guarantees the requirements, and the kernel reports if it allows `wrfsbase`.
    unsafe {
        match may_write_fs() {
            true => switch_by_register(from, to),
            false => switch_by_call(from, to),
        }
    }
}

/// The permission of user code to write `fs`: 0 no, 1 yes, 2 unknown.
pub(crate) static MAY_WRITE_FS: AtomicU32 = AtomicU32::new(2);

/// Returns `true` if user code may write `fs`.
#[inline]
fn may_write_fs() -> bool {
    match MAY_WRITE_FS.load(Ordering::Relaxed) {
        2 => {
            // SAFETY: the call reads a value that the kernel has passed to the process.
            let may = unsafe { libc::getauxval(libc::AT_HWCAP2) } & FSGSBASE != 0;
            MAY_WRITE_FS.store(u32::from(may), Ordering::Relaxed);
            may
        }
        known => known == 1,
    }
}

/// Defines a function that saves the registers in `from`, switches to the stack of `to`, writes `fs` by the given
/// instructions, and restores the registers of `to`. The instructions must preserve `rsp`; `rsi` is the address of
/// `to`.
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

/// Prepares the stack of a thread that begins with `entry` when it is continued. Returns its stack pointer.
///
/// # Safety
/// The 64 bytes below `top` must be unused, and `top` must be a multiple of 16.
pub(crate) unsafe fn begin(top: usize, entry: *const ()) -> usize {
    // The frame contains six registers, the function to which the switch returns, and a zero as its return address.
    let frame = (top - 64) as *mut usize;
    // SAFETY: the caller guarantees that the memory is unused.
    unsafe {
        std::ptr::write_bytes(frame, 0, 8);
        *frame.add(6) = entry as usize;
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
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "push rbx",
        ".cfi_offset rbx, -24",
        "push r12",
        ".cfi_offset r12, -32",
        "push r13",
        ".cfi_offset r13, -40",
        "push r14",
        ".cfi_offset r14, -48",
        "push r15",
        ".cfi_offset r15, -56",
        "sub rsp, 8",
        "mov rax, rdi",
        "mov rdi, rsi",
        "xor ebx, ebx",
        "xor r12d, r12d",
        "xor r13d, r13d",
        "xor r14d, r14d",
        "xor r15d, r15d",
        "call rax",
        "add rsp, 8",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        ".cfi_def_cfa rsp, 8",
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
        // futex(parked, FUTEX_WAIT, 1), in a loop, because no thread changes the word
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

/// Returns the thread pointer: the base of the thread-local block of the current thread.
#[inline]
pub(crate) fn thread_pointer() -> usize {
    let base;
    // SAFETY: the first word of the block is its own address (System V ABI for thread-local storage, section 3.4.6).
    unsafe { asm!("mov {}, fs:[0]", out(reg) base, options(nostack, readonly, preserves_flags)) };
    base
}

/// Returns the frame pointer of the caller, if this crate is compiled with frame pointers.
#[inline(always)]
pub(crate) fn frame_pointer() -> usize {
    let frame;
    // SAFETY: the instruction only reads a register.
    unsafe { asm!("mov {}, rbp", out(reg) frame, options(nostack, nomem, preserves_flags)) };
    frame
}

/// Returns the instruction pointer and the frame pointer at which a signal arrived.
///
/// # Safety
/// `context` must be the context of a signal handler.
pub(crate) unsafe fn interrupted(context: *const c_void) -> (usize, usize) {
    // SAFETY: the caller passes the context of a handler.
    let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    (registers[libc::REG_RIP as usize] as usize, registers[libc::REG_RBP as usize] as usize)
}

/// The code that replaces the first byte of an instruction.
pub(crate) type Code = u8;

/// A breakpoint: `int3`.
pub(crate) const BREAKPOINT: Code = 0xCC;

/// Replaces code. Other threads may execute it: they see the old code or the new one.
///
/// # Safety
/// The address must be code in writable memory.
pub(crate) unsafe fn write_code(address: usize, code: Code) {
    // SAFETY: the caller guarantees that the code is writable.
    unsafe { (*(address as *const AtomicU8)).store(code, Ordering::SeqCst) };
}

/// Returns the address of the breakpoint at which a trap arrived, if the trap was a breakpoint.
///
/// # Safety
/// `context` must be the context of a signal handler.
pub(crate) unsafe fn trapped_at(context: *const c_void) -> usize {
    // SAFETY: the caller passes the context of a handler. The trap arrives after the byte.
    unsafe { interrupted(context).0.wrapping_sub(1) }
}

/// Makes the thread continue at an address when the handler returns.
///
/// # Safety
/// `context` must be the context of a signal handler, and the thread must be able to continue at the address.
pub(crate) unsafe fn continue_at(context: *mut c_void, address: usize) {
    // SAFETY: the caller passes the context of a handler.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    registers[libc::REG_RIP as usize] = address as i64;
}

/// Returns the number and the first argument of a system call. `address` is the address of its instruction, which
/// begins with `code`. Returns `None` for other instructions.
///
/// # Safety
/// `context` must be the context of a signal handler, and the address must be code.
pub(crate) unsafe fn system_call(
    context: *const c_void,
    address: usize,
    code: Code,
) -> Option<(i64, usize)> {
    // SAFETY: the caller guarantees the address and the context. An instruction with this first byte has a second one.
    unsafe {
        let is_it = code == 0x0F && *((address + 1) as *const u8) == 0x05;
        let registers = &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        let [number, argument] = [libc::REG_RAX, libc::REG_RDI].map(|nth| registers[nth as usize]);
        is_it.then_some((number, argument as usize))
    }
}

/// Makes the thread continue after the system call at an address, with an error as its result.
///
/// # Safety
/// `context` must be the context of a signal handler, and the address must be a system call.
pub(crate) unsafe fn end_system_call(context: *mut c_void, address: usize, error: i32) {
    // SAFETY: the caller passes the context of a handler.
    unsafe {
        let registers = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        registers[libc::REG_RAX as usize] = -i64::from(error);
        continue_at(context, address + 2);
    }
}

/// Returns the address of the symbol that is linked with the replacements of std functions, or 0 if they are not
/// linked.
#[unsafe(naked)]
pub(crate) extern "C" fn marker() -> usize {
    naked_asm!(
        ".weak unpause_std_replaced",
        "mov rax, [rip + unpause_std_replaced@GOTPCREL]",
        "ret",
    )
}

/// Returns the address of the list of the toolchain's variables, which is linked with the replacements. Returns 0 if it
/// is not linked.
#[unsafe(naked)]
pub(crate) extern "C" fn variables_of_toolchain() -> usize {
    naked_asm!(
        ".weak unpause_std_variables",
        "mov rax, [rip + unpause_std_variables@GOTPCREL]",
        "ret",
    )
}

/// Defines a function with the name that the compiler calls, for this number of arguments. It passes two additional
/// arguments: the address of the return address, and the frame pointer of the caller.
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

/// Like `entry`, but for a compare-exchange. Six registers are not enough for its arguments, so the two memory orders
/// become one number.
///
/// The function returns to the code for a failure if the carrier makes the operation fail.
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
                // This push is for the alignment. The value is fixed, because an old one would count as a register: see
                // `Thread::registers`.
                "push 0",
                "call {}",
                "add rsp, 8",
                // Adds the distance to the return address, and sets the lowest bit to the opposite of the zero flag.
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
