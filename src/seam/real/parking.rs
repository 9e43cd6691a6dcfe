//! Parking tokens of real tasks, and the work at their ends.

use super::Here;
use super::point::point;
use crate::real::own::{self, AtEnd, RealParking};

/// A handle that makes the token of a task available.
#[derive(Clone, Debug)]
pub(crate) struct Unparker(pub(super) RealParking);

impl Unparker {
    /// Returns the unparker of the current task.
    pub(crate) fn current() -> Unparker {
        Unparker(RealParking::current())
    }

    /// Makes the token available.
    pub(crate) fn unpark(&self, _: Here) {
        self.0.unpark();
    }
}

/// Registers `work` to be done at the end of the current task. Returns `false` outside of tasks.
pub(crate) fn at_end(work: AtEnd) -> bool {
    own::at_end(work).is_ok()
}

/// Waits for the token of the current task.
pub(crate) async fn park(_: Here) {
    point(|_| ()).await;
    RealParking::current().park().await;
}
