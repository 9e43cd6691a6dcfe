//! A runtime for tasks that need not be `Send`.

use std::future::Future;
use std::io;

use real::runtime::LocalOptions;

use super::{Builder, Handle};
use crate::task::JoinHandle;

/// A runtime on one thread: tokio's [`LocalRuntime`](real::runtime::LocalRuntime). A run refuses to create one.
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

    /// Creates a runtime with all drivers that the features enable.
    ///
    /// # Errors
    /// In a run.
    pub fn new() -> io::Result<LocalRuntime> {
        Builder::new_current_thread().enable_all().build_local(LocalOptions::default())
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
}

shared!(LocalRuntime);
