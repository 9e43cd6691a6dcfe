//! Signals that the threads of a run block. Each thread has its own set, and its own signals that wait until the thread
//! no longer blocks them.
//!
//! The OS thread that carries the run blocks the signals of the thread that executes. The set changes when another
//! thread continues, so a run in which no thread has changed its set pays nothing. Signals to the whole process wait in
//! the kernel, and reach the next thread that does not block them.
//!
//! # Limits
//!
//! `sigwait` and related functions find the signals that wait for the thread or for the process. Without such a signal
//! they wait in the kernel, and no other thread of the run executes. `ppoll` and similar calls, which change the set
//! while they wait, handle only the signals that already wait when the call begins. `signalfd` does not find signals of
//! threads.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::clock::fail;
use super::compiled::note_entered;
use super::death::raise;
use super::handlers::has_function;
use super::real::real;
use super::thread::{current, outside};

/// The report text for a wait of which a run sees only a part.
const WAIT: &str = "a wait for a signal";

type SetMask = unsafe extern "C" fn(c_int, *const libc::sigset_t, *mut libc::sigset_t) -> c_int;

/// The sets of a run.
struct Masks {
    /// The signals that were blocked before the run, if the run may have changed this.
    before: Option<libc::sigset_t>,
    /// The thread whose set is the set of the OS thread.
    running: usize,
    /// The sets of other threads. All other threads have the set from before the run.
    saved: BTreeMap<usize, libc::sigset_t>,
    /// The signals that wait, each with its thread, in the order of their arrival.
    waiting: Vec<(usize, c_int)>,
}

static MASKS: Mutex<Masks> =
    Mutex::new(Masks { before: None, running: 0, saved: BTreeMap::new(), waiting: Vec::new() });

/// True if threads of the run may have different sets.
static ARE_USED: AtomicBool = AtomicBool::new(false);

fn masks() -> MutexGuard<'static, Masks> {
    MASKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Defines functions that change the set of the calling thread.
macro_rules! changes {
    ($($name:ident $symbol:literal)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            how: c_int,
            new: *const libc::sigset_t,
            old: *mut libc::sigset_t,
        ) -> c_int {
            if !new.is_null() {
                keep();
            }
            // SAFETY: the caller guarantees the arguments.
            let result = unsafe { real!($symbol, SetMask)(how, new, old) };
            if result == 0 && !new.is_null() {
                deliver();
            }
            result
        }
    )*};
}

changes! {
    pthread_sigmask c"pthread_sigmask"
    sigprocmask c"sigprocmask"
}

/// Saves the set of blocked signals before a simulated thread changes it.
pub(crate) fn keep() {
    if let Some(thread) = current() {
        outside(|| {
            let mut masks = masks();
            if masks.before.is_none() {
                (masks.before, masks.running) = (Some(blocked()), thread.number);
                ARE_USED.store(true, Ordering::Relaxed);
            }
        });
    }
}

/// Returns the signals that the calling OS thread blocks.
pub(crate) fn blocked() -> libc::sigset_t {
    // SAFETY: the type allows all bytes to be zero, and has room for the result. The call only reads the set.
    unsafe {
        let mut blocked: libc::sigset_t = std::mem::zeroed();
        real!(c"pthread_sigmask", SetMask)(libc::SIG_BLOCK, null(), &mut blocked);
        blocked
    }
}

fn has(set: &libc::sigset_t, signal: c_int) -> bool {
    // SAFETY: the set is valid. The result for a number that is not a signal is not 1.
    unsafe { libc::sigismember(set, signal) == 1 }
}

/// Gives the OS thread the set of the thread that continues. Called by the carrier.
#[inline]
pub(crate) fn enter(thread: usize) {
    if ARE_USED.load(Ordering::Relaxed) {
        change_to(thread);
    }
}

#[cold]
fn change_to(thread: usize) {
    let mut masks = masks();
    let own = masks.saved.get(&thread).copied().or(masks.before);
    let Some(own) = own.filter(|_| masks.running != thread) else { return };
    // SAFETY: the type allows all bytes to be zero, and has room for the result. The new set is valid. A thread that
    // was suspended in a handler gets the set of the handler again.
    let before = unsafe {
        let mut before: libc::sigset_t = std::mem::zeroed();
        real!(c"pthread_sigmask", SetMask)(libc::SIG_SETMASK, &own, &mut before);
        before
    };
    let running = std::mem::replace(&mut masks.running, thread);
    masks.saved.insert(running, before);
}

/// Gives a new thread the set of its creator, which is the calling thread.
pub(crate) fn inherit(child: usize) {
    if ARE_USED.load(Ordering::Relaxed) {
        outside(|| masks().saved.insert(child, blocked()));
    }
}

/// Keeps a signal to a thread of the run, if the thread blocks the signal. Called by a simulated thread.
pub(crate) fn waits(thread: usize, signal: c_int) -> bool {
    outside(|| {
        let mut masks = masks();
        let is_running = masks.before.is_none() || masks.running == thread;
        let set = match is_running {
            true => Some(blocked()),
            false => masks.saved.get(&thread).copied().or(masks.before),
        };
        let is_blocked = set.is_some_and(|set| has(&set, signal));
        // As in the kernel, only a real-time signal waits several times.
        let is_new = signal >= libc::SIGRTMIN() || !masks.waiting.contains(&(thread, signal));
        if is_blocked && is_new {
            masks.waiting.push((thread, signal));
        }
        is_blocked
    })
}

/// Removes a signal that waits for the calling thread, if `may` returns `true` for the signal.
fn take(may: impl Fn(c_int) -> bool) -> Option<c_int> {
    let thread = current()?;
    outside(|| {
        let mut masks = masks();
        let is_it = |(of, signal): &(usize, c_int)| *of == thread.number && may(*signal);
        let at = masks.waiting.iter().position(is_it)?;
        Some(masks.waiting.remove(at).1)
    })
}

