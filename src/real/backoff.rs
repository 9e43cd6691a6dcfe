//! Pauses of a loop on a real thread: short at first, then the thread is given up.

/// After so many pauses the thread is given up in each.
const SPINS: u32 = 6;

/// The length of the next pause: 1, 2, 4, … spins, then a `yield_now` of the thread each time.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    pauses: u32,
}

impl Backoff {
    /// Pauses.
    pub(crate) fn pause(&mut self) {
        if self.pauses < SPINS {
            (0..1u32 << self.pauses).for_each(|_| std::hint::spin_loop());
            self.pauses += 1;
        } else {
            std::thread::yield_now();
        }
    }
}
