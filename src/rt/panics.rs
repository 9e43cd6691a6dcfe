//! The two ways in which a task unwinds: a panic of the program, and the end of a failed run.

use std::any::Any;

use crate::run::panic_text;
pub(crate) use crate::run::panics::Panicked;

/// Unwinds a task whose run has failed already. Not a panic of the program: the hook is not called.
pub(crate) struct Halt;

/// Ends the current task; the failure has been noted in the state of the run.
pub(crate) fn halt() -> ! {
    std::panic::resume_unwind(Box::new(Halt))
}

/// What the panic with this payload said, `None` for a [`Halt`].
pub(crate) fn take(payload: &(dyn Any + Send)) -> Option<Panicked> {
    let noted = crate::run::panics::take();
    if payload.is::<Halt>() {
        return None;
    }
    let message = panic_text(payload);
    // What the hook noted may be of another panic, which the program caught; this one was raised
    // by `resume_unwind`, of which the hook is not told.
    let noted = noted.filter(|noted| noted.message == message);
    Some(noted.unwrap_or_else(|| Panicked { message, place: String::new() }))
}
