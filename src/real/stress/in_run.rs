//! The future of a task in a stress run. Each poll makes the task the current task of its thread, and the task ends
//! with the future.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Instant;

use futures::future::AbortHandle;
use pin_project_lite::pin_project;

use super::{Member, PollGuard};
use crate::real::jitter::Shaker;
use crate::real::start::release;
use crate::run::ids::TaskId;

pin_project! {
    /// A future that takes part in a run, if it belongs to a run, whenever it is polled.
    pub(crate) struct InRun<F> {
        member: Option<Arc<Member>>,
        // The shaker is here while the task is not polled.
        shaker: Option<Shaker>,
        started: bool,
        #[pin]
        future: Option<F>,
    }
}

impl<F> InRun<F> {
    /// Wraps the `future` of the task `member`; `abort` ends the task.
    pub(crate) fn new(member: Option<Arc<Member>>, abort: AbortHandle, future: F) -> InRun<F> {
        let shaker = member.as_ref().map(|member| member.shaker(abort, 0));
        let started = member.as_ref().is_none_or(|member| member.task == TaskId::MAIN);
        InRun { member, shaker, started, future: Some(future) }
    }
}

impl<F: Future> Future for InRun<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let mut this = self.project();
        let poll = |future: Pin<&mut Option<F>>, cx: &mut Context<'_>| {
            future.as_pin_mut().expect("polled after it was ready").poll(cx)
        };
        let Some(member) = &*this.member else {
            return poll(this.future, cx);
        };
        if !*this.started {
            // Only a task that the program's own spawner polls can be too early here, see `wait_for_start`.
            let deadline = member.arrive();
            if !member.may_start() && Instant::now() < deadline {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            *this.started = true;
        }
        member.moves.fetch_add(1, Ordering::Relaxed);
        let _entered = PollGuard::enter(member, this.shaker);
        let polled = poll(this.future.as_mut(), cx);
        if polled.is_ready() {
            // Destructors belong to the run, too.
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| this.future.set(None))) {
                member.panicked(&*payload);
            }
        }
        // The task waits or has ended, so the tasks that it spawned may start.
        release();
        polled
    }
}
