//! Deaths of simulated threads: events that would end the process, or block it for ever, if the thread were an OS
//! thread.
//!
//! A thread stops with [`Request::Died`] if it calls `abort` or `exit`, gets a signal from the processor, or is
//! interrupted. It is not resumed. Its stack is recorded at once, because the stack may be full or destroyed.

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::apart::ProcessEnd;
use super::compiled::note_entered;
use super::handlers;
use super::masks;
use super::polled;
use super::real::real;
use super::refused::refuse;
use super::request::Request;
use super::signals;
use super::switch::frame_pointer;
use super::thread::{Thread, current, outside};

/// The reason why a thread cannot continue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Death {
    /// A signal that ends a process by default.
    Signal {
        /// The number of the signal.
        signal: i32,
        /// The address of the failed access. `None` if the program raised the signal, or if no pointer can have the
        /// address.
        address: Option<usize>,
        /// True if the program raised the signal.
        raised: bool,
    },
    /// The stack of the thread is full.
    StackOverflow {
        /// The size of the stack, in bytes.
        size: usize,
    },
    /// A call of `abort`.
    Abort,
    /// A call that ends the process.
    Exit {
        /// The name of the function.
        function: &'static str,
        /// The argument of the function.
        code: i32,
    },
    /// The thread was [interrupted](crate::interrupt).
    Interrupted,
    /// The process that was created for the run has ended before the run.
    Process(ProcessEnd),
}

/// The maximum number of return addresses in a stack.
const DEPTH: usize = 256;

/// The number of stacks that are recorded for an interrupted thread.
pub(crate) const SAMPLES: usize = 16;

/// Return addresses, innermost first.
#[derive(Clone, Copy)]
struct Stack {
    addresses: [usize; DEPTH],
    depth: usize,
}

struct Recorded(UnsafeCell<[Stack; SAMPLES]>);

// SAFETY: only the OS thread that carries a run accesses the value, and only one run executes at a time.
unsafe impl Sync for Recorded {}

static STACKS: Recorded =
    Recorded(UnsafeCell::new([Stack { addresses: [0; DEPTH], depth: 0 }; SAMPLES]));

/// The number of recorded stacks.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// True while a stack is read. A fault is then an error of the reader, on a destroyed stack.
static READS: AtomicBool = AtomicBool::new(false);

/// Returns `true` while a stack is read.
pub(crate) fn reads_stack() -> bool {
    READS.load(Ordering::Relaxed)
}

/// Removes the recorded stacks.
pub(crate) fn forget() {
    COUNT.store(0, Ordering::Relaxed);
}

/// Adds a return address to the last stack.
fn push(address: usize) {
    // SAFETY: see `Recorded`.
    let stack = unsafe { &mut (*STACKS.0.get())[COUNT.load(Ordering::Relaxed).min(SAMPLES) - 1] };
    if stack.depth < DEPTH {
        stack.addresses[stack.depth] = address;
        stack.depth += 1;
    }
}

/// The part of libgcc's unwinder that reads a stack.
#[repr(C)]
struct UnwindContext {
    _private: [u8; 0],
}

