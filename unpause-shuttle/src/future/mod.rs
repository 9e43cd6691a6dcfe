//! shuttle's `future`: each task is a thread that polls its future and blocks until it is woken.

pub mod batch_semaphore;

use std::any::Any;
use std::cell::{Cell, UnsafeCell};
use std::error::Error;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::pin::{Pin, pin};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use unpause_model::Flag;

use crate::thread::{child, failing, has_each_order};

/// The wake-ups of one future. They are separate from the park token of the thread, which belongs to the program, and
/// from the wake-ups of other futures on the same thread.
#[derive(Debug, Default)]
struct Woken {
    is_set: Mutex<bool>,
    changed: Condvar,
}

impl Woken {
    fn set(&self) {
        *self.is_set.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_one();
    }

    /// Waits for a wake-up, and resets it.
    fn wait(&self) {
        let is_set = self.is_set.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_while(is_set, |is_set| !*is_set);
        *waited.unwrap_or_else(PoisonError::into_inner) = false;
    }
}

thread_local! {
    /// A variable whose address identifies the current thread. Unlike `thread::current`, it counts no references.
    static THREAD: u8 = const { 0 };
}

/// Returns a number that differs between threads that exist at the same time.
fn this_thread() -> usize {
    THREAD.with(|variable| ptr::from_ref(variable).addr())
}

/// The waker of a future. A future that wakes itself during its poll only lets other tasks run first, as in shuttle. A
/// notification would change memory in each round of a loop, and the loop could not be recognised.
struct FutureWaker {
    woken: Arc<Woken>,
    /// The thread that polls the future.
    thread: usize,
    /// True if the future has woken itself since its last poll began.
    by_itself: Cell<bool>,
}

// SAFETY: only the thread that polls the future accesses `by_itself`. If another thread has the same number, the
// polling thread has ended.
unsafe impl Send for FutureWaker {}
// SAFETY: as for `Send`.
unsafe impl Sync for FutureWaker {}

impl Wake for FutureWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.thread == this_thread() {
            self.by_itself.set(true);
        } else {
            self.woken.set();
        }
    }
}

/// A variable of a task and its handles. If the search executes each order of steps, accesses to it are no steps,
/// because the tasks of shuttle have no such steps.
#[derive(Default, Debug)]
struct Bit {
    with_steps: AtomicBool,
    without_steps: Flag,
}

impl Bit {
    fn set(&self) {
        match has_each_order() {
            true => self.without_steps.set(),
            false => self.with_steps.store(true, SeqCst),
        }
    }

    fn get(&self) -> bool {
        match has_each_order() {
            true => self.without_steps.get(),
            false => self.with_steps.load(SeqCst),
        }
    }
}

/// Polls a future until it is ready. The thread is blocked while it waits.
pub fn block_on<F: Future>(future: F) -> F::Output {
    match run(future, &Bit::default(), &Arc::default()) {
        Some(output) => output,
        None => unreachable!("nobody aborts it"),
    }
}

/// Polls a future until it is ready, or until it `is_aborted`.
fn run<F: Future>(future: F, is_aborted: &Bit, woken: &Arc<Woken>) -> Option<F::Output> {
    let (woken, thread) = (woken.clone(), this_thread());
    let own = Arc::new(FutureWaker { woken, thread, by_itself: Cell::new(false) });
    let waker = Waker::from(own.clone());
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if is_aborted.get() {
            return None;
        }
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return Some(output),
            Poll::Pending if own.by_itself.take() => thread::yield_now(),
            Poll::Pending => own.woken.wait(),
        }
    }
}

