//! Tasks: spawning them and waiting for them.

use std::future::Future;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use super::Here;
use crate::ids::TaskId;
use crate::op::{Access, Op};
use crate::rt::{Arrival, Deed, Ended, TaskBody, WORLD, World, in_run};
use crate::seam::{JoinError, threads};

/// The handle of a task.
pub(crate) enum Handle<T> {
    Run(RunHandle<T>),
    Real(threads::Handle<T>),
}

/// The handle of a task of a run.
pub(crate) struct RunHandle<T> {
    run: u64,
    task: TaskId,
    join: Option<Deed>,
    /// Whether the result was taken or the task detached.
    settled: bool,
    // As the channel of a real handle: it may be shared and sent if the result may be sent.
    output: PhantomData<Mutex<T>>,
}

const JOIN: Op = Op::new("join", Access::Join);

/// Spawns a task.
pub(crate) fn spawn<F>(name: Option<Arc<str>>, here: Here, future: F) -> Handle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    if !in_run() {
        return Handle::Real(threads::spawn(name.as_deref(), future));
    }
    let body = Box::pin(TaskBody::new(future));
    WORLD.with(|world| {
        let task = world.spawn(body, name, here);
        let (run, output) = (world.run(), PhantomData);
        Handle::Run(RunHandle { run, task, join: None, settled: false, output })
    })
}

/// Spawns a task that is a part of the body of the test.
pub(super) fn lend(here: Here) -> (u64, Handle<()>) {
    WORLD.with(|world| {
        let task = world.lend(here);
        let (run, output) = (world.run(), PhantomData);
        (
            u64::from(task.0),
            Handle::Run(RunHandle { run, task, join: None, settled: false, output }),
        )
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
            Handle::Run(_) if !in_run() => Poll::Ready(Err(JoinError::cancelled())),
            Handle::Run(handle) => WORLD.with(|world| handle.poll_join(world, cx, here)),
        }
    }
}

impl<T> Handle<T> {
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
                !in_run()
                    || WORLD.with(|world| world.run() != handle.run || world.has_ended(handle.task))
            }
        }
    }

    /// The task goes on by itself, and nobody is to be told if it never ends.
    pub(crate) fn detach(self) {
        if let Handle::Run(mut handle) = self {
            handle.settle(true);
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
        if world.run() != self.run {
            return Poll::Ready(Err(JoinError::cancelled()));
        }
        match world.ended(self.task) {
            None => {
                let moved = match &self.join {
                    None => true,
                    Some(join) => match world.arrived(join, cx.waker()) {
                        Arrival::Moved => {
                            world.retract(&join.ticket);
                            true
                        }
                        Arrival::Now | Arrival::Later => {
                            // Asked again: somebody may have acted on the first answer.
                            world.has_ended(self.task);
                            false
                        }
                    },
                };
                if moved {
                    let mut join = Deed::new(&JOIN, here);
                    world.announce(&mut join, Some(self.task), cx.waker());
                    self.join = Some(join);
                }
                Poll::Pending
            }
            Some(ended) => {
                let join = self.join.take();
                let body =
                    world.join(join.as_ref().map(|join| &join.ticket), &JOIN, self.task, here);
                self.settled = true;
                let mut output: Option<T> = None;
                if let (Ended::Completed, Some(mut body)) = (ended, body) {
                    body.as_mut().take(&mut output);
                }
                Poll::Ready(output.ok_or_else(JoinError::cancelled))
            }
        }
    }
}

impl<T> RunHandle<T> {
    fn settle(&mut self, for_good: bool) {
        if !std::mem::replace(&mut self.settled, true) && in_run() {
            WORLD.with(|world| {
                if let Some(join) = self.join.take() {
                    world.retract(&join.ticket);
                    world.has_ended(self.task);
                }
                world.detach(self.run, self.task, for_good);
            });
        }
    }
}

impl<T> Drop for RunHandle<T> {
    fn drop(&mut self) {
        self.settle(false);
    }
}
