//! The private part of a task's row, and the announcement inside a future.

use super::body::BoxBody;
use super::object::AnnouncementId;
use super::task_panics::KeptPanic;
use crate::run::in_flight::InFlight;

/// The data of a task that strategies do not see. The other data is in its row on the board.
#[derive(Default)]
pub(crate) struct TaskSlot {
    /// A number computed from the task's path, see [`child_number`]; 0 for the body.
    pub(super) number: u64,
    /// True if the task ended because its future was dropped.
    pub(crate) cancelled: bool,
    /// The announcements that wait for the end of the task. The announcements belong to its handle and to its task set.
    pub(super) joiners: Vec<AnnouncementId>,
    /// The step that dropped the handle; `None` while the handle exists.
    pub(crate) detached: Option<u32>,
    /// The body with the result, from the end of the task until the handle takes it.
    pub(crate) ended: Option<BoxBody>,
    /// The message to deliver in its step, until the message has arrived.
    pub(super) in_flight: Option<InFlight>,
    /// True if the handle of the task receives its panic.
    pub(super) gives_panic: bool,
    /// The panic of the task, until the handle takes it.
    pub(super) panic: Option<Box<KeptPanic>>,
    /// The number of objects that the task has created.
    pub(super) objects: u32,
    /// True for a task of the run itself, for example the hand of the clock, which no report contains.
    pub(super) is_of_run: bool,
    /// True if the task had not ended when the body of the test ended.
    pub(crate) left_over: bool,
}

impl TaskSlot {
    /// Resets the slot for a new task. The previous task has left no body and no panic.
    pub(super) fn begin(&mut self, number: u64) {
        self.number = number;
        self.cancelled = false;
        self.joiners.clear();
        self.detached = None;
        // This message was sent after the end of its run. The message is not dropped, because its destructor might send
        // more messages.
        std::mem::forget(self.in_flight.take());
        self.gives_panic = false;
        self.objects = 0;
        self.left_over = false;
        self.is_of_run = false;
    }
}

/// The announcement of a pending operation, stored in its future. Closed by default.
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

/// Returns the number of the `nth` child of the task with the number `parent`. Each spawn path has its own number,
/// which is the same in all runs of a body.
///
/// The number has three digits for each segment of the path, if they fit. If the digits do not fit, the number is a
/// hash in the upper half of all numbers.
pub(super) fn child_number(parent: u64, nth: u32) -> u64 {
    const HASHED: u64 = 1 << 63;
    let digits = (nth < 999 && parent < HASHED / 1000).then(|| parent * 1000 + u64::from(nth) + 1);
    digits.unwrap_or_else(|| {
        let mixed = parent.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(u64::from(nth));
        mixed.rotate_left(29).wrapping_mul(0xBF58_476D_1CE4_E5B9) | HASHED
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_path_has_a_number() {
        assert_eq!(child_number(0, 0), 1);
        assert_eq!(child_number(child_number(0, 1), 2), 2003);
        let mut all = BTreeSet::new();
        let mut parents = vec![0];
        for _ in 0..9 {
            let nths = [0, 1, 2, 998, 999, 1000, u32::MAX];
            parents = parents.iter().flat_map(|p| nths.map(|nth| child_number(*p, nth))).collect();
            assert!(parents.iter().all(|number| all.insert(*number)));
            parents.truncate(40);
        }
    }
}
