//! Mock tasks: they poll a future or a stream by hand, and record its wake-ups.

use std::future::Future;
use std::ops::{Deref, DerefMut};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use real::task as theirs;
use sim::task::by_hand;

/// The maximum number of polls of [`Spawn::poll_until_idle`], as in tokio-test.
const POLLS_MAX: usize = 150;

/// Creates a mock task for a future or a stream.
///
/// ```
/// use tokio_test::{assert_ready_eq, task};
///
/// let mut one = task::spawn(async { 1 });
/// assert_ready_eq!(one.poll(), 1);
/// ```
pub fn spawn<T>(task: T) -> Spawn<T> {
    Spawn(theirs::spawn(task))
}

/// A future or a stream, and the mock task that polls it: tokio-test's [`Spawn`](theirs::Spawn).
///
/// In a run, the operations of the future take effect immediately. A `Spawn` is also a future or stream itself. Polled
/// as such by other code, it adds nothing, so its operations in a run are points.
#[derive(Debug)]
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub struct Spawn<T>(theirs::Spawn<T>);

impl<T> Spawn<T> {
    /// Returns the future or stream.
    pub fn into_inner(self) -> T
    where
        T: Unpin,
    {
        self.0.into_inner()
    }

    /// Returns `true` if the task has been woken since its last poll.
    pub fn is_woken(&self) -> bool {
        self.0.is_woken()
    }

    /// Returns the number of wakers of the task, including the task's own waker.
    pub fn waker_ref_count(&self) -> usize {
        self.0.waker_ref_count()
    }

    /// Calls `f` with the context of the task. In a run, operations polled by `f` take effect immediately.
    pub fn enter<F, R>(&mut self, f: F) -> R
    where
        F: FnOnce(&mut Context<'_>, Pin<&mut T>) -> R,
    {
        by_hand(|| self.0.enter(f))
    }
}

impl<T: Unpin> Deref for Spawn<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Unpin> DerefMut for Spawn<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T: Future> Spawn<T> {
    /// Polls the future.
    pub fn poll(&mut self) -> Poll<T::Output> {
        by_hand(|| self.0.poll())
    }

    /// Polls the future again as long as each poll wakes the task itself.
    ///
    /// # Panics
    /// If the task is still woken after 150 polls.
    pub fn poll_until_idle(&mut self) -> Poll<T::Output> {
        for _ in 0..POLLS_MAX {
            let polled = self.poll();
            if polled.is_ready() || !self.is_woken() {
                return polled;
            }
        }
        panic!("the future wakes itself in each of {POLLS_MAX} polls");
    }
}

impl<T: Stream> Spawn<T> {
    /// Polls the stream.
    pub fn poll_next(&mut self) -> Poll<Option<T::Item>> {
        by_hand(|| self.0.poll_next())
    }
}

impl<T: Future> Future for Spawn<T> {
    type Output = T::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T::Output> {
        Pin::new(&mut self.0).poll(cx)
    }
}

impl<T: Stream> Stream for Spawn<T> {
    type Item = T::Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T::Item>> {
        Pin::new(&mut self.0).poll_next(cx)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}
