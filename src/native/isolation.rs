//! Isolation of the runs of a test: the runs share the process, or each run has its own.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use unpause_native::Watch;

use super::has_captured;
use crate::run::isolation::Isolation;
use crate::seam::quiet::silence;
use crate::seam::{beat, hang_limit};

/// True if each run has a process of its own.
static PROCESS: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// True while the runs on this thread must not change captured values. It is a thread-local, because other tests
    /// may run async tasks on other threads at the same time.
    static SPARES: Cell<bool> = const { Cell::new(false) };
}

/// True if this process is a copy, whose captured values nothing else uses.
static IS_COPY: AtomicBool = AtomicBool::new(false);

/// True if a run of the test has hung. The repetition of that run then has a shorter time limit.
static HUNG: AtomicBool = AtomicBool::new(false);

/// Sets the isolation of future runs. They belong to another test than the previous runs.
pub(crate) fn set(isolation: Isolation) {
    PROCESS.store(isolation == Isolation::Process, Ordering::Relaxed);
    HUNG.store(false, Ordering::Relaxed);
}

/// Returns `true` if each run on the current thread has a process of its own.
pub(super) fn is_process() -> bool {
    PROCESS.load(Ordering::Relaxed) || SPARES.get()
}

/// Returns `true` if the setting gives each run a process of its own.
pub(crate) fn has_own_processes() -> bool {
    PROCESS.load(Ordering::Relaxed)
}

/// Lets all runs of this process change captured values. Called in a copy of the process in which the test runs.
pub(crate) fn change_captured() {
    IS_COPY.store(true, Ordering::Relaxed);
}

/// A guard under which the runs of the current thread do not change captured values.
pub(crate) struct Spared {
    /// True if another guard existed before.
    before: bool,
}

/// Gives each run of the current thread a process of its own until the guard is dropped, if the body has captured
/// memory. This is for runs that do not count: rehearsals, repetitions and samples. A test that counts the calls of its
/// closure expects one call for each run that counts.
pub(crate) fn spare_captured() -> Spared {
    let before = SPARES.get();
    SPARES.set(before || has_captured() && !IS_COPY.load(Ordering::Relaxed));
    Spared { before }
}

impl Drop for Spared {
    fn drop(&mut self) {
        SPARES.set(self.before);
    }
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

pub(super) mod checks {
    use std::sync::Barrier;
    use std::thread;

    use super::*;
    use crate::native::of_closure;

    /// A test of async tasks runs at the same time on another thread, and its guard is dropped last.
    pub(in super::super) fn guards_of_other_threads_make_no_difference() {
        let _of_closure = of_closure(None, true, None);
        set(Isolation::Run);
        let (begun, ends) = (Barrier::new(2), Barrier::new(2));
        let here = spare_captured();
        assert!(is_process());
        thread::scope(|scope| {
            scope.spawn(|| {
                let _there = spare_captured();
                begun.wait();
                ends.wait();
            });
            begun.wait();
            drop(here);
            ends.wait();
        });
        assert!(!is_process(), "the runs that count are not in processes of their own");
    }
}
