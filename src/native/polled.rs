//! Runs of async tests in an instrumented program: their random bytes, thread-locals and statics
//! belong to the run, as in runs of plain threads.

use std::cell::Cell;

use unpause_native::Polled;

use crate::seam::{draw_key, in_run};

thread_local! {
    /// True while a test has exclusive use of the process and runs on this thread.
    static ALONE: Cell<bool> = const { Cell::new(false) };
}

/// The guard of an async test while it runs.
pub(crate) struct Alone {
    _only: super::Exclusive,
}

/// Waits until no other test has statics of its own. From then on, each run on this thread has its own statics.
/// `test` is the path of the test in its program.
pub(crate) fn alone(test: &str) -> Alone {
    let only = super::exclusive(test);
    ALONE.set(true);
    Alone { _only: only }
}

impl Drop for Alone {
    fn drop(&mut self) {
        ALONE.set(false);
    }
}

/// Returns `true` if the test of this thread executes all of its runs on it.
pub(crate) fn is_alone() -> bool {
    ALONE.get()
}

/// Begins a run of the test that has [exclusive](alone) use of this thread. Returns `None` for runs of other tests.
///
/// # Panics
/// Panics if the program has no symbols, because they are needed to find its variables.
pub(crate) fn begin() -> Option<Polled> {
    if !is_alone() {
        return None;
    }
    match Polled::begin(key) {
        Ok(polled) => Some(polled),
        // The run has not begun, so it cannot report a failure.
        Err(message) => panic!("{message}"),
    }
}

/// Returns the key for the random bytes of the run. Outside of steps the key is a constant, because the run has not
/// made a decision yet.
fn key() -> u64 {
    if in_run() { draw_key() } else { 0 }
}
