//! A runtime for tasks that need not be `Send`.

use std::future::Future;
use std::io;
use std::panic::Location;
use std::time::Duration;

use real::runtime::{LocalOptions, RuntimeMetrics};
use sim::__private::refuse;

use super::{BLOCKS, Builder, EnterGuard, Handle};
use crate::task::JoinHandle;

/// A runtime on one thread: tokio's [`LocalRuntime`](real::runtime::LocalRuntime). In a run none can be made.
///
/// ```
/// use std::rc::Rc;
///
/// let (runtime, value) = (tokio::runtime::LocalRuntime::new().unwrap(), Rc::new(1));
/// let task = runtime.spawn_local(async move { *value + 1 });
/// assert_eq!(runtime.block_on(task).unwrap(), 2);
/// ```
#[derive(Debug)]
pub struct LocalRuntime {
    real: real::runtime::LocalRuntime,
    handle: Handle,
}

impl LocalRuntime {
    pub(super) fn of(real: real::runtime::LocalRuntime) -> LocalRuntime {
        let handle = Handle::of_runtime(real.handle());
        LocalRuntime { real, handle }
    }

    /// A runtime with all that the features have.
    ///
    /// # Errors
    /// In a run.
    pub fn new() -> io::Result<LocalRuntime> {
        Builder::new_current_thread().enable_all().build_local(LocalOptions::default())
    }

    /// The handle of the runtime.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Spawns a task, which need not be `Send`.
    #[track_caller]
    pub fn spawn_local<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        JoinHandle::of_runtime(self.real.spawn_local(future))
    }

    /// Calls a function that may block its thread; in a run, in a task of the run.
    #[track_caller]
    pub fn spawn_blocking<F, R>(&self, f: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        self.handle.spawn_blocking(f)
    }

    /// Runs a future to its end on this thread. In a run it fails the run: await the future.
    ///
    /// # Panics
    /// In a task of a runtime.
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        refuse(BLOCKS, Location::caller());
        self.real.block_on(future)
    }

    /// Makes it the runtime of this thread until the guard is dropped. In a run it does nothing.
    pub fn enter(&self) -> EnterGuard<'_> {
        self.handle.enter()
    }

    /// Ends the runtime, and waits for its threads no longer than `duration`.
    pub fn shutdown_timeout(self, duration: Duration) {
        self.real.shutdown_timeout(duration);
    }

    /// Ends the runtime without waiting for its threads.
    pub fn shutdown_background(self) {
        self.real.shutdown_background();
    }

    /// The figures of the runtime.
    pub fn metrics(&self) -> RuntimeMetrics {
        self.real.metrics()
    }
}
