//! OS threads that a run of an async test starts. They are not tasks of the run, so no decision orders their steps.

use std::cell::RefCell;

use unpause_native::Exempt;

use crate::rt::WORLD;
use crate::run::untried::Untried;
use crate::seam::in_run;

thread_local! {
    /// The place of the first thread that a run has started on this thread since the last call of [`take_started`].
    static STARTED: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// The part of the program that a search does not see.
const UNSEEN: &str = "threads that the test starts";

/// Returns a guard under which the threads that the current thread creates belong to the engine, except in runs.
pub(crate) fn begin_engine() -> Exempt {
    unpause_native::exempt(started)
}

/// Records that this thread creates an OS thread at a place. Returns `false` outside of runs.
fn started(place: &dyn Fn() -> String) -> bool {
    if !in_run() {
        return false;
    }
    WORLD.with(|world| world.note_untried(Untried::Unseen(UNSEEN)));
    STARTED.with_borrow_mut(|started| _ = started.get_or_insert_with(place));
    true
}

/// Returns the place of the first OS thread that a run has started on this thread since the last call, if any.
pub(crate) fn take_started() -> Option<String> {
    STARTED.take()
}
