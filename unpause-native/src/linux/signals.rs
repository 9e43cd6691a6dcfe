//! Signals that reach a simulated thread: processor faults, and the interruption of a thread that does not return. The
//! handlers run on their own stack and switch to the carrier.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, Ordering};
use std::sync::{Mutex, Once, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use super::arch::interrupted;
use super::death::{self, Death, SAMPLES};
use super::{handlers, thread, unseen};

/// The signals of processor faults, and the signal of `abort`.
pub(crate) const FAULTS: [c_int; 6] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT, libc::SIGTRAP];

/// The size of the handler stack. The frame of a signal contains all registers, up to 11 KiB.
const HANDLER_STACK: usize = 128 << 10;

/// The previous handlers.
static BEFORE: OnceLock<[libc::sigaction; FAULTS.len()]> = OnceLock::new();

/// The kernel's number of the thread that carries the current run; 0 if no run executes.
static CARRIER: AtomicI32 = AtomicI32::new(0);

/// The request of the interrupting thread.
static WISH: AtomicPtr<Wish<'_>> = AtomicPtr::new(null_mut());

/// The request that a handler currently processes. If the stack that it reads is destroyed, the next handler answers
/// the request.
static TAKEN: AtomicPtr<Wish<'_>> = AtomicPtr::new(null_mut());

/// A request to interrupt a thread.
struct Wish<'a> {
    /// Returns `false` if the thread has continued in the meantime.
    still: &'a (dyn Fn() -> bool + Sync),
    /// True if the thread must end; false if only its stack is recorded.
    ends: bool,
    /// The answer; 0 until it is known.
    answer: AtomicU32,
}

/// The request was processed.
const DONE: u32 = 1;
/// The thread has continued, or cannot be stopped at its current instruction.
const REFUSED: u32 = 2;

/// Returns the signal that interrupts.
pub(crate) fn interruption() -> c_int {
    libc::SIGRTMIN() + 9
}

thread_local! {
    /// The kernel's number of this thread; 0 until it is first needed.
    static NUMBER: Cell<i32> = const { Cell::new(0) };
}

/// True in a process that was created for one run, which its parent interrupts.
static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// Marks this process as created for one run. The calling thread is its only thread.
pub(crate) fn begin_child() {
    begin_copy();
    IS_CHILD.store(true, Ordering::Relaxed);
}

/// Prepares a forked process. The calling thread is its only thread.
pub(crate) fn begin_copy() {
    NUMBER.set(0);
}

/// Prepares a process that was forked within a run.
pub(crate) fn continue_in_copy() {
    begin_copy();
    begin();
}

/// Returns `true` in a process that was created for one run.
pub(crate) fn is_child() -> bool {
    IS_CHILD.load(Ordering::Relaxed)
}

/// Prepares the current thread to carry a run.
pub(crate) fn begin() {
    install_once();
    thread_local! {
        static STACK: HandlerStack = HandlerStack::new();
    }
    STACK.with(|_| ());
    if NUMBER.get() == 0 {
        // SAFETY: the system call has no arguments.
        NUMBER.set(unsafe { libc::gettid() });
    }
    CARRIER.store(NUMBER.get(), Ordering::Release);
}

/// Ends the signal handling at the end of the run.
pub(crate) fn end() {
    CARRIER.store(0, Ordering::Release);
    handlers::put_back();
}

/// The handler stack of one thread.
struct HandlerStack {
    address: *mut c_void,
    before: libc::stack_t,
}

impl HandlerStack {
    fn new() -> HandlerStack {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let mut before = libc::stack_t { ss_sp: null_mut(), ss_flags: 0, ss_size: 0 };
        // SAFETY: this is a new mapping, which is the handler stack until it is unmapped.
        let address = unsafe {
            let address = libc::mmap(null_mut(), HANDLER_STACK, protection, flags, -1, 0);
            assert!(address != libc::MAP_FAILED, "the system refuses a stack for signals");
            let stack = libc::stack_t { ss_sp: address, ss_flags: 0, ss_size: HANDLER_STACK };
            libc::sigaltstack(&stack, &mut before);
            address
        };
        HandlerStack { address, before }
    }
}

