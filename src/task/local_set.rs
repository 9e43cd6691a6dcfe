//! Tasks whose futures stay on one thread.
//!
//! In a run all tasks are on one thread, so a local task is a task of the run. Outside of runs, each poll of the set
//! polls its tasks.

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

/// Spawns a task on the current [`LocalSet`]. The future of the task need not be `Send`. This call is not a point.
///
/// # Panics
/// If there is no current set. A set is current in the future of [`LocalSet::run_until`] and in the tasks of the set.
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
            // The message begins like tokio's message.
            "`spawn_local` called from outside of a `task::LocalSet` or `runtime::LocalRuntime`: call it in the future \
             of LocalSet::run_until, or in a task of the set"
        );
    };
    tasks.spawn(future, here)
}

/// Tasks whose futures need not be `Send`: tokio's `LocalSet`.
///
/// In a run, its tasks are tasks of the run, and step even if the set is not awaited. Outside of runs, polling the set
/// polls its tasks: through its own await, which ends when all tasks have ended, or through
/// [`run_until`](Self::run_until). Dropping the set ends its tasks and drops their values.
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
    /// In a run: the wait for the end of the first task.
    end: Option<seam::End>,
}

#[derive(Default)]
struct LocalTasks {
    /// Outside of runs: the tasks, and the tasks spawned since the last poll.
    polled: RefCell<FuturesUnordered<LocalBoxFuture<'static, ()>>>,
    new: RefCell<Vec<LocalBoxFuture<'static, ()>>>,
    /// The waker of the task that polls the set.
    waker: RefCell<Option<Waker>>,
    /// In a run: the tasks of the set, and their futures.
    of_run: RefCell<Vec<(seam::Stopper, Rc<dyn Clear>)>>,
}

impl LocalTasks {
    fn spawn<F>(self: &Rc<Self>, future: F, here: Here) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        // A weak reference, because the set owns its tasks.
        let future = Entered { tasks: Rc::downgrade(self), future };
        let future = Rc::new(Shared(RefCell::new(Some(Box::pin(future)))));
        let handle = seam::spawn_local(here, Polled(future.clone()), |task| {
            self.new.borrow_mut().push(task);
            let waker = self.waker.borrow().clone();
            if let Some(waker) = waker {
                waker.wake();
            }
        });
        if seam::in_run() {
            let future: Rc<dyn Clear> = future;
            self.of_run.borrow_mut().push((handle.stopper(), future));
        }
        JoinHandle::of(handle, here)
    }

    /// Outside of runs: polls the tasks. Ready if all tasks have ended.
    fn poll(self: &Rc<Self>, cx: &mut Context<'_>) -> Poll<()> {
        *self.waker.borrow_mut() = Some(cx.waker().clone());
        // A task of the set polls the set, so the tasks are already being polled.
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
    /// Creates a set without tasks.
    pub fn new() -> LocalSet {
        LocalSet::default()
    }

    /// Spawns a task in the set. This call is not a point.
    #[track_caller]
    pub fn spawn_local<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        self.tasks.spawn(future, here())
    }

    /// Runs `future` with this set as the current set. Outside of runs, the tasks of the set are polled only while this
    /// future is polled.
    pub async fn run_until<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        std::future::poll_fn(|cx| {
            let polled = {
                let _entered = self.enter();
                future.as_mut().poll(cx)
            };
            if polled.is_pending() && !seam::in_run() {
                // `future` continues when a task wakes it.
                let _ = self.tasks.poll(cx);
            }
            polled
        })
        .await
    }

    /// Runs `future` to completion on the calling thread, together with the tasks of the set. tokio's `block_on` also
    /// takes a runtime; here no runtime is needed.
    ///
    /// # Panics
    /// Inside a run, like [`block_on`](crate::block_on). Await [`run_until`](Self::run_until) instead.
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

    /// Makes the set the current set of this thread until the guard is dropped.
    ///
    /// ```
    /// use sim::task::{LocalSet, spawn_local};
    ///
    /// # sim::block_on(async {
    /// let local = LocalSet::new();
    /// let entered = local.enter();
    /// let task = spawn_local(async { 7 });
    /// drop(entered);
    /// assert_eq!(local.run_until(task).await.unwrap(), 7);
    /// # });
    /// ```
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
                let ended = self.tasks.of_run.borrow_mut().remove(0);
                drop(ended);
            }
            let first = self.tasks.of_run.borrow().first().map(|(task, _)| task.clone());
            match first {
                Some(first) => self.end = Some(seam::End::new(first, here())),
                None => return Poll::Ready(()),
            }
        }
    }
}

impl Drop for LocalSet {
    fn drop(&mut self) {
        let mut tasks = self.tasks.of_run.take();
        tasks.retain(|(task, _)| !task.is_finished());
        tasks.iter().for_each(|(task, _)| task.abort(here()));
        // Like in tokio, the values of the tasks are dropped together with the set. While a panic unwinds, a panic of
        // their destructors would abort the process. In this case, each task drops its values in its last step.
        if !std::thread::panicking() {
            tasks.iter().for_each(|(task, future)| task.as_task(|| future.clear()));
        }
    }
}

impl fmt::Debug for LocalSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalSet").finish()
    }
}

/// Guard that keeps a set current: see [`LocalSet::enter`].
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
        // Bound to a variable, so that it is dropped outside of the access: it may be the last reference to its set.
        let _current = CURRENT.replace(self.before.take());
    }
}

impl fmt::Debug for LocalEnterGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalEnterGuard").finish()
    }
}

/// The future of a local task, for the task and its set. `None` after its end.
struct Shared<F>(RefCell<Option<Pin<Box<F>>>>);

/// The part of [`Shared`] that does not depend on the type of the future.
trait Clear {
    /// Drops the future, unless it is being polled.
    fn clear(&self);
}

impl<F> Clear for Shared<F> {
    fn clear(&self) {
        let future = self.0.try_borrow_mut().ok().and_then(|mut future| future.take());
        drop(future);
    }
}

/// The task's part of a [`Shared`] future.
struct Polled<F>(Rc<Shared<F>>);

impl<F: Future> Future for Polled<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let Shared(future) = &*self.0;
        let mut future = future.borrow_mut();
        // If the future is missing, the set was dropped. So the task is aborted and not polled again.
        let Some(running) = &mut *future else { return Poll::Pending };
        let polled = running.as_mut().poll(cx);
        let ended = if polled.is_ready() { future.take() } else { None };
        drop(future);
        drop(ended);
        polled
    }
}

impl<F> Drop for Polled<F> {
    fn drop(&mut self) {
        self.0.clear();
    }
}

pin_project! {
    /// The future of a local task: its set is the current set while it is polled.
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
