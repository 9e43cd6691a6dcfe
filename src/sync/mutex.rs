//! The mutex: a value that one task at a time may use.

use std::fmt;
use std::future::Future;
use std::ops::{Deref, DerefMut};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use async_lock::futures::Lock as RealLock;
use async_lock::{Mutex as RealMutex, MutexGuard as RealGuard};

use crate::run::op::{Access, Op};
use crate::seam::{self, Enter, Gate, Here, Pass, SPENT, budget, here};

const LOCK: Op = Op::new("lock", Access::Lock);
const TRY_LOCK: Op = Op::new("try_lock", Access::TryLock);

/// A value that one task at a time may use, like tokio's `Mutex`.
///
/// Locking is an await point. A waiting task cannot step. When the guard is dropped, every waiter is enabled, and the
/// waiter that the scheduler chooses gets the lock. So a run may show every order that a fair or unfair lock allows.
/// Dropping the guard is not a point. There is no poisoning, because a panic ends the run anyway.
///
/// Outside a run and in the real build it is the mutex of the crate `async-lock`, which is eventually fair: a task that
/// has waited for half a millisecond gets the lock before all later tasks. A run guarantees less: a task may wait while
/// other tasks acquire the lock again and again, so a loop that relies on fairness may not end. A task that finds the
/// real lock free 128 times in a row yields to the other tasks of its thread, as in tokio. A loop over atomics or cells
/// never yields.
///
/// In a run a mutex belongs to that run. If an earlier run used the mutex, for example in a `static`, the run fails.
/// The remedy is to create the mutex inside the test body.
///
/// ```
/// # sim::block_on(async {
/// let list = sim::Mutex::new(vec![1]);
/// list.lock().await.push(2);
/// assert_eq!(list.into_inner(), [1, 2]);
/// # });
/// ```
pub struct Mutex<T: ?Sized> {
    gate: Gate,
    inner: RealMutex<T>,
}

impl<T> Mutex<T> {
    /// Creates a mutex around `value`.
    #[track_caller]
    pub fn new(value: T) -> Mutex<T> {
        Mutex { gate: Gate::new("mutex", here()), inner: RealMutex::new(value) }
    }

    /// Gives the mutex a name, which reports show in place of `mutex#3`. Objects with the same name are numbered. Costs
    /// nothing in the real build.
    ///
    /// ```
    /// let accounts = sim::Mutex::new(vec![100, 100]).named("accounts");
    /// # let _ = accounts;
    /// ```
    #[must_use]
    pub const fn named(mut self, name: &'static str) -> Mutex<T> {
        self.gate.object = self.gate.object.named(name);
        self
    }

    /// Returns the value.
    pub fn into_inner(self) -> T {
        self.inner.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits until no task holds the lock, then acquires it. Cancel safe: a future dropped before it is ready has no
    /// effect. The future panics if it is polled again after it was ready.
    ///
    /// ```
    /// use sim::{Mutex, Runner};
    /// use std::sync::Arc;
    ///
    /// let report = Runner::new().hermetic().run(async || {
    ///     let count = Arc::new(Mutex::new(0));
    ///     sim::map_concurrently([count.clone(), count.clone()], |count| async move {
    ///         *count.lock().await += 1;
    ///     })
    ///     .await;
    ///     assert_eq!(*count.lock().await, 2);
    /// });
    /// assert!(report.passed());
    /// ```
    #[track_caller]
    pub fn lock(&self) -> Lock<'_, T> {
        let enter = self.gate.enter(&LOCK, here());
        Lock { enter, pass: None, mutex: Some(&self.inner), waits: None }
    }

