//! Ticks at regular times.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use super::{Instant, Sleep};
use crate::run::op::{Access, Op, clock};
use crate::seam::{Here, here};

const TICK: Op = Op::of_kind("tick", Access::Peek, clock::READ);

/// A tick is missed if it is later than this.
const LATE: Duration = Duration::from_millis(5);

/// Ticks at once, and then each time that `period` has passed.
///
/// # Panics
/// If `period` is zero.
///
/// ```
/// use sim::time::{Duration, interval};
///
/// # sim::block_on(async {
/// let mut interval = interval(Duration::from_millis(1));
/// let first = interval.tick().await;
/// assert_eq!(interval.tick().await - first, Duration::from_millis(1));
/// # });
/// ```
#[track_caller]
pub fn interval(period: Duration) -> Interval {
    let here = here();
    Interval::new(Instant::read(&TICK, here), period, here)
}

/// Ticks first at `start`, and then each time that `period` has passed.
///
/// # Panics
/// If `period` is zero.
///
/// ```
/// use sim::time::{Duration, Instant, interval_at};
///
/// # sim::block_on(async {
/// let start = Instant::now() + Duration::from_millis(1);
/// assert_eq!(interval_at(start, Duration::from_millis(1)).tick().await, start);
/// # });
/// ```
#[track_caller]
pub fn interval_at(start: Instant, period: Duration) -> Interval {
    Interval::new(start, period, here())
}

/// The time of the next tick of an [`Interval`] after a tick that was awaited too late.
///
/// ```
/// use sim::time::{Duration, MissedTickBehavior, interval};
///
/// let mut interval = interval(Duration::from_secs(1));
/// assert_eq!(interval.missed_tick_behavior(), MissedTickBehavior::Burst);
/// interval.set_missed_tick_behavior(MissedTickBehavior::Skip);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MissedTickBehavior {
    /// As planned: ticks that were missed follow at once.
    #[default]
    Burst,
    /// A period after the late one.
    Delay,
    /// The next planned tick in the future.
    Skip,
}

impl MissedTickBehavior {
    /// The tick after the tick that was planned at `planned` and awaited at `now`.
    fn next(self, planned: Instant, now: Instant, period: Duration) -> Instant {
        match self {
            MissedTickBehavior::Burst => after(planned, period),
            MissedTickBehavior::Delay => after(now, period),
            MissedTickBehavior::Skip => {
                let into = (now - planned).as_nanos() % period.as_nanos();
                // At most 2^64 s of less than 10^9 ns.
                let (seconds, nanoseconds) = (into / 1_000_000_000, into % 1_000_000_000);
                after(now, period) - Duration::new(seconds as u64, nanoseconds as u32)
            }
        }
    }
}

fn after(instant: Instant, period: Duration) -> Instant {
    instant.checked_add(period).unwrap_or_else(|| instant.far())
}

/// Ticks at regular times: made by [`interval`] and [`interval_at`].
#[derive(Debug)]
pub struct Interval {
    // On the heap, so that the interval may be moved although a sleep may not.
    delay: Pin<Box<Sleep>>,
    period: Duration,
    missed: MissedTickBehavior,
    here: Here,
}

impl Interval {
    #[track_caller]
    fn new(start: Instant, period: Duration, here: Here) -> Interval {
        assert!(period > Duration::ZERO, "the period of an interval is not zero");
        let delay = Box::pin(Sleep::until(start, here));
        Interval { delay, period, missed: MissedTickBehavior::default(), here }
    }

    /// Waits for the next tick. Gives the moment for which it was planned. Cancel safe: a tick is lost only if it was
    /// given.
    pub async fn tick(&mut self) -> Instant {
        poll_fn(|cx| self.poll_tick(cx)).await
    }

    /// Polls for the next tick.
    pub fn poll_tick(&mut self, cx: &mut Context<'_>) -> Poll<Instant> {
        ready!(self.delay.as_mut().poll(cx));
        let planned = self.delay.deadline();
        let now = Instant::read(&TICK, self.here);
        let next = match now - planned > LATE {
            true => self.missed.next(planned, now, self.period),
            false => after(planned, self.period),
        };
        self.delay.as_mut().reset(next);
        Poll::Ready(planned)
    }

    /// The next tick comes a period from now.
    ///
    /// ```
    /// use sim::time::{Duration, Instant, interval};
    ///
    /// # sim::block_on(async {
    /// let (begin, period) = (Instant::now(), Duration::from_millis(1));
    /// let mut interval = interval(period);
    /// interval.reset();
    /// assert!(interval.tick().await >= begin + period);
    /// # });
    /// ```
    pub fn reset(&mut self) {
        self.reset_after(self.period);
    }

    /// The next tick comes at once.
    pub fn reset_immediately(&mut self) {
        self.reset_after(Duration::ZERO);
    }

    /// The next tick comes in `after`.
    pub fn reset_after(&mut self, after: Duration) {
        let now = Instant::read(&TICK, self.here);
        self.reset_at(self::after(now, after));
    }

    /// The next tick comes at `deadline`.
    pub fn reset_at(&mut self, deadline: Instant) {
        self.delay.as_mut().reset(deadline);
    }

    /// The treatment of late ticks.
    pub fn missed_tick_behavior(&self) -> MissedTickBehavior {
        self.missed
    }

    /// Sets the treatment of late ticks.
    pub fn set_missed_tick_behavior(&mut self, behavior: MissedTickBehavior) {
        self.missed = behavior;
    }

    /// The time between two ticks.
    pub fn period(&self) -> Duration {
        self.period
    }
}
