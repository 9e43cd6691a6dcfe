//! Time: the clock of the system.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant, SystemTime};

use super::Here;
use crate::real::timer::{RealTimer, add};
use crate::run::op::Op;

/// The time of the system.
pub(crate) fn now(_: &'static Op, _: Here) -> Instant {
    Instant::now()
}

/// The wall clock of the system.
pub(crate) fn wall(_: &'static Op, _: Here) -> SystemTime {
    SystemTime::now()
}

/// The same as [`now`]: all clocks are true in this build.
pub(crate) fn true_now(op: &'static Op, here: Here) -> Instant {
    now(op, here)
}

/// The same as [`deadline`]: all clocks are true in this build.
pub(crate) fn true_deadline(op: &'static Op, after: Duration, here: Here) -> Instant {
    deadline(op, after, here)
}

/// Does nothing: all clocks are one in this build.
#[inline(always)]
pub(crate) fn of_one_clock(_: Instant, _: Instant, _: Here) {}

/// The moment that is `after` from now. In about 30 years, if the clock cannot represent it.
pub(crate) fn deadline(_: &'static Op, after: Duration, _: Here) -> Instant {
    add(Instant::now(), after)
}

/// The time since a run began: there is no run in this build.
pub(crate) fn since_start(_: Instant) -> Option<Duration> {
    None
}

/// The timers of a run: there is no run in this build.
pub(crate) fn timer_span() -> Option<(Duration, Duration)> {
    None
}

/// A timer: ready when the time has reached its deadline.
#[derive(Debug)]
pub(crate) struct Timer(RealTimer);

impl Timer {
    pub(crate) fn new(_: &'static Op, deadline: Instant, _: Here) -> Timer {
        Timer(RealTimer::new(deadline))
    }

    /// Nothing is early here.
    pub(crate) fn race(&mut self) {}

    pub(crate) fn reset(&mut self, _: &'static Op, deadline: Instant) {
        self.0.reset(deadline);
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.0.poll(cx)
    }
}

/// Waits for a time to pass: the clock of the system moves by itself.
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
