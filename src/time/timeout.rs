//! Futures with a deadline.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use pin_project_lite::pin_project;

use super::error::Elapsed;
use super::{Instant, Sleep};
use crate::seam::here;

/// Waits for a future, but not longer than `duration`. The inner future is dropped together with the returned
/// future, not at the deadline.
///
/// The inner future is polled first, so if it is ready in the same step in which the deadline
/// passes, its result counts.
///
/// # Errors
/// [`Elapsed`] if the deadline passed.
///
/// ```
/// use sim::time::{Duration, timeout};
///
/// # sim::block_on(async {
/// let lock = sim::Mutex::new(1);
/// let held = lock.lock().await;
/// assert!(timeout(Duration::from_millis(1), lock.lock()).await.is_err());
/// drop(held);
/// assert_eq!(*timeout(Duration::from_secs(1), lock.lock()).await.unwrap(), 1);
/// # });
/// ```
#[track_caller]
pub fn timeout<F: IntoFuture>(duration: Duration, future: F) -> Timeout<F::IntoFuture> {
    Timeout { value: future.into_future(), delay: Sleep::after(duration, here()).racing() }
}

/// Waits for a future, but not longer than until `deadline`; see [`timeout`].
///
/// # Errors
/// [`Elapsed`] if the deadline passed.
///
/// ```
/// use sim::time::{Instant, timeout_at};
///
/// # sim::block_on(async {
/// assert_eq!(timeout_at(Instant::now(), async { 1 }).await, Ok(1));
/// # });
/// ```
#[track_caller]
pub fn timeout_at<F: IntoFuture>(deadline: Instant, future: F) -> Timeout<F::IntoFuture> {
    Timeout { value: future.into_future(), delay: Sleep::until(deadline, here()).racing() }
}

pin_project! {
    /// The future of [`timeout`] and [`timeout_at`].
    ///
    /// ```
    /// use sim::time::{Duration, timeout};
    ///
    /// let waits = timeout(Duration::from_secs(1), async { 1 });
    /// assert_eq!(sim::block_on(waits.into_inner()), 1);
    /// ```
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Timeout<F> {
        #[pin]
        value: F,
        #[pin]
        delay: Sleep,
    }
}

impl<F> Timeout<F> {
    /// Returns a reference to the inner future.
    pub fn get_ref(&self) -> &F {
        &self.value
    }

    /// Returns a mutable reference to the inner future.
    pub fn get_mut(&mut self) -> &mut F {
        &mut self.value
    }

    /// Returns the inner future, without a deadline.
    pub fn into_inner(self) -> F {
        self.value
    }
}

impl<F: Future> Future for Timeout<F> {
    type Output = Result<F::Output, Elapsed>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if let Poll::Ready(value) = this.value.poll(cx) {
            return Poll::Ready(Ok(value));
        }
        this.delay.poll(cx).map(|()| Err(Elapsed::new()))
    }
}
