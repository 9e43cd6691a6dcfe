//! The sequentially consistent fences of a run, in the order S.

use std::collections::VecDeque;

use crate::clock::Clock;

/// The number of fences that are kept.
pub(crate) const FENCES_KEPT: usize = 1024;

/// A sequentially consistent fence.
#[derive(Clone, Debug)]
pub(crate) struct Fence {
    /// Its position in S.
    pub(crate) position: u32,
    /// All that happens before it, or before a fence that precedes it in S.
    pub(crate) known: Clock,
}

/// The fences of a run. Each has a number, from 1. The oldest fences are dropped.
#[derive(Clone, Default, Debug)]
pub(crate) struct Fences {
    kept: VecDeque<Fence>,
    /// The number of dropped fences.
    dropped: u32,
}

impl Fences {
    /// Adds a fence of a thread with this clock. Returns its number.
    pub(crate) fn add(&mut self, position: u32, clock: &Clock) -> u32 {
        let mut known = Clock::default();
        if self.kept.len() == FENCES_KEPT {
            self.dropped += 1;
            // For its allocation.
            known = self.kept.pop_front().map_or(known, |fence| fence.known);
        }
        known.set(self.last().map_or(clock, |last| &last.known));
        known.join(clock);
        self.kept.push_back(Fence { position, known });
        self.dropped + self.kept.len() as u32
    }

    /// The last fence.
    pub(crate) fn last(&self) -> Option<&Fence> {
        self.kept.back()
    }

    /// The fence of a number; `None` for 0. A dropped fence is replaced by the oldest kept fence, which knows more: a
    /// choice may be lost, and none is added.
    pub(crate) fn get(&self, number: u32) -> Option<&Fence> {
        let at = number.checked_sub(1)?.saturating_sub(self.dropped);
        self.kept.get(at as usize)
    }

    /// Forgets all fences.
    pub(crate) fn clear(&mut self) {
        self.kept.clear();
        self.dropped = 0;
    }

    /// The number of fences that are kept.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.kept.len()
    }
}
