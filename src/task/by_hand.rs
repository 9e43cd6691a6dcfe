//! Futures polled by hand: a test keeps them and polls them with its own waker.

use crate::seam;

/// Calls `poll`, which polls futures by hand: in a run, their operations take effect immediately.
///
/// In a run, the first poll of an operation is pending, because the operation is a point. But a test that polls by
/// hand, for example with `tokio_test::task::spawn(future).poll()`, expects the real state of the future. Inside
/// `poll`, an operation is a part of the current step, like an operation without an await: other tasks run before or
/// after that step. An operation that must wait registers the waker, which is called when the operation becomes
/// possible. An object of `sim::tokio` calls it at once, other objects at the start of the next step of the polling
/// task.
///
/// A poll with a no-op waker (`now_or_never`) counts as a poll by hand even without this function. Outside of runs, and
/// in the real build, the function only calls `poll`.
///
/// ```
/// use std::pin::pin;
/// use std::task::{Context, Poll, Wake, Waker};
///
/// use sim::task::by_hand;
///
/// struct Mock;
///
/// impl Wake for Mock {
///     fn wake(self: std::sync::Arc<Self>) {}
/// }
///
/// let report = sim::Runner::new().run(async || {
///     let mutex = sim::Mutex::new(1);
///     let waker = Waker::from(std::sync::Arc::new(Mock));
///     let mut cx = Context::from_waker(&waker);
///
///     let Poll::Ready(first) = by_hand(|| pin!(mutex.lock()).poll(&mut cx)) else { panic!() };
///     let mut second = pin!(mutex.lock());
///     assert!(by_hand(|| second.as_mut().poll(&mut cx)).is_pending());
///     drop(first);
///     assert!(by_hand(|| second.as_mut().poll(&mut cx)).is_ready());
/// });
/// assert!(report.passed());
/// ```
pub fn by_hand<R>(poll: impl FnOnce() -> R) -> R {
    seam::by_hand(poll)
}
