//! The time limit of a watchdog, measured only in time that the watchdog observed.
//!
//! A whole process may stop for a while: a signal stops it, or the host of its virtual machine does
//! not schedule it. A watchdog that only compares clock readings would then report the current run
//! as hanging. Therefore each interval between two checks counts for at most twice its planned
//! length.

use std::time::{Duration, Instant};

/// The number of checks within the time limit of a watchdog.
const LOOKS: u32 = 20;

/// The clock of a watchdog.
#[derive(Debug)]
pub(crate) struct Patience {
    /// The planned time between two checks.
    pub(crate) interval: Duration,
    last: Instant,
    seen: Duration,
}

impl Patience {
    /// Creates the clock for a time limit.
    pub(crate) fn new(limit: Duration) -> Patience {
        let interval = (limit / LOOKS).clamp(Duration::from_millis(5), Duration::from_millis(500));
        Patience { interval, last: Instant::now(), seen: Duration::ZERO }
    }

    /// Checks the clock. Returns the observed time since the creation.
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
