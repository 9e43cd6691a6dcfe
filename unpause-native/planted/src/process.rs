//! Actions that a process cannot undo, for runs in a separate process.

use std::arch::asm;
use std::ptr::null_mut;
use std::time::Duration;

/// Ends the process, by a system call without libc.
pub fn exit_without_libc(code: i32) {
    // SAFETY: `exit_group`.
    unsafe { asm!("syscall", in("rax") 231, in("rdi") code, options(noreturn)) };
}

/// Kills the process, by a system call without libc.
pub fn kill_without_libc() {
    let process = std::process::id();
    // SAFETY: `kill`, with `SIGKILL`.
    unsafe {
        asm!("syscall", in("rax") 62, in("rdi") process, in("rsi") 9, lateout("rax") _, out("rcx") _, out("r11") _);
    }
}

unsafe extern "C" {
    static mut stdin: *mut u8;
    static mut __data_start: u8;
    static mut end: u8;
    fn flockfile(file: *mut u8);
    fn funlockfile(file: *mut u8);
    fn rand() -> i32;
    fn lrand48() -> i64;
    fn sigfillset(set: *mut u64) -> i32;
    fn sigprocmask(how: i32, set: *const u64, before: *mut u64) -> i32;
    fn pause() -> i32;
    fn planted_count_call() -> u32;
}

/// Locks a file of libc, and keeps the lock.
pub fn lock_file_of_c() {
    // SAFETY: a file of libc.
    unsafe { flockfile(stdin) };
}

/// Locks a file of libc, and unlocks it.
pub fn use_file_of_c() {
    // SAFETY: a file of libc, locked by this thread.
    unsafe {
        flockfile(stdin);
        funlockfile(stdin);
    }
}

/// The next number of libc's generator, whose state is a static of C.
pub fn number_of_c() -> i32 {
    // SAFETY: no arguments.
    unsafe { rand() }
}

/// The same of another generator.
pub fn other_number_of_c() -> i64 {
    // SAFETY: no arguments.
    unsafe { lrand48() }
}

/// The number of calls before this one in the process, in a static of C.
pub fn number_of_calls() -> u32 {
    // SAFETY: the caller uses it on one thread.
    unsafe { planted_count_call() }
}

/// Overwrites all statics of the process.
pub fn destroy_statics() {
    // SAFETY: there is none.
    unsafe {
        let first = &raw mut __data_start;
        let size = (&raw mut end) as usize - first as usize;
        first.write_bytes(0xA5, size);
    }
}

/// Waits for ever in C, with all signals blocked.
pub fn wait_without_signals() {
    let mut all = [0u64; 16];
    // SAFETY: room for a set of signals.
    unsafe {
        sigfillset(all.as_mut_ptr());
        sigprocmask(0, all.as_ptr(), std::ptr::null_mut());
        loop {
            pause();
        }
    }
}

/// The ways in which a program of C sleeps, with their times.
pub const SLEEPS: [(&str, fn(), Duration); 5] = [
    ("sleep", sleep_for_a_second, Duration::from_secs(1)),
    ("usleep", sleep_for_microseconds, Duration::from_millis(5)),
    ("poll, of nothing", poll_nothing, Duration::from_millis(5)),
    ("poll, of no descriptor", poll_no_descriptor, Duration::from_millis(5)),
    ("select", select_nothing, Duration::from_millis(5)),
];

unsafe extern "C" {
    fn sleep(seconds: u32) -> u32;
    fn usleep(microseconds: u32) -> i32;
    fn poll(polled: *mut [i32; 2], count: u64, timeout: i32) -> i32;
    fn select(
        count: i32,
        reads: *mut u8,
        writes: *mut u8,
        errors: *mut u8,
        timeout: *mut [i64; 2],
    ) -> i32;
}

fn sleep_for_a_second() {
    // SAFETY: a number.
    unsafe { sleep(1) };
}

