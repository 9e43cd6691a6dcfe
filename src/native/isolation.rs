//! Isolation of the runs of a test: the runs share the process, or each run has its own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use unpause_native::Watch;

use crate::run::isolation::Isolation;
use crate::seam::quiet::silence;
use crate::seam::{beat, hang_limit};

/// True if each run has a process of its own.
static PROCESS: AtomicBool = AtomicBool::new(false);

/// True if a run of the test has hung. The repetition of that run then has a shorter time limit.
static HUNG: AtomicBool = AtomicBool::new(false);

/// Sets the isolation of future runs. They belong to another test than the previous runs.
pub(crate) fn set(isolation: Isolation) {
    PROCESS.store(isolation == Isolation::Process, Ordering::Relaxed);
    HUNG.store(false, Ordering::Relaxed);
}

pub(super) fn is_process() -> bool {
    PROCESS.load(Ordering::Relaxed)
}

/// Records that the current run has hung.
pub(super) fn has_hung() {
    HUNG.store(true, Ordering::Relaxed);
}

/// A guard that ends the process when it is dropped, if the process was created for a run.
pub(crate) struct EndsChild;

/// Returns a guard to hold during a run: a process created for one run must not continue after it,
/// not even if the engine panics.
#[inline]
pub(crate) fn ends_child() -> EndsChild {
    EndsChild
}

impl Drop for EndsChild {
    #[inline]
    fn drop(&mut self) {
        unpause_native::leave_child();
    }
}

/// Stops the engine, in a process created for one run, from showing steps to a subscriber of
/// `tracing`: the parent's engine shows them.
pub(super) fn quiet() {
    if tracing::dispatcher::has_been_set() {
        // This setting lasts until the end of the process.
        std::mem::forget(tracing::dispatcher::set_default(silence()));
    }
}

/// Returns the limits under which the process of the next run is watched.
pub(super) fn watch() -> Watch<'static> {
    const LEAST: Duration = Duration::from_millis(100);
    let shorter = |limit: Duration| (limit / 20).max(LEAST).min(limit);
    let hung = HUNG.load(Ordering::Relaxed);
    let hang = hang_limit().map(|limit| if hung { shorter(limit) } else { limit });
    Watch { hang, beat: &beat }
}
