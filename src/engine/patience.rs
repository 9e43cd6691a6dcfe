//! The time limit of a watchdog, in time that it has itself seen pass.
//!
//! A whole process may stop: it is stopped, or the host of its virtual machine gives it no time. To
//! a watchdog that reads the clock only, whatever ran then hangs. So between two looks no more time
//! passes than twice what should lie between them.

use std::time::{Duration, Instant};

/// A watchdog looks so often until its patience is at an end.
const LOOKS: u32 = 20;

/// The clock of a watchdog.
#[derive(Debug)]
pub(crate) struct Patience {
    /// The time between two looks.
    pub(crate) interval: Duration,
    last: Instant,
    seen: Duration,
}

impl Patience {
    /// For something that is given up after `limit`.
    pub(crate) fn new(limit: Duration) -> Patience {
        let interval = (limit / LOOKS).clamp(Duration::from_millis(5), Duration::from_millis(500));
        Patience { interval, last: Instant::now(), seen: Duration::ZERO }
    }

    /// A look: the time seen to pass since the first.
    pub(crate) fn elapsed(&mut self) -> Duration {
        self.elapsed_at(Instant::now())
    }

    fn elapsed_at(&mut self, now: Instant) -> Duration {
        self.seen += now.saturating_duration_since(self.last).min(2 * self.interval);
        self.last = now;
        self.seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_in_which_nobody_looked_is_two_intervals() {
        let second = Duration::from_secs(1);
        let mut patience = Patience::new(second);
        assert_eq!(patience.interval, Duration::from_millis(50));
        let begin = patience.last;
        assert_eq!(patience.elapsed_at(begin + second / 20), second / 20);
        assert_eq!(patience.elapsed_at(begin + second * 3600), second * 3 / 20);
        assert_eq!(patience.elapsed_at(begin + second * 3600 + second / 20), second / 5);
    }
}
