//! Vector clocks: for each thread, the number of its events that happen before a moment.

/// A vector clock. A thread beyond the end of the clock has the number 0.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Clock {
    ticks: Vec<u32>,
    /// The number of the last sequentially consistent fence that happens before the moment; 0 if there is no such
    /// fence. The machine numbers fences in the order S, so fences with lower numbers precede this fence in S.
    pub(crate) fence: u32,
}

impl Clock {
    /// Returns the number of events of a thread.
    #[inline]
    pub fn get(&self, thread: usize) -> u32 {
        self.ticks.get(thread).copied().unwrap_or(0)
    }

    /// Adds an event of a thread, and returns the number of the event.
    #[inline]
    pub fn tick(&mut self, thread: usize) -> u32 {
        if self.ticks.len() <= thread {
            self.ticks.resize(thread + 1, 0);
        }
        self.ticks[thread] += 1;
        self.ticks[thread]
    }

    /// Makes the number of a thread at least this number.
    pub(crate) fn raise(&mut self, thread: usize, tick: u32) {
        if self.ticks.len() <= thread {
            self.ticks.resize(thread + 1, 0);
        }
        self.ticks[thread] = self.ticks[thread].max(tick);
    }

    /// Joins with another clock: takes the maximum for each thread.
    #[inline]
    pub fn join(&mut self, other: &Clock) {
        if self.ticks.len() < other.ticks.len() {
            self.ticks.resize(other.ticks.len(), 0);
        }
        for (own, other) in self.ticks.iter_mut().zip(&other.ticks) {
            *own = (*own).max(*other);
        }
        self.fence = self.fence.max(other.fence);
    }

    /// Sets this clock equal to another clock, without a new allocation.
    #[inline]
    pub fn set(&mut self, other: &Clock) {
        self.ticks.clear();
        self.ticks.extend_from_slice(&other.ticks);
        self.fence = other.fence;
    }

    /// Returns `true` if the clock has no event of any thread.
    pub(crate) fn is_empty(&self) -> bool {
        self.ticks.is_empty()
    }

    /// Sets this clock to 0 for all threads.
    pub fn clear(&mut self) {
        self.ticks.clear();
        self.fence = 0;
    }
}
