//! Vector clocks: for each thread, the number of its events that happen before a moment.
//!
//! In a search of plain threads, a clock also contains its *sure* part, which omits [uncertain](Uncertain) edges. Each
//! clock that is derived from other clocks takes over their sure parts. So the sure part of a thread's clock is the
//! clock that the thread would have without any uncertain edge.

use crate::uncertain::Uncertain;

/// A vector clock. A thread beyond the end of the clock has the number 0.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Clock {
    ticks: Vec<u32>,
    /// The number of the last sequentially consistent fence that happens before the moment; 0 if there is no such
    /// fence. The machine numbers fences in the order S, so fences with lower numbers precede this fence in S.
    pub(crate) fence: u32,
    /// The sure part. Its ticks are empty if the clock depends on no uncertain edge: the whole clock is then sure.
    sure: Sure,
}

/// The sure part of a clock.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
struct Sure {
    ticks: Vec<u32>,
    fence: u32,
}

impl Sure {
    #[inline]
    fn clear(&mut self) {
        self.ticks.clear();
        self.fence = 0;
    }
}

/// Joins the ticks of two clocks.
#[inline]
fn join_ticks(ticks: &mut Vec<u32>, others: &[u32]) {
    if ticks.len() < others.len() {
        ticks.resize(others.len(), 0);
    }
    for (own, other) in ticks.iter_mut().zip(others) {
        *own = (*own).max(*other);
    }
}

impl Clock {
    /// Returns the number of events of a thread.
    #[inline]
    pub fn get(&self, thread: usize) -> u32 {
        self.ticks.get(thread).copied().unwrap_or(0)
    }

    /// Returns the number of events of a thread in the sure part.
    #[inline]
    pub fn get_surely(&self, thread: usize) -> u32 {
        let ticks = if self.is_sure() { &self.ticks } else { &self.sure.ticks };
        ticks.get(thread).copied().unwrap_or(0)
    }

    /// Returns `true` if the clock depends on no uncertain edge.
    #[inline]
    pub(crate) fn is_sure(&self) -> bool {
        self.sure.ticks.is_empty()
    }

    /// Adds an event of a thread, and returns the number of the event.
    #[inline]
    pub fn tick(&mut self, thread: usize) -> u32 {
        if self.ticks.len() <= thread {
            self.ticks.resize(thread + 1, 0);
        }
        self.ticks[thread] += 1;
        let tick = self.ticks[thread];
        if !self.is_sure() {
            self.sure.ticks.resize(self.ticks.len(), 0);
            self.sure.ticks[thread] = tick;
        }
        tick
    }

    /// Joins with another clock: takes the maximum for each thread.
    #[inline]
    pub fn join(&mut self, other: &Clock) {
        if !self.is_sure() || !other.is_sure() {
            self.join_sure(other);
        }
        join_ticks(&mut self.ticks, &other.ticks);
        self.fence = self.fence.max(other.fence);
        if !self.is_sure() {
            self.simplify();
        }
    }

    /// Joins with another clock. `edge` is the kind of the edge if it is uncertain.
    #[inline]
    pub(crate) fn join_by(&mut self, other: &Clock, edge: Option<Uncertain>) {
        match edge {
            None => self.join(other),
            Some(_) => self.join_uncertain(other),
        }
    }

    /// Joins with another clock by an uncertain edge, which leaves the sure part as it is.
    fn join_uncertain(&mut self, other: &Clock) {
        let adds = |(thread, tick): (usize, &u32)| *tick > self.get(thread);
        if self.is_sure() && other.ticks.iter().enumerate().any(adds) {
            self.begin_sure();
        }
        join_ticks(&mut self.ticks, &other.ticks);
        self.fence = self.fence.max(other.fence);
    }

    /// Returns this clock as it is after an uncertain edge: without events in its sure part.
    pub(crate) fn uncertain(&self) -> Clock {
        let mut clock = Clock::default();
        clock.join_uncertain(self);
        clock
    }

    /// Sets the sure part equal to the clock.
    fn begin_sure(&mut self) {
        self.sure.ticks.extend_from_slice(&self.ticks);
        // The ticks of a sure part are not empty.
        self.sure.ticks.resize(self.ticks.len().max(1), 0);
        self.sure.fence = self.fence;
    }

    /// Joins the sure parts of two clocks.
    #[cold]
    fn join_sure(&mut self, other: &Clock) {
        if self.is_sure() {
            self.begin_sure();
        }
        let (ticks, fence) = match other.is_sure() {
            true => (&other.ticks, other.fence),
            false => (&other.sure.ticks, other.sure.fence),
        };
        join_ticks(&mut self.sure.ticks, ticks);
        self.sure.fence = self.sure.fence.max(fence);
    }

    /// Removes the sure part if it is equal to the clock.
    #[cold]
    fn simplify(&mut self) {
        let is_sure = |(thread, tick): (usize, &u32)| *tick <= self.get_surely(thread);
        if self.ticks.iter().enumerate().all(is_sure) {
            self.sure.clear();
        }
    }

    /// Exchanges the clock with its sure part, if it has one. A second call restores the clock.
    pub(crate) fn exchange_sure(&mut self) {
        if !self.is_sure() {
            std::mem::swap(&mut self.ticks, &mut self.sure.ticks);
            std::mem::swap(&mut self.fence, &mut self.sure.fence);
        }
    }

    /// Sets this clock equal to another clock, without a new allocation.
    #[inline]
    pub fn set(&mut self, other: &Clock) {
        self.ticks.clear();
        self.ticks.extend_from_slice(&other.ticks);
        self.fence = other.fence;
        self.sure.clear();
        if !other.is_sure() {
            self.sure.ticks.extend_from_slice(&other.sure.ticks);
            self.sure.fence = other.sure.fence;
        }
    }

    /// Returns `true` if the clock has no event of any thread.
    pub(crate) fn is_empty(&self) -> bool {
        self.ticks.is_empty()
    }

    /// Sets this clock to 0 for all threads.
    pub fn clear(&mut self) {
        self.ticks.clear();
        self.fence = 0;
        self.sure.clear();
    }
}
