//! Instants: of the clock of the run, or of the runtime.

use std::fmt;
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::time::Duration;

use sim::__private::in_run;

/// A moment: tokio's [`Instant`](real::time::Instant), but read from the clock of the run in a run.
///
/// ```
/// use tokio::time::{Duration, Instant};
///
/// let now = Instant::now();
/// assert_eq!(now + Duration::from_secs(1) - now, Duration::from_secs(1));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant {
    std: std::time::Instant,
}

impl Instant {
    /// The current time. Not a point.
    #[track_caller]
    pub fn now() -> Instant {
        let std = match in_run() {
            true => sim::time::Instant::now().into_std(),
            false => real::time::Instant::now().into_std(),
        };
        Instant { std }
    }

    pub(super) fn of_run(instant: sim::time::Instant) -> Instant {
        Instant::from_std(instant.into_std())
    }

    pub(super) fn of_runtime(instant: real::time::Instant) -> Instant {
        Instant::from_std(instant.into_std())
    }

    pub(super) fn in_run(self) -> sim::time::Instant {
        sim::time::Instant::from_std(self.std)
    }

    pub(super) fn in_runtime(self) -> real::time::Instant {
        real::time::Instant::from_std(self.std)
    }

    /// The moment of std's type.
    pub fn from_std(std: std::time::Instant) -> Instant {
        Instant { std }
    }

    /// The same moment as std's type. In a run it means nothing to the clock of the system.
    pub fn into_std(self) -> std::time::Instant {
        self.std
    }

    /// The time from an earlier moment to this one; zero if the other one is later.
    pub fn duration_since(&self, earlier: Instant) -> Duration {
        self.std.saturating_duration_since(earlier.std)
    }

    /// The time from an earlier moment to this one; none if the other one is later.
    pub fn checked_duration_since(&self, earlier: Instant) -> Option<Duration> {
        self.std.checked_duration_since(earlier.std)
    }

    /// As [`duration_since`](Self::duration_since).
    pub fn saturating_duration_since(&self, earlier: Instant) -> Duration {
        self.std.saturating_duration_since(earlier.std)
    }

    /// The time from this moment to now; zero if this moment is still to come. Not a point.
    #[track_caller]
    pub fn elapsed(&self) -> Duration {
        Instant::now().duration_since(*self)
    }

    /// The moment so much later; none if the clock cannot represent it.
    pub fn checked_add(&self, duration: Duration) -> Option<Instant> {
        self.std.checked_add(duration).map(Instant::from_std)
    }

    /// The moment so much earlier; none if the clock cannot represent it.
    pub fn checked_sub(&self, duration: Duration) -> Option<Instant> {
        self.std.checked_sub(duration).map(Instant::from_std)
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;

    /// # Panics
    /// If the clock cannot represent the result.
    fn add(self, duration: Duration) -> Instant {
        Instant::from_std(self.std + duration)
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}

impl Sub for Instant {
    type Output = Duration;

    /// Zero if the other moment is later.
    fn sub(self, earlier: Instant) -> Duration {
        self.duration_since(earlier)
    }
}

impl Sub<Duration> for Instant {
    type Output = Instant;

    /// # Panics
    /// If the clock cannot represent the result.
    fn sub(self, duration: Duration) -> Instant {
        Instant::from_std(self.std - duration)
    }
}

impl SubAssign<Duration> for Instant {
    fn sub_assign(&mut self, duration: Duration) {
        *self = *self - duration;
    }
}

impl From<std::time::Instant> for Instant {
    fn from(std: std::time::Instant) -> Instant {
        Instant::from_std(std)
    }
}

impl From<Instant> for std::time::Instant {
    fn from(instant: Instant) -> std::time::Instant {
        instant.into_std()
    }
}

impl fmt::Debug for Instant {
    /// In a run, the time since its begin.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.in_run().fmt(f)
    }
}
