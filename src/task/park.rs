//! Parking: a task waits for its token, which another task makes available.

use std::fmt;
use std::future::Future;

use crate::seam::{self, here};

/// Waits until the current task is unparked: std's `park`, for tasks. This call is a point.
///
/// A task has one token. [`Unparker::unpark`] makes it available, and `park` consumes it, without a wait if it is
/// already available. So an `unpark` before the `park` is kept, and two of them count as one. If a wait is dropped, its
/// token remains available. In a run with `chances = "spurious"` the wait may end without the token, as std allows, so
/// check the condition in a loop. To limit the wait, use [`timeout`](crate::time::timeout).
///
/// Outside of tasks of this library, the token belongs to the thread.
///
/// ```
/// use sim::{Atomic, Ordering::SeqCst};
/// use std::sync::Arc;
///
/// # sim::block_on(async {
/// let ready = Arc::new(Atomic::new(false));
/// let own = ready.clone();
/// let waiting = sim::spawn(async move {
///     while !own.load(SeqCst).await {
///         sim::task::park().await;
///     }
/// });
/// ready.store(true, SeqCst).await;
/// waiting.unparker().unpark();
/// waiting.await.unwrap();
/// # });
/// ```
///
/// The wake-up is lost if a waiter enters the queue only after its last check of the condition:
///
/// ```
/// use sim::task::{Unparker, park, unparker};
/// use sim::{Atomic, Mutex, Ordering::SeqCst, Runner};
/// use std::sync::Arc;
///
/// async fn test(looks_again: bool) {
///     let (is_free, queue) = (Arc::new(Atomic::new(false)), Arc::new(Mutex::new(None::<Unparker>)));
///     let (own, waiters) = (is_free.clone(), queue.clone());
///     let waiting = sim::spawn(async move {
///         if own.load(SeqCst).await {
///             return;
///         }
///         *waiters.lock().await = Some(unparker());
///         if looks_again && own.load(SeqCst).await {
///             return;
///         }
///         park().await;
///     });
///     is_free.store(true, SeqCst).await;
///     if let Some(waiter) = queue.lock().await.take() {
///         waiter.unpark();
///     }
///     waiting.await.unwrap();
/// }
///
/// # if sim::SIMULATED {
/// assert!(!Runner::new().hermetic().run(async || test(false).await).passed());
/// # }
/// assert!(Runner::new().hermetic().run(async || test(true).await).passed());
/// ```
#[track_caller]
pub fn park() -> impl Future<Output = ()> + Send {
    seam::park(here())
}

/// A handle that makes available the token for which a task [parks](park).
#[derive(Clone)]
pub struct Unparker(pub(super) seam::Unparker);

impl Unparker {
    /// Makes the token of the task available. This call is not a point. Does nothing if the token is already available
    /// or the task has ended.
    ///
    /// ```
    /// use sim::task::{park, unparker, yield_now};
    ///
    /// # sim::block_on(async {
    /// unparker().unpark();
    /// unparker().unpark();
    /// park().await;
    /// let waits = sim::select! {
    ///     biased;
    ///     () = park() => false,
    ///     () = yield_now() => true,
    /// };
    /// assert!(waits, "there is one token");
    /// # });
    /// ```
    #[track_caller]
    pub fn unpark(&self) {
        self.0.unpark(here());
    }
}

impl fmt::Debug for Unparker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unparker").finish_non_exhaustive()
    }
}

/// Returns the handle that unparks the current task. Outside of tasks of this library, it unparks
/// the thread.
///
/// ```
/// # sim::block_on(async {
/// sim::task::unparker().unpark();
/// sim::task::park().await;
/// # });
/// ```
pub fn unparker() -> Unparker {
    Unparker(seam::Unparker::current())
}
