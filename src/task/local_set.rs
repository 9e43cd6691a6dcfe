//! Tasks whose futures stay on one thread.
//!
//! In a run all tasks are on one thread, so a local task is a task of the run. Outside of runs, the set polls its tasks
//! whenever it is polled.

use std::cell::RefCell;
use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::rc::{Rc, Weak};
use std::task::{Context, Poll, Waker, ready};

use ::futures::Stream;
use ::futures::future::LocalBoxFuture;
use ::futures::stream::FuturesUnordered;
use pin_project_lite::pin_project;

use super::JoinHandle;
use crate::seam::{self, Here, here};

thread_local! {
    /// The set of the current task, or the set that is being polled.
    static CURRENT: RefCell<Option<Rc<LocalTasks>>> = const { RefCell::new(None) };
}

/// Spawns a task on the current [`LocalSet`]. Its future need not be `Send`. Not a point.
///
/// # Panics
/// If there is no current set: in the future of [`LocalSet::run_until`] and in the tasks of a set there is.
///
/// ```
/// use std::rc::Rc;
///
/// # sim::block_on(async {
/// let local = sim::task::LocalSet::new();
/// let value = Rc::new(7);
/// let sum = local.run_until(async {
///     let value = value.clone();
///     sim::task::spawn_local(async move { *value + 1 }).await.unwrap()
/// });
/// assert_eq!(sum.await, 8);
/// # });
/// ```
#[track_caller]
pub fn spawn_local<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    let here = here();
    let Some(tasks) = CURRENT.with_borrow(Clone::clone) else {
        panic!(
            // Begins as tokio's.
            "`spawn_local` called from outside of a `task::LocalSet` or `runtime::LocalRuntime`: call it in the future \
             of LocalSet::run_until, or in a task of the set"
        );
    };
    tasks.spawn(future, here)
}

/// Tasks whose futures need not be `Send`: tokio's `LocalSet`.
///
/// In a run its tasks are tasks of the run: they step whether or not the set is awaited. Outside of runs, they are
/// polled when the set is: by its own await, which ends when all of them have, or by [`run_until`](Self::run_until).
/// Dropping the set ends its tasks.
///
/// ```
/// use std::{cell::Cell, rc::Rc};
///
/// # sim::block_on(async {
/// let local = sim::task::LocalSet::new();
/// let count = Rc::new(Cell::new(0));
/// for _ in 0..3 {
///     let count = count.clone();
///     local.spawn_local(async move { count.set(count.get() + 1) }).detach();
/// }
/// local.await;
/// assert_eq!(count.get(), 3);
/// # });
/// ```
#[derive(Default)]
pub struct LocalSet {
    tasks: Rc<LocalTasks>,
    /// The wait for the end of the first task, in a run.
    end: Option<seam::End>,
}

#[derive(Default)]
struct LocalTasks {
    /// The tasks outside of runs, and the tasks spawned since they were polled.
    polled: RefCell<FuturesUnordered<LocalBoxFuture<'static, ()>>>,
    new: RefCell<Vec<LocalBoxFuture<'static, ()>>>,
    /// The task that polls the set.
    waker: RefCell<Option<Waker>>,
    /// The tasks of a run.
    of_run: RefCell<Vec<seam::Stopper>>,
}

