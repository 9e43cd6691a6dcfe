//! The poll log of a step: the pending operations that were polled in it. Combinators need it and [start
//! it](super::world::World::log_polls).

/// The keys of pending operations, in the order of their polls.
#[derive(Default)]
pub(super) struct PollLog {
    /// The step that the log belongs to, plus one; 0 if there is no such step.
    pub(super) step: u32,
    pub(super) keys: Vec<u32>,
    /// The step in which pending operations are announced again when they are polled, plus one; 0 if there is no such
    /// step.
    pub(super) renewed_in: u32,
    /// The last step of a task woken by a future of another library, plus one.
    pub(super) woken_in: u32,
    /// The step in which a branch of a `select!` is polled, plus one; 0 if there is no such step. The value is not
    /// restored if the branch wins, so that the rest of the step counts as a part of the branch.
    pub(super) raced_in: u32,
    /// The number of draws of the run that made no difference.
    pub(super) settled: usize,
    /// The number of operations of the run that took effect by hand and would otherwise have had a point.
    pub(super) by_hand: u32,
}

impl PollLog {
    pub(super) fn clear(&mut self) {
        self.step = 0;
        self.keys.clear();
        self.renewed_in = 0;
        (self.woken_in, self.raced_in) = (0, 0);
        self.settled = 0;
        self.by_hand = 0;
    }

    /// Returns `true` if an operation that could be done in `step` must be announced again instead.
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

    /// Records that a future of another library woke the task of `step`.
    pub(super) fn woken(&mut self, step: u32) {
        self.woken_in = step + 1;
    }
}
