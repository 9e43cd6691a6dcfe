//! Signal handlers that a run installs. After the run, the process gets its own handlers back, and the thread that
//! carries the run its own set of blocked signals.

use std::ffi::c_int;
use std::ptr::{null, null_mut};
use std::sync::{Mutex, PoisonError};

use super::masks;
use super::real::real;
use super::thread::{current, outside};

type SetAction = unsafe extern "C" fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int;

/// A handler that the run has replaced.
struct Replaced {
    signal: c_int,
    before: libc::sigaction,
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
    // A handler blocks signals while it runs, and the run may end within it.
    masks::keep();
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
            && libc::sigismember(&masks::blocked(), signal) == 0
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
    let before = masks::end();
    if let Some(before) = &before {
        masks::drop_pending(before);
    }
    let mut replaced = REPLACED.lock().unwrap_or_else(PoisonError::into_inner);
    for Replaced { signal, before } in replaced.drain(..) {
        // SAFETY: this is a handler of the process.
        unsafe { real!(c"sigaction", SetAction)(signal, &before, null_mut()) };
    }
    if let Some(before) = &before {
        masks::set(before);
    }
}