impl Drop for HandlerStack {
    fn drop(&mut self) {
        // SAFETY: the previous stack belongs to std, which removes it after the thread-locals. No handler runs now,
        // because this function is not a handler.
        unsafe {
            libc::sigaltstack(&self.before, null_mut());
            libc::munmap(self.address, HANDLER_STACK);
        }
    }
}

/// Installs the handlers on the first call.
pub(crate) fn install_once() {
    static ONCE: Once = Once::new();
    ONCE.call_once(install);
}

/// Installs the handlers.
fn install() {
    let handler = |function: *const (), more: c_int| {
        // SAFETY: the type allows all bytes to be zero.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = function as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | more;
        action
    };
    // The handler does not return to the interrupted thread, so the signal must not stay blocked.
    let fault = handler(on_fault as *const (), libc::SA_NODEFER);
    let interrupt = handler(on_interrupt as *const (), libc::SA_NODEFER | libc::SA_RESTART);
    BEFORE.get_or_init(|| {
        FAULTS.map(|signal| {
            // SAFETY: the type allows all bytes to be zero.
            let mut before: libc::sigaction = unsafe { std::mem::zeroed() };
            // SAFETY: the call only reads the handler.
            unsafe { libc::sigaction(signal, std::ptr::null(), &mut before) };
            before
        })
    });
    for signal in FAULTS {
        // SAFETY: the handler only performs actions that are safe in a handler.
        unsafe { libc::sigaction(signal, &fault, null_mut()) };
    }
    // SAFETY: as above.
    unsafe { libc::sigaction(interruption(), &interrupt, null_mut()) };
}

/// Handles a processor fault, or `abort` called by libc.
unsafe extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    /// The upper limit of the codes for a signal with the address of an access. Kernel codes are not below this limit.
    const SI_KERNEL: c_int = 0x80;
    // SAFETY: this is the context of this handler.
    if signal == libc::SIGTRAP && unsafe { unseen::takes_trap(context) } {
        return;
    }
    let Some(thread) = thread::any() else {
        // SAFETY: these are the arguments of this handler.
        return unsafe { pass_on(signal, info, context) };
    };
    // SAFETY: this is the kernel's information about the signal.
    let (address, code) = unsafe { ((*info).si_addr() as usize, (*info).si_code) };
    let is_access = matches!(signal, libc::SIGSEGV | libc::SIGBUS);
    let is_full = is_access && thread.is_below_stack(address);
    if thread.is_outside() && !is_full {
        // The fault is in this library, or in the carrier.
        // SAFETY: as above.
        return unsafe { pass_on(signal, info, context) };
    }
    // The fault happened while a destroyed stack was read. The addresses read so far are kept.
    if death::reads_stack() {
        // SAFETY: like in `on_interrupt`, which does not return.
        if let Some(wish) = unsafe { TAKEN.swap(null_mut(), Ordering::AcqRel).as_ref() } {
            wish.answer.store(DONE, Ordering::Release);
        }
    } else {
        death::forget();
        // SAFETY: this is the context of this handler.
        death::record(Some(unsafe { interrupted(context) }), thread);
    }
    let has_address = is_access && code > 0 && code != SI_KERNEL;
    let address = has_address.then_some(address);
    thread.stop_for_ever(match signal {
        _ if is_full => Death::StackOverflow { size: thread.stack },
        libc::SIGABRT => Death::Abort,
        _ => Death::Signal { signal, address, raised: code <= 0 },
    })
}

