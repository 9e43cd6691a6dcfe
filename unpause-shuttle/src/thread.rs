//! shuttle's `thread`: std's. A panic of any thread fails the test.

use std::cell::Cell;
use std::io;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

pub use std::thread::{
    AccessError, LocalKey, Result, panicking, park, park_timeout, sleep, yield_now,
};

use crate::current::TaskId;
use crate::labels;

thread_local! {
    /// The number of the thread in its run, if it has one.
    static NUMBER: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Makes the current thread the first thread of its run.
pub(crate) fn begin() {
    NUMBER.set(Some(0));
    labels::clear();
}

/// Returns the number of the current thread. A thread spawned through std gets its number here.
pub(crate) fn number() -> usize {
    NUMBER.get().unwrap_or_else(|| {
        let number = unpause_model::number();
        NUMBER.set(Some(number));
        number
    })
}

/// The number of a thread in its run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ThreadId(usize);

impl From<ThreadId> for usize {
    fn from(id: ThreadId) -> usize {
        id.0
    }
}

/// A thread of a run.
#[derive(Clone, Debug)]
pub struct Thread {
    thread: thread::Thread,
    id: ThreadId,
}

impl Thread {
    /// Returns the name of the thread.
    pub fn name(&self) -> Option<&str> {
        self.thread.name()
    }

    /// Returns the number of the thread in its run.
    pub fn id(&self) -> ThreadId {
        self.id
    }

    /// Lets the thread's current or next `park` return.
    pub fn unpark(&self) {
        self.thread.unpark();
    }
}

/// Returns the current thread.
pub fn current() -> Thread {
    Thread { thread: thread::current(), id: ThreadId(number()) }
}

/// Returns the number of a new thread, and a function for the new thread to call first. The new thread inherits the
/// labels of the current thread.
pub(crate) fn child() -> (usize, impl FnOnce() + Send + 'static) {
    let number = unpause_model::number();
    let has_labels = labels::inherit(TaskId::from(number));
    (number, move || {
        NUMBER.set(Some(number));
        if has_labels {
            labels::begin();
        }
    })
}

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
/// If the system cannot create a thread.
pub fn spawn<F, T>(body: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    match Builder::new().spawn(body) {
        Ok(handle) => handle,
        Err(error) => panic!("the system refuses a thread: {error}"),
    }
}

/// The handle of a thread. The run waits for the end of the thread, even if the handle is dropped.
#[derive(Debug)]
pub struct JoinHandle<T> {
    handle: ManuallyDrop<thread::JoinHandle<T>>,
    thread: Thread,
}

impl<T> JoinHandle<T> {
    /// Waits for the end of the thread, and returns its result.
    ///
    /// # Errors
    /// Returns the panic payload if the thread has panicked.
    pub fn join(self) -> Result<T> {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: taken only once, because `self` is not dropped.
        joined(unsafe { ManuallyDrop::take(&mut this.handle) }.join())
    }

    /// Returns the thread.
    pub fn thread(&self) -> &Thread {
        &self.thread
    }

    /// Returns `true` if the thread has ended.
    pub fn is_finished(&self) -> bool {
        self.handle.is_finished()
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        // SAFETY: taken only once, because `self` is dropped now.
        let thread = unsafe { ManuallyDrop::take(&mut self.handle) };
        // SAFETY: the result of the thread is `'static`, because `Builder::spawn` requires it.
        unpause_model::detach(unsafe { outliving(move || drop(joined(thread.join()))) });
    }
}

/// Records the panic of a joined thread. It fails the run.
fn joined<T>(result: Result<T>) -> Result<T> {
    result.inspect_err(|payload| unpause_model::joined_panic(&**payload))
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

/// Calls `body` with a scope for threads that may borrow values. All threads of the scope end before the call returns.
///
/// # Panics
/// If a thread has panicked whose handle was not joined.
pub fn scope<'env, F, T>(body: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    thread::scope(|scope| body(Scope::of_std(scope)))
}

/// std's scope of threads, whose threads have shuttle's numbers and labels.
#[derive(Debug)]
#[repr(transparent)]
pub struct Scope<'scope, 'env: 'scope>(thread::Scope<'scope, 'env>);

impl<'scope, 'env> Scope<'scope, 'env> {
    fn of_std(scope: &'scope thread::Scope<'scope, 'env>) -> &'scope Scope<'scope, 'env> {
        let scope: *const thread::Scope<'scope, 'env> = scope;
        // SAFETY: both types have the same layout.
        unsafe { &*scope.cast::<Scope<'scope, 'env>>() }
    }

    /// Spawns a thread. Its panic fails the run, even if the handle is joined.
    pub fn spawn<F, T>(&'scope self, body: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let (number, begin) = child();
        let handle = self.0.spawn(move || {
            begin();
            failing(body)
        });
        let thread = Thread { thread: handle.thread().clone(), id: ThreadId(number) };
        ScopedJoinHandle { handle, thread }
    }
}

/// The handle of a thread of a [`Scope`].
#[derive(Debug)]
pub struct ScopedJoinHandle<'scope, T> {
    handle: thread::ScopedJoinHandle<'scope, T>,
    thread: Thread,
}

impl<T> ScopedJoinHandle<'_, T> {
    /// Waits for the end of the thread, and returns its result.
    ///
    /// # Errors
    /// Returns the panic payload if the thread has panicked.
    pub fn join(self) -> Result<T> {
        joined(self.handle.join())
    }

    /// Returns the thread.
    pub fn thread(&self) -> &Thread {
        &self.thread
    }

    /// Returns `true` if the thread has ended.
    pub fn is_finished(&self) -> bool {
        self.handle.is_finished()
    }
}

/// std's thread builder.
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

    /// Sets the stack size to the maximum of `size` and 1 MiB, because sizes that suffice for shuttle's threads may be
    /// too small for real threads.
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
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let (number, begin) = child();
        let run = move || {
            begin();
            failing(body)
        };
        self.0.spawn(run).map(|handle| {
            let thread = Thread { thread: handle.thread().clone(), id: ThreadId(number) };
            JoinHandle { handle: ManuallyDrop::new(handle), thread }
        })
    }
}
