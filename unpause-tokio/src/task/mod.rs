//! Tasks: tasks of the run, in a run, and tokio's elsewhere.

mod abort;
pub mod coop;
mod id;
mod join_error;
mod join_handle;
mod join_set;
mod local;

pub use real::task::*;

pub use self::abort::AbortHandle;
#[doc(hidden)]
pub use self::coop::consume_budget;
pub use self::id::{Id, id, try_id};
pub use self::join_error::JoinError;
pub use self::join_handle::JoinHandle;
pub use self::join_set::JoinSet;
pub use self::local::{LocalEnterGuard, LocalSet, spawn_local};

use std::future::Future;

use sim::__private::in_run;

/// Spawns a task: into the run, or into the runtime of this thread.
///
/// In a run, spawning is not a point: the new task can step from the next point on.
///
/// # Panics
/// Outside of runs, if the thread has no runtime.
///
/// ```
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// assert_eq!(tokio::spawn(async { 1 + 1 }).await.unwrap(), 2);
/// # });
/// ```
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    match in_run() {
        true => JoinHandle::of_run(sim::spawn(future)),
        false => JoinHandle::of_runtime(real::spawn(future)),
    }
}

/// Calls a function that may block its thread: on a tokio thread, or, in a run, as a task of one step.
///
/// # Panics
/// Outside of runs, if the thread has no runtime.
///
/// ```
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// assert_eq!(tokio::task::spawn_blocking(|| 1 + 1).await.unwrap(), 2);
/// # });
/// ```
#[track_caller]
pub fn spawn_blocking<F, R>(f: F) -> JoinHandle<R>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    match in_run() {
        true => JoinHandle::of_run(sim::task::spawn_blocking(f)),
        false => JoinHandle::of_runtime(real::task::spawn_blocking(f)),
    }
}

/// Calls a function that may block its thread, on this thread. In a run, the call is a part of the current step.
///
/// # Panics
/// Outside of runs, if the runtime is single-threaded.
///
/// ```
/// # let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
/// # runtime.block_on(async {
/// assert_eq!(tokio::task::block_in_place(|| 1 + 1), 2);
/// # });
/// ```
#[cfg(feature = "rt-multi-thread")]
#[track_caller]
pub fn block_in_place<F, R>(f: F) -> R
where
    F: FnOnce() -> R,
{
    match in_run() {
        true => f(),
        false => real::task::block_in_place(f),
    }
}

/// Lets other tasks run first.
///
/// ```
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// tokio::task::yield_now().await;
/// # });
/// ```
#[track_caller]
pub fn yield_now() -> impl Future<Output = ()> + Send {
    let in_run = in_run().then(sim::task::yield_now);
    async move {
        match in_run {
            Some(point) => point.await,
            None => real::task::yield_now().await,
        }
    }
}