unsafe extern "C" {
    fn _Unwind_Backtrace(
        call: extern "C" fn(*mut UnwindContext, *mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIPInfo(context: *mut UnwindContext, before: *mut c_int) -> usize;
}

/// Calls `take` with each frame of the current thread, innermost first, until it returns `false`. Its arguments are the
/// address of the instruction and the return address, from which the readers of places subtract one byte. Safe in a
/// signal handler, because it does not allocate.
pub(crate) fn walk(mut take: &mut dyn FnMut(usize, usize) -> bool) {
    type Take<'t> = &'t mut dyn FnMut(usize, usize) -> bool;
    /// Receives each frame. `take` points to the local variable of `walk`.
    extern "C" fn frame(context: *mut UnwindContext, take: *mut c_void) -> c_int {
        const CONTINUE: c_int = 0;
        const STOP: c_int = 5;
        let mut before = 0;
        // SAFETY: the context is from the unwinder, and `take` points to the local variable of `walk`.
        let (address, take) =
            unsafe { (_Unwind_GetIPInfo(context, &mut before), &mut *take.cast::<Take<'_>>()) };
        let goes_on = address != 0 && take(address, address + usize::from(before != 0));
        if goes_on { CONTINUE } else { STOP }
    }
    // SAFETY: the callback does not unwind, and its argument lives during the call.
    unsafe { _Unwind_Backtrace(frame, (&raw mut take).cast()) };
}

/// Records the stack of the current thread, from `interrupted` on or completely. `interrupted` is the instruction and
/// the frame pointer at which a signal arrived. Safe in a signal handler, because it does not allocate.
pub(crate) fn record(interrupted: Option<(usize, usize)>, thread: &Thread) {
    let number = COUNT.load(Ordering::Relaxed);
    if number == SAMPLES {
        return;
    }
    COUNT.store(number + 1, Ordering::Relaxed);
    // SAFETY: see `Recorded`.
    unsafe { (*STACKS.0.get())[number].depth = 0 };
    // The instruction at which to begin, or 0 if the recording has begun.
    let mut from = interrupted.map_or(0, |(instruction, _)| instruction);
    READS.store(true, Ordering::Relaxed);
    walk(&mut |address, return_address| {
        if from == 0 || address == from {
            from = 0;
            push(return_address);
        }
        true
    });
    READS.store(false, Ordering::Relaxed);
    // Without unwind tables, for example in assembly code, only the frame pointers remain.
    if let (Some((instruction, frame)), true) = (interrupted, from != 0) {
        push(instruction + 1);
        thread.frames_from(frame).take(DEPTH).for_each(push);
    }
}

/// Returns the recorded stacks of the thread that has died, innermost return address first. Of several samples, returns
/// their common part and one more address: the function that the thread does not leave.
pub(crate) fn stacks() -> Vec<Vec<usize>> {
    READS.store(false, Ordering::Relaxed);
    let count = COUNT.load(Ordering::Relaxed);
    // SAFETY: see `Recorded`.
    let stacks = unsafe { &(&*STACKS.0.get())[..count] };
    let mut stacks: Vec<&[usize]> =
        stacks.iter().map(|stack| &stack.addresses[..stack.depth]).collect();
    let Some(first) = stacks.first().copied() else { return Vec::new() };
    let is_common = |back: &usize| {
        stacks.iter().all(|stack| {
            stack.len() >= *back && stack[stack.len() - back] == first[first.len() - back]
        })
    };
    let common = (1..=first.len()).take_while(is_common).count();
    for stack in &mut stacks {
        *stack = &stack[stack.len().saturating_sub(common + 1)..];
    }
    stacks.sort();
    stacks.dedup();
    stacks.into_iter().map(<[usize]>::to_vec).collect()
}

impl Thread {
    /// Ends the thread: passes the reason to the carrier, which does not resume the thread.
    pub(crate) fn die(&mut self, death: Death) -> ! {
        forget();
        record(None, self);
        self.stop_for_ever(death)
    }

    /// Ends the thread in the same way, but its stack is already recorded.
    pub(crate) fn stop_for_ever(&mut self, death: Death) -> ! {
        self.stop(Request::Died(death), (0, 0));
        unreachable!("a thread that has died is not resumed")
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn abort() -> ! {
    if let Some(thread) = current() {
        thread.die(Death::Abort);
    }
    polled::aborts();
    // SAFETY: the function is libc's, with its own signature.
    unsafe { real!(c"abort", unsafe extern "C" fn() -> !)() }
}

/// Ends the process by a signal with its default action.
pub fn end_by(signal: i32) -> ! {
    // SAFETY: the type allows all bytes to be zero. The system calls take a pointer to it and numbers.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        let mut signals: libc::sigset_t = std::mem::zeroed();
        libc::sigaddset(&mut signals, signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &signals, std::ptr::null_mut());
        libc::syscall(libc::SYS_tgkill, libc::getpid(), libc::gettid(), signal);
        // This is reached for a signal that does not end a process.
        real!(c"abort", unsafe extern "C" fn() -> !)()
    }
}

/// Defines functions that end the process with a code.
macro_rules! exits {
    ($($name:ident $text:literal)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(code: c_int) -> ! {
            if let Some(thread) = current() {
                thread.die(Death::Exit { function: stringify!($name), code });
            }
            // SAFETY: the function is libc's, with its own signature.
            unsafe { real!($text, unsafe extern "C" fn(c_int) -> !)(code) }
        }
    )*};
}

exits! {
    exit c"exit"
    _exit c"_exit"
    _Exit c"_Exit"
    quick_exit c"quick_exit"
}

/// Signals that by default have no effect, or stop or continue a process. All other signals end it.
const HARMLESS: [c_int; 8] = [
    libc::SIGCHLD,
    libc::SIGURG,
    libc::SIGWINCH,
    libc::SIGCONT,
    libc::SIGSTOP,
    libc::SIGTSTP,
    libc::SIGTTIN,
    libc::SIGTTOU,
];

/// Returns `true` if the signal would end the process of a simulated thread.
fn is_deadly(signal: c_int) -> bool {
    match signals::FAULTS.contains(&signal) {
        // The process has a handler of this crate for the signal.
        true => !handlers::is_handled(signal),
        false => !HARMLESS.contains(&signal) && handlers::ends_process(signal),
    }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn raise(signal: c_int) -> c_int {
    if let Some(thread) = current() {
        if is_deadly(signal) {
            thread.die(Death::Signal { signal, address: None, raised: true });
        }
        if masks::waits(thread.number, signal) {
            return 0;
        }
    }
    // The libc function of older versions would find the thread by its thread-local block.
    // SAFETY: the system call has no arguments.
    let thread = outside(|| unsafe { libc::gettid() });
    // SAFETY: a system call with numbers.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, signal) as c_int }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn kill(process: libc::pid_t, signal: c_int) -> c_int {
    if let Some(thread) = current()
        && is_deadly(signal)
        // SAFETY: the system call has no arguments.
        && process == unsafe { libc::getpid() }
    {
        thread.die(Death::Signal { signal, address: None, raised: true });
    }
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"kill", unsafe extern "C" fn(libc::pid_t, c_int) -> c_int)(process, signal) }
}

/// A signal to the calling thread is raised: libc would send it to the worker of the thread. A signal that another
/// thread blocks waits for that thread. Otherwise a handler would have to interrupt the other thread, which a run does
/// not support.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_kill(thread: libc::pthread_t, signal: c_int) -> c_int {
    if let Some(caller) = current()
        && let Some(target) = caller.run().find(thread)
    {
        // SAFETY: workers are never freed, and all threads except the caller are suspended.
        let (number, has_ended) = unsafe {
            let target = target.as_ptr();
            ((*target).number, (*target).ended)
        };
        return match signal {
            0 => 0,
            signal if !(1..=libc::SIGRTMAX()).contains(&signal) => libc::EINVAL,
            _ if has_ended => 0,
            // SAFETY: the argument is a number.
            signal if number == caller.number => match unsafe { raise(signal) } {
                0 => 0,
                _ => std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL),
            },
            // The order of the signal and of the thread's other steps is not tried.
            signal if masks::waits(number, signal) => {
                note_entered("pthread_kill, of another thread");
                0
            }
            signal if is_deadly(signal) => {
                caller.die(Death::Signal { signal, address: None, raised: true })
            }
            signal if handlers::has_function(signal) => {
                let remedy = "Raise the signal in the thread itself";
                refuse("pthread_kill, of another thread", remedy, frame_pointer())
            }
            // The signal is ignored.
            _ => 0,
        };
    }
    type Kill = unsafe extern "C" fn(libc::pthread_t, c_int) -> c_int;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"pthread_kill", Kill)(thread, signal) }
}
