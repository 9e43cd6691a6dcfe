//! Handles of runtimes, and of the run.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::Location;

use real::runtime::{Id, RuntimeFlavor, RuntimeMetrics, TryCurrentError};
use sim::__private::{in_run, refuse};

use super::BLOCKS;
use crate::task::{self, JoinHandle};

/// Spawns tasks: tokio's [`Handle`](real::runtime::Handle).
///
/// In a run each handle, also one of a runtime that exists outside, spawns into the run.
///
/// ```
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let handle = tokio::runtime::Handle::current();
/// assert_eq!(handle.spawn(async { 1 + 1 }).await.unwrap(), 2);
/// # });
/// ```
#[derive(Clone)]
pub struct Handle(Inner);

#[derive(Clone)]
enum Inner {
    Run,
    Runtime(real::runtime::Handle),
}

impl Handle {
    /// The run, or the runtime of this thread.
    ///
    /// # Panics
    /// If there is neither.
    #[track_caller]
    pub fn current() -> Handle {
        match in_run() {
            true => Handle(Inner::Run),
            false => Handle(Inner::Runtime(real::runtime::Handle::current())),
        }
    }

    /// The run, or the runtime of this thread.
    ///
    /// # Errors
    /// If there is neither.
    pub fn try_current() -> Result<Handle, TryCurrentError> {
        match in_run() {
            true => Ok(Handle(Inner::Run)),
            false => real::runtime::Handle::try_current().map(|it| Handle(Inner::Runtime(it))),
        }
    }

    pub(super) fn of_runtime(handle: &real::runtime::Handle) -> Handle {
        Handle(Inner::Runtime(handle.clone()))
    }

    /// The handle of a runtime.
    ///
    /// # Panics
    /// If it belongs to a run.
    #[track_caller]
    pub(crate) fn real(&self) -> &real::runtime::Handle {
        match &self.0 {
            Inner::Runtime(handle) => handle,
            Inner::Run => panic!(
                "this handle is that of a run, which is over or on another thread: use it in a task of the run"
            ),
        }
    }

    /// Spawns a task: see [`spawn`](task::spawn).
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        match in_run() {
            true => task::spawn(future),
            false => JoinHandle::of_runtime(self.real().spawn(future)),
        }
    }

    /// Calls a function that may block its thread: see [`spawn_blocking`](task::spawn_blocking).
    #[track_caller]
    pub fn spawn_blocking<F, R>(&self, f: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        match in_run() {
            true => task::spawn_blocking(f),
            false => JoinHandle::of_runtime(self.real().spawn_blocking(f)),
        }
    }

    /// Runs a future to its end on this thread. In a run it fails the run: await the future.
    ///
    /// # Panics
    /// In a task of a runtime.
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        refuse(BLOCKS, Location::caller());
        self.real().block_on(future)
    }

    /// Makes it the runtime of this thread until the guard is dropped. In a run it does nothing.
    pub fn enter(&self) -> EnterGuard<'_> {
        let real = match in_run() {
            true => None,
            false => Some(self.real().enter()),
        };
        EnterGuard { _real: real, _handle: PhantomData }
    }

    /// The flavor of the runtime. All tasks of a run are on one thread.
    pub fn runtime_flavor(&self) -> RuntimeFlavor {
        match &self.0 {
            Inner::Run => RuntimeFlavor::CurrentThread,
            Inner::Runtime(handle) => handle.runtime_flavor(),
        }
    }

    /// The number of the runtime.
    ///
    /// # Panics
    /// If it is the handle of a run, which has none.
    #[track_caller]
    pub fn id(&self) -> Id {
        self.real().id()
    }

    /// The name of the runtime. A run has none.
    pub fn name(&self) -> Option<&str> {
        match &self.0 {
            Inner::Run => None,
            Inner::Runtime(handle) => handle.name(),
        }
    }

    /// The figures of the runtime.
    ///
    /// # Panics
    /// If it is the handle of a run, which has none.
    #[track_caller]
    pub fn metrics(&self) -> RuntimeMetrics {
        self.real().metrics()
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Inner::Run => f.write_str("Handle(run)"),
            Inner::Runtime(handle) => handle.fmt(f),
        }
    }
}

/// Makes a runtime the runtime of this thread: tokio's [`EnterGuard`](real::runtime::EnterGuard).
#[derive(Debug)]
#[must_use = "the runtime is left at once"]
pub struct EnterGuard<'a> {
    _real: Option<real::runtime::EnterGuard<'a>>,
    _handle: PhantomData<&'a Handle>,
}
