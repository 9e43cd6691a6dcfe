//! Programs that were generated before on this thread, for shrinking, which generates one and the same program
//! thousands of times.
//!
//! To generate a program takes much longer than to run it, and shrinking changes what is left of it and the schedule
//! far more often than what it is generated from. So while a [`Memo`] is alive, what was generated is kept with
//! the numbers that were drawn for it. It is a function of these, of the model and of the shape; what is made of
//! it for a smaller program is not kept.
//!
//! A model that is no function of its draws is not noticed meanwhile: whoever shrinks takes the decisions of
//! the result again without a memo.

use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;

use super::draft::Generated;
use super::plan::Size;
use super::{Program, Shape};
use crate::run::program::Part;

/// How many programs are kept: one body may run several.
const KEPT_MAX: usize = 4;

thread_local! {
    static KEPT: RefCell<Option<Vec<Rc<dyn Any>>>> = const { RefCell::new(None) };
}

/// While it is alive, this thread keeps what it generates.
pub(crate) struct Memo(());

impl Memo {
    /// Begins with nothing.
    #[allow(dead_code, reason = "the real build makes no program smaller")]
    pub(crate) fn begin() -> Memo {
        KEPT.with(|kept| *kept.borrow_mut() = Some(Vec::new()));
        Memo(())
    }
}

impl Drop for Memo {
    fn drop(&mut self) {
        forget();
    }
}

/// Forgets all and keeps nothing more until the next [`Memo`]. For a model that draws behind the back of its plan.
pub(crate) fn forget() {
    // What the user's values do when they are dropped may come back here.
    drop(KEPT.with(RefCell::take));
}

/// What a program is generated from besides the numbers drawn for its commands.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Origin<P> {
    pub(super) shape: Shape,
    pub(super) size: Size,
    pub(super) initial: P,
    pub(super) parts: Vec<Part>,
}

/// A program and what it was generated from.
pub(super) struct KnownProgram<P: Program> {
    pub(super) origin: Origin<P>,
    /// What was drawn: below which bound, and what it was.
    pub(super) drawn: Vec<(u64, u64)>,
    pub(super) generated: Generated<P>,
}

/// Whether what is generated is kept.
pub(super) fn is_on() -> bool {
    KEPT.with(|kept| kept.borrow().is_some())
}

/// A program that was generated from this, if one is kept.
pub(super) fn find<P: Program + 'static>(origin: &Origin<P>) -> Option<Rc<KnownProgram<P>>> {
    let kept = KEPT.with(|kept| kept.borrow().clone())?;
    let mut known = kept.into_iter().filter_map(|known| known.downcast::<KnownProgram<P>>().ok());
    known.find(|known| known.origin == *origin)
}

/// Keeps a program, in the place of another one of the same origin.
pub(super) fn keep<P: Program + 'static>(new: KnownProgram<P>) {
    let Some(mut kept) = KEPT.with(|kept| kept.borrow().clone()) else { return };
    let same = |known: &Rc<dyn Any>| {
        known.downcast_ref::<KnownProgram<P>>().is_some_and(|known| known.origin == new.origin)
    };
    match kept.iter().position(same) {
        Some(at) => drop(kept.remove(at)),
        None if kept.len() == KEPT_MAX => drop(kept.remove(0)),
        None => {}
    }
    kept.push(Rc::new(new));
    let before = KEPT.with(|there| there.replace(Some(kept)));
    drop(before);
}
