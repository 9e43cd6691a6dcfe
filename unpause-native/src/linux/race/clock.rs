//! Vector clocks: for each thread, the number of its releases that are known.

/// A vector clock. A thread beyond its end has the number 0.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Clock(Vec<u32>);

impl Clock {
    /// The number for a thread.
    #[inline]
    pub(crate) fn get(&self, thread: usize) -> u32 {
        self.0.get(thread).copied().unwrap_or(0)
    }

    /// Adds 1 for a thread.
    pub(crate) fn advance(&mut self, thread: usize) {
        if self.0.len() <= thread {
            self.0.resize(thread + 1, 0);
        }
        self.0[thread] += 1;
    }

    /// Takes the greater number for each thread.
    pub(crate) fn join(&mut self, other: &Clock) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            *own = (*own).max(*other);
        }
    }

    /// Becomes the same as another one, in the memory that it has.
    pub(crate) fn set(&mut self, other: &Clock) {
        self.0.clear();
        self.0.extend_from_slice(&other.0);
    }

    /// Becomes 0 for all threads.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}
