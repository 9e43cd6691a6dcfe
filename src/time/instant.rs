//! Instants: the type of std, but read from the clock of the run.

use std::fmt;
use std::time::Duration;

use crate::run::op::{Access, Op, clock};
use crate::seam::{self, here};

const NOW: Op = Op::of_kind("now", Access::Peek, clock::READ);

/// A moment: in a run on the clock of the run, and outside of runs on the system clock.
///
/// In a node, an instant belongs to one life of the node, on the [clock of the node](crate::Node::clock). Instants of
/// different nodes, or of different lives of a node, are unrelated. Such instants are never equal, and a run that
/// compares or subtracts them fails. Instants follow the rate of the node's clock, and never jump.
///
/// It has the functions of [`std::time::Instant`], and can be converted from and to it.
///
/// ```
/// use sim::time::{Duration, Instant};
///
/// let now = Instant::now();
/// let later = now + Duration::from_secs(1);
/// assert_eq!(later.duration_since(now), Duration::from_secs(1));
/// assert_eq!(now.checked_duration_since(later), None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Instant {
    std: std::time::Instant,
}

impl Instant {
    /// Returns the current time. This call is not a point.
    ///
    /// ```
    /// use sim::time::{Duration, Instant};
    ///
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// let begin = Instant::now();
    /// sim::task::yield_now().await;
    /// assert!(!sim::SIMULATED || begin.elapsed() == Duration::ZERO, "a step takes no time");
    /// # });
    /// # assert!(report.passed());
    /// ```
    #[track_caller]
    pub fn now() -> Instant {
        Instant::read(&NOW, here())
    }

    /// Returns the current time, read by a given operation.
    pub(super) fn read(op: &'static Op, here: seam::Here) -> Instant {
        Instant { std: seam::now(op, here) }
    }

    /// Returns the current true time of the run, read by a given operation.
    pub(super) fn read_truth(op: &'static Op, here: seam::Here) -> Instant {
        Instant { std: seam::true_now(op, here) }
    }

    /// Returns a moment in about 30 years, later than any awaited deadline.
    pub(super) fn far(self) -> Instant {
        self + Duration::from_secs(86_400 * 365 * 30)
    }
}

/// Implements the conversions and the arithmetic for an instant type with a field `std` (std's instant) and a function
/// `now`.
#[doc(hidden)]
#[macro_export]
macro_rules! __instant {
    ($instant:ident) => {
        impl $instant {
            /// Converts to std's type. The result of a run has no meaning for the system clock.
            pub fn into_std(self) -> ::std::time::Instant {
                self.std
            }

            /// Converts from std's type.
            pub fn from_std(std: ::std::time::Instant) -> $instant {
                $instant { std }
            }

            /// Returns the time from an earlier moment to this moment; zero if `earlier` is in fact later.
            #[track_caller]
            pub fn duration_since(&self, earlier: $instant) -> ::std::time::Duration {
                $crate::__private::of_one_clock(self.std, earlier.std);
                self.std.saturating_duration_since(earlier.std)
            }

            /// Returns the time from an earlier moment to this moment; `None` if `earlier` is in fact later.
            #[track_caller]
            pub fn checked_duration_since(
                &self,
                earlier: $instant,
            ) -> Option<::std::time::Duration> {
                $crate::__private::of_one_clock(self.std, earlier.std);
                self.std.checked_duration_since(earlier.std)
            }

            /// Does the same as [`duration_since`](Self::duration_since).
            #[track_caller]
            pub fn saturating_duration_since(&self, earlier: $instant) -> ::std::time::Duration {
                self.duration_since(earlier)
            }

            /// Returns the time from this moment to now; zero if this moment is in the future. This call is not a
            /// point.
            #[track_caller]
            pub fn elapsed(&self) -> ::std::time::Duration {
                $instant::now().duration_since(*self)
            }

            /// Returns the moment later by `duration`; `None` if the clock cannot represent it.
            pub fn checked_add(&self, duration: ::std::time::Duration) -> Option<$instant> {
                self.std.checked_add(duration).map($instant::from_std)
            }

            /// Returns the moment earlier by `duration`; `None` if the clock cannot represent it.
            pub fn checked_sub(&self, duration: ::std::time::Duration) -> Option<$instant> {
                self.std.checked_sub(duration).map($instant::from_std)
            }
        }

        impl ::std::cmp::PartialOrd for $instant {
            #[track_caller]
            fn partial_cmp(&self, other: &$instant) -> Option<::std::cmp::Ordering> {
                Some(self.cmp(other))
            }

            #[track_caller]
            fn lt(&self, other: &$instant) -> bool {
                self.cmp(other).is_lt()
            }

            #[track_caller]
            fn le(&self, other: &$instant) -> bool {
                self.cmp(other).is_le()
            }

            #[track_caller]
            fn gt(&self, other: &$instant) -> bool {
                self.cmp(other).is_gt()
            }

            #[track_caller]
            fn ge(&self, other: &$instant) -> bool {
                self.cmp(other).is_ge()
            }
        }

        impl ::std::cmp::Ord for $instant {
            #[track_caller]
            fn cmp(&self, other: &$instant) -> ::std::cmp::Ordering {
                $crate::__private::of_one_clock(self.std, other.std);
                self.std.cmp(&other.std)
            }
        }

        impl ::std::ops::Add<::std::time::Duration> for $instant {
            type Output = $instant;

            /// # Panics
            /// If the clock cannot represent the result.
            #[track_caller]
            fn add(self, duration: ::std::time::Duration) -> $instant {
                let sum = self.std.checked_add(duration);
                $instant::from_std(sum.expect("overflow when adding duration to instant"))
            }
        }

        impl ::std::ops::AddAssign<::std::time::Duration> for $instant {
            #[track_caller]
            fn add_assign(&mut self, duration: ::std::time::Duration) {
                *self = *self + duration;
            }
        }

        impl ::std::ops::Sub for $instant {
            type Output = ::std::time::Duration;

            /// Returns zero if the other moment is later.
            #[track_caller]
            fn sub(self, earlier: $instant) -> ::std::time::Duration {
                self.duration_since(earlier)
            }
        }

        impl ::std::ops::Sub<::std::time::Duration> for $instant {
            type Output = $instant;

            /// # Panics
            /// If the clock cannot represent the result.
            #[track_caller]
            fn sub(self, duration: ::std::time::Duration) -> $instant {
                let difference = self.std.checked_sub(duration);
                let text = "overflow when subtracting duration from instant";
                $instant::from_std(difference.expect(text))
            }
        }

        impl ::std::ops::SubAssign<::std::time::Duration> for $instant {
            #[track_caller]
            fn sub_assign(&mut self, duration: ::std::time::Duration) {
                *self = *self - duration;
            }
        }

        impl From<::std::time::Instant> for $instant {
            fn from(std: ::std::time::Instant) -> $instant {
                $instant::from_std(std)
            }
        }

        impl From<$instant> for ::std::time::Instant {
            fn from(instant: $instant) -> ::std::time::Instant {
                instant.into_std()
            }
        }
    };
}

__instant!(Instant);

impl fmt::Debug for Instant {
    /// In a run, prints the time since the start of the run on the node's clock. The output is the same in every
    /// process.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match seam::since_start(self.std) {
            Some(since) => write!(f, "Instant({since:?})"),
            None => self.std.fmt(f),
        }
    }
}
