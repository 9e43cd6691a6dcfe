//! The wall clock: std's [`SystemTime`](std::time::SystemTime), but read from the clock of the node or of the run.

use std::fmt;
use std::time::{Duration, SystemTimeError};

use crate::run::op::{Access, Op, clock};
use crate::seam::{self, here};

const WALL: Op = Op::of_kind("read_the_wall_clock", Access::Peek, clock::READ);

/// A time of the day and year. In a run it is read from the [clock of the
/// node](crate::Node::clock), which may be wrong and jump; outside of runs, from the clock of the
/// system.
///
/// Runs begin with the year 2026. Times of several nodes may be compared, as in real clusters: the result depends on
/// the clocks. It has the functions of [`std::time::SystemTime`], and converts from and to it.
///
/// ```
/// use sim::node::Shift;
/// use sim::time::{Duration, SystemTime};
///
/// # let report = sim::Runner::new().hermetic().run(async || {
/// let db = sim::node("db-1");
/// db.clock().jump(Shift::Ahead(Duration::from_secs(1)));
/// let there = db.enter(SystemTime::now);
/// let ahead = there.duration_since(SystemTime::now());
/// assert!(!sim::SIMULATED || ahead.unwrap() == Duration::from_secs(1));
/// # });
/// # assert!(report.passed());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SystemTime {
    std: std::time::SystemTime,
}

impl SystemTime {
    /// The begin of 1970.
    pub const UNIX_EPOCH: SystemTime = SystemTime { std: std::time::UNIX_EPOCH };

    /// The current time. Not a point.
    #[track_caller]
    pub fn now() -> SystemTime {
        SystemTime { std: seam::wall(&WALL, here()) }
    }

    /// The time from an earlier one to this one.
    ///
    /// # Errors
    /// If the other one is later. The error has the time between them.
    pub fn duration_since(&self, earlier: SystemTime) -> Result<Duration, SystemTimeError> {
        self.std.duration_since(earlier.std)
    }

    /// The time from this one to now. Not a point.
    ///
    /// # Errors
    /// If this one is still to come, perhaps because the clock has jumped.
    #[track_caller]
    pub fn elapsed(&self) -> Result<Duration, SystemTimeError> {
        SystemTime::now().duration_since(*self)
    }

    /// The time so much later; `None` if it cannot be represented.
    pub fn checked_add(&self, duration: Duration) -> Option<SystemTime> {
        self.std.checked_add(duration).map(SystemTime::from)
    }

    /// The time so much earlier; `None` if it cannot be represented.
    pub fn checked_sub(&self, duration: Duration) -> Option<SystemTime> {
        self.std.checked_sub(duration).map(SystemTime::from)
    }
}

impl std::ops::Add<Duration> for SystemTime {
    type Output = SystemTime;

    /// # Panics
    /// If the result cannot be represented.
    #[track_caller]
    fn add(self, duration: Duration) -> SystemTime {
        let sum = self.std.checked_add(duration);
        sum.expect("overflow when adding duration to instant").into()
    }
}

impl std::ops::AddAssign<Duration> for SystemTime {
    #[track_caller]
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}

impl std::ops::Sub<Duration> for SystemTime {
    type Output = SystemTime;

    /// # Panics
    /// If the result cannot be represented.
    #[track_caller]
    fn sub(self, duration: Duration) -> SystemTime {
        let difference = self.std.checked_sub(duration);
        difference.expect("overflow when subtracting duration from instant").into()
    }
}

impl std::ops::SubAssign<Duration> for SystemTime {
    #[track_caller]
    fn sub_assign(&mut self, duration: Duration) {
        *self = *self - duration;
    }
}

impl From<std::time::SystemTime> for SystemTime {
    fn from(std: std::time::SystemTime) -> SystemTime {
        SystemTime { std }
    }
}

impl From<SystemTime> for std::time::SystemTime {
    fn from(time: SystemTime) -> std::time::SystemTime {
        time.std
    }
}

impl fmt::Debug for SystemTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.std.fmt(f)
    }
}
