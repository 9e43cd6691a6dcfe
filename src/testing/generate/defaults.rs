//! Detects which methods of a [`Program`](super::Program) are the trait's defaults. A model with the default methods
//! refuses no command, so all orders of its commands are safe without a check.
//!
//! A default method records the type that it was called for. If a model forwards its calls to another model, the
//! recorded type is the type of the other model.

use std::any::type_name;
use std::cell::Cell;

use unpause_check::Model;

/// A method that may be the default.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Method {
    Precondition,
    Waits,
    Resolve,
}

thread_local! {
    /// For each [`Method`], the type for which the default method was called last.
    static CALLED: Cell<[&'static str; 3]> = const { Cell::new([""; 3]) };
}

/// Records that the default method was called for `P`.
pub(super) fn called<P: Model>(method: Method) {
    CALLED.with(|called| {
        let mut types = called.get();
        types[method as usize] = type_name::<P>();
        called.set(types);
    });
}

/// Runs `act` and returns its result. The flag is `true` if `act` called the default of every method for `P`.
pub(super) fn all_called<P: Model, T>(act: impl FnOnce() -> T) -> (bool, T) {
    CALLED.with(|called| called.set([""; 3]));
    let done = act();
    (CALLED.with(Cell::get) == [type_name::<P>(); 3], done)
}
