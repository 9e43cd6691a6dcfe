//! Tasks: functions that spawn them and wait for them.

use std::future::Future;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use futures::future::{BoxFuture, LocalBoxFuture};

use super::{Here, Unparker, in_world};
use crate::real::spawning;
use crate::rt::{Announcement, Ended, Readiness, TaskBody, WORLD, World, in_run, is_by_hand, run};
use crate::run::ids::TaskId;
use crate::run::op::{Access, Op};
use crate::seam::{Id, JoinError, wakes_nobody};

/// The handle of a task.
pub(crate) enum Handle<T> {
    Run(RunHandle<T>),
    Real(spawning::Handle<T>),
}

/// The handle of a task in a run.
pub(crate) struct RunHandle<T> {
    run: u64,
    task: TaskId,
    id: Id,
    /// The announcement of the join, which is open while a task waits.
    join: Announcement,
    /// True if the result was taken, or the task is detached.
    settled: bool,
    // Like the channel of a real handle, a handle may be shared and sent if the result may be sent.
    output: PhantomData<Mutex<T>>,
}

/// A handle that can only abort a task.
#[derive(Clone)]
pub(crate) enum Stopper {
    Run { run: u64, task: TaskId, id: Id },
    Real(spawning::Stopper),
}

impl Stopper {
    pub(crate) fn id(&self) -> Id {
        match self {
            Stopper::Real(stopper) => stopper.id(),
            Stopper::Run { id, .. } => *id,
        }
    }

    pub(crate) fn abort(&self, here: Here) {
        match self {
            Stopper::Real(stopper) => stopper.abort(),
            Stopper::Run { run, task, .. } if in_run() => {
                WORLD.with(|world| world.abort(*run, *task, here));
            }
            Stopper::Run { .. } => {}
        }
    }

    /// Calls `act`, which drops values of the task.
    pub(crate) fn as_task<R>(&self, act: impl FnOnce() -> R) -> R {
        match self.in_this_run() {
            Some(task) => WORLD.with(|world| world.as_task(task, act)),
            None => act(),
        }
    }

    /// Lets the handle of the task receive its panic: see [`rt::task_panics`](crate::rt).
    pub(crate) fn give_panic(&self) {
        if let Some(task) = self.in_this_run() {
            WORLD.with(|world| world.give_panic_to_handle(run(), task));
        }
    }

    /// Returns the task, if it belongs to the current run.
    fn in_this_run(&self) -> Option<TaskId> {
        match self {
            Stopper::Run { run: of, task, .. } => (run() == *of).then_some(*task),
            Stopper::Real(_) => None,
        }
    }

    pub(crate) fn is_finished(&self) -> bool {
        match self {
            Stopper::Real(stopper) => stopper.is_finished(),
            Stopper::Run { run: of, task, .. } => {
                run() != *of || WORLD.with(|world| world.has_ended(*task))
            }
        }
    }
}

const JOIN: Op = Op::new("join", Access::Join);

/// Spawns a task.
pub(crate) fn spawn<F>(name: Option<Arc<str>>, here: Here, future: F) -> Handle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    if !in_run() {
        // A test that is compiled for runs rarely spawns outside of them. The future is boxed, so that the executor of
        // real threads is compiled once per result type and not once per task.
        let future: BoxFuture<'static, F::Output> = Box::pin(future);
        return Handle::Real(spawning::spawn(name.as_deref(), future));
    }
    Handle::Run(spawn_in_run(name, here, future))
}

/// Spawns a task of the run. All tasks of a run are on one thread.
fn spawn_in_run<F>(name: Option<Arc<str>>, here: Here, future: F) -> RunHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    let body = Box::pin(TaskBody::new(future));
    WORLD.with(|world| RunHandle::new(world.spawn(body, name, here)))
}

/// Spawns a task that is one call. The call is one step in a run; outside of runs, it may block.
pub(crate) fn spawn_blocking<R: Send + 'static>(
    here: Here,
    work: impl FnOnce() -> R + Send + 'static,
) -> Handle<R> {
    match in_run() {
        true => Handle::Run(spawn_in_run(None, here, async move { work() })),
        false => {
            let work: Box<dyn FnOnce() -> R + Send> = Box::new(work);
            Handle::Real(spawning::spawn_blocking(work))
        }
    }
}

/// Spawns a task whose future stays on this thread. Outside of runs, `keep` receives the future and must poll it.
pub(crate) fn spawn_local<F>(
    here: Here,
    future: F,
    keep: impl FnOnce(LocalBoxFuture<'static, ()>),
) -> Handle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    if in_run() {
        return Handle::Run(spawn_in_run(None, here, future));
    }
    let future: LocalBoxFuture<'static, F::Output> = Box::pin(future);
    let (handle, task) = spawning::spawn_local(future);
    keep(task);
    Handle::Real(handle)
}

/// A wait for the end of a task whose result belongs to another handle. The wait is a point, like a join.
pub(crate) struct End {
    of: Stopper,
    join: Announcement,
    here: Here,
}

impl End {
    pub(crate) fn new(of: Stopper, here: Here) -> End {
        End { of, join: Announcement::default(), here }
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        // A task of an earlier run ended with its run.
        let Some(task) = self.of.in_this_run() else { return Poll::Ready(()) };
        WORLD.with(|world| {
            let by_hand = is_by_hand(cx.waker());
            if by_hand && world.has_ended(task) {
                return self.end(world, task);
            }
            if by_hand && wakes_nobody(cx.waker()) {
                return Poll::Pending;
            }
            if self.join.is_open() {
                match world.readiness(&self.join, cx.waker()) {
                    Readiness::Ready => return self.end(world, task),
                    Readiness::Waiting => return Poll::Pending,
                    Readiness::Stale => world.retract(&self.join),
                }
            }
            self.join = world.announce_join(&JOIN, task, self.here, cx.waker());
            Poll::Pending
        })
    }