/// Raises the signals that the calling thread no longer blocks.
fn deliver() {
    let raise_one = || {
        let signal = take(|signal| !has(&blocked(), signal))?;
        // SAFETY: the argument is a number.
        Some(unsafe { raise(signal) })
    };
    while raise_one().is_some() {}
}

/// Ends the run. Returns the signals that were blocked before the run, if the run may have changed this.
pub(crate) fn end() -> Option<libc::sigset_t> {
    ARE_USED.store(false, Ordering::Relaxed);
    let mut masks = masks();
    masks.saved.clear();
    masks.waiting.clear();
    masks.before.take()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sigpending(set: *mut libc::sigset_t) -> c_int {
    type Pending = unsafe extern "C" fn(*mut libc::sigset_t) -> c_int;
    // SAFETY: the caller guarantees the argument.
    let result = unsafe { real!(c"sigpending", Pending)(set) };
    if let Some(thread) = current().filter(|_| result == 0) {
        outside(|| {
            for (_, signal) in masks().waiting.iter().filter(|(of, _)| *of == thread.number) {
                // SAFETY: the caller guarantees the set.
                unsafe { libc::sigaddset(set, *signal) };
            }
        });
    }
    result
}

/// Removes a signal of the set that waits for the calling thread. Records a wait in the kernel otherwise.
///
/// # Safety
/// The set must be valid.
unsafe fn take_from(set: *const libc::sigset_t) -> Option<c_int> {
    current()?;
    // SAFETY: the caller guarantees the set.
    let found = take(|signal| has(unsafe { &*set }, signal));
    if found.is_none() {
        note_entered(WAIT);
    }
    found
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sigwait(set: *const libc::sigset_t, signal: *mut c_int) -> c_int {
    // SAFETY: the caller guarantees the set, and provides room for a number.
    unsafe {
        if let Some(found) = take_from(set) {
            *signal = found;
            return 0;
        }
    }
    type Wait = unsafe extern "C" fn(*const libc::sigset_t, *mut c_int) -> c_int;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"sigwait", Wait)(set, signal) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sigtimedwait(
    set: *const libc::sigset_t,
    info: *mut libc::siginfo_t,
    time: *const libc::timespec,
) -> c_int {
    // SAFETY: the caller guarantees the set. The pointer is null, or there is room for the information.
    unsafe {
        if let Some(found) = take_from(set) {
            if !info.is_null() {
                *info = std::mem::zeroed();
                (*info).si_signo = found;
            }
            return found;
        }
    }
    type Wait = unsafe extern "C" fn(
        *const libc::sigset_t,
        *mut libc::siginfo_t,
        *const libc::timespec,
    ) -> c_int;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"sigtimedwait", Wait)(set, info, time) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sigwaitinfo(set: *const libc::sigset_t, info: *mut libc::siginfo_t) -> c_int {
    // SAFETY: the caller guarantees the arguments.
    unsafe { sigtimedwait(set, info, null()) }
}

/// Begins a wait of the calling thread that replaces its set by `mask`. Raises the signals that wait for the thread and
/// are not in `mask`. Returns `true` if a function has handled one: the wait is then interrupted. Does nothing for a
/// null pointer.
///
/// A later signal does not interrupt the wait. This is recorded if the wait unblocks a signal.
///
/// # Safety
/// The set must be null or valid.
pub(crate) unsafe fn interrupts(mask: *const libc::sigset_t) -> bool {
    // SAFETY: the caller guarantees the set.
    let Some(mask) = current().and(unsafe { mask.as_ref() }) else { return false };
    keep();
    let before = blocked();
    while let Some(signal) = take(|signal| !has(mask, signal)) {
        let is_handled = has_function(signal);
        set(mask);
        // SAFETY: the argument is a number.
        unsafe { raise(signal) };
        set(&before);
        if is_handled {
            return true;
        }
    }
    if (1..=libc::SIGRTMAX()).any(|signal| has(&before, signal) && !has(mask, signal)) {
        note_entered(WAIT);
    }
    false
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sigsuspend(mask: *const libc::sigset_t) -> c_int {
    // SAFETY: the caller guarantees the set.
    if unsafe { interrupts(mask) } {
        return fail(libc::EINTR);
    }
    if current().is_some() {
        note_entered(WAIT);
    }
    type Suspend = unsafe extern "C" fn(*const libc::sigset_t) -> c_int;
    // SAFETY: the caller guarantees the argument.
    unsafe { real!(c"sigsuspend", Suspend)(mask) }
}

/// Drops the pending signals of the process, except signals that were already blocked `before`.
pub(crate) fn drop_pending(before: &libc::sigset_t) {
    // SAFETY: the type allows all bytes to be zero.
    let mut pending: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: there is room for the result.
    if unsafe { libc::sigpending(&mut pending) } != 0 {
        return;
    }
    let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    for signal in 1..=libc::SIGRTMAX() {
        if !has(&pending, signal) || has(before, signal) {
            continue;
        }
        // SAFETY: the sets are valid. The last call removes one signal of the set, which is pending, without a wait.
        unsafe {
            let mut one: libc::sigset_t = std::mem::zeroed();
            libc::sigaddset(&mut one, signal);
            while libc::sigtimedwait(&one, null_mut(), &at_once) == signal {}
        }
    }
}

/// Sets the signals that the calling OS thread blocks.
pub(crate) fn set(signals: &libc::sigset_t) {
    // SAFETY: the set is valid.
    unsafe { real!(c"pthread_sigmask", SetMask)(libc::SIG_SETMASK, signals, null_mut()) };
}