    /// Acquires the lock if no task holds it. Unlike tokio's `try_lock`, this is an await point, because the result
    /// depends on other tasks.
    ///
    /// ```
    /// # sim::block_on(async {
    /// let mutex = sim::Mutex::new(1);
    /// let guard = mutex.try_lock().await;
    /// assert!(guard.is_some());
    /// assert!(mutex.try_lock().await.is_none());
    /// # });
    /// ```
    #[track_caller]
    pub fn try_lock(&self) -> impl Future<Output = Option<MutexGuard<'_, T>>> + Send + use<'_, T>
    where
        T: Send,
    {
        let enter = self.gate.try_enter(&TRY_LOCK, here());
        async move {
            let pass = enter.await?;
            let inner = self.inner.try_lock()?;
            Some(MutexGuard { inner, pass })
        }
    }

    /// Returns the value. `&mut` proves that no task holds the lock, so this is not a point.
    pub fn get_mut(&mut self) -> &mut T {
        self.inner.get_mut()
    }
}

/// The future of [`Mutex::lock`], which waits for a [`Mutex`].
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub struct Lock<'a, T: ?Sized> {
    enter: Enter<'a>,
    pass: Option<Pass<'a>>,
    /// `None` once the lock has been acquired.
    mutex: Option<&'a RealMutex<T>>,
    /// Created if the lock was not free. Boxed, so that a `Lock` may be moved while it waits.
    waits: Option<Pin<Box<RealLock<'a, T>>>>,
}

impl<'a, T: ?Sized> Future for Lock<'a, T> {
    type Output = MutexGuard<'a, T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<MutexGuard<'a, T>> {
        let this = &mut *self;
        let mutex = this.mutex.expect(SPENT);
        if this.pass.is_none() {
            this.pass = Some(ready!(Pin::new(&mut this.enter).poll(cx)));
        }
        // In a run the holder of the pass finds the lock free; outside a run, this call acquires the lock.
        let inner = ready!(take(mutex, &mut this.waits, cx));
        this.mutex = None;
        let pass = this.pass.take().expect("it was got above");
        Poll::Ready(MutexGuard { inner, pass })
    }
}

/// Acquires the real lock, or waits for it.
fn take<'a, T: ?Sized>(
    mutex: &'a RealMutex<T>,
    waits: &mut Option<Pin<Box<RealLock<'a, T>>>>,
    cx: &mut Context<'_>,
) -> Poll<RealGuard<'a, T>> {
    if waits.is_none() {
        if !seam::in_run() {
            ready!(budget::spend(cx));
        }
        if let Some(guard) = mutex.try_lock() {
            return Poll::Ready(guard);
        }
    }
    let polled = waits.get_or_insert_with(|| Box::pin(mutex.lock())).as_mut().poll(cx);
    match &polled {
        Poll::Ready(_) => *waits = None,
        Poll::Pending => budget::refill(),
    }
    polled
}

/// The guard of a locked [`Mutex`]; dropping it frees the lock.
///
/// ```
/// # sim::block_on(async {
/// let mutex = sim::Mutex::new(1);
/// let mut guard = mutex.lock().await;
/// *guard += 1;
/// drop(guard);
/// assert_eq!(*mutex.lock().await, 2);
/// # });
/// ```
#[must_use = "if unused, the mutex is freed at once"]
pub struct MutexGuard<'a, T: ?Sized> {
    // The fields are dropped in this order, because the next holder of the pass must find the lock free.
    inner: RealGuard<'a, T>,
    pass: Pass<'a>,
}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// Acquires the same lock again, after this guard has been dropped.
    pub(super) fn lock_again(&self, here: Here) -> Lock<'a, T> {
        let mutex = RealGuard::source(&self.inner);
        Lock {
            enter: self.pass.enter_again(&LOCK, here),
            pass: None,
            mutex: Some(mutex),
            waits: None,
        }
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

impl<T: Default> Default for Mutex<T> {
    #[track_caller]
    fn default() -> Mutex<T> {
        Mutex::new(T::default())
    }
}

impl<T> From<T> for Mutex<T> {
    #[track_caller]
    fn from(value: T) -> Mutex<T> {
        Mutex::new(value)
    }
}

impl<T: ?Sized> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mutex").finish_non_exhaustive()
    }
}

impl<T: ?Sized> fmt::Debug for Lock<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lock").finish_non_exhaustive()
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
