//! Instants: std's, but read from the clock of the run.

use std::fmt;
use std::time::Duration;

use crate::run::op::{Access, Op, clock};
use crate::seam::{self, here};

const NOW: Op = Op::of_kind("now", Access::Peek, clock::READ);

/// A moment: of the run, or outside of runs of the system.
///
/// In a node it is one of the [clock of the node](crate::Node::clock), in a life of it. Instants of two nodes, or of
/// two lives of one, have nothing to do with each other: a run in which they are compared or subtracted fails, and they
/// are never equal. A node's clock counts at the rate of the clock, and never jumps.
///
/// It has the functions of [`std::time::Instant`], and converts from and to it.
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
    /// The current time. Not a point.
    #[track_caller]
    pub fn now() -> Instant {
        Instant::read(&NOW, here())
    }

    /// The current time, read by an operation of another name.
    pub(super) fn read(op: &'static Op, here: seam::Here) -> Instant {
        Instant { std: seam::now(op, here) }
    }

    /// The current time of the run, read by an operation of another name.
    pub(super) fn read_truth(op: &'static Op, here: seam::Here) -> Instant {
        Instant { std: seam::true_now(op, here) }
    }

    /// A moment that no timer is waited for until: in about 30 years.
    pub(super) fn far(self) -> Instant {
        self + Duration::from_secs(86_400 * 365 * 30)
    }
}

/// The conversions and the arithmetic of a type of moments that has std's moment in a field `std` and a function `now`.
#[doc(hidden)]
#[macro_export]
macro_rules! __instant {
    ($instant:ident) => {
        impl $instant {
            /// The same moment as std's type. In a run it means nothing to the clock of the system.
            pub fn into_std(self) -> ::std::time::Instant {
                self.std
            }

            /// The moment of std's type.
            pub fn from_std(std: ::std::time::Instant) -> $instant {
                $instant { std }
            }

            /// The time from an earlier moment to this one; zero if the other one is later.
            #[track_caller]
            pub fn duration_since(&self, earlier: $instant) -> ::std::time::Duration {
                $crate::__private::of_one_clock(self.std, earlier.std);
                self.std.saturating_duration_since(earlier.std)
            }

            /// The time from an earlier moment to this one; `None` if the other one is later.
            #[track_caller]
            pub fn checked_duration_since(
                &self,
                earlier: $instant,
            ) -> Option<::std::time::Duration> {
                $crate::__private::of_one_clock(self.std, earlier.std);
                self.std.checked_duration_since(earlier.std)
            }

            /// The same as for [`duration_since`](Self::duration_since).
            #[track_caller]
            pub fn saturating_duration_since(&self, earlier: $instant) -> ::std::time::Duration {
                self.duration_since(earlier)
            }

            /// The time from this moment to now; zero if this moment is still to come. Not a point.
            #[track_caller]
            pub fn elapsed(&self) -> ::std::time::Duration {
                $instant::now().duration_since(*self)
            }

            /// The moment so much later; `None` if the clock cannot represent it.
            pub fn checked_add(&self, duration: ::std::time::Duration) -> Option<$instant> {
                self.std.checked_add(duration).map($instant::from_std)
            }

            /// The moment so much earlier; `None` if the clock cannot represent it.
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

            /// Zero if the other moment is later.
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
    /// In a run, prints the time since the start of the run on the node's clock. It is the same in
    /// every process.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match seam::since_start(self.std) {
            Some(since) => write!(f, "Instant({since:?})"),
            None => self.std.fmt(f),
        }
    }
}
