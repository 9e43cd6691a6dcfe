//! Backoff for a loop on a real thread: the pauses are short at first; later the thread yields.

/// The number of pauses after which each pause yields the thread.
const SPINS: u32 = 6;

/// The backoff state. The pauses are 1, 2, 4, … spins, and then a `yield_now` of the thread each
/// time.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    pauses: u32,
}

impl Backoff {
    /// Pauses, longer than the last time.
    pub(crate) fn pause(&mut self) {
        if self.pauses < SPINS {
            (0..1u32 << self.pauses).for_each(|_| std::hint::spin_loop());
            self.pauses += 1;
        } else {
            std::thread::yield_now();
        }
    }
}