/// Performs the previous action of the process for a signal.
///
/// # Safety
/// The arguments must be the arguments of a handler.
unsafe fn pass_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let index = FAULTS.iter().position(|fault| *fault == signal);
    let before = index.and_then(|index| BEFORE.get().map(|before| before[index]));
    // SAFETY: a handler of the process is called in the same way as by the kernel. Without a handler, the fault happens
    // again after the return, and then ends the process.
    unsafe {
        match before {
            Some(before) if before.sa_sigaction > libc::SIG_IGN => {
                type Handler = unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
                let handler: Handler = std::mem::transmute(before.sa_sigaction);
                handler(signal, info, context);
            }
            _ => {
                libc::signal(signal, libc::SIG_DFL);
                if (*info).si_code <= 0 {
                    // The signal was sent by a program, and would not happen again.
                    let thread = libc::gettid();
                    libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, signal);
                }
            }
        }
    }
}

/// Handles the interruption of a thread that does not return.
unsafe extern "C" fn on_interrupt(_: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    if is_child() {
        // SAFETY: these are the arguments of this handler.
        return unsafe { on_parent(info, context) };
    }
    // SAFETY: the handler that takes the request may use it until it answers.
    let Some(wish) = (unsafe { WISH.swap(null_mut(), Ordering::AcqRel).as_ref() }) else { return };
    let Some(thread) = thread::any().filter(|thread| !thread.is_outside() && (wish.still)()) else {
        wish.answer.store(REFUSED, Ordering::Release);
        return;
    };
    TAKEN.store((&raw const *wish).cast_mut().cast(), Ordering::Release);
    // SAFETY: this is the context of this handler.
    death::record(Some(unsafe { interrupted(context) }), thread);
    TAKEN.store(null_mut(), Ordering::Release);
    let ends = wish.ends;
    wish.answer.store(DONE, Ordering::Release);
    if ends {
        thread.stop_for_ever(Death::Interrupted);
    }
}

/// Handles the interruption of a child by its parent, which sends the number of the sample. The thread ends with the
/// last sample.
///
/// # Safety
/// The arguments must be the arguments of a handler.
unsafe fn on_parent(info: *mut libc::siginfo_t, context: *mut c_void) {
    let Some(thread) = thread::any().filter(|thread| !thread.is_outside()) else { return };
    // SAFETY: this is the kernel's information about the signal.
    let sample = unsafe { (*info).si_value().sival_ptr } as usize;
    if sample == 0 {
        death::forget();
    }
    // SAFETY: this is the context of this handler.
    death::record(Some(unsafe { interrupted(context) }), thread);
    if sample + 1 == SAMPLES {
        thread.stop_for_ever(Death::Interrupted);
    }
}

/// Interrupts the running simulated thread, if `still` returns `true` on its OS thread. The thread then stops with
/// [`Death::Interrupted`]. Returns `false` if it has continued, or cannot be stopped at its current instruction.
/// Returns `None` if no run executes. `still` may only read atomics.
pub fn interrupt(still: &(dyn Fn() -> bool + Sync)) -> Option<bool> {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    if CARRIER.load(Ordering::Acquire) == 0 {
        return None;
    }
    death::forget();
    // Several samples show several lines of a loop.
    Some((1..=SAMPLES).all(|sample| {
        std::thread::sleep(Duration::from_millis(1));
        send(still, sample == SAMPLES)
    }))
}

/// Sends the signal, and waits for the answer.
fn send(still: &(dyn Fn() -> bool + Sync), ends: bool) -> bool {
    /// The maximum time that the carrier may be without a processor.
    const PATIENCE: Duration = Duration::from_millis(200);
    let carrier = CARRIER.load(Ordering::Acquire);
    if carrier == 0 {
        return false;
    }
    let wish = Wish { still, ends, answer: AtomicU32::new(0) };
    let answered = || wish.answer.load(Ordering::Acquire) != 0;
    WISH.store((&raw const wish).cast_mut().cast(), Ordering::Release);
    // SAFETY: a system call with numbers. The request lives until it is withdrawn, or answered.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), carrier, interruption()) };
    let begun = Instant::now();
    while !answered() && begun.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_micros(100));
    }
    if WISH.swap(null_mut(), Ordering::AcqRel).is_null() {
        while !answered() {
            std::thread::sleep(Duration::from_micros(100));
        }
    }
    wish.answer.load(Ordering::Acquire) == DONE
}
