//! Runs of async tests in an instrumented program: their random bytes, thread-locals and statics
//! belong to the run, as in runs of plain threads.

use std::cell::Cell;
use std::sync::MutexGuard;

use unpause_native::Polled;

use crate::seam::{draw_key, in_run};

thread_local! {
    /// True while a test has the process for itself and makes its runs on this thread.
    static ALONE: Cell<bool> = const { Cell::new(false) };
}

/// Held by an async test while it runs.
pub(crate) struct Alone {
    _only: MutexGuard<'static, ()>,
}

/// Waits until no other test has statics of its own. From then on the runs of this thread have.
pub(crate) fn alone() -> Alone {
    let only = super::exclusive();
    ALONE.set(true);
    Alone { _only: only }
}

impl Drop for Alone {
    fn drop(&mut self) {
        ALONE.set(false);
    }
}

/// Returns `true` if the test of this thread makes all of its runs on it.
pub(crate) fn is_alone() -> bool {
    ALONE.get()
}

/// Begins a run of the test that this thread is [alone](alone) with. Does nothing for other runs.
///
/// # Panics
/// If the program has no symbols, by which its variables are found.
pub(crate) fn begin() -> Option<Polled> {
    if !is_alone() {
        return None;
    }
    match Polled::begin(key) {
        Ok(polled) => Some(polled),
        // There is no run yet that could fail.
        Err(message) => panic!("{message}"),
    }
}

/// Returns the key of the random bytes of the run. A constant outside of steps: the run has made no decision then.
fn key() -> u64 {
    if in_run() { draw_key() } else { 0 }
}