impl LocalTasks {
    fn spawn<F>(self: &Rc<Self>, future: F, here: Here) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        // Weak, because the set owns its tasks.
        let future = Entered { tasks: Rc::downgrade(self), future };
        let handle = seam::spawn_local(here, future, |task| {
            self.new.borrow_mut().push(task);
            let waker = self.waker.borrow().clone();
            if let Some(waker) = waker {
                waker.wake();
            }
        });
        if seam::in_run() {
            self.of_run.borrow_mut().push(handle.stopper());
        }
        JoinHandle::of(handle, here)
    }

    /// Polls the tasks outside of runs. Ready if all have ended.
    fn poll(self: &Rc<Self>, cx: &mut Context<'_>) -> Poll<()> {
        *self.waker.borrow_mut() = Some(cx.waker().clone());
        // One of the tasks polls the set: the tasks are polled already.
        let Ok(mut polled) = self.polled.try_borrow_mut() else { return Poll::Pending };
        let _entered = LocalEnterGuard::new(Some(self.clone()));
        loop {
            polled.extend(self.new.take());
            let ended = Pin::new(&mut *polled).poll_next(cx);
            match ended {
                Poll::Ready(Some(())) => {}
                _ if !self.new.borrow().is_empty() => {}
                Poll::Ready(None) => return Poll::Ready(()),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

impl LocalSet {
    /// A set without tasks.
    pub fn new() -> LocalSet {
        LocalSet::default()
    }

    /// Spawns a task of the set. Not a point.
    #[track_caller]
    pub fn spawn_local<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        self.tasks.spawn(future, here())
    }

    /// Runs `future`, in which the set is the current one. Outside of runs the tasks of the set are polled meanwhile,
    /// and not after.
    pub async fn run_until<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        std::future::poll_fn(|cx| {
            let polled = {
                let _entered = self.enter();
                future.as_mut().poll(cx)
            };
            if polled.is_pending() && !seam::in_run() {
                // The future continues when a task wakes it.
                let _ = self.tasks.poll(cx);
            }
            polled
        })
        .await
    }

    /// Runs `future` to its end on the calling thread, with the tasks of the set. tokio's takes the runtime, too; here
    /// none is needed.
    ///
    /// # Panics
    /// Inside a run, as [`block_on`](crate::block_on): await [`run_until`](Self::run_until).
    ///
    /// ```
    /// use std::rc::Rc;
    ///
    /// let (local, value) = (sim::task::LocalSet::new(), Rc::new(7));
    /// let sum = local.block_on(async {
    ///     sim::task::spawn_local(async move { *value + 1 }).await.unwrap()
    /// });
    /// assert_eq!(sum, 8);
    /// ```
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        super::block_on(self.run_until(future))
    }

    /// Makes the set the current one of this thread until the guard is dropped.
    pub fn enter(&self) -> LocalEnterGuard {
        LocalEnterGuard::new(Some(self.tasks.clone()))
    }
}

impl Future for LocalSet {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if !seam::in_run() {
            return self.tasks.poll(cx);
        }
        loop {
            if let Some(end) = &mut self.end {
                ready!(end.poll(cx));
                self.end = None;
                self.tasks.of_run.borrow_mut().remove(0);
            }
            let first = self.tasks.of_run.borrow().first().cloned();
            match first {
                Some(first) => self.end = Some(seam::End::new(first, here())),
                None => return Poll::Ready(()),
            }
        }
    }
}

impl Drop for LocalSet {
    fn drop(&mut self) {
        for task in self.tasks.of_run.borrow().iter().filter(|task| !task.is_finished()) {
            task.abort(here());
        }
    }
}

impl fmt::Debug for LocalSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalSet").finish_non_exhaustive()
    }
}

/// Keeps a set the current one: see [`LocalSet::enter`].
#[must_use = "the set is the current one until the guard is dropped"]
pub struct LocalEnterGuard {
    before: Option<Rc<LocalTasks>>,
}

impl LocalEnterGuard {
    fn new(tasks: Option<Rc<LocalTasks>>) -> LocalEnterGuard {
        LocalEnterGuard { before: CURRENT.replace(tasks) }
    }
}

impl Drop for LocalEnterGuard {
    fn drop(&mut self) {
        // Bound, not dropped inside: it may be the last of its set.
        let _current = CURRENT.replace(self.before.take());
    }
}

impl fmt::Debug for LocalEnterGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalEnterGuard").finish_non_exhaustive()
    }
}

pin_project! {
    /// The future of a local task: its set is the current one while it is polled.
    struct Entered<F> {
        tasks: Weak<LocalTasks>,
        #[pin]
        future: F,
    }
}

impl<F: Future> Future for Entered<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let _entered = LocalEnterGuard::new(this.tasks.upgrade());
        this.future.poll(cx)
    }
}
