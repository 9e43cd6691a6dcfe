//! Tasks that borrow: parts of the test body that step as separate tasks.

use std::cell::RefCell;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::Poll;

use super::handle::{Handle, lend};
use super::{Here, client};
use crate::real::crew as real;
use crate::rt::{WORLD, World, in_run};

/// The future of a task.
type Member<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// Tasks that borrow from their spawner, the body of the test.
pub(crate) struct Crew<'a> {
    /// The tasks by number. The future is `None` while it is polled, and after it has completed.
    members: RefCell<Vec<(u64, Option<Member<'a>>)>>,
    /// The tasks outside of runs.
    real: real::Crew<'a>,
}

impl<'a> Crew<'a> {
    /// Returns a crew without tasks.
    ///
    /// # Panics
    /// Panics in a run if the current task is not the body of the test.
    pub(crate) fn new() -> Crew<'a> {
        assert!(
            !in_run() || client() == 0,
            "a parallel program was started by a spawned task: await it in the body of the test"
        );
        Crew { members: RefCell::default(), real: real::Crew::new() }
    }

    /// Spawns a task that does `work`. The task can step from the next point of [`Crew::drive`] on.
    pub(crate) fn lend<W, F>(&self, here: Here, work: W) -> Handle<()>
    where
        W: FnOnce() -> F + Send + 'a,
        F: Future<Output = ()> + 'a,
    {
        if !in_run() {
            // The work is boxed, so that the threads of a crew are compiled only once.
            let work: Box<dyn FnOnce() -> Member<'a> + Send + 'a> =
                Box::new(move || Box::pin(work()));
            return Handle::Real(self.real.lend(work));
        }
        let (task, handle) = lend(here);
        let member = Box::pin(async move { work().await });
        self.members.borrow_mut().push((task, Some(member)));
        handle
    }

    /// Runs `script`, which may spawn tasks. If tasks are left when it ends, they are dropped with
    /// the crew. Returns `None` if the current task was aborted.
    pub(crate) async fn drive<T>(&self, script: impl Future<Output = T>) -> Option<T> {
        if !in_run() {
            return self.real.drive(script).await;
        }
        let mut script = pin!(script);
        std::future::poll_fn(|cx| {
            let current = client();
            if current == 0 {
                return script.as_mut().poll(cx).map(Some);
            }
            let Some(mut member) = self.take(current) else { return Poll::Pending };
            // The list is not borrowed while the member is polled, because the member may spawn tasks.
            if member.as_mut().poll(cx).is_pending() {
                self.put_back(current, member);
            } else {
                drop(member);
                WORLD.with(World::end_lent);
            }
            Poll::Pending
        })
        .await
    }

    fn take(&self, task: u64) -> Option<Member<'a>> {
        let mut members = self.members.borrow_mut();
        members.iter_mut().find(|(member, _)| *member == task)?.1.take()
    }

    fn put_back(&self, task: u64, future: Member<'a>) {
        let mut members = self.members.borrow_mut();
        if let Some(member) = members.iter_mut().find(|(member, _)| *member == task) {
            member.1 = Some(future);
        }
    }
}
