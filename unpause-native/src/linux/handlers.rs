//! Signal handlers that a run installs. The process gets its own handlers back after the run.

use std::ffi::c_int;
use std::ptr::{null, null_mut};
use std::sync::{Mutex, PoisonError};

use super::real::real;
use super::thread::{current, outside};

type SetAction = unsafe extern "C" fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int;

/// A handler that the run has replaced.
struct Replaced {
    signal: c_int,
    before: libc::sigaction,
    was_blocked: bool,
}

/// The handlers that the run has replaced.
static REPLACED: Mutex<Vec<Replaced>> = Mutex::new(Vec::new());

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
    outside(|| {
        let mut replaced = REPLACED.lock().unwrap_or_else(PoisonError::into_inner);
        if replaced.iter().any(|known| known.signal == signal) {
            return;
        }
        // SAFETY: the type allows all bytes to be zero, and has room for the result.
        let was_blocked = unsafe {
            let mut blocked: libc::sigset_t = std::mem::zeroed();
            libc::pthread_sigmask(libc::SIG_BLOCK, null(), &mut blocked);
            libc::sigismember(&blocked, signal) == 1
        };
        // SAFETY: the type allows all bytes to be zero.
        let mut before: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: the call only reads the handler.
        if unsafe { real!(c"sigaction", SetAction)(signal, null(), &mut before) } == 0 {
            replaced.push(Replaced { signal, before, was_blocked });
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
    // SAFETY: the types allow all bytes to be zero. The calls only read the handler and the blocked signals.
    outside(|| unsafe {
        let (mut action, mut blocked): (libc::sigaction, libc::sigset_t) = std::mem::zeroed();
        real!(c"sigaction", SetAction)(signal, null(), &mut action) == 0
            && action.sa_sigaction == libc::SIG_DFL
            && libc::pthread_sigmask(libc::SIG_BLOCK, null(), &mut blocked) == 0
            && libc::sigismember(&blocked, signal) == 0
    })
}

/// Restores the handlers. Called by the carrier when a run ends.
///
/// The run may end within a handler, for example because the handler writes to a pipe. Its signal is then blocked, and
/// would stay blocked in all later runs. A signal that arrived in the meantime is dropped, because it belongs to the
/// run.
pub(crate) fn put_back() {
    let mut replaced = REPLACED.lock().unwrap_or_else(PoisonError::into_inner);
    for Replaced { signal, before, was_blocked } in replaced.drain(..) {
        // SAFETY: the type allows all bytes to be zero. The system calls take a pointer to it, and a handler of the
        // process.
        unsafe {
            let set = real!(c"sigaction", SetAction);
            if !was_blocked {
                let mut ignored: libc::sigaction = std::mem::zeroed();
                ignored.sa_sigaction = libc::SIG_IGN;
                set(signal, &ignored, null_mut());
                let mut signals: libc::sigset_t = std::mem::zeroed();
                libc::sigaddset(&mut signals, signal);
                libc::pthread_sigmask(libc::SIG_UNBLOCK, &signals, null_mut());
            }
            set(signal, &before, null_mut());
        }
    }
}
