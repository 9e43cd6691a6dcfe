//! The log of a step: the pending operations that were polled in it. Kept for combinators, if they
//! [begin it](super::world::World::log_polls).

/// The keys of pending operations, as they are polled.
#[derive(Default)]
pub(super) struct PollLog {
    /// One more than the step in which it is kept; 0 if in none.
    pub(super) step: u32,
    pub(super) keys: Vec<u32>,
    /// One more than the step in which pending operations are announced anew when they are polled; 0 if in none.
    pub(super) renewed_in: u32,
    /// One more than the last step of a task that a future outside this library had woken.
    pub(super) woken_in: u32,
    /// One more than the step in which a branch of a `select!` is polled; 0 if in none. Not put back if that branch
    /// wins, so that the rest of such a step counts as a part of it.
    pub(super) raced_in: u32,
    /// The number of draws of the run that made no difference.
    pub(super) settled: usize,
    /// The number of events of the run that were taken back.
    pub(super) forgotten: usize,
    /// The number of operations of the run that took effect by hand and would else have had a point.
    pub(super) by_hand: u32,
}

impl PollLog {
    pub(super) fn clear(&mut self) {
        self.step = 0;
        self.keys.clear();
        self.renewed_in = 0;
        (self.woken_in, self.raced_in) = (0, 0);
        self.settled = 0;
        self.forgotten = 0;
        self.by_hand = 0;
    }

    /// Returns `true` if an operation that could be done in `step` must be announced anew instead.
    #[inline]
    pub(super) fn renews(&self, step: u32) -> bool {
        self.renewed_in == step + 1
    }

    /// Records that a pending operation was announced or checked in `step`.
    #[inline]
    pub(super) fn polled(&mut self, step: u32, key: u32) {
        if self.step == step + 1 {
            self.keys.push(key);
        }
    }

    /// Records that the task of `step` was woken by a future that is not of this library.
    pub(super) fn woken(&mut self, step: u32) {
        self.woken_in = step + 1;
    }
}
