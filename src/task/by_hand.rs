//! Futures that are polled by hand: by a test that keeps them, with a waker of its own.

use crate::seam;

/// Calls `poll`, which polls futures by hand: in a run their operations take effect at once.
///
/// In a run the first poll of an operation is not ready, because it is a point. A test that polls by hand, as with
/// `tokio_test::task::spawn(future).poll()`, expects the state of the future instead. In `poll`, an operation is a part
/// of the current step, as one without an await: other tasks come before or after that step. An operation that must
/// wait registers the waker, which is called when the operation can be done: at once by an object of `sim::tokio`, and
/// at the begin of the next step of the polling task by others.
///
/// A poll with a no-op waker (`now_or_never`) is by hand without this function. Outside of runs, and in the real build,
/// the function only calls `poll`.
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
