//! Tasks that need not be `Send`.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
use real::task::LocalEnterGuard;

use super::JoinHandle;
use crate::runtime::{Id, Runtime};

/// Spawns a task that need not be `Send`, into the [`LocalSet`] or local runtime of this thread.
///
/// # Panics
/// If there is none.
#[track_caller]
pub fn spawn_local<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    JoinHandle::of_runtime(real::task::spawn_local(future))
}

pin_project! {
    /// Tasks on one thread, which need not be `Send`: tokio's [`LocalSet`](real::task::LocalSet).
    ///
    /// In a run, all of its tasks are parts of the task that waits for it: they are polled in tokio's order, and other
    /// tasks of the run may go first at each of their points.
    ///
    /// ```
    /// use std::rc::Rc;
    ///
    /// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    /// # runtime.block_on(async {
    /// let (local, value) = (tokio::task::LocalSet::new(), Rc::new(1));
    /// let sum = local.run_until(async { tokio::task::spawn_local(async move { *value + 1 }).await });
    /// assert_eq!(sum.await.unwrap(), 2);
    /// # });
    /// ```
    #[derive(Default)]
    pub struct LocalSet {
        #[pin]
        real: real::task::LocalSet,
    }
}

impl LocalSet {
    /// A set without tasks.
    pub fn new() -> LocalSet {
        LocalSet::default()
    }

    /// Makes it the set of this thread until the guard is dropped.
    pub fn enter(&self) -> LocalEnterGuard {
        self.real.enter()
    }

    /// Spawns a task, which is polled when the set is.
    #[track_caller]
    pub fn spawn_local<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        JoinHandle::of_runtime(self.real.spawn_local(future))
    }

    /// Runs a future to its end on this thread, with the tasks of the set. In a run it fails the run: await
    /// [`run_until`](Self::run_until).
    #[track_caller]
    pub fn block_on<F: Future>(&self, runtime: &Runtime, future: F) -> F::Output {
        runtime.block_on(self.run_until(future))
    }

    /// Polls a future and the tasks of the set until the future ends.
    pub async fn run_until<F: Future>(&self, future: F) -> F::Output {
        self.real.run_until(future).await
    }

    /// The number of the set.
    pub fn id(&self) -> Id {
        self.real.id()
    }

    pub(super) fn real(&self) -> &real::task::LocalSet {
        &self.real
    }
}

impl Future for LocalSet {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.project().real.poll(cx)
    }
}

impl fmt::Debug for LocalSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.real.fmt(f)
    }
}
