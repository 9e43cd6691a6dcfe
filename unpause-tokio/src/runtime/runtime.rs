//! A runtime.

use std::future::Future;

use super::Handle;
use crate::task::JoinHandle;

/// A runtime: tokio's [`Runtime`](real::runtime::Runtime).
///
/// A run refuses to create a runtime. An existing runtime spawns into the run.
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

    /// Creates a runtime with one thread per processor.
    ///
    /// # Errors
    /// In a run, or if the system cannot create threads.
    #[cfg(feature = "rt-multi-thread")]
    pub fn new() -> std::io::Result<Runtime> {
        super::Builder::new_multi_thread().enable_all().build()
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
}

shared!(Runtime);
