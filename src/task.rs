//! Tasks: spawning, waiting, yielding.
//!
//! In a run, a task is one more thread of execution of the simulated program. Outside a run, a task is run by the
//! program's spawner (set once with [`set_spawner`]), or else by its own OS thread.

mod abort;
mod at_end;
pub(crate) mod branches;
mod by_hand;
mod cancellable;
pub mod coop;
mod join_set;
mod local_set;
mod locals;
mod macros;
mod park;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use ::futures::future::BoxFuture;

use crate::run::op::{Access, Op};
use crate::seam::{self, Here, here};

pub use self::abort::AbortHandle;
pub use self::at_end::at_end;
pub use self::by_hand::by_hand;
pub use self::cancellable::{Cancellable, cancellable};
pub use self::coop::{consume_budget, unconstrained};
pub use self::join_set::JoinSet;
pub use self::local_set::{LocalEnterGuard, LocalSet, spawn_local};
#[doc(no_inline)]
pub use self::locals::task_local;
pub use self::locals::{AccessError, LocalKey};
#[doc(no_inline)]
pub use self::macros::{join, select, try_join};
pub use self::park::{Unparker, park, unparker};
pub use crate::seam::{Id, JoinError};

/// Named future types.
pub mod futures {
    pub use super::locals::TaskLocalFuture;
}

const YIELD: Op = Op::new("yield_now", Access::Yield);

/// Spawns a task.
///
/// This call is not a point: the new task can step from the next point of the spawning task on. If a task panics, the
/// run fails. Outside a run, the [`JoinError`] contains the panic.
///
/// ```
/// # sim::block_on(async {
/// let task = sim::spawn(async { 1 + 1 });
/// assert_eq!(task.await.unwrap(), 2);
/// # });
/// ```
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    spawn_at(None, future, here())
}

fn spawn_at<F>(name: Option<Arc<str>>, future: F, here: Here) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    JoinHandle::of(seam::spawn(name, here, future), here)
}

/// Spawns a task that calls `work` once. Outside of runs, `work` may block its thread.
///
/// In a run it is a task of one step: `work` must not wait for another task, because all tasks of a run share a thread.
/// Outside of runs it has its own thread, whatever the [spawner](set_spawner) is. This call is not a point.
///
/// ```
/// # sim::block_on(async {
/// let task = sim::task::spawn_blocking(|| 1 + 1);
/// assert_eq!(task.await.unwrap(), 2);
/// # });
/// ```
#[track_caller]
pub fn spawn_blocking<R: Send + 'static>(
    work: impl FnOnce() -> R + Send + 'static,
) -> JoinHandle<R> {
    let here = here();
    JoinHandle::of(seam::spawn_blocking(here, work), here)
}

/// Calls `work`, which may block its thread outside of runs. Unlike tokio's, it does not move other tasks to another
/// thread.
///
/// ```
/// assert_eq!(sim::task::block_in_place(|| 1 + 1), 2);
/// ```
pub fn block_in_place<R>(work: impl FnOnce() -> R) -> R {
    work()
}

/// Builder for a task with a name.
///
/// ```
/// # sim::block_on(async {
/// let task = sim::task::Builder::new().name("writer").spawn(async { 1 });
/// assert_eq!(task.await.unwrap(), 1);
/// # });
/// ```
#[derive(Clone, Debug, Default)]
pub struct Builder {
    name: Option<Arc<str>>,
}

impl Builder {
    /// Creates a builder for a task without a name.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// Sets the name, which reports show beside the task's path. The name need not be unique.
    #[must_use]
    pub fn name(mut self, name: impl AsRef<str>) -> Builder {
        self.name = Some(name.as_ref().into());
        self
    }

    /// Spawns the task; see [`spawn`].
    #[track_caller]
    pub fn spawn<F>(self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        spawn_at(self.name, future, here())
    }
}

/// Waits for a task and returns its result: tokio's `JoinHandle`.
///
/// The await is a point: even if the task has ended, other tasks may step first. A poll [by hand](by_hand()) is not a
/// point, and returns the result if the task has ended. A poll after the result was returned panics.
///
/// Dropping the handle detaches the task. A run reports tasks still running when the test body ends, unless they were
/// detached before.
///
/// ```
/// use sim::time::{Duration, timeout};
///
/// # sim::block_on(async {
/// let mut task = sim::spawn(async { sim::task::park().await });
/// // A dropped wait does not end the task.
/// assert!(timeout(Duration::from_millis(1), &mut task).await.is_err());
/// task.unparker().unpark();
/// assert!(task.await.is_ok());
/// # });
/// ```
#[must_use = "dropping the handle detaches the task"]
pub struct JoinHandle<T> {
    /// `None` once `detach` has taken the handle.
    handle: Option<seam::Handle<T>>,
    /// `true` if this handle has returned the result of the task.
    joined: bool,
    here: Here,
}

