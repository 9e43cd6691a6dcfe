//! shuttle's `thread`: std's. A panic of any thread fails the test.

use std::io;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

pub use std::thread::{
    AccessError, LocalKey, Result, Scope, ScopedJoinHandle, Thread, ThreadId, current, panicking,
    park, park_timeout, scope, sleep, yield_now,
};

/// Calls the function of a thread. Its panic fails the run.
pub(crate) fn failing<T>(body: impl FnOnce() -> T) -> T {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(result) => result,
        Err(payload) => {
            unpause_model::fail();
            resume_unwind(payload)
        }
    }
}

/// Spawns a thread.
///
/// # Panics
/// If the system refuses a thread.
pub fn spawn<F, T>(body: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    JoinHandle(ManuallyDrop::new(thread::spawn(move || failing(body))))
}

/// A thread. The run waits for its end, also if this is dropped.
#[derive(Debug)]
pub struct JoinHandle<T: Send + 'static>(ManuallyDrop<thread::JoinHandle<T>>);

impl<T: Send + 'static> JoinHandle<T> {
    /// Waits for the end of the thread. Returns its result.
    ///
    /// # Errors
    /// If the thread has panicked: its payload.
    pub fn join(self) -> Result<T> {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: taken once, as `self` is not dropped.
        unsafe { ManuallyDrop::take(&mut this.0) }.join()
    }

    /// The thread.
    pub fn thread(&self) -> &Thread {
        self.0.thread()
    }

    /// Returns `true` if the thread has ended.
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }
}

impl<T: Send + 'static> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        // SAFETY: taken once, as this is the end of `self`.
        let thread = unsafe { ManuallyDrop::take(&mut self.0) };
        unpause_model::detach(move || drop(thread.join()));
    }
}

/// std's builder of threads.
#[derive(Debug)]
pub struct Builder(thread::Builder);

impl Default for Builder {
    fn default() -> Builder {
        Builder::new()
    }
}

impl Builder {
    /// A thread without settings.
    pub fn new() -> Builder {
        Builder(thread::Builder::new())
    }

    /// Names the thread.
    #[must_use]
    pub fn name(self, name: String) -> Builder {
        Builder(self.0.name(name))
    }

    /// Sets the size of the stack, if it is larger than 1 MiB: sizes that suffice for shuttle's threads do not for
    /// others.
    #[must_use]
    pub fn stack_size(self, size: usize) -> Builder {
        Builder(self.0.stack_size(size.max(1 << 20)))
    }

    /// Spawns the thread.
    ///
    /// # Errors
    /// If the system refuses a thread.
    pub fn spawn<F, T>(self, body: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.0.spawn(move || failing(body)).map(|thread| JoinHandle(ManuallyDrop::new(thread)))
    }
}
