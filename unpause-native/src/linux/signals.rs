//! Signals that reach a simulated thread: faults of the processor, and the interruption of a thread that does not come
//! back. The handlers run on a stack of their own and leave it for the carrier.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, Ordering};
use std::sync::{Mutex, Once, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use super::arch::interrupted;
use super::death::{self, Death, SAMPLES};
use super::{handlers, thread, unseen};

/// The signals of the processor, and the signal of `abort`.
const FAULTS: [c_int; 6] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT, libc::SIGTRAP];

/// The size of the stack of handlers. The frame of a signal has all registers, up to 11 KiB.
const HANDLER_STACK: usize = 128 << 10;

/// The handlers that were there before.
static BEFORE: OnceLock<[libc::sigaction; FAULTS.len()]> = OnceLock::new();

/// The kernel's number of the thread that carries the current run; 0 if there is none.
static CARRIER: AtomicI32 = AtomicI32::new(0);

/// The wish of the thread that interrupts.
static WISH: AtomicPtr<Wish<'_>> = AtomicPtr::new(null_mut());

/// The wish that a handler fulfils now: if the stack that it reads is destroyed, the next handler answers it.
static TAKEN: AtomicPtr<Wish<'_>> = AtomicPtr::new(null_mut());

/// One interruption.
struct Wish<'a> {
    /// False if the thread has gone on since.
    still: &'a (dyn Fn() -> bool + Sync),
    /// True if the thread ends, and false if its stack is recorded only.
    ends: bool,
    /// The answer: 0 as long as there is none.
    answer: AtomicU32,
}

/// The wish was fulfilled.
const DONE: u32 = 1;
/// The thread has gone on, or cannot be stopped where it is.
const REFUSED: u32 = 2;

/// The signal that interrupts.
pub(crate) fn interruption() -> c_int {
    libc::SIGRTMIN() + 9
}

thread_local! {
    /// The kernel's number of this thread; 0 if it was not needed yet.
    static NUMBER: Cell<i32> = const { Cell::new(0) };
}

/// True in a process that was made for one run: its parent interrupts it.
static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// This process was made for one run, by a thread that is the only one of it.
pub(crate) fn begin_child() {
    begin_copy();
    IS_CHILD.store(true, Ordering::Relaxed);
}

/// This process is a copy of another one, by a thread that is the only one of it.
pub(crate) fn begin_copy() {
    NUMBER.set(0);
}

/// Returns `true` in a process that was made for one run.
pub(crate) fn is_child() -> bool {
    IS_CHILD.load(Ordering::Relaxed)
}

/// The current thread begins to carry a run.
pub(crate) fn begin() {
    install_once();
    thread_local! {
        static STACK: HandlerStack = HandlerStack::new();
    }
    STACK.with(|_| ());
    if NUMBER.get() == 0 {
        // SAFETY: a system call without arguments.
        NUMBER.set(unsafe { libc::gettid() });
    }
    CARRIER.store(NUMBER.get(), Ordering::Release);
}

/// The run is over.
pub(crate) fn end() {
    CARRIER.store(0, Ordering::Release);
    handlers::put_back();
}

/// The stack of the handlers of one thread.
struct HandlerStack {
    address: *mut c_void,
    before: libc::stack_t,
}

impl HandlerStack {
    fn new() -> HandlerStack {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let mut before = libc::stack_t { ss_sp: null_mut(), ss_flags: 0, ss_size: 0 };
        // SAFETY: a new mapping, which is the stack of handlers until it is unmapped.
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
        // SAFETY: the previous stack is std's, which removes it after the thread-locals. No handler
        // runs: this is no handler.
        unsafe {
            libc::sigaltstack(&self.before, null_mut());
            libc::munmap(self.address, HANDLER_STACK);
        }
    }
}

/// Installs the handlers, the first time that it is called.
pub(crate) fn install_once() {
    static ONCE: Once = Once::new();
    ONCE.call_once(install);
}

/// Installs the handlers.
fn install() {
    let handler = |function: *const (), more: c_int| {
        // SAFETY: all bytes zero are a value of the type.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = function as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | more;
        action
    };
    // The handler does not return to the thread that it has interrupted, so the signal must not stay blocked.
    let fault = handler(on_fault as *const (), libc::SA_NODEFER);
    let interrupt = handler(on_interrupt as *const (), libc::SA_NODEFER | libc::SA_RESTART);
    BEFORE.get_or_init(|| {
        FAULTS.map(|signal| {
            // SAFETY: as above.
            let mut before: libc::sigaction = unsafe { std::mem::zeroed() };
            // SAFETY: reads the handler.
            unsafe { libc::sigaction(signal, std::ptr::null(), &mut before) };
            before
        })
    });
    for signal in FAULTS {
        // SAFETY: the handler does nothing but what is safe in one.
        unsafe { libc::sigaction(signal, &fault, null_mut()) };
    }
    // SAFETY: as above.
    unsafe { libc::sigaction(interruption(), &interrupt, null_mut()) };
}

