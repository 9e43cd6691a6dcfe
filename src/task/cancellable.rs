//! Futures that a run may drop at any of their points.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use crate::seam::{Cancel, here};

/// Creates a future that a run may drop at any of its points. A lost `select!`, a timeout or an abort drops a future in
/// the same way. The output is then `None`.
///
/// At the first poll, the run decides whether to drop the future. The scheduler chooses the moment, as if another task
/// requested the drop. Screens show that task as `canceller`. The future is dropped in the next step of its own task. A
/// search tries all moments, shrinking removes the cancellation if the failure does not need it, and at most two
/// futures of one task are dropped. In a stress test on real threads the future is dropped after a random number of
/// points. Elsewhere the future is polled unchanged.
///
/// This call is not a point of its own.
///
/// ```
/// use sim::{Atomic, Mutex, Ordering::SeqCst};
///
/// // Takes the value out, and puts it back later: not if it is dropped in between.
/// async fn double(value: &Mutex<Option<u32>>, steps: &Atomic<u32>) {
///     let old = value.lock().await.take().unwrap_or_default();
///     steps.fetch_add(1, SeqCst).await;
///     *value.lock().await = Some(2 * old);
/// }
///
/// let report = sim::Runner::new().hermetic().shrink(false).run(async || {
///     let (value, steps) = (Mutex::new(Some(21)), Atomic::new(0));
///     sim::task::cancellable(double(&value, &steps)).await;
///     assert!(value.into_inner().is_some(), "the value is lost");
/// });
/// assert!(!report.passed());
/// ```
#[track_caller]
pub fn cancellable<F: Future>(future: F) -> Cancellable<F> {
    Cancellable { cancel: Cancel::new(here()), future: Some(future) }
}

pin_project! {
    /// The future of [`cancellable`].
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Cancellable<F> {
        // This field is declared after the future, so that the record of its end follows all effects of the future's
        // drop.
        #[pin]
        future: Option<F>,
        cancel: Cancel,
    }
}

impl<F> std::fmt::Debug for Cancellable<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cancellable").finish_non_exhaustive()
    }
}

impl<F: Future> Future for Cancellable<F> {
    type Output = Option<F::Output>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let future = this.future.as_mut().as_pin_mut();
        let future = future.expect(crate::seam::SPENT);
        let polled = this.cancel.poll(cx, |cx| future.poll(cx));
        if polled.is_ready() {
            this.future.set(None);
        }
        polled
    }
}
