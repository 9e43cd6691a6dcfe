//! Which methods of a [`Program`](super::Program) are those that the trait has: a model without preconditions of its
//! own has nothing that could be refused, and all orders of its commands are safe unseen.
//!
//! A method that is not overridden says so when it is called. It says for which type: one that another model
//! forwards to is not that model's own.

use std::any::type_name;
use std::cell::Cell;

use unpause_check::Model;

/// A method that may be that of the trait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Method {
    Precondition,
    Waits,
    Resolve,
}

thread_local! {
    /// For each [`Method`], the type for which the one of the trait was called last.
    static CALLED: Cell<[&'static str; 3]> = const { Cell::new([""; 3]) };
}

/// The method of the trait was called for `P`.
pub(super) fn called<P: Model>(method: Method) {
    CALLED.with(|called| {
        let mut types = called.get();
        types[method as usize] = type_name::<P>();
        called.set(types);
    });
}

/// Whether the methods of the trait, all of them, are called for `P` in `act`, with what that returns.
pub(super) fn all_called<P: Model, T>(act: impl FnOnce() -> T) -> (bool, T) {
    CALLED.with(|called| called.set([""; 3]));
    let done = act();
    (CALLED.with(Cell::get) == [type_name::<P>(); 3], done)
}
