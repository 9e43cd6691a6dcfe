//! loom's `thread`: std's, for closures that are not `Send` as well.

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

/// A value that moves to another thread, or is used by several, whatever its type.
struct Moved<T>(T);

// SAFETY: loom's `spawn` takes such closures, because it runs all threads of a model on one thread of the system, one
// at a time. So does the engine. On real threads it is the test that promises it.
unsafe impl<T> Send for Moved<T> {}

impl<T> Moved<T> {
    /// Takes the value, so that a closure captures the whole of `self`.
    fn take(self) -> T {
        self.0
    }
}

/// A thread of a model. The run waits for its end, also if this is dropped.
pub struct JoinHandle<T>(ManuallyDrop<thread::JoinHandle<Moved<T>>>);

impl<T> JoinHandle<T> {
    /// Waits for the end of the thread. Returns its result.
    ///
    /// # Errors
    /// If the thread has panicked: its payload.
    pub fn join(self) -> thread::Result<T> {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: taken once, as `self` is not dropped.
        let thread = unsafe { ManuallyDrop::take(&mut this.0) };
        thread.join().map(Moved::take)
    }

    /// The thread.
    pub fn thread(&self) -> &Thread {
        self.0.thread()
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        // SAFETY: taken once, as this is the end of `self`.
        let thread = Moved(unsafe { ManuallyDrop::take(&mut self.0) });
        let join = move || drop(thread.take().join());
        // SAFETY: the run waits for the thread before it ends. The result of the thread lives as long as the values
        // that its closure has captured, which is `'static`.
        unpause_model::detach(unsafe { outliving(join) });
    }
}

/// The same closure without the lifetime of its captures.
///
/// # Safety
/// Its captured values live until it is called.
unsafe fn outliving<'a>(act: impl FnOnce() + Send + 'a) -> impl FnOnce() + Send + 'static {
    let boxed: Box<dyn FnOnce() + Send + 'a> = Box::new(act);
    // SAFETY: the caller's.
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
/// If the system refuses a thread.
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

/// std's builder of threads, for closures that are not `Send` as well.
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

    /// Sets the size of the stack, if it is larger than 1 MiB: sizes that suffice for loom's threads do not for others.
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
        F: FnOnce() -> T + 'static,
        T: 'static,
    {
        let body = Moved(body);
        let run = move || {
            let body = body.take();
            match catch_unwind(AssertUnwindSafe(body)) {
                Ok(result) => Moved(result),
                Err(payload) => {
                    // loom's models fail, whether somebody joins the thread or not.
                    unpause_model::fail();
                    resume_unwind(payload)
                }
            }
        };
        self.0.spawn(run).map(|thread| JoinHandle(ManuallyDrop::new(thread)))
    }
}
