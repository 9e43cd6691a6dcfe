//! shuttle's `Barrier`: std's, with a result that can be copied.

use std::sync;

/// std's barrier.
#[derive(Debug)]
pub struct Barrier(sync::Barrier);

impl Barrier {
    /// Creates a barrier for this number of threads.
    pub const fn new(threads: usize) -> Barrier {
        Barrier(sync::Barrier::new(threads))
    }

    /// Waits until this number of threads wait.
    pub fn wait(&self) -> BarrierWaitResult {
        BarrierWaitResult { is_leader: self.0.wait().is_leader() }
    }
}

/// The result of [`Barrier::wait`].
#[derive(Clone, Copy, Debug)]
pub struct BarrierWaitResult {
    is_leader: bool,
}

impl BarrierWaitResult {
    /// Returns `true` for one of the threads that have waited together.
    pub fn is_leader(&self) -> bool {
        self.is_leader
    }
}
