//! Threads of libc, as programs in C use them: values for keys, ends, signals and processes.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

/// The function of a thread, which may be unwound.
type Start = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;

/// The destructor of a value.
pub type Destructor = extern "C" fn(*mut c_void);

unsafe extern "C" {
    fn planted_make_key();
    fn planted_exchange_value(value: *mut c_void) -> *mut c_void;
    fn pthread_key_create(key: *mut u32, destructor: Option<Destructor>) -> c_int;
    fn pthread_key_delete(key: u32) -> c_int;
    fn pthread_getspecific(key: u32) -> *mut c_void;
    fn pthread_setspecific(key: u32, value: *const c_void) -> c_int;
    fn pthread_create(
        thread: *mut usize,
        attributes: *const c_void,
        start: Start,
        argument: *mut c_void,
    ) -> c_int;
    fn pthread_join(thread: usize, result: *mut *mut c_void) -> c_int;
    fn pthread_tryjoin_np(thread: usize, result: *mut *mut c_void) -> c_int;
    fn pthread_timedjoin_np(
        thread: usize,
        result: *mut *mut c_void,
        limit: *const [i64; 2],
    ) -> c_int;
    fn pthread_self() -> usize;
    fn pthread_kill(thread: usize, signal: c_int) -> c_int;
    fn pthread_cancel(thread: usize) -> c_int;
    fn pthread_sigmask(how: c_int, set: *const u64, before: *mut u64) -> c_int;
    fn sigpending(set: *mut u64) -> c_int;
    fn sigsuspend(set: *const u64) -> c_int;
    fn ppoll(polled: *mut c_void, count: u64, time: *const c_void, set: *const u64) -> c_int;
    fn vfork() -> c_int;
    fn _Fork() -> c_int;
    fn gettid() -> c_int;
    fn getpid() -> c_int;
    fn waitpid(process: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn _exit(code: c_int) -> !;
}

unsafe extern "C-unwind" {
    fn planted_end_early(result: *mut c_void) -> *mut c_void;
}

/// Creates a thread-local key in C. The number of the key is in a static of the C code.
pub fn make_key_in_c() {
    // SAFETY: it has no arguments.
    unsafe { planted_make_key() };
}

/// Sets the value of this thread for that key. Returns the value before.
pub fn exchange_value_in_c(value: usize) -> usize {
    // SAFETY: the value is a number.
    unsafe { planted_exchange_value(value as *mut c_void) as usize }
}

/// A key of libc.
#[derive(Clone, Copy)]
pub struct Key(pub u32);

impl Key {
    /// A new key, or the error number.
    pub fn new(destructor: Option<Destructor>) -> Result<Key, i32> {
        let mut key = 0;
        // SAFETY: there is room for the number.
        match unsafe { pthread_key_create(&mut key, destructor) } {
            0 => Ok(Key(key)),
            error => Err(error),
        }
    }

    /// The value of this thread.
    pub fn get(self) -> *mut c_void {
        // SAFETY: it takes any number.
        unsafe { pthread_getspecific(self.0) }
    }

    /// Sets the value of this thread.
    pub fn set(self, value: *mut c_void) -> i32 {
        // SAFETY: it takes any number.
        unsafe { pthread_setspecific(self.0, value) }
    }

    /// Deletes the key.
    pub fn delete(self) -> i32 {
        // SAFETY: it takes any number.
        unsafe { pthread_key_delete(self.0) }
    }
}

/// Runs the function in a thread of libc. Returns its result.
fn result_of(start: Start, argument: *mut c_void) -> *mut c_void {
    let (mut thread, mut result) = (0, null_mut());
    // SAFETY: there is room for the number and for the result.
    unsafe {
        assert_eq!(pthread_create(&mut thread, std::ptr::null(), start, argument), 0);
        assert_eq!(pthread_join(thread, &mut result), 0);
    }
    result
}

/// The result of a thread, with this result, that another thread joins by repeated attempts. Also returns the error of
/// a wait with a time limit.
pub fn result_by_attempts(result: usize) -> (usize, i32) {
    /// `EBUSY`.
    const BUSY: c_int = 16;
    let (mut thread, mut found) = (0, null_mut());
    let start: Start = planted_end_early;
    // SAFETY: there is room for the number and for the result.
    unsafe {
        let argument = result as *mut c_void;
        assert_eq!(pthread_create(&mut thread, std::ptr::null(), start, argument), 0);
        let error = pthread_timedjoin_np(thread, &mut found, &[0, 0]);
        loop {
            match pthread_tryjoin_np(thread, &mut found) {
                BUSY => {}
                joined => {
                    assert_eq!(joined, 0);
                    break;
                }
            }
        }
        (found as usize, error)
    }
}

/// The result of a thread that ends by `pthread_exit`, with this result.
pub fn result_of_early_end(result: usize) -> usize {
    result_of(planted_end_early, result as *mut c_void) as usize
}

/// Ends this thread by `pthread_exit`, in a function of C.
pub fn end_early() {
    // SAFETY: violated in a thread of std, which does not allow it.
    unsafe { planted_end_early(null_mut()) };
}

/// Sets a value for the key, and ends the thread by `pthread_exit`.
unsafe extern "C-unwind" fn set_and_end(key: *mut c_void) -> *mut c_void {
    Key(key as usize as u32).set(7 as *mut c_void);
    // SAFETY: no function on the stack has anything to drop.
    unsafe { planted_end_early(null_mut()) }
}

/// Runs a thread that sets a value for the key, and ends by `pthread_exit`.
pub fn end_early_with_value(key: Key) {
    result_of(set_and_end, key.0 as usize as *mut c_void);
}

/// This thread, for the functions below.
pub fn this_thread() -> usize {
    // SAFETY: it has no arguments.
    unsafe { pthread_self() }
}

/// Sends a signal to a thread. Returns the error number.
pub fn send_signal(thread: usize, signal: i32) -> i32 {
    // SAFETY: the caller passes a thread that has not been joined.
    unsafe { pthread_kill(thread, signal) }
}

/// Cancels a thread. Returns the error number.
pub fn cancel(thread: usize) -> i32 {
    // SAFETY: the caller passes a thread that has not been joined.
    unsafe { pthread_cancel(thread) }
}

/// A set of signals.
type Signals = [u64; 16];

fn has(signals: &Signals, signal: i32) -> bool {
    signals[0] >> (signal - 1) & 1 == 1
}

/// Blocks a signal in this thread, and returns true if it was blocked before.
pub fn block(signal: i32) -> bool {
    change_mask(0, signal)
}

/// Unblocks a signal in this thread, and returns true if it was blocked before.
pub fn unblock(signal: i32) -> bool {
    change_mask(1, signal)
}

fn change_mask(how: c_int, signal: i32) -> bool {
    let (mut set, mut before): (Signals, Signals) = ([0; 16], [0; 16]);
    set[0] = 1 << (signal - 1);
    // SAFETY: room for two sets.
    unsafe { pthread_sigmask(how, set.as_ptr(), before.as_mut_ptr()) };
    has(&before, signal)
}

/// Returns true if a blocked signal waits.
pub fn is_pending(signal: i32) -> bool {
    let mut set: Signals = [0; 16];
    // SAFETY: room for a set.
    unsafe { sigpending(set.as_mut_ptr()) };
    has(&set, signal)
}

/// Waits for a signal that the call unblocks, like all signals.
pub fn wait_for_signal() -> bool {
    let none: Signals = [0; 16];
    // SAFETY: the set is valid.
    unsafe { sigsuspend(none.as_ptr()) == -1 }
}

/// Polls no file, without a limit of time, until a signal arrives that the call unblocks, like all signals.
pub fn poll_for_signal() -> bool {
    let none: Signals = [0; 16];
    // SAFETY: the set is valid, and there are no files.
    unsafe { ppoll(std::ptr::null_mut(), 0, std::ptr::null(), none.as_ptr()) == -1 }
}

/// The exit code of a process that is created by `vfork`.
pub fn code_of_vfork(code: i32) -> i32 {
    code_of(vfork, code)
}

/// The exit code of a process that is created by `_Fork`.
pub fn code_of_plain_fork(code: i32) -> i32 {
    code_of(_Fork, code)
}

/// The exit code of a process that is created by `fork`. The code is 99 if the process belongs to the run, where the
/// first thread has another number.
fn code_of(fork: unsafe extern "C" fn() -> c_int, code: i32) -> i32 {
    let mut status = 0;
    // SAFETY: the child ends at once.
    unsafe {
        let child = fork();
        if child == 0 {
            _exit(if gettid() == getpid() { code } else { 99 });
        }
        assert_eq!(waitpid(child, &mut status, 0), child);
    }
    status >> 8 & 0xff
}