/// A fault, or `abort` called by libc.
unsafe extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    /// The code of a signal that names the address of an access ends below this; the codes of the
    /// kernel do not.
    const SI_KERNEL: c_int = 0x80;
    // SAFETY: the context of this handler.
    if signal == libc::SIGTRAP && unsafe { unseen::takes_trap(context) } {
        return;
    }
    let Some(thread) = thread::any() else {
        // SAFETY: the arguments of this handler.
        return unsafe { pass_on(signal, info, context) };
    };
    // SAFETY: the kernel's information about the signal.
    let (address, code) = unsafe { ((*info).si_addr() as usize, (*info).si_code) };
    let is_access = matches!(signal, libc::SIGSEGV | libc::SIGBUS);
    let is_full = is_access && thread.is_below_stack(address);
    if thread.is_outside() && !is_full {
        // A fault of this library, or of the carrier.
        // SAFETY: as above.
        return unsafe { pass_on(signal, info, context) };
    }
    // A fault of the reader of a destroyed stack: what was read is kept.
    if death::reads_stack() {
        // SAFETY: as in `on_interrupt`, which does not return.
        if let Some(wish) = unsafe { TAKEN.swap(null_mut(), Ordering::AcqRel).as_ref() } {
            wish.answer.store(DONE, Ordering::Release);
        }
    } else {
        death::forget();
        // SAFETY: the context of this handler.
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

/// Does what the process did about a signal before.
///
/// # Safety
/// The arguments of a handler.
unsafe fn pass_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let index = FAULTS.iter().position(|fault| *fault == signal);
    let before = index.and_then(|index| BEFORE.get().map(|before| before[index]));
    // SAFETY: a handler of the process, called as the kernel would. Without one, the fault comes again after the
    // return, and then ends the process.
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
                    // It was sent, and does not come again.
                    let thread = libc::gettid();
                    libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, signal);
                }
            }
        }
    }
}

/// The interruption of a thread that does not come back.
unsafe extern "C" fn on_interrupt(_: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    if is_child() {
        // SAFETY: the arguments of this handler.
        return unsafe { on_parent(info, context) };
    }
    // SAFETY: whoever takes the wish may use it until the answer.
    let Some(wish) = (unsafe { WISH.swap(null_mut(), Ordering::AcqRel).as_ref() }) else { return };
    let Some(thread) = thread::any().filter(|thread| !thread.is_outside() && (wish.still)()) else {
        wish.answer.store(REFUSED, Ordering::Release);
        return;
    };
    TAKEN.store((&raw const *wish).cast_mut().cast(), Ordering::Release);
    // SAFETY: the context of this handler.
    death::record(Some(unsafe { interrupted(context) }), thread);
    TAKEN.store(null_mut(), Ordering::Release);
    let ends = wish.ends;
    wish.answer.store(DONE, Ordering::Release);
    if ends {
        thread.stop_for_ever(Death::Interrupted);
    }
}

/// The interruption of a child by its parent, which sends the number of the sample. With the last one the thread ends.
///
/// # Safety
/// The arguments of a handler.
unsafe fn on_parent(info: *mut libc::siginfo_t, context: *mut c_void) {
    let Some(thread) = thread::any().filter(|thread| !thread.is_outside()) else { return };
    // SAFETY: the kernel's information about the signal.
    let sample = unsafe { (*info).si_value().sival_ptr } as usize;
    if sample == 0 {
        death::forget();
    }
    // SAFETY: the context of this handler.
    death::record(Some(unsafe { interrupted(context) }), thread);
    if sample + 1 == SAMPLES {
        thread.stop_for_ever(Death::Interrupted);
    }
}

/// Interrupts the simulated thread that runs now, if `still` returns `true` on its thread of the system: the thread
/// stops with [`Death::Interrupted`]. Returns `false` if it has gone on, or cannot be stopped where it is; `None` if
/// there is no run. `still` must do nothing but read atomics.
pub fn interrupt(still: &(dyn Fn() -> bool + Sync)) -> Option<bool> {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    if CARRIER.load(Ordering::Acquire) == 0 {
        return None;
    }
    death::forget();
    // A loop is seen in several of its lines.
    Some((1..=SAMPLES).all(|sample| {
        std::thread::sleep(Duration::from_millis(1));
        send(still, sample == SAMPLES)
    }))
}

/// Sends the signal, and waits for the answer.
fn send(still: &(dyn Fn() -> bool + Sync), ends: bool) -> bool {
    /// The time that the carrier may be without a processor.
    const PATIENCE: Duration = Duration::from_millis(200);
    let carrier = CARRIER.load(Ordering::Acquire);
    if carrier == 0 {
        return false;
    }
    let wish = Wish { still, ends, answer: AtomicU32::new(0) };
    let answered = || wish.answer.load(Ordering::Acquire) != 0;
    WISH.store((&raw const wish).cast_mut().cast(), Ordering::Release);
    // SAFETY: a system call with numbers. The wish lives until it is taken back, or answered.
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
