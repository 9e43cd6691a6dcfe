//! Ticks at regular intervals.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use super::{Instant, Sleep};
use crate::run::op::{Access, Op, clock};
use crate::seam::{Here, here};

const TICK: Op = Op::of_kind("tick", Access::Peek, clock::READ);

/// A tick that is later than this counts as missed.
const LATE: Duration = Duration::from_millis(5);

/// Creates an interval that ticks immediately, and then after each `period`.
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

/// Creates an interval that ticks first at `start`, and then after each `period`.
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

/// The rule for the next tick of an [`Interval`] after a tick that was late.
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
    /// The next tick stays as planned, so missed ticks follow immediately.
    #[default]
    Burst,
    /// The next tick comes one period after the late tick.
    Delay,
    /// The next tick is the next planned tick in the future.
    Skip,
}

impl MissedTickBehavior {
    /// Returns the time of the tick after the tick that was planned at `planned` and awaited at
    /// `now`.
    fn next(self, planned: Instant, now: Instant, period: Duration) -> Instant {
        match self {
            MissedTickBehavior::Burst => after(planned, period),
            MissedTickBehavior::Delay => after(now, period),
            MissedTickBehavior::Skip => {
                let into = (now - planned).as_nanos() % period.as_nanos();
                // The seconds are at most 2^64, and the nanoseconds are below 10^9.
                let (seconds, nanoseconds) = (into / 1_000_000_000, into % 1_000_000_000);
                after(now, period) - Duration::new(seconds as u64, nanoseconds as u32)
            }
        }
    }
}

fn after(instant: Instant, period: Duration) -> Instant {
    instant.checked_add(period).unwrap_or_else(|| instant.far())
}

/// A stream of ticks at regular intervals, created by [`interval`] and [`interval_at`].
///
/// ```
/// use sim::time::{Duration, interval, sleep};
///
/// # sim::block_on(async {
/// let period = Duration::from_millis(10);
/// let mut interval = interval(period);
/// let first = interval.tick().await;
/// sleep(3 * period).await;
/// assert_eq!(interval.tick().await, first + period);
/// assert_eq!(interval.tick().await, first + 2 * period);
/// # });
/// ```
#[derive(Debug)]
pub struct Interval {
    // On the heap, so that the interval may be moved although a sleep is pinned.
    delay: Pin<Box<Sleep>>,
    period: Duration,
    missed: MissedTickBehavior,
    here: Here,
}

impl Interval {
    #[track_caller]
    fn new(start: Instant, period: Duration, here: Here) -> Interval {
        // The message of tokio.
        assert!(period > Duration::ZERO, "`period` must be non-zero.");
        let delay = Box::pin(Sleep::until(start, here));
        Interval { delay, period, missed: MissedTickBehavior::default(), here }
    }

    /// Waits for the next tick. Returns the moment for which the tick was planned. Cancel safe: dropping a pending
    /// call loses no tick.
    ///
    /// ```
    /// use sim::time::{Duration, interval, timeout};
    ///
    /// # sim::block_on(async {
    /// let mut interval = interval(Duration::from_secs(3600));
    /// interval.tick().await;
    /// assert!(timeout(Duration::ZERO, interval.tick()).await.is_err());
    /// # });
    /// ```
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

    /// Makes the next tick come one period from now.
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

    /// Makes the next tick come immediately.
    ///
    /// ```
    /// use sim::time::{Duration, Instant, interval};
    ///
    /// # sim::block_on(async {
    /// let mut interval = interval(Duration::from_secs(3600));
    /// interval.tick().await;
    /// interval.reset_immediately();
    /// assert!(interval.tick().await <= Instant::now());
    /// # });
    /// ```
    pub fn reset_immediately(&mut self) {
        self.reset_after(Duration::ZERO);
    }

    /// Makes the next tick come after this duration.
    pub fn reset_after(&mut self, after: Duration) {
        let now = Instant::read(&TICK, self.here);
        self.reset_at(self::after(now, after));
    }

    /// Makes the next tick come at `deadline`.
    ///
    /// ```
    /// use sim::time::{Duration, Instant, interval};
    ///
    /// # sim::block_on(async {
    /// let mut interval = interval(Duration::from_secs(3600));
    /// let deadline = Instant::now() + Duration::from_millis(1);
    /// interval.reset_at(deadline);
    /// assert_eq!(interval.tick().await, deadline);
    /// # });
    /// ```
    pub fn reset_at(&mut self, deadline: Instant) {
        self.delay.as_mut().reset(deadline);
    }

    /// Returns the rule for late ticks.
    pub fn missed_tick_behavior(&self) -> MissedTickBehavior {
        self.missed
    }

    /// Sets the rule for late ticks.
    ///
    /// ```
    /// use sim::time::{Duration, MissedTickBehavior, interval, sleep};
    ///
    /// # sim::block_on(async {
    /// let period = Duration::from_millis(50);
    /// let mut interval = interval(period);
    /// interval.set_missed_tick_behavior(MissedTickBehavior::Skip);
    /// let first = interval.tick().await;
    /// sleep(Duration::from_millis(125)).await;
    /// assert_eq!(interval.tick().await, first + period);
    /// assert!(interval.tick().await >= first + 3 * period);
    /// # });
    /// ```
    pub fn set_missed_tick_behavior(&mut self, behavior: MissedTickBehavior) {
        self.missed = behavior;
    }

    /// Returns the time between two ticks.
    pub fn period(&self) -> Duration {
        self.period
    }
}
