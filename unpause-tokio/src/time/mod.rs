//! Time: virtual in a run, and tokio's elsewhere.
//!
//! In a run, the time advances when no task can step, paused or not: see [`sim::time`]. Elsewhere it is the time of the
//! runtime, which a test may pause.

pub mod error;
mod instant;
mod interval;
mod sleep;
mod timeout;

#[doc(inline)]
pub use std::time::Duration;

pub use self::instant::Instant;
pub use self::interval::{Interval, MissedTickBehavior, interval, interval_at};
pub use self::sleep::{Sleep, sleep, sleep_until};
pub use self::timeout::{Timeout, timeout, timeout_at};

#[cfg(feature = "test-util")]
mod clock {
    use std::future::Future;
    use std::time::Duration;

    use sim::__private::in_run;

    /// Stops the clock of the runtime. In a run, this call does nothing, because the time advances only when no task
    /// can step.
    ///
    /// # Panics
    /// Outside of runs, if the runtime has several threads, or its clock is already paused.
    #[track_caller]
    pub fn pause() {
        if !in_run() {
            real::time::pause();
        }
    }

    /// Resumes the clock of the runtime. In a run, this call does nothing, because the system clock does not affect a
    /// run.
    ///
    /// # Panics
    /// Outside of runs, if the clock is not paused.
    #[track_caller]
    pub fn resume() {
        if !in_run() {
            real::time::resume();
        }
    }

    /// Advances the time.
    ///
    /// In a run, the call consists of a point, the advance, and another point. So tasks whose timers expire step in any
    /// order.
    ///
    /// # Panics
    /// Outside of runs, if the clock is not paused.
    ///
    /// ```
    /// use tokio::time::{Duration, Instant, advance};
    ///
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    /// # runtime.block_on(async {
    /// let begin = Instant::now();
    /// advance(Duration::from_secs(3600)).await;
    /// assert!(begin.elapsed() >= Duration::from_secs(3600));
    /// # });
    /// ```
    #[track_caller]
    pub fn advance(duration: Duration) -> impl Future<Output = ()> {
        let in_run = in_run().then(|| sim::time::advance(duration));
        async move {
            match in_run {
                Some(advance) => advance.await,
                None => real::time::advance(duration).await,
            }
        }
    }
}

#[cfg(feature = "test-util")]
pub use self::clock::{advance, pause, resume};
