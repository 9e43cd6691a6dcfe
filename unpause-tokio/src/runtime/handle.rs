//! Handles of runtimes and of the run.

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
/// In a run, every handle spawns into the run, including the handle of an outside runtime.
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
    /// Returns the handle of the run, or of the runtime of this thread.
    ///
    /// # Panics
    /// If there is no run and no runtime.
    #[track_caller]
    pub fn current() -> Handle {
        match in_run() {
            true => Handle(Inner::Run),
            false => Handle(Inner::Runtime(real::runtime::Handle::current())),
        }
    }

    /// Returns the handle of the run, or of the runtime of this thread.
    ///
    /// # Errors
    /// If there is no run and no runtime.
    pub fn try_current() -> Result<Handle, TryCurrentError> {
        match in_run() {
            true => Ok(Handle(Inner::Run)),
            false => real::runtime::Handle::try_current().map(|it| Handle(Inner::Runtime(it))),
        }
    }

    pub(super) fn of_runtime(handle: &real::runtime::Handle) -> Handle {
        Handle(Inner::Runtime(handle.clone()))
    }

    /// Returns tokio's handle of the runtime.
    ///
    /// # Panics
    /// If the handle belongs to a run.
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

    /// Runs a future to completion on this thread. In a run, this call fails the run: await the future instead.
    ///
    /// # Panics
    /// In a task of a runtime.
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        refuse(BLOCKS, Location::caller());
        self.real().block_on(future)
    }

    /// Makes this runtime the current runtime of this thread until the guard is dropped. In a run, this call does
    /// nothing.
    pub fn enter(&self) -> EnterGuard<'_> {
        let real = match in_run() {
            true => None,
            false => Some(self.real().enter()),
        };
        EnterGuard { _real: real, _handle: PhantomData }
    }

    /// Returns the flavor of the runtime. All tasks of a run share one thread.
    pub fn runtime_flavor(&self) -> RuntimeFlavor {
        match &self.0 {
            Inner::Run => RuntimeFlavor::CurrentThread,
            Inner::Runtime(handle) => handle.runtime_flavor(),
        }
    }

    /// Returns the id of the runtime.
    ///
    /// # Panics
    /// If this is the handle of a run, which has no id.
    #[track_caller]
    pub fn id(&self) -> Id {
        self.real().id()
    }

    /// Returns the name of the runtime. A run has no name.
    pub fn name(&self) -> Option<&str> {
        match &self.0 {
            Inner::Run => None,
            Inner::Runtime(handle) => handle.name(),
        }
    }

    /// Returns the metrics of the runtime.
    ///
    /// # Panics
    /// If this is the handle of a run, which has no metrics.
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

/// Keeps a runtime the current runtime of this thread: tokio's
/// [`EnterGuard`](real::runtime::EnterGuard).
#[derive(Debug)]
#[must_use = "the runtime is left at once"]
pub struct EnterGuard<'a> {
    _real: Option<real::runtime::EnterGuard<'a>>,
    _handle: PhantomData<&'a Handle>,
}
