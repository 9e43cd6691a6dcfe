//! loom's `thread`: std's, but closures need not be `Send`.

use std::fmt;
use std::io;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

pub use std::thread::{
    AccessError, LocalKey, Thread, ThreadId, current, panicking, park, yield_now,
};

#[doc(hidden)]
pub fn __local() {
    unpause_model::local();
}

/// A value of any type that moves to another thread or is shared between threads.
struct Moved<T>(T);

// SAFETY: loom's `spawn` accepts such closures, because it runs all threads of a model on one OS thread, one at a time.
// The engine does the same. On real threads, the test must guarantee that this is sound.
unsafe impl<T> Send for Moved<T> {}

impl<T> Moved<T> {
    /// Takes the value, so that a closure captures all of `self`.
    fn take(self) -> T {
        self.0
    }
}

/// A thread of a model. The run waits for the end of the thread, even if the handle is dropped.
pub struct JoinHandle<T>(ManuallyDrop<thread::JoinHandle<Moved<T>>>);

impl<T> JoinHandle<T> {
    /// Waits for the end of the thread, and returns its result.
    ///
    /// # Errors
    /// Returns the panic payload if the thread has panicked.
    pub fn join(self) -> thread::Result<T> {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: taken only once, because `self` is not dropped.
        let thread = unsafe { ManuallyDrop::take(&mut this.0) };
        joined(thread)
    }

    /// Returns the thread.
    pub fn thread(&self) -> &Thread {
        self.0.thread()
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        // SAFETY: taken only once, because `self` is dropped now.
        let thread = Moved(unsafe { ManuallyDrop::take(&mut self.0) });
        let join = move || drop(joined(thread.take()));
        // SAFETY: the run waits for the thread before it ends. The result of the thread lives as long as the captured
        // values of its closure, which is `'static`.
        unpause_model::detach(unsafe { outliving(join) });
    }
}

/// Waits for the end of a thread. A panic of the thread fails the model.
fn joined<T>(thread: thread::JoinHandle<Moved<T>>) -> thread::Result<T> {
    thread.join().map(Moved::take).inspect_err(|payload| unpause_model::joined_panic(&**payload))
}

/// Returns the same closure without the lifetime of its captures.
///
/// # Safety
/// The captured values must live until the closure is called.
unsafe fn outliving<'a>(act: impl FnOnce() + Send + 'a) -> impl FnOnce() + Send + 'static {
    let boxed: Box<dyn FnOnce() + Send + 'a> = Box::new(act);
    // SAFETY: guaranteed by the caller.
    let boxed: Box<dyn FnOnce() + Send + 'static> = unsafe { std::mem::transmute(boxed) };
    boxed
}

impl<T: fmt::Debug> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}

/// Spawns a thread of the model. A panic of the thread fails the model.
///
/// # Panics
/// If the system cannot create a thread.
pub fn spawn<F, T>(body: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + 'static,
    T: 'static,
{
    match Builder::new().spawn(body) {
        Ok(handle) => handle,
        Err(error) => panic!("the system refuses a thread: {error}"),
    }
}

/// std's builder of threads, for closures that need not be `Send`.
#[derive(Debug)]
pub struct Builder(thread::Builder);

impl Default for Builder {
    fn default() -> Builder {
        Builder::new()
    }
}

impl Builder {
    /// Creates a builder of a thread without settings.
    pub fn new() -> Builder {
        Builder(thread::Builder::new())
    }

    /// Names the thread.
    #[must_use]
    pub fn name(self, name: String) -> Builder {
        Builder(self.0.name(name))
    }

    /// Sets the stack size to the maximum of `size` and 1 MiB, because sizes that suffice for loom's threads may be too
    /// small for real threads.
    #[must_use]
    pub fn stack_size(self, size: usize) -> Builder {
        Builder(self.0.stack_size(size.max(1 << 20)))
    }

    /// Spawns the thread.
    ///
    /// # Errors
    /// If the system cannot create a thread.
    pub fn spawn<F, T>(self, body: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + 'static,
        T: 'static,
    {
        let body = Moved(body);
        let run = move || {
            let body = body.take();
            match catch_unwind(AssertUnwindSafe(body)) {
                Ok(result) => Moved(result),
                Err(payload) => {
                    // As in loom, the model fails even if no thread joins this thread.
                    unpause_model::fail();
                    resume_unwind(payload)
                }
            }
        };
        self.0.spawn(run).map(|thread| JoinHandle(ManuallyDrop::new(thread)))
    }
}
