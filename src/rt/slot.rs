//! The private part of a task's row, and the announcement that a future holds.

use super::body::BoxBody;
use super::carried::Carried;
use super::object::AnnouncementId;
use super::task_panics::KeptPanic;

/// The data of a task that strategies do not see; the rest is its row on the board.
#[derive(Default)]
pub(crate) struct TaskSlot {
    /// A number made of the task's path, see [`child_number`]; 0 for the body.
    pub(super) number: u64,
    /// The task ended because its future was dropped.
    pub(crate) cancelled: bool,
    /// The announcements that wait for the end of the task: one of its handle, and others of its set.
    pub(super) joiners: Vec<AnnouncementId>,
    /// The step that dropped the handle; `None` while there is a handle.
    pub(crate) detached: Option<u32>,
    /// The body with the result, from the end of the task until the handle takes it.
    pub(crate) ended: Option<BoxBody>,
    /// The message that arrives in its step, until it has arrived.
    pub(super) carried: Option<Carried>,
    /// True if its panic goes to its handle.
    pub(super) gives_panic: bool,
    /// Its panic, until the handle takes it.
    pub(super) panic: Option<Box<KeptPanic>>,
    /// The number of objects that the task has created.
    pub(super) objects: u32,
    /// It is a task of the run itself, such as the hand of the clock, and in no report.
    pub(super) is_of_run: bool,
    /// The task had not ended when the body of the test ended.
    pub(crate) left_over: bool,
}

impl TaskSlot {
    /// Resets the slot for a new task. It has no body and no panic of a task before.
    pub(super) fn begin(&mut self, number: u64) {
        self.number = number;
        self.cancelled = false;
        self.joiners.clear();
        self.detached = None;
        // A message that was sent after the end of its run. Not dropped, because its destructor
        // might send more.
        std::mem::forget(self.carried.take());
        self.gives_panic = false;
        self.objects = 0;
        self.left_over = false;
        self.is_of_run = false;
    }
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

/// The number of the `nth` child of the task with the number `parent`: a number for each spawn path, the same in all
/// runs of a body.
///
/// Three digits for each segment of the path, if it fits; else a hash in the upper half of all numbers.
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
