//! The wall clock: std's [`SystemTime`](std::time::SystemTime), but read from the clock of the node or run.

use std::fmt;
use std::time::{Duration, SystemTimeError};

use crate::run::op::{Access, Op, clock};
use crate::seam::{self, here};

const WALL: Op = Op::of_kind("read_the_wall_clock", Access::Peek, clock::READ);

/// A wall-clock time. In a run it is read from the [clock of the node](crate::Node::clock), which may be wrong and may
/// jump. Outside of runs it is read from the system clock.
///
/// The time of a run begins at the start of the year 2026. Times of several nodes may be compared, like in real
/// clusters, and the result depends on their clocks. The type has the functions of [`std::time::SystemTime`], and can
/// be converted from and to it.
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
    /// The start of the year 1970.
    ///
    /// ```
    /// use sim::time::{Duration, SystemTime};
    ///
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    /// assert!(!sim::SIMULATED || since == Duration::from_secs(1_767_225_600), "the year 2026");
    /// # });
    /// # assert!(report.passed());
    /// ```
    pub const UNIX_EPOCH: SystemTime = SystemTime { std: std::time::UNIX_EPOCH };

    /// Returns the current time. This call is not a point.
    #[track_caller]
    pub fn now() -> SystemTime {
        SystemTime { std: seam::wall(&WALL, here()) }
    }

    /// Returns the time from an earlier moment to this moment.
    ///
    /// # Errors
    /// If `earlier` is in fact later. The error contains the time between the two moments.
    ///
    /// ```
    /// use sim::time::{Duration, SystemTime};
    ///
    /// let now = SystemTime::now();
    /// let later = now + Duration::from_secs(1);
    /// assert_eq!(later.duration_since(now).unwrap(), Duration::from_secs(1));
    /// assert_eq!(now.duration_since(later).unwrap_err().duration(), Duration::from_secs(1));
    /// ```
    pub fn duration_since(&self, earlier: SystemTime) -> Result<Duration, SystemTimeError> {
        self.std.duration_since(earlier.std)
    }

    /// Returns the time from this moment to now. This call is not a point.
    ///
    /// # Errors
    /// If this moment is in the future, perhaps because the clock has jumped.
    ///
    /// ```
    /// use sim::node::Shift;
    /// use sim::time::{Duration, SystemTime};
    ///
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// # if !sim::SIMULATED { return }
    /// let db = sim::node("db-1");
    /// let begin = db.enter(SystemTime::now);
    /// db.clock().jump(Shift::Behind(Duration::from_secs(1)));
    /// assert!(db.enter(|| begin.elapsed()).is_err());
    /// # });
    /// # assert!(report.passed());
    /// ```
    #[track_caller]
    pub fn elapsed(&self) -> Result<Duration, SystemTimeError> {
        SystemTime::now().duration_since(*self)
    }

    /// Returns the moment later by `duration`; `None` if it cannot be represented.
    pub fn checked_add(&self, duration: Duration) -> Option<SystemTime> {
        self.std.checked_add(duration).map(SystemTime::from)
    }

    /// Returns the moment earlier by `duration`; `None` if it cannot be represented.
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
