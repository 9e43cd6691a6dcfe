//! Timers on the system clock. The timers work without a runtime, or use the timers that the program sets.

use std::fmt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::OnceLock;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use futures_timer::Delay;

/// A time so far in the future that no wait reaches it: about 30 years.
pub(crate) const FAR: Duration = Duration::from_secs(86_400 * 365 * 30);

/// A future that completes when its time has passed.
pub(crate) type TimerFuture = Pin<Box<dyn Future<Output = ()> + Send + Sync>>;

type MakeTimer = Box<dyn Fn(Duration) -> TimerFuture + Send + Sync>;

static MAKE: OnceLock<MakeTimer> = OnceLock::new();

/// Sets the function that creates timers from here on. Returns `false` if one was set before, which
/// then stays in place.
pub(crate) fn set_timer(make: MakeTimer) -> bool {
    MAKE.set(make).is_ok()
}

/// Returns the moment `after` from `now`, or [`FAR`] from `now` if the clock cannot represent the
/// moment.
pub(crate) fn add(now: Instant, after: Duration) -> Instant {
    now.checked_add(after).unwrap_or_else(|| now + FAR)
}

/// A timer on the system clock. A panic in other code does not damage the timer.
#[derive(Debug)]
pub(crate) struct RealTimer(AssertUnwindSafe<Source>);

enum Source {
    OfThread(Delay),
    Made(MadeTimer),
}

/// A timer created by the program's own function.
struct MadeTimer {
    /// The future; `None` once it has completed.
    future: Option<TimerFuture>,
    /// The waker of the last poll.
    waker: Option<Waker>,
}

impl RealTimer {
    pub(crate) fn new(deadline: Instant) -> RealTimer {
        let after = left(deadline);
        let source = match MAKE.get() {
            Some(make) => Source::Made(MadeTimer { future: Some(make(after)), waker: None }),
            None => Source::OfThread(Delay::new(after)),
        };
        RealTimer(AssertUnwindSafe(source))
    }

    /// Returns `Ready` if the deadline has passed. If the deadline has not passed, the waker is called when it passes.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut *self.0 {
            Source::OfThread(delay) => Pin::new(delay).poll(cx),
            Source::Made(timer) => {
                let polled = timer.poll(cx);
                timer.waker = polled.is_pending().then(|| cx.waker().clone());
                polled
            }
        }
    }

    /// Changes the deadline. The waker of the last poll is called at the new deadline.
    pub(crate) fn reset(&mut self, deadline: Instant) {
        let after = left(deadline);
        match &mut *self.0 {
            Source::OfThread(delay) => delay.reset(after),
            Source::Made(timer) => timer.reset(after),
        }
    }
}

impl MadeTimer {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        // A future that has completed must not be polled again, but the timer may be.
        let Some(future) = &mut self.future else { return Poll::Ready(()) };
        let polled = future.as_mut().poll(cx);
        if polled.is_ready() {
            self.future = None;
        }
        polled
    }

    fn reset(&mut self, after: Duration) {
        self.future = MAKE.get().map(|make| make(after));
        // The new future has no waker until it is polled.
        let Some(waker) = self.waker.take() else { return };
        match self.poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(()) => waker.wake(),
            Poll::Pending => self.waker = Some(waker),
        }
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::OfThread(delay) => delay.fmt(f),
            Source::Made(_) => f.write_str("a timer of the program"),
        }
    }
}

fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now()).min(FAR)
}
