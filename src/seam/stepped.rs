//! Calls of this library by a plain thread that is stepped.
//!
//! Such a thread has a stack of its own, so a call that needs a run acts [on the stack of the run](on_carrier). The
//! run may have a process of its own, too. Then an effect on the run is also [noted](note), for the process that
//! reports the run: there the effect is repeated.

use std::sync::OnceLock;

pub(crate) use unpause_native::{alive, on_carrier};

use crate::run::note::Note;

/// Writes a note as bytes for the process that reports the run.
static WRITE: OnceLock<fn(Note)> = OnceLock::new();

/// Sets the function that writes notes. Each call must set the same one.
pub(crate) fn set_writer(write: fn(Note)) {
    WRITE.get_or_init(|| write);
}

/// Writes a note, if this process was made for the run and a thread of the run has called.
pub(crate) fn note(note: impl FnOnce() -> Note) {
    if !unpause_native::is_noted() {
        return;
    }
    if let Some(write) = WRITE.get() {
        write(note());
    }
}
