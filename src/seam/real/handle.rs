//! Task handles, and tasks that borrow.

use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::future::LocalBoxFuture;

use super::{Here, Unparker};
use crate::real::spawning;
use crate::seam::{Id, JoinError};

/// The handle of a task.
#[derive(Debug)]
pub(crate) struct Handle<T>(spawning::Handle<T>);

/// A handle that can only abort a task.
#[derive(Clone)]
pub(crate) struct Stopper(spawning::Stopper);

impl Stopper {
    /// Does nothing: a handle always receives the panic of its task.
    pub(crate) fn give_panic(&self) {}

    /// Calls `act`. This build has no run in which the set of a task drops its values.
    pub(crate) fn as_task<R>(&self, act: impl FnOnce() -> R) -> R {
        act()
    }

    pub(crate) fn id(&self) -> Id {
        self.0.id()
    }

    pub(crate) fn abort(&self, _: Here) {
        self.0.abort();
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.0.is_finished()
    }
}

/// Spawns a task.
pub(crate) fn spawn<F>(name: Option<Arc<str>>, _: Here, future: F) -> Handle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    Handle(spawning::spawn(name.as_deref(), future))
}

/// Spawns a task that is one call, which may block.
pub(crate) fn spawn_blocking<R: Send + 'static>(
    _: Here,
    work: impl FnOnce() -> R + Send + 'static,
) -> Handle<R> {
    Handle(spawning::spawn_blocking(work))
}

/// Spawns a task whose future stays on this thread. `keep` receives the future and must poll it.
pub(crate) fn spawn_local<F>(
    _: Here,
    future: F,
    keep: impl FnOnce(LocalBoxFuture<'static, ()>),
) -> Handle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    let (handle, task) = spawning::spawn_local(future);
    keep(task);
    Handle(handle)
}

/// The wait for the end of a task in a run. This build has no such tasks, so the wait is over at
/// once.
#[derive(Debug)]
pub(crate) struct End;

impl End {
    pub(crate) fn new(_: Stopper, _: Here) -> End {
        End
    }

    pub(crate) fn poll(&mut self, _: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }
}

/// Returns the id of the task that this thread polls; `None` outside of tasks.
pub(crate) fn current_id() -> Option<Id> {
    Id::of_thread()
}

impl<T> Handle<T> {
    pub(crate) fn id(&self) -> Id {
        self.0.id()
    }

    pub(crate) fn poll_join(
        &mut self,
        cx: &mut Context<'_>,
        _: Here,
    ) -> Poll<Result<T, JoinError>> {
        self.0.poll_join(cx)
    }

    pub(crate) fn abort(&self, _: Here) {
        self.0.abort();
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.0.is_finished()
    }

    pub(crate) fn unparker(&self) -> Unparker {
        Unparker(self.0.parking.clone())
    }

    /// Returns a handle that can only abort the task.
    pub(crate) fn stopper(&self) -> Stopper {
        Stopper(self.0.stopper())
    }

    /// Drops the handle; the task continues on its own.
    pub(crate) fn detach(self) {}
}

/// Tasks that borrow from the task that spawned them.
pub(crate) struct Crew<'a>(crate::real::crew::Crew<'a>);

impl<'a> Crew<'a> {
    pub(crate) fn new() -> Crew<'a> {
        Crew(crate::real::crew::Crew::new())
    }

    pub(crate) fn lend<W, F>(&self, _: Here, work: W) -> Handle<()>
    where
        W: FnOnce() -> F + Send + 'a,
        F: Future<Output = ()>,
    {
        Handle(self.0.lend(work))
    }

    pub(crate) async fn drive<T>(&self, script: impl Future<Output = T>) -> Option<T> {
        self.0.drive(script).await
    }
}