    /// Joins the task, which has ended.
    fn end(&mut self, world: &World, task: TaskId) -> Poll<()> {
        world.join_only(&self.join, &JOIN, task, self.here);
        self.join.close();
        Poll::Ready(())
    }
}

impl Drop for End {
    fn drop(&mut self) {
        if self.join.is_open() && in_run() {
            WORLD.with(|world| world.retract(&self.join));
        }
    }
}

/// Spawns a task that is a part of the body of the test.
pub(super) fn lend(here: Here) -> (u64, Handle<()>) {
    WORLD.with(|world| {
        let lent = world.lend(here);
        (u64::from(lent.0.0), Handle::Run(RunHandle::new(lent)))
    })
}

impl<T: 'static> Handle<T> {
    pub(crate) fn poll_join(
        &mut self,
        cx: &mut Context<'_>,
        here: Here,
    ) -> Poll<Result<T, JoinError>> {
        match self {
            Handle::Real(handle) => handle.poll_join(cx),
            Handle::Run(handle) if run() == handle.run => {
                WORLD.with(|world| handle.poll_join(world, cx, here))
            }
            Handle::Run(handle) => Poll::Ready(Err(JoinError::cancelled(handle.id))),
        }
    }
}

/// Returns the id of the current task; `None` for the body of a run, and outside of tasks. A destructor of a task's
/// future or result has the id of this task.
pub(crate) fn current_id() -> Option<Id> {
    in_world(|world| Id::of(world.identity()), Id::of_thread)
}

impl<T> Handle<T> {
    pub(crate) fn id(&self) -> Id {
        match self {
            Handle::Real(handle) => handle.id(),
            Handle::Run(handle) => handle.id,
        }
    }

    pub(crate) fn abort(&self, here: Here) {
        match self {
            Handle::Real(handle) => handle.abort(),
            Handle::Run(handle) if in_run() => {
                WORLD.with(|world| world.abort(handle.run, handle.task, here));
            }
            Handle::Run(_) => {}
        }
    }

    pub(crate) fn is_finished(&self) -> bool {
        match self {
            Handle::Real(handle) => handle.is_finished(),
            Handle::Run(handle) => {
                run() != handle.run || WORLD.with(|world| world.has_ended(handle.task))
            }
        }
    }

    pub(crate) fn unparker(&self) -> Unparker {
        match self {
            Handle::Real(handle) => Unparker::Real(handle.parking.clone()),
            Handle::Run(handle) => Unparker::of_run(handle.run, handle.task),
        }
    }

    /// Returns a handle that can only abort the task.
    pub(crate) fn stopper(&self) -> Stopper {
        match self {
            Handle::Real(handle) => Stopper::Real(handle.stopper()),
            Handle::Run(handle) => {
                Stopper::Run { run: handle.run, task: handle.task, id: handle.id }
            }
        }
    }

    /// Detaches the task, so that it is not reported if it never ends.
    pub(crate) fn detach(self) {
        if let Handle::Run(mut handle) = self {
            handle.release(true);
        }
    }
}

impl<T: 'static> RunHandle<T> {
    fn poll_join(
        &mut self,
        world: &World,
        cx: &mut Context<'_>,
        here: Here,
    ) -> Poll<Result<T, JoinError>> {
        if is_by_hand(cx.waker()) {
            if world.has_ended(self.task) {
                return Poll::Ready(self.take(world, here));
            }
            // The caller does not poll again, so an open announcement stays unchanged.
            if wakes_nobody(cx.waker()) {
                return Poll::Pending;
            }
        }
        if self.join.is_open() {
            match world.readiness(&self.join, cx.waker()) {
                Readiness::Ready => return Poll::Ready(self.take(world, here)),
                Readiness::Waiting => return Poll::Pending,
                Readiness::Stale => world.retract(&self.join),
            }
        }
        self.join = world.announce_join(&JOIN, self.task, here, cx.waker());
        Poll::Pending
    }

    /// Returns the result of the task, which has ended.
    fn take(&mut self, world: &World, here: Here) -> Result<T, JoinError> {
        let (ended, body) = world.join(&self.join, &JOIN, self.task, here);
        self.join.close();
        self.settled = true;
        let mut output: Option<T> = None;
        match (ended, body) {
            (Ended::Panicked(payload, place), _) => {
                return Err(JoinError::panicked(self.id, payload, place));
            }
            (Ended::Completed, Some(mut body)) => drop(body.as_mut().take(&mut output)),
            _ => {}
        }
        output.ok_or_else(|| JoinError::cancelled(self.id))
    }
}

impl<T> RunHandle<T> {
    /// Returns the handle of a task with its path number.
    fn new((task, number): (TaskId, u64)) -> RunHandle<T> {
        let (run, join) = (run(), Announcement::default());
        let id = Id::of(number).expect("the body of a run has no handle");
        RunHandle { run, task, id, join, settled: false, output: PhantomData }
    }

    fn release(&mut self, for_good: bool) {
        if !std::mem::replace(&mut self.settled, true) && in_run() {
            WORLD.with(|world| {
                if self.join.is_open() {
                    world.retract(&self.join);
                }
                world.detach(self.run, self.task, for_good, std::mem::needs_drop::<T>());
            });
        }
    }
}

impl<T> Drop for RunHandle<T> {
    fn drop(&mut self) {
        self.release(false);
    }
}
