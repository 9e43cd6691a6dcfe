//! The condition variable: tasks wait for a change of what a mutex guards.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use super::{Lock, MutexGuard};
use crate::seam::{Bell, Here, Listen, SPENT, here};

/// Waits for a change of what a [`Mutex`](crate::Mutex) guards: std's `Condvar`, for tasks.
///
/// Waiting releases the lock in the step in which the task begins to wait, so no notification
/// between the two is lost. An earlier notification is lost. The wait and the lock after it are
/// points. In a run any waiting task may be notified, as std allows, and with
/// `chances = "spurious"` a task may continue without a notification: check the condition in a
/// loop, or use [`wait_while`](Self::wait_while). A wait that is dropped passes its notification
/// on.
///
/// Outside a run and in the real build tasks are notified in the order of their waits
/// (`event-listener`).
///
/// ```
/// use sim::{Condvar, Mutex};
/// use std::sync::Arc;
///
/// # sim::block_on(async {
/// let shared = Arc::new((Mutex::new(false), Condvar::new()));
/// let own = shared.clone();
/// let task = sim::spawn(async move {
///     let (ready, changed) = &*own;
///     *ready.lock().await = true;
///     changed.notify_one();
/// });
/// let (ready, changed) = &*shared;
/// let guard = changed.wait_while(ready.lock().await, |ready| !*ready).await;
/// assert!(*guard);
/// drop(guard);
/// task.await.unwrap();
/// # });
/// ```
pub struct Condvar {
    bell: Bell,
}

impl Condvar {
    /// A condition variable on which no task waits.
    #[track_caller]
    pub fn new() -> Condvar {
        Condvar { bell: Bell::new(here()) }
    }

    /// Gives the lock up, waits for a notification, and takes the lock again.
    #[track_caller]
    pub fn wait<'a, T: ?Sized>(&'a self, guard: MutexGuard<'a, T>) -> Wait<'a, T> {
        Wait { bell: &self.bell, here: here(), state: WaitState::Holds(Some(guard)) }
    }

    /// Waits until `condition` is false: for as long as it is true, as std's.
    #[track_caller]
    pub fn wait_while<'a, T: ?Sized>(
        &'a self,
        guard: MutexGuard<'a, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> impl Future<Output = MutexGuard<'a, T>> {
        let here = here();
        async move {
            let mut guard = guard;
            while condition(&mut guard) {
                let state = WaitState::Holds(Some(guard));
                guard = Wait { bell: &self.bell, here, state }.await;
            }
            guard
        }
    }

    /// Notifies one task that waits. Not a point; nothing happens if none waits.
    #[track_caller]
    pub fn notify_one(&self) {
        self.bell.notify_one(here());
    }

    /// Notifies all tasks that wait. Not a point.
    #[track_caller]
    pub fn notify_all(&self) {
        self.bell.notify_all(here());
    }
}

impl Default for Condvar {
    #[track_caller]
    fn default() -> Condvar {
        Condvar::new()
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}

/// The future of [`Condvar::wait`].
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub struct Wait<'a, T: ?Sized> {
    bell: &'a Bell,
    here: Here,
    state: WaitState<'a, T>,
}

enum WaitState<'a, T: ?Sized> {
    /// It was not polled.
    Holds(Option<MutexGuard<'a, T>>),
    /// It waits, and takes the lock after that.
    Listens(Listen<'a>, Lock<'a, T>),
    Locks(Lock<'a, T>),
}

// Nothing is pinned: a lock may be moved while it waits.
impl<T: ?Sized> Unpin for Wait<'_, T> {}

impl<'a, T: ?Sized> Future for Wait<'a, T> {
    type Output = MutexGuard<'a, T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<MutexGuard<'a, T>> {
        let here = self.here;
        let Wait { bell, state, .. } = &mut *self;
        if let WaitState::Holds(guard) = state {
            let guard = guard.take().expect(SPENT);
            let (listen, lock) = (bell.listen(here), guard.lock_again(here));
            drop(guard);
            *state = WaitState::Listens(listen, lock);
        }
        if let WaitState::Listens(listen, _) = state {
            ready!(Pin::new(listen).poll(cx));
            let listened = std::mem::replace(state, WaitState::Holds(None));
            let WaitState::Listens(_, lock) = listened else {
                unreachable!("it was matched above")
            };
            *state = WaitState::Locks(lock);
        }
        let WaitState::Locks(lock) = state else { panic!("{SPENT}") };
        let guard = ready!(Pin::new(lock).poll(cx));
        *state = WaitState::Holds(None);
        Poll::Ready(guard)
    }
}

impl<T: ?Sized> fmt::Debug for Wait<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wait").finish_non_exhaustive()
    }
}
