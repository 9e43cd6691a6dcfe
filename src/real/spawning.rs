//! Tasks on real threads: spawning and joining.
//!
//! A program sets its spawner once, with one line for tokio or smol; without a spawner, each task is an OS thread. In a
//! stress test, a task takes part in the run of its spawner, see [`stress`].

use std::cell::Cell;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use futures::FutureExt;
use futures::channel::oneshot;
use futures::future::{AbortHandle, Aborted, BoxFuture, LocalBoxFuture, abortable};

use super::JoinError;
use super::groups::{self, InGroup};
use super::own::{Owning, RealParking};
use super::stress::{self, InRun};
use super::task_id::{Id, Identified};
use super::{jitter, start};

type Spawner = Box<dyn Fn(BoxFuture<'static, ()>) + Send + Sync>;

pub(crate) static SPAWNER: OnceLock<Spawner> = OnceLock::new();

/// Sets the spawner for tasks from here on. Returns `false` if a spawner was set before, which then stays in place.
pub(crate) fn set_spawner(spawner: Spawner) -> bool {
    SPAWNER.set(spawner).is_ok()
}

/// The handle of a real task.
#[derive(Debug)]
pub(crate) struct Handle<T> {
    pub(crate) id: Id,
    pub(crate) parking: RealParking,
    pub(crate) result: oneshot::Receiver<Result<T, JoinError>>,
    pub(crate) abort: AbortHandle,
    pub(crate) finished: Arc<AtomicBool>,
}

/// Spawns a task on a real thread.
pub(crate) fn spawn<F>(name: Option<&str>, future: F) -> Handle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let (handle, member, task) = prepare(name, future, true);
    let in_run = member.is_some();
    match SPAWNER.get() {
        Some(spawner) => spawner(Box::pin(task)),
        None => on_thread(name, member, task),
    }
    if in_run {
        jitter::spawned();
    }
    handle
}

/// Spawns a task that is one call, which may block. The task has its own thread, even if the program has set a spawner.
pub(crate) fn spawn_blocking<R: Send + 'static>(
    work: impl FnOnce() -> R + Send + 'static,
) -> Handle<R> {
    let (handle, member, task) = prepare(None, async move { work() }, true);
    let in_run = member.is_some();
    on_thread(None, member, task);
    if in_run {
        jitter::spawned();
    }
    handle
}

