//! The sequentially consistent fences of a run, in the order S.

use std::collections::VecDeque;

use crate::clock::Clock;
use crate::machine::Orders;
use crate::operation::SEQ_CST;
use crate::rules::Rule;

/// The maximum number of stored fences.
pub(crate) const FENCES_KEPT: usize = 1024;

/// A sequentially consistent fence.
#[derive(Clone, Debug)]
pub(crate) struct Fence {
    /// The position of the fence in S.
    pub(crate) position: u32,
    /// The clock of all events that happen before this fence, or before a fence that precedes it in S.
    pub(crate) known: Clock,
}

/// The fences of a run. Fences are numbered from 1. The oldest fences are dropped.
#[derive(Clone, Default, Debug)]
pub(crate) struct Fences {
    kept: VecDeque<Fence>,
    /// The number of dropped fences.
    dropped: u32,
}

impl Fences {
    /// Adds a fence of a thread with this clock, and returns the number of the fence.
    pub(crate) fn add(&mut self, position: u32, clock: &Clock) -> u32 {
        let mut known = Clock::default();
        if self.kept.len() == FENCES_KEPT {
            self.dropped += 1;
            // Reuses the allocation of the dropped fence.
            known = self.kept.pop_front().map_or(known, |fence| fence.known);
        }
        known.set(self.last().map_or(clock, |last| &last.known));
        known.join(clock);
        self.kept.push_back(Fence { position, known });
        self.number()
    }

    /// Returns the number of the last fence; 0 if there is no fence.
    pub(crate) fn number(&self) -> u32 {
        self.dropped + self.kept.len() as u32
    }

    /// Returns the last fence.
    pub(crate) fn last(&self) -> Option<&Fence> {
        self.kept.back()
    }

    /// Returns the fence with a number; `None` for 0. A dropped fence is replaced by the oldest stored fence, which has
    /// a later clock. So a choice may be lost, but no choice is added.
    pub(crate) fn get(&self, number: u32) -> Option<&Fence> {
        let at = number.checked_sub(1)?.saturating_sub(self.dropped);
        self.kept.get(at as usize)
    }

    /// Removes all fences.
    pub(crate) fn clear(&mut self) {
        self.kept.clear();
        self.dropped = 0;
    }

    /// Returns the number of stored fences.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.kept.len()
    }
}

impl Orders {
    /// Executes a sequentially consistent compiler fence. Directly after a sequentially consistent read-modify-write,
    /// it also counts as a processor fence, because programs use this pair as a cheaper `mfence` on x86-64.
    pub fn signal_fence(&mut self, thread: usize) {
        if self.known(thread).is_strong && self.has(Rule::SignalFences) {
            // C++20 does not know this fence.
            self.lacks_choices = true;
            self.fence(thread, SEQ_CST);
        }
    }

    /// Executes a `membarrier` call of a thread: a sequentially consistent fence in each thread.
    pub fn fence_of_all(&mut self, thread: usize) {
        if !self.has(Rule::Membarrier) {
            return;
        }
        // The first fence orders the call before the fences of the other threads, and the last fence orders it after
        // them.
        self.fence(thread, SEQ_CST);
        self.restart_exact();
        (0..self.threads.len()).for_each(|other| self.fence(other, SEQ_CST));
        self.restart_exact();
        self.fence(thread, SEQ_CST);
    }
}
