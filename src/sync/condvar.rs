//! The condition variable: tasks wait for a change of the value that a mutex guards.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use super::{Lock, MutexGuard};
use crate::seam::{Bell, Here, Listen, SPENT, here};

/// A condition variable: tasks wait for a change of the value in a [`Mutex`](crate::Mutex).
/// Corresponds to std's `Condvar`.
///
/// The lock is released in the step in which the task begins to wait, so no notification between
/// the release and the wait is lost. A notification before the wait is lost. The wait and the lock
/// after it are points. In a run any waiting task may be notified, as std allows. With
/// `chances = "spurious"` a task may continue without a notification. So check the condition in a
/// loop, or use [`wait_while`](Self::wait_while). A wait that is dropped after its notification
/// notifies another task.
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
    /// Creates a condition variable on which no task waits.
    #[track_caller]
    pub fn new() -> Condvar {
        Condvar { bell: Bell::new(here()) }
    }

    /// Releases the lock, waits for a notification, and acquires the lock again.
    ///
    /// ```
    /// use sim::{Condvar, Mutex};
    ///
    /// # sim::block_on(async {
    /// let (queue, changed) = (Mutex::new(Vec::new()), Condvar::new());
    /// let pop = async {
    ///     let mut queue = queue.lock().await;
    ///     while queue.is_empty() {
    ///         queue = changed.wait(queue).await;
    ///     }
    ///     queue.pop()
    /// };
    /// let push = async {
    ///     queue.lock().await.push(7);
    ///     changed.notify_one();
    /// };
    /// assert_eq!(sim::join!(pop, push).0, Some(7));
    /// # });
    /// ```
    #[track_caller]
    pub fn wait<'a, T: ?Sized>(&'a self, guard: MutexGuard<'a, T>) -> Wait<'a, T> {
        Wait { bell: &self.bell, here: here(), state: WaitState::Holds(Some(guard)) }
    }

    /// Waits while `condition` is true, like std's `wait_while`.
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

    /// Notifies one waiting task. This call is not a point. Does nothing if no task waits.
    ///
    /// ```
    /// use sim::{Condvar, Mutex};
    ///
    /// # sim::block_on(async {
    /// let (mutex, changed) = (Mutex::new(()), Condvar::new());
    /// changed.notify_one();
    /// let guard = mutex.lock().await;
    /// let is_lost = sim::select! {
    ///     biased;
    ///     _guard = changed.wait(guard) => false,
    ///     () = sim::task::yield_now() => true,
    /// };
    /// assert!(is_lost);
    /// # });
    /// ```
    #[track_caller]
    pub fn notify_one(&self) {
        self.bell.notify_one(here());
    }

    /// Notifies all waiting tasks. This call is not a point.
    ///
    /// ```
    /// use sim::{Condvar, Mutex};
    ///
    /// # sim::block_on(async {
    /// let (is_open, changed) = (Mutex::new(false), Condvar::new());
    /// let enter = async || *changed.wait_while(is_open.lock().await, |is_open| !*is_open).await;
    /// let open = async {
    ///     *is_open.lock().await = true;
    ///     changed.notify_all();
    /// };
    /// assert_eq!(sim::join!(enter(), enter(), open), (true, true, ()));
    /// # });
    /// ```
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
    /// The wait has not been polled.
    Holds(Option<MutexGuard<'a, T>>),
    /// The task waits for a notification, and then acquires the lock.
    Listens(Listen<'a>, Lock<'a, T>),
    Locks(Lock<'a, T>),
}

// Nothing is pinned, because a lock may be moved while it waits.
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