fn sleep_for_microseconds() {
    // SAFETY: a number.
    unsafe { usleep(5_000) };
}

fn poll_nothing() {
    // SAFETY: there is no descriptor.
    unsafe { poll(null_mut(), 0, 5) };
}

fn poll_no_descriptor() {
    // A negative descriptor is skipped.
    let mut polled = [-1, 0];
    // SAFETY: there is one descriptor.
    unsafe { poll(&mut polled, 1, 5) };
}

fn select_nothing() {
    let mut time = [0, 5_000];
    // SAFETY: the time is valid.
    unsafe { select(0, null_mut(), null_mut(), null_mut(), &mut time) };
}

/// The kernel's number of this thread.
pub fn thread_number() -> i32 {
    unsafe extern "C" {
        fn gettid() -> i32;
    }
    // SAFETY: it has no arguments.
    unsafe { gettid() }
}

/// The group of this process.
pub fn own_group() -> u32 {
    unsafe extern "C" {
        fn getgid() -> u32;
    }
    // SAFETY: it has no arguments.
    unsafe { getgid() }
}

/// Handles a signal.
pub fn handle(signal: i32, handler: extern "C" fn(i32)) {
    unsafe extern "C" {
        #[link_name = "signal"]
        fn libc_signal(signal: i32, handler: extern "C" fn(i32)) -> usize;
    }
    // SAFETY: a number, and a function for it.
    unsafe { libc_signal(signal, handler) };
}

/// Raises a signal in this thread.
pub fn raise_signal(signal: i32) -> i32 {
    unsafe extern "C" {
        fn raise(signal: i32) -> i32;
    }
    // SAFETY: a number.
    unsafe { raise(signal) }
}

/// The processor time of this process and of its children that have ended.
pub fn processor_time() -> std::time::Duration {
    unsafe extern "C" {
        fn getrusage(of: i32, usage: *mut [u64; 18]) -> i32;
    }
    // This process, and its children.
    let times = [0, -1].map(|of| {
        let mut usage = [0; 18];
        // SAFETY: the structure has 18 words.
        unsafe { getrusage(of, &mut usage) };
        let [seconds, micros, seconds_of_system, micros_of_system, ..] = usage;
        (seconds + seconds_of_system) * 1_000_000 + micros + micros_of_system
    });
    std::time::Duration::from_micros(times[0] + times[1])
}

/// Creates a FIFO. Returns false if this fails.
pub fn make_fifo(path: &std::path::Path) -> bool {
    unsafe extern "C" {
        fn mkfifo(path: *const std::ffi::c_char, mode: u32) -> i32;
    }
    let path = std::ffi::CString::new(path.to_str().unwrap_or_default()).unwrap_or_default();
    // SAFETY: a string.
    unsafe { mkfifo(path.as_ptr(), 0o600) == 0 }
}

/// Closes a descriptor. Returns `false` if it was closed before.
pub fn close(descriptor: i32) -> bool {
    unsafe extern "C" {
        fn close(descriptor: i32) -> i32;
    }
    // SAFETY: the argument is a number.
    unsafe { close(descriptor) == 0 }
}

/// Duplicates a descriptor. Returns `None` if this fails.
pub fn duplicate(descriptor: i32) -> Option<i32> {
    unsafe extern "C" {
        fn dup(descriptor: i32) -> i32;
    }
    // SAFETY: the argument is a number.
    let duplicate = unsafe { dup(descriptor) };
    (duplicate >= 0).then_some(duplicate)
}

/// Reads a byte from a descriptor. Returns `false` if this fails.
pub fn read_byte(descriptor: i32) -> bool {
    unsafe extern "C" {
        fn read(descriptor: i32, buffer: *mut u8, size: usize) -> isize;
    }
    let mut byte = 0;
    // SAFETY: the buffer has one byte.
    unsafe { read(descriptor, &raw mut byte, 1) == 1 }
}