impl<T> JoinHandle<T> {
    fn of(handle: seam::Handle<T>, here: Here) -> JoinHandle<T> {
        JoinHandle { handle: Some(handle), joined: false, here }
    }

    /// Spawns a task and returns its handle.
    pub(crate) fn spawned<F>(name: Option<Arc<str>>, future: F, here: Here) -> JoinHandle<T>
    where
        F: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        spawn_at(name, future, here)
    }

    /// Aborts the task before its next step. This call is not a point. Waiting for the task then returns an error that
    /// [is an abort](JoinError::is_cancelled), unless the task ended first.
    ///
    /// ```
    /// # sim::block_on(async {
    /// let task = sim::spawn(std::future::pending::<()>());
    /// task.abort();
    /// assert!(task.await.unwrap_err().is_cancelled());
    /// # });
    /// ```
    #[track_caller]
    pub fn abort(&self) {
        if let Some(handle) = &self.handle {
            handle.abort(here());
        }
    }

    /// Returns the id of the task.
    pub fn id(&self) -> Id {
        self.handle.as_ref().expect("a detached task has no handle").id()
    }

    /// Returns a handle that can only end the task. This handle does not prevent the task from being
    /// [detached](Self::detach).
    pub fn abort_handle(&self) -> AbortHandle {
        let handle = self.handle.as_ref().expect("a detached task has no handle");
        AbortHandle(handle.stopper())
    }

    /// Returns the handle that [unparks](Unparker::unpark) the task.
    pub fn unparker(&self) -> Unparker {
        Unparker(self.handle.as_ref().expect("a detached task has no handle").unparker())
    }

    /// Returns `true` if the task has ended. This call is not a point.
    ///
    /// ```
    /// # sim::block_on(async {
    /// let task = sim::spawn(std::future::pending::<()>());
    /// assert!(!task.is_finished());
    /// task.abort();
    /// while !task.is_finished() {
    ///     sim::task::yield_now().await;
    /// }
    /// assert!(task.await.is_err());
    /// # });
    /// ```
    pub fn is_finished(&self) -> bool {
        self.handle.as_ref().is_none_or(seam::Handle::is_finished)
    }

    /// Detaches the task: the run does not report it if it is still running at the end of the run.
    ///
    /// ```
    /// use sim::{Atomic, Ordering::SeqCst};
    /// use std::sync::Arc;
    ///
    /// # sim::block_on(async {
    /// let is_done = Arc::new(Atomic::new(false));
    /// let own = is_done.clone();
    /// sim::spawn(async move { own.store(true, SeqCst).await }).detach();
    /// sim::spin_until(|| is_done.load(SeqCst)).await;
    /// assert!(is_done.load(SeqCst).await);
    /// # });
    /// ```
    pub fn detach(mut self) {
        if let Some(handle) = self.handle.take() {
            handle.detach();
        }
    }
}

impl<T: 'static> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        assert!(!self.joined, "a task gives its result once: this handle was awaited before");
        let here = self.here;
        let handle = self.handle.as_mut().expect("a detached task has no handle to poll");
        let polled = handle.poll_join(cx, here);
        self.joined = polled.is_ready();
        polled
    }
}

// Nothing is pinned: the handle is a number or a channel.
impl<T> Unpin for JoinHandle<T> {}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").field("id", &self.id()).finish()
    }
}

/// Returns the id of the current task.
///
/// # Panics
/// Outside of tasks. The body of a run and the future of [`block_on`] are not tasks.
///
/// ```
/// # sim::block_on(async {
/// assert!(sim::task::try_id().is_none());
/// let [a, b] = [(); 2].map(|()| sim::spawn(async { sim::task::id() }));
/// assert_ne!(a.await.unwrap(), b.await.unwrap());
/// # });
/// ```
#[track_caller]
pub fn id() -> Id {
    try_id().expect("there is no task here: call it in a task that was spawned")
}

/// Returns the id of the current task, or `None` outside of tasks.
///
/// ```
/// # sim::block_on(async {
/// let task = sim::spawn(async { sim::task::try_id() });
/// assert_eq!(Some(task.id()), task.await.unwrap());
/// assert_eq!(sim::task::try_id(), None);
/// # });
/// ```
pub fn try_id() -> Option<Id> {
    seam::current_id()
}

