//! loom's `thread`: std's, but closures need not be `Send`.

use std::cell::UnsafeCell;
use std::fmt;
use std::io;
use std::mem::{ManuallyDrop, needs_drop};
use std::panic::{AssertUnwindSafe, RefUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::thread;

pub use std::thread::{
    AccessError, LocalKey, Thread, ThreadId, current, panicking, park, yield_now,
};

#[doc(hidden)]
pub fn __local(has_destructor: bool) {
    // A value without a destructor owns no objects.
    if has_destructor {
        unpause_model::local();
    }
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

/// The place of a result with a destructor, shared by the thread and its handle. The last owner drops the
/// result, so the result of a thread without a handle is dropped by the thread.
struct Packet<T>(UnsafeCell<Option<T>>);

// SAFETY: as for `Moved`.
unsafe impl<T> Send for Packet<T> {}
// SAFETY: the thread writes the result, and the handle takes it after the end of the thread. Also as for `Moved`.
unsafe impl<T> Sync for Packet<T> {}
impl<T> RefUnwindSafe for Packet<T> {}

/// A thread of a model. The run waits for the end of the thread, even if the handle is dropped.
pub struct JoinHandle<T> {
    /// std's handle. Its result is `None` if the result is in the packet.
    handle: ManuallyDrop<thread::JoinHandle<Option<Moved<T>>>>,
    packet: Option<Arc<Packet<T>>>,
}

impl<T> JoinHandle<T> {
    /// Waits for the end of the thread, and returns its result.
    ///
    /// # Errors
    /// Returns the panic payload if the thread has panicked.
    pub fn join(self) -> thread::Result<T> {
        let mut this = ManuallyDrop::new(self);
        let packet = this.packet.take();
        // SAFETY: taken only once, because `self` is not dropped.
        let handle = unsafe { ManuallyDrop::take(&mut this.handle) };
        let result = joined(handle)?.map(Moved::take);
        let in_packet = packet.and_then(|packet| {
            // SAFETY: the thread has ended.
            unsafe { (*packet.0.get()).take() }
        });
        match result.or(in_packet) {
            Some(result) => Ok(result),
            None => unreachable!("a thread that has not panicked has a result"),
        }
    }

    /// Returns the thread.
    pub fn thread(&self) -> &Thread {
        self.handle.thread()
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        // SAFETY: taken only once, because `self` is dropped now.
        let handle = Moved(unsafe { ManuallyDrop::take(&mut self.handle) });
        let join = move || drop(joined(handle.take()));
        // SAFETY: the run waits for the thread before it ends. The result of the thread lives as long as the captured
        // values of its closure, which is `'static`.
        unpause_model::detach(unsafe { outliving(join) });
    }
}

/// Waits for the end of a thread. A panic of the thread fails the model.
fn joined<T>(handle: thread::JoinHandle<T>) -> thread::Result<T> {
    handle.join().inspect_err(|payload| unpause_model::joined_panic(&**payload))
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
        let packet = needs_drop::<T>().then(|| Arc::new(Packet(UnsafeCell::new(None))));
        let of_thread = packet.clone();
        let body = Moved(body);
        let run = move || {
            let body = body.take();
            let body = move || {
                let result = body();
                let Some(packet) = of_thread else { return Some(Moved(result)) };
                // SAFETY: the handle reads the result after the end of the thread.
                unsafe { *packet.0.get() = Some(result) };
                None
            };
            match catch_unwind(AssertUnwindSafe(body)) {
                Ok(result) => result,
                Err(payload) => {
                    // As in loom, the model fails even if no thread joins this thread.
                    unpause_model::fail();
                    resume_unwind(payload)
                }
            }
        };
        let handle = ManuallyDrop::new(self.0.spawn(run)?);
        Ok(JoinHandle { handle, packet })
    }
}
