//! Signal handlers that a run installs, and signals that it blocks. After the run, the process gets its own handlers
//! back, and the thread that carries the run its own set of blocked signals.

use std::ffi::c_int;
use std::ptr::{null, null_mut};
use std::sync::{Mutex, PoisonError};

use super::real::real;
use super::thread::{current, outside};

type SetAction = unsafe extern "C" fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int;
type SetMask = unsafe extern "C" fn(c_int, *const libc::sigset_t, *mut libc::sigset_t) -> c_int;

/// A handler that the run has replaced.
struct Replaced {
    signal: c_int,
    before: libc::sigaction,
}

/// The handlers that the run has replaced.
static REPLACED: Mutex<Vec<Replaced>> = Mutex::new(Vec::new());

/// The signals that were blocked before the run, if the run may have changed this.
static BLOCKED: Mutex<Option<libc::sigset_t>> = Mutex::new(None);

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_sigmask(
    how: c_int,
    new: *const libc::sigset_t,
    old: *mut libc::sigset_t,
) -> c_int {
    if !new.is_null() {
        keep_blocked();
    }
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"pthread_sigmask", SetMask)(how, new, old) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sigprocmask(
    how: c_int,
    new: *const libc::sigset_t,
    old: *mut libc::sigset_t,
) -> c_int {
    if !new.is_null() {
        keep_blocked();
    }
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"sigprocmask", SetMask)(how, new, old) }
}

/// Saves the set of blocked signals before a run changes it.
fn keep_blocked() {
    if current().is_some() {
        outside(|| {
            let mut before = BLOCKED.lock().unwrap_or_else(PoisonError::into_inner);
            before.get_or_insert_with(blocked);
        });
    }
}

/// Returns the signals that the calling OS thread blocks.
fn blocked() -> libc::sigset_t {
    // SAFETY: the type allows all bytes to be zero, and has room for the result. The call only reads the set.
    unsafe {
        let mut blocked: libc::sigset_t = std::mem::zeroed();
        real!(c"pthread_sigmask", SetMask)(libc::SIG_BLOCK, null(), &mut blocked);
        blocked
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sigaction(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    if !new.is_null() {
        keep(signal);
    }
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"sigaction", SetAction)(signal, new, old) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn signal(signal: c_int, handler: libc::sighandler_t) -> libc::sighandler_t {
    keep(signal);
    type Signal = unsafe extern "C" fn(c_int, libc::sighandler_t) -> libc::sighandler_t;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"signal", Signal)(signal, handler) }
}

/// Saves the handler of a signal that a run replaces.
fn keep(signal: c_int) {
    if current().is_none() {
        return;
    }
    // A handler blocks signals while it runs, and the run may end within it.
    keep_blocked();
    outside(|| {
        let mut replaced = REPLACED.lock().unwrap_or_else(PoisonError::into_inner);
        if replaced.iter().any(|known| known.signal == signal) {
            return;
        }
        // SAFETY: the type allows all bytes to be zero.
        let mut before: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: the call only reads the handler.
        if unsafe { real!(c"sigaction", SetAction)(signal, null(), &mut before) } == 0 {
            replaced.push(Replaced { signal, before });
        }
    });
}

/// Returns `true` if the run has installed a handler for the signal, or ignores it. Called for a simulated thread.
pub(crate) fn is_handled(signal: c_int) -> bool {
    outside(|| {
        let replaced = REPLACED.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the type allows all bytes to be zero.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        replaced.iter().any(|known| known.signal == signal)
            // SAFETY: the call only reads the handler.
            && unsafe { real!(c"sigaction", SetAction)(signal, null(), &mut action) } == 0
            && action.sa_sigaction != libc::SIG_DFL
    })
}

/// Returns `true` if the process has no handler for the signal, and neither ignores nor blocks it. Returns `false` for
/// a number that is not a signal. Called for a simulated thread.
pub(crate) fn ends_process(signal: c_int) -> bool {
    // SAFETY: the type allows all bytes to be zero. The calls only read the handler and the set.
    outside(|| unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        real!(c"sigaction", SetAction)(signal, null(), &mut action) == 0
            && action.sa_sigaction == libc::SIG_DFL
            && libc::sigismember(&blocked(), signal) == 0
    })
}

/// Returns `true` if a function handles the signal. Called for a simulated thread, and for a signal that does not end
/// the process.
pub(crate) fn has_function(signal: c_int) -> bool {
    // SAFETY: the type allows all bytes to be zero. The call only reads the handler.
    outside(|| unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        real!(c"sigaction", SetAction)(signal, null(), &mut action) == 0
            && ![libc::SIG_DFL, libc::SIG_IGN].contains(&action.sa_sigaction)
    })
}

/// Restores the handlers and the blocked signals. Called by the carrier when a run ends.
///
/// The run may end within a handler, for example because the handler writes to a pipe. Its signal is then blocked, and
/// would stay blocked in all later runs. A blocked signal that has arrived in the meantime is dropped, because it
/// belongs to the run.
pub(crate) fn put_back() {
    let before = BLOCKED.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(before) = &before {
        drop_pending(before);
    }
    let mut replaced = REPLACED.lock().unwrap_or_else(PoisonError::into_inner);
    for Replaced { signal, before } in replaced.drain(..) {
        // SAFETY: this is a handler of the process.
        unsafe { real!(c"sigaction", SetAction)(signal, &before, null_mut()) };
    }
    if let Some(before) = &before {
        // SAFETY: the set is valid.
        unsafe { real!(c"pthread_sigmask", SetMask)(libc::SIG_SETMASK, before, null_mut()) };
    }
}

/// Drops the pending signals, except signals that were already blocked `before`.
fn drop_pending(before: &libc::sigset_t) {
    // SAFETY: the type allows all bytes to be zero.
    let mut pending: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: there is room for the result.
    if unsafe { libc::sigpending(&mut pending) } != 0 {
        return;
    }
    let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    for signal in 1..=libc::SIGRTMAX() {
        // SAFETY: the sets are valid. The last call removes one signal of the set, which is pending, without a wait.
        unsafe {
            if libc::sigismember(&pending, signal) != 1 || libc::sigismember(before, signal) == 1 {
                continue;
            }
            let mut one: libc::sigset_t = std::mem::zeroed();
            libc::sigaddset(&mut one, signal);
            while libc::sigtimedwait(&one, null_mut(), &at_once) == signal {}
        }
    }
}
