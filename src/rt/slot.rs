//! What the executor keeps of a task besides the row it shows, and what a future keeps of an
//! announcement it made.

use super::body::BoxBody;
use super::object::Waiter;

/// What the executor keeps of a task besides its row.
#[derive(Default)]
pub(crate) struct Slot {
    /// Ended by being dropped.
    pub(crate) cancelled: bool,
    /// Who waits for its end.
    pub(super) joiner: Option<Waiter>,
    /// The step in which its handle was given up; none while there is a handle.
    pub(crate) detached: Option<u32>,
    /// Its body with the result, from its end until the handle takes it.
    pub(crate) ended: Option<BoxBody>,
    /// How many objects it has created.
    pub(super) objects: u32,
    /// Was there when the body of the test had ended.
    pub(crate) left_over: bool,
}

/// An announcement, as the future that made it remembers it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ticket {
    pub(crate) run: u64,
    pub(crate) waiter: Waiter,
}

impl Ticket {
    /// Whether there is an announcement that was neither done nor taken back.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.run != 0
    }

    /// The announcement was done or taken back.
    #[inline]
    pub(crate) fn settle(&mut self) {
        self.run = 0;
    }
}
