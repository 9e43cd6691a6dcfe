//! Calls of this library by a stepped plain thread.
//!
//! A stepped thread has its own stack, so a call that needs a run executes [on the stack of the run](on_carrier). The
//! run may also have its own process. Then an effect on the run is also [noted](note) for the process that reports the
//! run, which repeats the effect.

use std::sync::OnceLock;

pub(crate) use unpause_native::{alive, clock_of, on_carrier};

use crate::run::note::Note;

/// The function that writes a note as bytes for the process that reports the run.
static WRITE: OnceLock<fn(Note)> = OnceLock::new();

/// Sets the function that writes notes. Each call must set the same function.
pub(crate) fn set_writer(write: fn(Note)) {
    WRITE.get_or_init(|| write);
}

/// Writes a note, if this process was created for the run and a thread of the run is the caller.
pub(crate) fn note(note: impl FnOnce() -> Note) {
    if !unpause_native::is_noted() {
        return;
    }
    if let Some(write) = WRITE.get() {
        write(note());
    }
}
