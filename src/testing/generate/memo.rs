//! A memo of generated programs for one thread. Shrinking uses it, because it generates the same program thousands of
//! times.
//!
//! Generating a program takes much longer than running it, and shrinking changes the schedule and the remaining
//! commands far more often than the generated program. So while a [`Memo`] is alive, generated programs are cached
//! together with their drawn numbers. A program is a function of these numbers, the model and the shape. Smaller
//! programs derived from it are not cached.
//!
//! The memo hides that a model is not a function of its draws. To detect this, the shrinker replays the decisions of
//! its result without a memo.

use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;

use super::draft::Generated;
use super::program_plan::ProgramSize;
use super::{Program, Shape};
use crate::run::program::Part;

/// The maximum number of cached programs. One test body may run several programs.
const KEPT_MAX: usize = 4;

thread_local! {
    static KEPT: RefCell<Option<Vec<Rc<dyn Any>>>> = const { RefCell::new(None) };
}

/// A guard: while it is alive, this thread caches generated programs.
pub(crate) struct Memo(());

impl Memo {
    /// Starts an empty memo.
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

/// Drops all cached programs, and caches no more until the next [`Memo`]. Used if a model draws outside of its plan.
pub(crate) fn forget() {
    // The destructors of the user's values may call this module.
    drop(KEPT.with(RefCell::take));
}

/// The input of a generated program, except the numbers drawn for its commands.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct ProgramOrigin<P> {
    pub(super) shape: Shape,
    pub(super) size: ProgramSize,
    pub(super) initial: P,
    pub(super) parts: Vec<Part>,
}

/// A cached program with its input.
pub(super) struct KnownProgram<P: Program> {
    pub(super) origin: ProgramOrigin<P>,
    /// The draws, each with its bound and its value.
    pub(super) drawn: Vec<(u64, u64)>,
    pub(super) generated: Generated<P>,
}

/// Returns `true` if generated programs are cached.
pub(super) fn is_on() -> bool {
    KEPT.with(|kept| kept.borrow().is_some())
}

/// Returns the cached program with this input, if any.
pub(super) fn find<P: Program + 'static>(origin: &ProgramOrigin<P>) -> Option<Rc<KnownProgram<P>>> {
    let kept = KEPT.with(|kept| kept.borrow().clone())?;
    let mut known = kept.into_iter().filter_map(|known| known.downcast::<KnownProgram<P>>().ok());
    known.find(|known| known.origin == *origin)
}

/// Caches a program. Replaces a program with the same input.
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
