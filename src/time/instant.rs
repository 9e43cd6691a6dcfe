//! Instants: std's, but read from the clock of the run.

use std::fmt;
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::time::Duration;

use crate::run::op::{Access, Op, clock};
use crate::seam::{self, here};

const NOW: Op = Op::of_kind("now", Access::Peek, clock::READ);

/// A moment: of the run, or outside of runs of the system.
///
/// All functions are those of [`std::time::Instant`], from and to which it converts.
///
/// ```
/// use sim::time::{Duration, Instant};
///
/// let now = Instant::now();
/// let later = now + Duration::from_secs(1);
/// assert_eq!(later.duration_since(now), Duration::from_secs(1));
/// assert_eq!(now.checked_duration_since(later), None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant {
    std: std::time::Instant,
}

impl Instant {
    /// The current time. Not a point.
    #[track_caller]
    pub fn now() -> Instant {
        Instant::read(&NOW, here())
    }

    /// The current time, read by an operation of another name.
    pub(super) fn read(op: &'static Op, here: seam::Here) -> Instant {
        Instant { std: seam::now(op, here) }
    }

    /// A moment that no timer is waited for until: in about 30 years.
    pub(super) fn far(self) -> Instant {
        self + Duration::from_secs(86_400 * 365 * 30)
    }

    /// The same moment as std's type. In a run it means nothing to the clock of the system.
    pub fn into_std(self) -> std::time::Instant {
        self.std
    }

    /// The moment of std's type.
    pub fn from_std(std: std::time::Instant) -> Instant {
        Instant { std }
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
    /// In a run, the time since its begin, which is the same in every process.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match seam::since_start(self.std) {
            Some(since) => write!(f, "Instant({since:?})"),
            None => self.std.fmt(f),
        }
    }
}
