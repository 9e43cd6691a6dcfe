//! A task unwinds for one of two reasons: a panic of the program, or the end of a failed run.

use std::any::Any;

use crate::run::panic_text;
pub(crate) use crate::run::panics::Panicked;

/// The payload that unwinds a task whose run has already failed. This unwinding is not a panic of the program, so the
/// hook is not called.
pub(crate) struct Halt;

/// Unwinds the current task. The state of the run already contains its failure.
pub(crate) fn halt() -> ! {
    std::panic::resume_unwind(Box::new(Halt))
}

/// Returns the message and place of the panic with this payload. `None` for a [`Halt`].
pub(crate) fn take(payload: &(dyn Any + Send)) -> Option<Panicked> {
    let noted = crate::run::panics::take();
    if payload.is::<Halt>() {
        return None;
    }
    let message = panic_text(payload);
    // The hook may have recorded another panic, which the program caught. In that case
    // `resume_unwind`, which does not call the hook, raised the current panic.
    let noted = noted.filter(|noted| noted.message == message);
    Some(noted.unwrap_or_else(|| Panicked { message, place: String::new() }))
}
