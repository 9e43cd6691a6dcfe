//! Tasks that borrow, outside of runs. Each task has its own thread, and the threads end before the
//! task from which they borrow.
//!
//! A future that several threads may poll must be `Send`, and no bound can require this of the
//! future of an `async` closure. So a member of a crew is a closure that creates its future on its
//! own thread, where the future stays.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use futures::FutureExt;
use futures::channel::oneshot;
use futures::future::{AbortHandle, AbortRegistration, Abortable};

use super::own::{Owning, RealParking};
use super::stress::{self, InRun};
use super::task_id::{Id, Identified};
use super::{jitter, spawning};

/// The work of one task, which gets its own thread.
type Job<'a> = Box<dyn FnOnce() + Send + 'a>;

/// Tasks that borrow from the task that spawned them.
#[derive(Default)]
pub(crate) struct Crew<'a> {
    /// The work of tasks that have no thread yet.
    jobs: Mutex<Vec<Job<'a>>>,
    aborts: Mutex<Vec<AbortHandle>>,
}

impl<'a> Crew<'a> {
    pub(crate) fn new() -> Crew<'a> {
        Crew::default()
    }

    /// Spawns a task that does `work`. The task starts at the next wait of the script in [`Crew::drive`].
    pub(crate) fn lend<W, F>(&self, work: W) -> spawning::Handle<()>
    where
        W: FnOnce() -> F + Send + 'a,
        F: Future<Output = ()>,
    {
        let (send, result) = oneshot::channel();
        let (abort, registration) = AbortHandle::new_pair();
        let finished = Arc::new(AtomicBool::new(false));
        let member = stress::join_in(None, abort.clone());
        lock(&self.aborts).push(abort.clone());
        let id = Id::fresh();
        let parking = RealParking::default();
        let handle = spawning::Handle {
            id,
            parking: parking.clone(),
            result,
            abort: abort.clone(),
            finished: finished.clone(),
        };
        let job = move || {
            if let Some(member) = &member {
                member.wait_for_start();
            }
            // The closure is called within the task, so that its code before the future is a part
            // of the task.
            let future = Identified::new(id, Owning::with(parking, async move { work().await }));
            let future = AssertUnwindSafe(future).catch_unwind();
            let future = abortable(future, registration);
            let polled = block_on(InRun::new(member.clone(), abort, future));
            let outcome = spawning::outcome(id, member.as_deref(), polled);
            finished.store(true, Ordering::Release);
            let _ = send.send(outcome);
        };
        lock(&self.jobs).push(Box::new(job));
        handle
    }

    /// Runs `script`, which may spawn tasks, and waits for all of them. Aborts the tasks left when
    /// `script` ends. Blocks the thread. Returns `None` if the current task was aborted.
    pub(crate) async fn drive<T>(&self, script: impl Future<Output = T>) -> Option<T> {
        std::thread::scope(|scope| {
            let mut script = pin!(script);
            let _ended = AbortAll(&self.aborts);
            block_on(std::future::poll_fn(|cx| {
                if jitter::is_aborted() {
                    return Poll::Ready(None);
                }
                let polled = script.as_mut().poll(cx);
                for job in lock(&self.jobs).drain(..) {
                    scope.spawn(job);
                }
                polled.map(Some)
            }))
        })
    }
}

fn abortable<F>(future: F, registration: AbortRegistration) -> Abortable<F> {
    Abortable::new(future, registration)
}

/// A guard that aborts all tasks when it is dropped, also by a panic.
struct AbortAll<'a>(&'a Mutex<Vec<AbortHandle>>);

impl Drop for AbortAll<'_> {
    fn drop(&mut self) {
        lock(self.0).iter().for_each(AbortHandle::abort);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Polls a future to completion on this thread. Unlike `block_on` of `futures`, it works within
/// another `block_on`.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    block_on_and(future, Duration::MAX, || {})
}

/// Polls a future to completion on this thread. While the future waits, calls `meanwhile` once in
/// each `interval`.
pub(crate) fn block_on_and<F: Future>(
    future: F,
    interval: Duration,
    mut meanwhile: impl FnMut(),
) -> F::Output {
    struct Unpark {
        thread: Thread,
        // The loop does not poll a future that was not woken, because a poll counts as progress.
        woken: AtomicBool,
    }

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            // A store would end the release sequence of an earlier wake-up. The next poll would then not see what
            // happened before that wake-up.
            self.woken.swap(true, Ordering::Release);
            self.thread.unpark();
        }
    }

    let (thread, woken) = (std::thread::current(), AtomicBool::new(false));
    let unpark = Arc::new(Unpark { thread, woken });
    let waker = Waker::from(unpark.clone());
    let mut cx = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
            return output;
        }
        while !unpark.woken.swap(false, Ordering::Acquire) {
            std::thread::park_timeout(interval);
            if !unpark.woken.load(Ordering::Acquire) {
                meanwhile();
            }
        }
    }
}
