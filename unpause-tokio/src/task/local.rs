//! Tasks that need not be `Send`.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
use sim::__private::in_run;

use super::JoinHandle;
use crate::runtime::{Id, Runtime};

/// Spawns a task that need not be `Send`, into the [`LocalSet`] or local runtime of this thread.
///
/// # Panics
/// If the thread has no set and no local runtime.
#[track_caller]
pub fn spawn_local<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    match in_run() {
        true => JoinHandle::of_run(sim::task::spawn_local(future)),
        false => JoinHandle::of_runtime(real::task::spawn_local(future)),
    }
}

pin_project! {
    /// Tasks on one thread, which need not be `Send`: tokio's [`LocalSet`](real::task::LocalSet).
    ///
    /// In a run, its tasks are tasks of the run, which step even if the set is not awaited.
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
        run: sim::task::LocalSet,
        // Contains the tasks spawned outside of runs.
        #[pin]
        runtime: real::task::LocalSet,
    }
}

impl LocalSet {
    /// Creates a set without tasks.
    pub fn new() -> LocalSet {
        LocalSet::default()
    }

    /// Makes this set the current set of this thread until the guard is dropped.
    pub fn enter(&self) -> LocalEnterGuard {
        match in_run() {
            true => LocalEnterGuard { _run: Some(self.run.enter()), _runtime: None },
            false => LocalEnterGuard { _run: None, _runtime: Some(self.runtime.enter()) },
        }
    }

    /// Spawns a task, which outside of runs is polled whenever the set is polled.
    #[track_caller]
    pub fn spawn_local<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        match in_run() {
            true => JoinHandle::of_run(self.run.spawn_local(future)),
            false => JoinHandle::of_runtime(self.runtime.spawn_local(future)),
        }
    }

    /// Runs a future to completion on this thread, together with the tasks of the set. In a run, this call fails the
    /// run: await [`run_until`](Self::run_until) instead.
    #[track_caller]
    pub fn block_on<F: Future>(&self, runtime: &Runtime, future: F) -> F::Output {
        runtime.block_on(self.run_until(future))
    }

    /// Waits for a future. Within this future, [`spawn_local`] spawns into the set.
    pub async fn run_until<F: Future>(&self, future: F) -> F::Output {
        match in_run() {
            true => self.run.run_until(future).await,
            false => self.runtime.run_until(future).await,
        }
    }

    /// Returns the id of the set.
    pub fn id(&self) -> Id {
        self.runtime.id()
    }

    pub(super) fn of_run(&self) -> &sim::task::LocalSet {
        &self.run
    }

    pub(super) fn of_runtime(&self) -> &real::task::LocalSet {
        &self.runtime
    }
}

impl Future for LocalSet {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        match in_run() {
            true => this.run.poll(cx),
            false => this.runtime.poll(cx),
        }
    }
}

impl fmt::Debug for LocalSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.runtime.fmt(f)
    }
}

/// Keeps a set the current set of this thread: tokio's [`LocalEnterGuard`](real::task::LocalEnterGuard).
#[must_use = "the set is left at once"]
pub struct LocalEnterGuard {
    _run: Option<sim::task::LocalEnterGuard>,
    _runtime: Option<real::task::LocalEnterGuard>,
}

impl fmt::Debug for LocalEnterGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalEnterGuard").finish()
    }
}