/// Yields once to other tasks.
pub async fn yield_now() {
    let mut has_yielded = false;
    poll_fn(|context| {
        if std::mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// The error of a task that returned no result.
#[derive(Debug, PartialEq, Eq)]
pub enum JoinError {
    /// The task was aborted.
    Cancelled,
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("task was cancelled")
    }
}

impl Error for JoinError {}

/// The result of a task, and the waker of the joining task.
struct Ended<T> {
    result: Option<Result<T, JoinError>>,
    /// The panic of the task. On real threads, the joining task must get it, or it would wait forever.
    panic: Option<Box<dyn Any + Send>>,
    is_finished: bool,
    waker: Option<Waker>,
}

/// The state of a task, shared with its handles.
struct Shared<T> {
    control: Arc<Control>,
    lock: Mutex<()>,
    ended: UnsafeCell<Ended<T>>,
}

// SAFETY: only `with_ended` accesses `ended`. The task and its handle may be on different threads: see `Moved`.
unsafe impl<T> Send for Shared<T> {}
// SAFETY: as for `Send`.
unsafe impl<T> Sync for Shared<T> {}

/// The state by which handles control a task.
#[derive(Debug)]
struct Control {
    is_aborted: Bit,
    is_finished: Bit,
    woken: Arc<Woken>,
}

impl Control {
    fn abort(&self) {
        self.is_aborted.set();
        self.woken.set();
    }
}

impl<T> Shared<T> {
    /// Calls `act`. If the search executes each order of steps, the call is no step, like the accesses to a [`Bit`].
    /// `act` then must have no operations except reference counts, which are no operations in such a search.
    fn with_ended<R>(&self, act: impl FnOnce(&mut Ended<T>) -> R) -> R {
        let lock = || self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        let _lock = (!has_each_order()).then(lock);
        // SAFETY: the lock is held. Without the lock, the engine executes one thread at a time, and no other thread
        // continues before the end of `act`, because it has no operations.
        act(unsafe { &mut *self.ended.get() })
    }
}

/// Aborts a task.
#[derive(Clone, Debug)]
pub struct AbortHandle(Arc<Control>);

impl AbortHandle {
    /// Aborts the task, before its next poll.
    pub fn abort(&self) {
        self.0.abort();
    }

    /// Returns `true` if the task has ended.
    pub fn is_finished(&self) -> bool {
        self.0.is_finished.get()
    }
}

/// Waits for a task, and controls it.
pub struct JoinHandle<T>(Arc<Shared<T>>);

impl<T> JoinHandle<T> {
    /// Aborts the task, before its next poll.
    pub fn abort(&self) {
        self.0.control.abort();
    }

    /// Returns `true` if the task has ended.
    pub fn is_finished(&self) -> bool {
        self.0.control.is_finished.get()
    }

    /// Returns a handle that aborts the task.
    pub fn abort_handle(&self) -> AbortHandle {
        AbortHandle(self.0.control.clone())
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let (result, panic, is_finished, _replaced) = self.0.with_ended(|ended| {
            let (result, panic) = (ended.result.take(), ended.panic.take());
            let waits = result.is_none() && panic.is_none() && !ended.is_finished;
            let waker = waits.then(|| context.waker().clone());
            let replaced = waker.and_then(|waker| ended.waker.replace(waker));
            (result, panic, ended.is_finished, replaced)
        });
        if let Some(payload) = panic {
            resume_unwind(payload);
        }
        match result {
            Some(result) => Poll::Ready(result),
            None if is_finished => panic!("a handle is polled after it was ready"),
            None => Poll::Pending,
        }
    }
}

/// A value of any type that moves to another thread.
struct Moved<T>(T);

// SAFETY: shuttle polls the tasks of a test on one OS thread, one at a time. The engine does the same. On real threads,
// the test must guarantee that this is sound.
unsafe impl<T> Send for Moved<T> {}
// SAFETY: as for `Send`.
unsafe impl<T> Sync for Moved<T> {}

impl<T> Moved<T> {
    /// Takes the value, so that a closure captures all of `self`.
    fn take(self) -> T {
        self.0
    }
}

/// Spawns a task.
///
/// # Panics
/// If the system cannot create a thread.
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    spawn_local(future)
}

/// Spawns a task that need not be `Send`.
///
/// # Panics
/// If the system cannot create a thread.
#[track_caller]
pub fn spawn_local<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    let control = Arc::new(Control {
        is_aborted: Bit::default(),
        is_finished: Bit::default(),
        woken: Arc::default(),
    });
    let ended =
        UnsafeCell::new(Ended { result: None, panic: None, is_finished: false, waker: None });
    let shared = Arc::new(Shared { control, lock: Mutex::new(()), ended });
    let moved = Moved((future, shared.clone()));
    let (_, begin) = child(Location::caller());
    drop(thread::spawn(move || {
        begin();
        let (future, shared) = moved.take();
        let control = &shared.control;
        let run = || failing(|| run(future, &control.is_aborted, &control.woken));
        let (result, panic) = match catch_unwind(AssertUnwindSafe(run)) {
            Ok(output) => (Some(output.ok_or(JoinError::Cancelled)), None),
            Err(payload) => {
                // On real threads, the panic would be lost if no task awaits the handle.
                unpause_model::joined_panic(&*payload);
                (None, Some(payload))
            }
        };
        crate::thread::end();
        let waker = shared.with_ended(|ended| {
            // A task that gets the result sees that the task has ended.
            shared.control.is_finished.set();
            (ended.result, ended.panic, ended.is_finished) = (result, panic, true);
            ended.waker.take()
        });
        if let Some(waker) = waker {
            waker.wake();
        }
    }));
    JoinHandle(shared)
}