/// Lets other tasks run first. A point that touches nothing.
///
/// ```
/// # sim::block_on(async {
/// sim::task::yield_now().await;
/// # });
/// ```
#[track_caller]
pub fn yield_now() -> impl Future<Output = ()> + Send {
    seam::YieldPoint::new(&YIELD, here())
}

/// Runs `work` for every item, each in its own task, and returns the results in the order of the items.
///
/// The tasks are spawned when the future is first polled. Dropping it aborts the tasks that have not ended.
///
/// # Panics
/// If a task panicked or was aborted, the future panics with it.
///
/// ```
/// # sim::block_on(async {
/// let squares = sim::task::map_concurrently(1..=3u32, |n| async move { n * n }).await;
/// assert_eq!(squares, [1, 4, 9]);
/// # });
/// ```
#[track_caller]
pub fn map_concurrently<I, W, F>(items: I, mut work: W) -> impl Future<Output = Vec<F::Output>>
where
    I: IntoIterator,
    W: FnMut(I::Item) -> F,
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let here = here();
    async move {
        let spawn = |item| AbortOnDrop(spawn_at(None, work(item), here));
        let tasks: Vec<_> = items.into_iter().map(spawn).collect();
        let mut results = Vec::with_capacity(tasks.len());
        for mut task in tasks {
            match (&mut task.0).await {
                Ok(result) => results.push(result),
                Err(error) => match error.try_into_panic() {
                    Ok(payload) => std::panic::resume_unwind(payload),
                    Err(error) => panic!("map_concurrently: {error}"),
                },
            }
        }
        results
    }
}

/// Aborts a task when its handle is dropped.
struct AbortOnDrop<T>(JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        if !self.0.is_finished() {
            self.0.abort();
        }
    }
}

/// Sets how tasks are spawned outside of runs, once for the whole program. Without a spawner, each task is an OS
/// thread.
///
/// ```
/// sim::task::set_spawner(|task| drop(std::thread::spawn(|| sim::block_on(task))))?;
/// assert_eq!(sim::block_on(sim::spawn(async { 1 + 1 })).unwrap(), 2);
/// # Ok::<(), sim::task::SpawnerSet>(())
/// ```
///
/// With smol: `set_spawner(|task| smol::spawn(task).detach())`. With tokio, from its threads only:
/// `set_spawner(|task| { tokio::spawn(task); })`; a stress test may run on any thread and needs the runtime handle,
/// `set_spawner(move |task| { handle.spawn(task); })`. A stress test runs its body on the thread that calls the
/// [`Runner`](crate::Runner), and blocks that thread. The spawner must not need that thread to poll tasks, so call the
/// runner from outside of the runtime. If no task is polled for half of [`Runner::hang`](crate::Runner::hang), the test
/// fails, and its message names the location of the body and this remedy.
///
/// # Errors
/// [`SpawnerSet`] if a spawner is already set; the previous spawner stays set.
pub fn set_spawner<S>(spawner: S) -> Result<(), SpawnerSet>
where
    S: Fn(BoxFuture<'static, ()>) + Send + Sync + 'static,
{
    if seam::set_spawner(Box::new(spawner)) { Ok(()) } else { Err(SpawnerSet) }
}

/// The error of [`set_spawner`]: the spawner was already set.
///
/// ```
/// use sim::task::{SpawnerSet, set_spawner};
///
/// let first = set_spawner(|task| drop(std::thread::spawn(|| sim::block_on(task))));
/// let second = set_spawner(drop);
/// assert_eq!((first, second), (Ok(()), Err(SpawnerSet)));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpawnerSet;

impl fmt::Display for SpawnerSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the spawner is already set: call set_spawner once, at the start of the program",
        )
    }
}

impl std::error::Error for SpawnerSet {}

/// Runs a future to completion on the calling thread.
///
/// For programs and examples; a test body is run by a [`Runner`](crate::Runner).
///
/// # Panics
/// Inside a run, because it would keep the scheduler from running the other tasks. Await the future instead.
///
/// ```
/// assert_eq!(sim::block_on(async { 1 + 1 }), 2);
/// ```
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    assert!(
        !seam::in_run(),
        "block_on inside a run would keep the scheduler from running other tasks: await the future"
    );
    ::futures::executor::block_on(seam::Owning::new(future))
}
