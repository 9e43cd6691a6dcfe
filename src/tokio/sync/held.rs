//! The part of a guard that the run knows.

use crate::run::op::Op;
use crate::seam::{Here, Owner};

/// Records the release of an object when it is dropped. Dropped after tokio's guard, in the same step.
#[derive(Debug)]
pub(super) struct Held<O: Owner> {
    pub(super) owner: O,
    release: &'static Op,
    here: Here,
}

impl<O: Owner> Held<O> {
    /// Records `release` when it is dropped. The object counts as held already.
    pub(super) fn new(owner: O, release: &'static Op, here: Here) -> Held<O> {
        Held { owner, release, here }
    }

    /// The same with another operation at the end.
    pub(super) fn releasing(mut self, release: &'static Op) -> Held<O> {
        self.release = release;
        self
    }

    /// Ends without a release: another operation was one.
    pub(super) fn end(self) {
        self.owner.wrapped().end_hold();
        std::mem::forget(self);
    }
}

impl<O: Owner> Drop for Held<O> {
    fn drop(&mut self) {
        let wrapped = self.owner.wrapped();
        wrapped.end_hold();
        wrapped.last(self.release, self.here, || ());
    }
}
