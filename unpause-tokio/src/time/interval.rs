//! Ticks at regular intervals.

use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::Duration;

use sim::__private::in_run;

use super::Instant;
use crate::kinds::{Of, each};

pub use real::time::MissedTickBehavior;

/// Ticks immediately, and then once every `period`.
///
/// # Panics
/// If `period` is zero. Outside of runs, if the thread has no runtime with a timer.
///
/// ```
/// use tokio::time::{Duration, interval};
///
/// # let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
/// # runtime.block_on(async {
/// let mut interval = interval(Duration::from_millis(1));
/// let first = interval.tick().await;
/// assert_eq!(interval.tick().await - first, Duration::from_millis(1));
/// # });
/// ```
#[track_caller]
pub fn interval(period: Duration) -> Interval {
    match in_run() {
        true => Interval(Of::Run(sim::time::interval(period))),
        false => Interval(Of::Real(real::time::interval(period))),
    }
}

/// Ticks first at `start`, and then once every `period`.
///
/// # Panics
/// If `period` is zero. Outside of runs, if the thread has no runtime with a timer.
#[track_caller]
pub fn interval_at(start: Instant, period: Duration) -> Interval {
    match in_run() {
        true => Interval(Of::Run(sim::time::interval_at(start.in_run(), period))),
        false => Interval(Of::Real(real::time::interval_at(start.in_runtime(), period))),
    }
}

/// Ticks at regular intervals: tokio's [`Interval`](real::time::Interval).
#[derive(Debug)]
pub struct Interval(Of<sim::time::Interval, real::time::Interval>);

impl Interval {
    /// Waits for the next tick. Returns the moment for which the tick was scheduled. Cancel safe.
    pub async fn tick(&mut self) -> Instant {
        poll_fn(|cx| self.poll_tick(cx)).await
    }

    /// Polls for the next tick.
    pub fn poll_tick(&mut self, cx: &mut Context<'_>) -> Poll<Instant> {
        match &mut self.0 {
            Of::Run(interval) => interval.poll_tick(cx).map(Instant::of_run),
            Of::Real(interval) => interval.poll_tick(cx).map(Instant::of_runtime),
        }
    }

    /// Schedules the next tick one period from now.
    pub fn reset(&mut self) {
        each!(&mut self.0, interval => interval.reset());
    }

    /// Schedules the next tick immediately.
    pub fn reset_immediately(&mut self) {
        each!(&mut self.0, interval => interval.reset_immediately());
    }

    /// Schedules the next tick `after` from now.
    pub fn reset_after(&mut self, after: Duration) {
        each!(&mut self.0, interval => interval.reset_after(after));
    }

    /// Schedules the next tick at `deadline`.
    pub fn reset_at(&mut self, deadline: Instant) {
        match &mut self.0 {
            Of::Run(interval) => interval.reset_at(deadline.in_run()),
            Of::Real(interval) => interval.reset_at(deadline.in_runtime()),
        }
    }

    /// Returns the treatment of late ticks.
    pub fn missed_tick_behavior(&self) -> MissedTickBehavior {
        use sim::time::MissedTickBehavior as Ours;
        match &self.0 {
            Of::Run(interval) => match interval.missed_tick_behavior() {
                Ours::Burst => MissedTickBehavior::Burst,
                Ours::Delay => MissedTickBehavior::Delay,
                Ours::Skip => MissedTickBehavior::Skip,
            },
            Of::Real(interval) => interval.missed_tick_behavior(),
        }
    }

    /// Sets the treatment of late ticks.
    pub fn set_missed_tick_behavior(&mut self, behavior: MissedTickBehavior) {
        use sim::time::MissedTickBehavior as Ours;
        match &mut self.0 {
            Of::Run(interval) => interval.set_missed_tick_behavior(match behavior {
                MissedTickBehavior::Burst => Ours::Burst,
                MissedTickBehavior::Delay => Ours::Delay,
                MissedTickBehavior::Skip => Ours::Skip,
            }),
            Of::Real(interval) => interval.set_missed_tick_behavior(behavior),
        }
    }

    /// Returns the time between two ticks.
    pub fn period(&self) -> Duration {
        each!(&self.0, interval => interval.period())
    }
}
