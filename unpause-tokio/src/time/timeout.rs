//! Futures with a deadline.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use pin_project_lite::pin_project;
use sim::__private::{elapsed, in_run};

use super::Instant;
use super::error::Elapsed;

/// Waits for a future, but at most for `duration`. If the future and the deadline are both ready, the call returns the
/// result of the future.
///
/// # Errors
/// [`Elapsed`] if the deadline passed.
///
/// # Panics
/// Outside of runs, if the thread has no runtime with a timer.
///
/// ```
/// use tokio::time::{Duration, timeout};
///
/// # let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
/// # runtime.block_on(async {
/// assert_eq!(timeout(Duration::from_secs(1), async { 1 }).await, Ok(1));
/// assert!(timeout(Duration::from_millis(1), std::future::pending::<()>()).await.is_err());
/// # });
/// ```
#[track_caller]
pub fn timeout<F: IntoFuture>(duration: Duration, future: F) -> Timeout<F::IntoFuture> {
    match in_run() {
        true => Timeout::of_run(sim::time::timeout(duration, future)),
        false => Timeout::of_runtime(real::time::timeout(duration, future)),
    }
}

/// Waits for a future, but not longer than until `deadline`; see [`timeout`].
///
/// # Errors
/// [`Elapsed`] if the deadline passed.
///
/// # Panics
/// Outside of runs, if the thread has no runtime with a timer.
#[track_caller]
pub fn timeout_at<F: IntoFuture>(deadline: Instant, future: F) -> Timeout<F::IntoFuture> {
    match in_run() {
        true => Timeout::of_run(sim::time::timeout_at(deadline.in_run(), future)),
        false => Timeout::of_runtime(real::time::timeout_at(deadline.in_runtime(), future)),
    }
}

pin_project! {
    /// The future of [`timeout`] and [`timeout_at`]: tokio's [`Timeout`](real::time::Timeout).
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Timeout<F> {
        #[pin]
        inner: Inner<F>,
    }
}

pin_project! {
    #[derive(Debug)]
    #[project = Pinned]
    enum Inner<F> {
        Run { #[pin] timeout: sim::time::Timeout<F> },
        Runtime { #[pin] timeout: real::time::Timeout<F> },
    }
}

impl<F> Timeout<F> {
    fn of_run(timeout: sim::time::Timeout<F>) -> Timeout<F> {
        Timeout { inner: Inner::Run { timeout } }
    }

    fn of_runtime(timeout: real::time::Timeout<F>) -> Timeout<F> {
        Timeout { inner: Inner::Runtime { timeout } }
    }

    /// Returns the inner future.
    pub fn get_ref(&self) -> &F {
        match &self.inner {
            Inner::Run { timeout } => timeout.get_ref(),
            Inner::Runtime { timeout } => timeout.get_ref(),
        }
    }

    /// Returns the inner future.
    pub fn get_mut(&mut self) -> &mut F {
        match &mut self.inner {
            Inner::Run { timeout } => timeout.get_mut(),
            Inner::Runtime { timeout } => timeout.get_mut(),
        }
    }

    /// Returns the inner future, without the deadline.
    pub fn into_inner(self) -> F {
        match self.inner {
            Inner::Run { timeout } => timeout.into_inner(),
            Inner::Runtime { timeout } => timeout.into_inner(),
        }
    }
}

impl<F: Future> Future for Timeout<F> {
    type Output = Result<F::Output, Elapsed>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().inner.project() {
            Pinned::Run { timeout } => timeout.poll(cx),
            Pinned::Runtime { timeout } => timeout.poll(cx).map_err(|_| elapsed()),
        }
    }
}
