//! Time: the system clock.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant, SystemTime};

use super::Here;
use crate::real::timer::{RealTimer, add};
use crate::run::op::Op;

/// Returns the system time.
pub(crate) fn now(_: &'static Op, _: Here) -> Instant {
    Instant::now()
}

/// Returns the time of the system's wall clock.
pub(crate) fn wall(_: &'static Op, _: Here) -> SystemTime {
    SystemTime::now()
}

/// Returns [`now`]: all clocks are true in this build.
pub(crate) fn true_now(op: &'static Op, here: Here) -> Instant {
    now(op, here)
}

/// Returns [`deadline`]: all clocks are true in this build.
pub(crate) fn true_deadline(op: &'static Op, after: Duration, here: Here) -> Instant {
    deadline(op, after, here)
}

/// Does nothing: this build has only one clock.
#[inline(always)]
pub(crate) fn of_one_clock(_: Instant, _: Instant, _: Here) {}

/// Returns the moment `after` from now, or a moment in about 30 years if the clock cannot represent
/// it.
pub(crate) fn deadline(_: &'static Op, after: Duration, _: Here) -> Instant {
    add(Instant::now(), after)
}

/// Returns `None`: this build has no simulated run, so no time since its start.
pub(crate) fn since_start(_: Instant) -> Option<Duration> {
    None
}

/// Returns `None`: this build has no simulated run with timers.
pub(crate) fn timer_span() -> Option<(Duration, Duration)> {
    None
}

/// A timer, which completes when the time has reached its deadline.
#[derive(Debug)]
pub(crate) struct Timer(RealTimer);

impl Timer {
    pub(crate) fn new(_: &'static Op, deadline: Instant, _: Here) -> Timer {
        Timer(RealTimer::new(deadline))
    }

    /// Does nothing: timers never fire early in this build.
    pub(crate) fn race(&mut self) {}

    pub(crate) fn reset(&mut self, _: &'static Op, deadline: Instant) {
        self.0.reset(deadline);
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.0.poll(cx)
    }
}

/// A wait for a time to pass, because the system clock advances by itself.
#[derive(Debug)]
pub(crate) struct Advance {
    timer: RealTimer,
}

impl Advance {
    pub(crate) fn new(_: &'static Op, by: Duration, _: Here) -> Advance {
        Advance { timer: RealTimer::new(add(Instant::now(), by)) }
    }
}

impl Future for Advance {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.timer.poll(cx)
    }
}
