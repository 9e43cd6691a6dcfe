//! Timers on the clock of the system, without a runtime.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_timer::Delay;

/// A time that is not waited for: about 30 years.
pub(super) const FAR: Duration = Duration::from_secs(86_400 * 365 * 30);

/// The moment that is `after` from `now`; [`FAR`] from it, if the clock cannot represent that.
pub(super) fn add(now: Instant, after: Duration) -> Instant {
    now.checked_add(after).unwrap_or_else(|| now + FAR)
}

/// A timer on the clock of the system. A panic elsewhere leaves it as it is.
#[derive(Debug)]
pub(super) struct RealTimer(AssertUnwindSafe<Delay>);

impl RealTimer {
    pub(super) fn new(deadline: Instant) -> RealTimer {
        RealTimer(AssertUnwindSafe(Delay::new(left(deadline))))
    }

    /// Ready if the deadline has passed; else the waker is called when it has.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut *self.0).poll(cx)
    }

    /// Changes the deadline. The waker of the last poll is called at the new one.
    pub(super) fn reset(&mut self, deadline: Instant) {
        self.0.reset(left(deadline));
    }
}

fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now()).min(FAR)
}
