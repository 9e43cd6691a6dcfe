//! Waiting for a moment.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use pin_project_lite::pin_project;
use sim::__private::in_run;

use super::Instant;

/// Waits until `duration` has passed since this call. In a run, the wait is a point, even if `duration` is zero.
///
/// # Panics
/// Outside of runs, if the thread has no runtime with a timer.
///
/// ```
/// use tokio::time::{Duration, Instant, sleep};
///
/// # let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
/// # runtime.block_on(async {
/// let begin = Instant::now();
/// sleep(Duration::from_millis(1)).await;
/// assert!(begin.elapsed() >= Duration::from_millis(1));
/// # });
/// ```
#[track_caller]
pub fn sleep(duration: Duration) -> Sleep {
    match in_run() {
        true => Sleep::of_run(sim::time::sleep(duration)),
        false => Sleep::of_runtime(real::time::sleep(duration)),
    }
}

/// Waits until `deadline`; see [`sleep`].
///
/// # Panics
/// Outside of runs, if the thread has no runtime with a timer.
#[track_caller]
pub fn sleep_until(deadline: Instant) -> Sleep {
    match in_run() {
        true => Sleep::of_run(sim::time::sleep_until(deadline.in_run())),
        false => Sleep::of_runtime(real::time::sleep_until(deadline.in_runtime())),
    }
}

pin_project! {
    /// The future of [`sleep`] and [`sleep_until`]: tokio's [`Sleep`](real::time::Sleep).
    ///
    /// ```
    /// use std::pin::pin;
    /// use tokio::time::{Duration, Instant, sleep};
    ///
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    /// # runtime.block_on(async {
    /// let mut sleep = pin!(sleep(Duration::from_secs(3600)));
    /// sleep.as_mut().reset(Instant::now() + Duration::from_millis(1));
    /// sleep.as_mut().await;
    /// assert!(sleep.is_elapsed());
    /// # });
    /// ```
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Sleep {
        #[pin]
        inner: Inner,
    }
}

pin_project! {
    #[derive(Debug)]
    #[project = Pinned]
    enum Inner {
        Run { #[pin] sleep: sim::time::Sleep },
        Runtime { #[pin] sleep: real::time::Sleep },
    }
}

impl Sleep {
    fn of_run(sleep: sim::time::Sleep) -> Sleep {
        Sleep { inner: Inner::Run { sleep } }
    }

    fn of_runtime(sleep: real::time::Sleep) -> Sleep {
        Sleep { inner: Inner::Runtime { sleep } }
    }

    /// Returns the moment until which the future waits.
    pub fn deadline(&self) -> Instant {
        match &self.inner {
            Inner::Run { sleep } => Instant::of_run(sleep.deadline()),
            Inner::Runtime { sleep } => Instant::of_runtime(sleep.deadline()),
        }
    }

    /// Returns `true` if the deadline has passed. This call is not a point.
    #[track_caller]
    pub fn is_elapsed(&self) -> bool {
        match &self.inner {
            Inner::Run { sleep } => sleep.is_elapsed(),
            Inner::Runtime { sleep } => sleep.is_elapsed(),
        }
    }

    /// Changes the deadline. The future then waits again, even if it was ready before. This call is not a point.
    pub fn reset(self: Pin<&mut Self>, deadline: Instant) {
        match self.project().inner.project() {
            Pinned::Run { sleep } => sleep.reset(deadline.in_run()),
            Pinned::Runtime { sleep } => sleep.reset(deadline.in_runtime()),
        }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        match self.project().inner.project() {
            Pinned::Run { sleep } => sleep.poll(cx),
            Pinned::Runtime { sleep } => sleep.poll(cx),
        }
    }
}
