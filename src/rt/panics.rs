//! A task unwinds for one of two reasons: a panic of the program, or the end of a failed run.

use std::any::Any;

use crate::run::panic_text;
pub(crate) use crate::run::panics::Panicked;

/// Unwinds a task whose run has failed already. Not a panic of the program: the hook is not called.
pub(crate) struct Halt;

/// Ends the current task, whose failure is recorded in the state of the run.
pub(crate) fn halt() -> ! {
    std::panic::resume_unwind(Box::new(Halt))
}

/// The message and place of the panic with this payload. `None` for a [`Halt`].
pub(crate) fn take(payload: &(dyn Any + Send)) -> Option<Panicked> {
    let noted = crate::run::panics::take();
    if payload.is::<Halt>() {
        return None;
    }
    let message = panic_text(payload);
    // The hook may have recorded another panic, which the program caught. Then this one was raised
    // by `resume_unwind`, which does not call the hook.
    let noted = noted.filter(|noted| noted.message == message);
    Some(noted.unwrap_or_else(|| Panicked { message, place: String::new() }))
}
