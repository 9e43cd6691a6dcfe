//! Functions whose operations on shared memory the instrumentation does not see: assembly, and code of C. Marks such as
//! `here: name` identify the lines that a report must name.

use std::arch::{asm, global_asm};
use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::AtomicU32;

unsafe extern "C" {
    fn planted_add(word: *mut u32) -> u32;
    fn planted_swap(word: *mut u32, really: i32) -> u32;
    fn planted_assembly(word: *mut u32);
    fn planted_with_data(word: *mut u32);
    fn planted_shared_add(word: *mut u32) -> u32;
    fn planted_shared_seven() -> u32;
    fn clone(
        child: extern "C" fn(*mut c_void) -> c_int,
        stack: *mut c_void,
        flags: c_int,
        argument: *mut c_void,
    ) -> c_int;
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
}

// Without a kind and a size, as in much assembly; and a function that jumps over data.
global_asm!(
    ".text",
    ".globl planted_assembly",
    "planted_assembly:",
    "lock inc dword ptr [rdi]",
    "ret",
    ".globl planted_with_data",
    ".type planted_with_data,@function",
    "planted_with_data:",
    "jmp 2f",
    ".byte 0x06, 0x06, 0x06, 0x06",
    "2: lock dec dword ptr [rdi]",
    "ret",
    ".size planted_with_data, . - planted_with_data",
);

/// Adds 1 by inline assembly.
#[inline(never)]
pub fn add_in_assembly(word: &AtomicU32) -> u32 {
    let mut add = 1;
    // SAFETY: an atomic operation on the word.
    unsafe {
        asm!("lock xadd [{0}], {1:e}", in(reg) word.as_ptr(), inout(reg) add); // here: add_in_assembly
    }
    add
}

/// Exchanges the value by inline assembly, inlined into the calling function.
#[inline(always)]
pub fn swap_in_assembly(word: &AtomicU32) -> u32 {
    let mut value = 3;
    // SAFETY: an atomic operation on the word.
    unsafe {
        asm!("xchg [{0}], {1:e}", in(reg) word.as_ptr(), inout(reg) value); // here: swap_in_assembly
    }
    value
}

extern "C" fn count(word: *mut c_void) -> c_int {
    // SAFETY: the word lives until this write.
    unsafe { word.cast::<u32>().write_volatile(1) };
    0
}

/// The flags of a thread that shares all of its process: memory, folders, files and signals.
const THREAD: c_int = 0x1_0F00;

/// Creates a thread by libc's `clone`. Returns `false` if the call fails.
#[inline(never)]
pub fn clone_by_libc() -> bool {
    let mut stack = vec![0u128; 4096];
    let mut word = 0u32;
    // SAFETY: both outlive the thread: its last access is seen below. The stack is large enough for it.
    unsafe {
        let top = stack.as_mut_ptr().add(4096).cast();
        let thread = clone(count, top, THREAD, (&raw mut word).cast()); // here: clone_by_libc
        if thread < 0 {
            return false;
        }
        while (&raw const word).read_volatile() == 0 {
            std::hint::spin_loop();
        }
    }
    // The thread may still end on its stack.
    std::mem::forget(stack);
    true
}

/// Creates a thread by the system call. Returns `false` if the call fails.
#[inline(never)]
pub fn clone_without_libc() -> bool {
    let mut stack = vec![0u128; 4096];
    let mut word = 0u32;
    let mut result = 56i64;
    // SAFETY: as above. The thread writes the word and ends, without a stack access.
    unsafe {
        let top = stack.as_mut_ptr().add(4096);
        asm!( // here: clone_without_libc
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "mov dword ptr [r9], 1",
            "xor edi, edi",
            "mov eax, 60",
            "syscall",
            "2:",
            inout("rax") result,
            inout("rdi") i64::from(THREAD) => _,
            in("rsi") top,
            in("rdx") 0, in("r10") 0, in("r8") 0, in("r9") &raw mut word,
            lateout("rcx") _, lateout("r11") _,
        );
        if result < 0 {
            return false;
        }
        while (&raw const word).read_volatile() == 0 {
            std::hint::spin_loop();
        }
    }
    true
}

/// A fence of assembly.
#[inline(never)]
pub fn fence_in_assembly() {
    // SAFETY: a fence.
    unsafe { asm!("mfence", options(nostack)) }; // here: fence_in_assembly
}

/// Lets other threads continue, by a system call without libc.
#[inline(never)]
pub fn yield_without_libc() {
    // SAFETY: `sched_yield`.
    unsafe {
        asm!("syscall", inout("rax") 24 => _, out("rcx") _, out("r11") _); // here: yield_without_libc
    }
}

/// Sleeps until another thread changes the word and wakes this one, by a system call without libc.
#[inline(never)]
pub fn wait_without_libc(word: &AtomicU32) {
    // SAFETY: `futex`, with `FUTEX_WAIT`, for a word that has the value 0, without a time limit.
    unsafe {
        asm!("syscall", inout("rax") 202 => _, in("rdi") word.as_ptr(), in("rsi") 0, in("rdx") 0, in("r10") 0,
            out("rcx") _, out("r11") _); // here: wait_without_libc
    }
}

/// Adds 1 in C.
pub fn add_in_c(word: &AtomicU32) -> u32 {
    // SAFETY: an atomic operation on the word.
    unsafe { planted_add(word.as_ptr()) }
}

/// Exchanges the value in a function of C that another function calls, if `really`.
pub fn swap_in_c(word: &AtomicU32, really: bool) -> u32 {
    // SAFETY: an atomic operation on the word.
    unsafe { planted_swap(word.as_ptr(), really.into()) }
}

/// Adds 1 in an assembly function.
pub fn add_in_a_file_of_assembly(word: &AtomicU32) {
    // SAFETY: an atomic operation on the word.
    unsafe { planted_assembly(word.as_ptr()) };
}

/// Subtracts 1 in a function of assembly with data in it.
pub fn subtract_beside_data(word: &AtomicU32) {
    // SAFETY: an atomic operation on the word.
    unsafe { planted_with_data(word.as_ptr()) };
}

/// Adds 1 in a shared library.
pub fn add_in_a_shared_library(word: &AtomicU32) -> u32 {
    // SAFETY: an atomic operation on the word.
    unsafe { planted_shared_add(word.as_ptr()) }
}

/// Returns 7, in a shared library.
pub fn seven_in_a_shared_library() -> u32 {
    // SAFETY: it has no arguments.
    unsafe { planted_shared_seven() }
}

/// Loads a shared library. Returns false if this fails.
pub fn load_a_shared_library() -> bool {
    /// `RTLD_NOW`.
    const NOW: c_int = 2;
    // SAFETY: loading this library runs no code.
    unsafe { !dlopen(c"libm.so.6".as_ptr(), NOW).is_null() }
}
