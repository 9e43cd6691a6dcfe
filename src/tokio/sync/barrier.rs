//! The barrier.

use std::fmt;
use std::future::Future;

use ::tokio::sync::{Barrier as Real, BarrierWaitResult};

use crate::run::op::of_tokio::whole;
use crate::seam::{Call, CallOps, Came, Here, Wrapped, here};

const WAIT: CallOps = CallOps::acting(
    ("pass", "arrive"),
    [whole::CHANGE, whole::CHANGE, whole::CHANGE, whole::HEAR_ALONE],
    CallOps::stop_waiting(whole::LOOK),
);

/// tokio's [`Barrier`](::tokio::sync::Barrier): tasks wait until a given number of tasks has
/// arrived.
///
/// Waiting is a point. Not cancel safe: a task whose wait is dropped still counts as arrived.
///
/// ```
/// use sim::tokio::sync::Barrier;
/// # sim::block_on(async {
/// let barrier = std::sync::Arc::new(Barrier::new(2));
/// let other = sim::spawn({
///     let barrier = barrier.clone();
///     async move { barrier.wait().await.is_leader() }
/// });
/// let leads = barrier.wait().await.is_leader();
/// assert_ne!(leads, other.await.unwrap());
/// # });
/// ```
pub struct Barrier {
    wrapped: Wrapped,
    real: Real,
}

impl Barrier {
    /// Creates a barrier for `n` tasks. `n == 0` counts as 1.
    #[track_caller]
    pub fn new(n: usize) -> Barrier {
        Barrier { wrapped: Wrapped::new("barrier", here()), real: Real::new(n) }
    }

    /// Waits until all tasks have arrived. One of the tasks is the leader.
    ///
    /// ```
    /// use sim::tokio::sync::Barrier;
    /// # sim::block_on(async {
    /// let barrier = Barrier::new(2);
    /// for _ in 0..2 {
    ///     let (one, two) = sim::join!(barrier.wait(), barrier.wait());
    ///     assert_ne!(one.is_leader(), two.is_leader());
    /// }
    /// # });
    /// ```
    #[track_caller]
    pub fn wait(&self) -> impl Future<Output = BarrierWaitResult> + Send + use<'_> {
        self.wait_at(here())
    }

    async fn wait_at(&self, here: Here) -> BarrierWaitResult {
        Call::new(&self.wrapped, &WAIT, here, self.real.wait(), |_| Came::Done).await
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.real.fmt(f)
    }
}
