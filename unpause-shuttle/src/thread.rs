//! shuttle's `thread`: std's. A panic of any thread fails the test.

use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, compiler_fence};
use std::thread;
use std::time::Duration;

pub use std::thread::{AccessError, LocalKey, Result, panicking, yield_now};

use crate::current::TaskId;
use crate::events::{self, Created};
use crate::labels;
use crate::scheduler::Demands;

thread_local! {
    /// The number of the thread in its run, if it has one.
    static NUMBER: Cell<Option<usize>> = const { Cell::new(None) };
    /// The demands of the check.
    static DEMANDS: Cell<Demands> = const { Cell::new(Demands::NONE) };
    /// A variable that is set at the end of the thread. It exists only if a queue needs it.
    static HAS_ENDED: Cell<Option<&'static AtomicBool>> = const { Cell::new(None) };
}

/// Makes the current thread the first thread of its run.
pub(crate) fn begin(demands: Demands, created: Option<Created>) {
    NUMBER.set(Some(0));
    DEMANDS.set(Demands { key: demands.key.map(|_| crate::rand::begin()), ..demands });
    events::begin(created);
    labels::clear();
}

/// Returns `true` if the current thread belongs to a run of a check. On real threads, a thread that was spawned through
/// std is not known.
pub(crate) fn is_in_run() -> bool {
    NUMBER.get().is_some() || unpause_model::is_stepped() && unpause_model::is_running()
}

/// Panics if the check does not allow random numbers.
pub(crate) fn assert_random() {
    // shuttle's words.
    assert!(
        !DEMANDS.get().refuses_random,
        "requested random data from DFS scheduler with allow_random_data = false"
    );
}

/// Returns the key of the random numbers of the run, if other random bytes differ when the run is repeated.
pub(crate) fn key() -> Option<u64> {
    DEMANDS.get().key
}

/// Lets other threads run first if the scheduler needs shuttle's steps. shuttle has such steps before a spawn and at
/// the end of the body, and the engine has none.
pub(crate) fn order() {
    if DEMANDS.get().adds_steps {
        yield_now();
    }
}

/// Waits at the end of the body for all other threads, if the search executes each order of steps and a thread has no
/// handle. In shuttle, the end of a run waits for all such threads at once. Here it joins one after another, and each
/// join could come before or after the steps of the others.
pub(crate) fn wait_for_detached() {
    if has_each_order() && unpause_model::has_detached() {
        unpause_model::await_others();
    }
}

/// Returns `true` if the search executes each order of steps. The search then needs no operations to know which steps
/// conflict.
pub(crate) fn has_each_order() -> bool {
    DEMANDS.get().each_order
}

/// Returns a variable that [`end`] sets when the current thread ends. The variable is never freed, except with the
/// memory of the run.
pub(crate) fn has_ended() -> &'static AtomicBool {
    let ended = HAS_ENDED.get().unwrap_or_else(|| Box::leak(Box::default()));
    HAS_ENDED.set(Some(ended));
    ended
}

/// Records that the function of the current thread has returned.
pub(crate) fn end() {
    if let Some(ended) = HAS_ENDED.get() {
        ended.store(true, Ordering::SeqCst);
    }
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
pub(crate) fn child(place: &'static Location<'static>) -> (usize, impl FnOnce() + Send + 'static) {
    order();
    let number = unpause_model::number();
    labels::inherit(TaskId::from(number));
    let (demands, inherited) = (DEMANDS.get(), events::created(number, place));
    (number, move || {
        NUMBER.set(Some(number));
        DEMANDS.set(demands);
        events::inherit(inherited);
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
#[track_caller]
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

/// The place of the result of a thread, shared by the thread and its handle. The last owner drops the result. So a
/// thread without a handle drops its result before its thread-locals.
struct Packet<T>(UnsafeCell<Option<T>>);

// SAFETY: the thread writes the result, and the handle takes it after the end of the thread.
unsafe impl<T: Send> Sync for Packet<T> {}

/// The handle of a thread. The run waits for the end of the thread, even if the handle is dropped.
pub struct JoinHandle<T> {
    /// std's handle; `None` after a join.
    handle: Option<thread::JoinHandle<()>>,
    result: Arc<Packet<T>>,
    thread: Thread,
}

// SAFETY: the result is `Send`, because `Builder::spawn` requires it.
unsafe impl<T> Send for JoinHandle<T> {}
// SAFETY: as for `Send`.
unsafe impl<T> Sync for JoinHandle<T> {}

impl<T> JoinHandle<T> {
    /// Waits for the end of the thread, and returns its result.
    ///
    /// # Errors
    /// Returns the panic payload if the thread has panicked.
    pub fn join(mut self) -> Result<T> {
        if let Some(handle) = self.handle.take() {
            joined(handle.join())?;
        }
        // SAFETY: the thread has ended.
        match unsafe { (*self.result.0.get()).take() } {
            Some(result) => Ok(result),
            None => unreachable!("a thread that has not panicked has a result"),
        }
    }

    /// Returns the thread.
    pub fn thread(&self) -> &Thread {
        &self.thread
    }

    /// Returns `true` if the thread has ended.
    pub fn is_finished(&self) -> bool {
        self.handle.as_ref().is_none_or(thread::JoinHandle::is_finished)
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").field("thread", &self.thread).finish_non_exhaustive()
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take() {
            unpause_model::detach(move || drop(joined(handle.join())));
        }
    }
}

// The engine knows the three functions below by their names: in a run, they promise less than std's functions. So each
// of them stays on the call stack while it calls std: a last call would be a jump.

/// Lets other threads run first. Under the engine, runs of seeds do not wait: a sleep orders no threads, as in shuttle.
/// The virtual time passes. In a search, and on real threads, this is std's function.
#[inline(never)]
pub fn sleep(time: Duration) {
    thread::sleep(time);
    compiler_fence(Ordering::SeqCst);
}

/// Waits until another thread unparks the current thread. Under the engine, the wait may end at any moment, as in
/// shuttle. If no thread can continue otherwise, it is a deadlock.
#[inline(never)]
pub fn park() {
    thread::park();
    compiler_fence(Ordering::SeqCst);
}

/// Like [`park`], with a time limit.
#[inline(never)]
pub fn park_timeout(time: Duration) {
    thread::park_timeout(time);
    compiler_fence(Ordering::SeqCst);
}

/// Records the panic of a joined thread. It fails the run.
fn joined<T>(result: Result<T>) -> Result<T> {
    result.inspect_err(|payload| unpause_model::joined_panic(&**payload))
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
    #[track_caller]
    pub fn spawn<F, T>(&'scope self, body: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let (number, begin) = child(Location::caller());
        let handle = self.0.spawn(move || {
            begin();
            let result = failing(body);
            end();
            result
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
    #[track_caller]
    pub fn spawn<F, T>(self, body: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let (number, begin) = child(Location::caller());
        let result = Arc::new(Packet(UnsafeCell::new(None)));
        let packet = result.clone();
        let run = move || {
            begin();
            failing(move || {
                let result = body();
                // SAFETY: the handle takes the result only after the end of this thread.
                unsafe { *packet.0.get() = Some(result) };
                drop(packet);
                end();
            });
        };
        self.0.spawn(run).map(|handle| {
            let thread = Thread { thread: handle.thread().clone(), id: ThreadId(number) };
            JoinHandle { handle: Some(handle), result, thread }
        })
    }
}