/// Spawns a task that the caller polls on this thread. In a stress test, it is a part of the task that polls it.
pub(crate) fn spawn_local<F>(future: F) -> (Handle<F::Output>, LocalBoxFuture<'static, ()>)
where
    F: Future + 'static,
    F::Output: 'static,
{
    let (handle, _, task) = prepare(None, future, false);
    (handle, Box::pin(task))
}

/// Returns the handle of a task, its member in the stress run of the current task if it `takes_part` in the run, and
/// its future.
fn prepare<F: Future>(
    name: Option<&str>,
    future: F,
    takes_part: bool,
) -> (Handle<F::Output>, Option<Arc<stress::Member>>, impl Future<Output = ()> + use<F>) {
    let (send, result) = oneshot::channel();
    let (id, parking) = (Id::fresh(), RealParking::default());
    let future = Identified::new(id, Owning::with(parking.clone(), future));
    let (future, abort) = abortable(AssertUnwindSafe(future).catch_unwind());
    let future = InGroup::new(groups::join(&abort), future);
    let finished = Arc::new(AtomicBool::new(false));
    let member = if takes_part { stress::join_in(name, abort.clone()) } else { None };
    let future = InRun::new(member.clone(), abort.clone(), future);
    let task = {
        let (finished, abort) = (finished.clone(), abort.clone());
        let member = member.clone();
        async move {
            let polled = future.await;
            let outcome = match &member {
                Some(member) => outcome(id, Some(member), polled),
                None => outcome(id, stress::current().as_deref(), polled),
            };
            finished.store(true, Ordering::Release);
            // If the handle was dropped, no task receives the result, so it is dropped here.
            id.during(|| {
                if let (Err(unwanted), Some(member)) = (send.send(outcome), &member) {
                    member.drops(abort, unwanted);
                }
            });
            // The member is dropped last: a run has nothing left to do once all of its tasks have ended.
            drop(member);
        }
    };
    (Handle { id, parking, result, abort, finished }, member, task)
}

/// Polls a task to completion on its own thread.
fn on_thread(
    name: Option<&str>,
    member: Option<Arc<stress::Member>>,
    task: impl Future<Output = ()> + Send + 'static,
) {
    let mut thread = std::thread::Builder::new();
    if let Some(name) = name {
        // The operating system rejects a thread name with a zero byte.
        thread = thread.name(name.replace('\0', "\u{fffd}"));
    }
    let run = move || {
        if let Some(member) = member {
            member.wait_for_start();
        }
        futures::executor::block_on(task);
    };
    if let Err(error) = thread.spawn(run) {
        panic!(
            "the operating system gives no thread for one more task ({error}): have fewer tasks at the \
             same time, or spawn them on an executor with sim::task::set_spawner"
        );
    }
}

/// Returns the result of a task on its own thread. Reports a panic to the run of the task.
pub(super) fn outcome<T>(
    id: Id,
    member: Option<&stress::Member>,
    polled: Result<std::thread::Result<T>, Aborted>,
) -> Result<T, JoinError> {
    match polled {
        Ok(Ok(output)) => Ok(output),
        Ok(Err(payload)) => {
            if let Some(member) = member {
                member.panicked(&*payload);
            }
            Err(JoinError::panicked(id, payload, String::new()))
        }
        Err(Aborted) => Err(JoinError::cancelled(id)),
    }
}

/// A handle that can only abort a task.
#[derive(Clone)]
pub(crate) struct Stopper {
    id: Id,
    abort: AbortHandle,
    finished: Arc<AtomicBool>,
}

impl Stopper {
    pub(crate) fn id(&self) -> Id {
        self.id
    }

    /// Aborts the task at its next point.
    pub(crate) fn abort(&self) {
        self.abort.abort();
    }

    /// Returns `true` if the task has ended.
    pub(crate) fn is_finished(&self) -> bool {
        self.finished.load(Ordering::Acquire)
    }
}

impl<T> Drop for Handle<T> {
    /// Drops the result, if no call has returned it. The destructor of the result has the identity of the task.
    fn drop(&mut self) {
        // After this call the task keeps its result.
        self.result.close();
        if let Ok(Some(result)) = self.result.try_recv() {
            self.id.during(|| drop(result));
        }
    }
}

impl<T> Handle<T> {
    /// Returns a handle that can only abort the task.
    pub(crate) fn stopper(&self) -> Stopper {
        Stopper { id: self.id, abort: self.abort.clone(), finished: self.finished.clone() }
    }

    /// Waits for the task to end.
    pub(crate) fn poll_join(&mut self, cx: &mut Context<'_>) -> Poll<Result<T, JoinError>> {
        start::release();
        let id = self.id;
        Pin::new(&mut self.result)
            .poll(cx)
            // The spawner dropped the task, because its runtime is shutting down.
            .map(|result| result.unwrap_or(Err(JoinError::cancelled(id))))
    }

    pub(crate) fn id(&self) -> Id {
        self.id
    }

    /// Aborts the task at its next point.
    pub(crate) fn abort(&self) {
        self.abort.abort();
    }

    /// Returns `true` if the task has ended.
    pub(crate) fn is_finished(&self) -> bool {
        self.finished.load(Ordering::Acquire)
    }
}

thread_local! {
    static CLIENT: Cell<u64> = const { Cell::new(0) };
}
static CLIENTS: AtomicU64 = AtomicU64::new(1);

/// Returns a number that no earlier call has returned.
pub(crate) fn new_client() -> u64 {
    CLIENTS.fetch_add(1, Ordering::Relaxed)
}

/// Returns a unique number for the current task, or for the thread if it polls no task of a stress run.
pub(crate) fn client() -> u64 {
    stress::client().unwrap_or_else(|| {
        CLIENT.with(|client| {
            if client.get() == 0 {
                client.set(new_client());
            }
            client.get()
        })
    })
}

/// Returns the name of the [`client`].
pub(crate) fn client_name() -> String {
    stress::client_name().unwrap_or_else(|| {
        let thread = std::thread::current();
        thread.name().map_or_else(|| format!("thread {}", client()), str::to_owned)
    })
}
