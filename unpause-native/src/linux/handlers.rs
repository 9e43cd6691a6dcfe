//! Handlers of signals that a run installs: the process has its own again after the run.

use std::ffi::c_int;
use std::ptr::{null, null_mut};
use std::sync::{Mutex, PoisonError};

use super::real::real;
use super::thread::{current, outside};

type SetAction = unsafe extern "C" fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int;

/// The handlers that the run has replaced, by signal.
static REPLACED: Mutex<Vec<(c_int, libc::sigaction)>> = Mutex::new(Vec::new());

#[unsafe(no_mangle)]
unsafe extern "C" fn sigaction(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    if !new.is_null() {
        keep(signal);
    }
    // SAFETY: the caller's arguments.
    unsafe { real!(c"sigaction", SetAction)(signal, new, old) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn signal(signal: c_int, handler: libc::sighandler_t) -> libc::sighandler_t {
    keep(signal);
    type Signal = unsafe extern "C" fn(c_int, libc::sighandler_t) -> libc::sighandler_t;
    // SAFETY: the caller's arguments.
    unsafe { real!(c"signal", Signal)(signal, handler) }
}

/// Keeps the handler of a signal that a run replaces.
fn keep(signal: c_int) {
    if current().is_none() {
        return;
    }
    outside(|| {
        let mut replaced = REPLACED.lock().unwrap_or_else(PoisonError::into_inner);
        if replaced.iter().any(|(known, _)| *known == signal) {
            return;
        }
        // SAFETY: all bytes zero are a value of the type.
        let mut before: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: reads the handler.
        if unsafe { real!(c"sigaction", SetAction)(signal, null(), &mut before) } == 0 {
            replaced.push((signal, before));
        }
    });
}

/// Returns `true` if the run has installed a handler of the signal, or ignores it. For a simulated thread.
pub(crate) fn is_handled(signal: c_int) -> bool {
    outside(|| {
        let replaced = REPLACED.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: all bytes zero are a value of the type.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        replaced.iter().any(|(known, _)| *known == signal)
            // SAFETY: reads the handler.
            && unsafe { real!(c"sigaction", SetAction)(signal, null(), &mut action) } == 0
            && action.sa_sigaction != libc::SIG_DFL
    })
}

/// Puts the handlers back. For the carrier, when a run ends.
pub(crate) fn put_back() {
    let mut replaced = REPLACED.lock().unwrap_or_else(PoisonError::into_inner);
    for (signal, before) in replaced.drain(..) {
        // SAFETY: a handler of the process.
        unsafe { real!(c"sigaction", SetAction)(signal, &before, null_mut()) };
    }
}
