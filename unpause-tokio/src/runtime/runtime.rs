//! A runtime.

use std::future::Future;
use std::panic::Location;
use std::time::Duration;

use real::runtime::RuntimeMetrics;
use sim::__private::refuse;

use super::{BLOCKS, EnterGuard, Handle};
use crate::task::JoinHandle;

/// A runtime: tokio's [`Runtime`](real::runtime::Runtime).
///
/// In a run none can be made, and one that exists spawns into the run.
///
/// ```
/// let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// assert_eq!(runtime.block_on(async { 1 + 1 }), 2);
/// ```
#[derive(Debug)]
pub struct Runtime {
    real: real::runtime::Runtime,
    handle: Handle,
}

impl Runtime {
    pub(super) fn of(real: real::runtime::Runtime) -> Runtime {
        let handle = Handle::of_runtime(real.handle());
        Runtime { real, handle }
    }

    /// A runtime with a thread for each processor.
    ///
    /// # Errors
    /// In a run, and if the system gives no threads.
    #[cfg(feature = "rt-multi-thread")]
    pub fn new() -> std::io::Result<Runtime> {
        super::Builder::new_multi_thread().enable_all().build()
    }

    /// The handle of the runtime.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Spawns a task; in a run, into the run.
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.handle.spawn(future)
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
