//! The private part of a task's row, and the announcement that a future holds.

use super::body::BoxBody;
use super::fault::FaultCounts;
use super::object::AnnouncementId;

/// The data of a task that strategies do not see; the rest is its row on the board.
#[derive(Default)]
pub(crate) struct TaskSlot {
    /// The task ended because its future was dropped.
    pub(crate) cancelled: bool,
    /// The announcement that waits for the end of the task.
    pub(super) joiner: Option<AnnouncementId>,
    /// The step in which the handle was dropped; none while there is a handle.
    pub(crate) detached: Option<u32>,
    /// The body with the result, from the end of the task until the handle takes it.
    pub(crate) ended: Option<BoxBody>,
    /// The number of objects that the task has created.
    pub(super) objects: u32,
    /// The faults that it has decided on.
    pub(super) faults: FaultCounts,
    /// The task had not ended when the body of the test ended.
    pub(crate) left_over: bool,
}

/// An announcement of a pending operation, as its future holds it. Closed by default.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Announcement {
    pub(crate) run: u64,
    pub(crate) id: AnnouncementId,
}

impl Announcement {
    /// Returns `true` from the announcement until the operation is done or retracted.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.run != 0
    }

    /// Marks the operation as done or retracted.
    #[inline]
    pub(crate) fn close(&mut self) {
        self.run = 0;
    }
}
