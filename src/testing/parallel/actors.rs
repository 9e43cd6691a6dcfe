//! The tasks of a program. Each task runs its commands, with their faults, as recorded calls.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use futures::channel::oneshot;
use unpause_check::Model;

use super::book::RunningProgram;
use super::hooks::Hooks;
use crate::nemesis::Branch;
use crate::run::op::{Access, Op};
use crate::run::program::Fate;
use crate::seam::{self, Crew, Handle, Here, here};
use crate::task::yield_now;
use crate::testing::generate::{CommandId, Program};
use crate::testing::recorder::History;

/// The point before each command. The call of a command begins with its first poll, because effects before its first
/// access may be visible to other tasks. Without this point, the call would begin in the same step in which the
/// previous command ended. No scheduler could then run a command of another branch in between.
const BEGIN: Op = Op::new("begin", Access::Start);

/// A call of the user's function for a command.
pub(super) type Call<'r, P> = Pin<Box<dyn Future<Output = <P as Model>::Ret> + 'r>>;

/// The state that the tasks of a program share.
///
/// The user's function is behind a pointer, so the code of a program is compiled once per model and not once per
/// function under test.
pub(super) struct Actors<'a, 'r, P: Program> {
    pub(super) book: &'a RunningProgram<P>,
    pub(super) history: &'a History<P>,
    pub(super) hooks: &'a Hooks<'a, P>,
    pub(super) run: &'a (dyn Fn(P::Op) -> Call<'r, P> + Sync + 'r),
}

impl<P: Program> Clone for Actors<'_, '_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: Program> Copy for Actors<'_, '_, P> {}

impl<'a, P> Actors<'a, '_, P>
where
    P: Program + Send + Sync + 'static,
    P::Op: Send + Sync,
    P::Ret: Send + Sync,
{
    /// Runs all parts in sequence.
    pub(super) async fn all(self, crew: &Crew<'a>, here: Here) -> Result<(), seam::JoinError> {
        let last = self.book.plan.stages.len() - 1;
        for (stage, branches) in self.book.plan.stages.iter().enumerate() {
            let is_busy = |faults: &&Branch| stage > 0 && faults.is_busy(stage - 1);
            let mut faults = self.book.faults.as_ref().filter(is_busy);
            if stage == last {
                // A program without branches runs its faults before the suffix.
                if let Some(faults) = faults.take().filter(|_| last == 1) {
                    faults.run(0).await;
                    faults.end();
                }
            }
            let busy = branches.iter().enumerate().filter(|(_, branch)| !branch.is_empty());
            let mut busy: Vec<_> = busy
                .map(|(branch, ids)| ((stage, branch), self.unawaited(crew, here, ids)))
                .collect();
            // A single branch needs no task.
            match (&mut busy[..], faults) {
                ([_], None) => {
                    let (place, unawaited) = busy.remove(0);
                    self.branch(place, unawaited, false).await;
                    continue;
                }
                ([], Some(faults)) => {
                    faults.run(stage - 1).await;
                    faults.end();
                    continue;
                }
                _ => {}
            }
            let tasks: Vec<_> = busy
                .into_iter()
                .map(|(place, unawaited)| {
                    crew.lend(here, move || self.branch(place, unawaited, true))
                })
                .collect();
            let mut tasks = tasks.into_iter();
            if let Some(faults) = faults {
                let task = crew.lend(here, move || async move { faults.run(stage - 1).await });
                join(task, here).await?;
                outlast(faults, &mut tasks, here).await?;
            }
            for task in tasks {
                join(task, here).await?;
            }
            self.hooks.invariant().await;
        }
        Ok(())
    }

    /// Creates tasks for the commands that the branch does not wait for. Returns for each command the sender that
    /// starts it.
    fn unawaited(
        self,
        crew: &Crew<'a>,
        here: Here,
        ids: &[CommandId],
    ) -> Vec<(CommandId, oneshot::Sender<()>)> {
        let slots = ids.iter().map(|id| (*id, self.book.slot(*id)));
        let unawaited = slots.filter(|(_, slot)| slot.faults.timeout && slot.fate == Fate::Runs);
        let lend = |(id, _)| {
            let (begin, begins) = oneshot::channel();
            let work = async move || {
                if begins.await.is_ok() {
                    self.command(id).await;
                }
            };
            crew.lend(here, work).detach();
            (id, begin)
        };
        unawaited.map(lend).collect()
    }

    /// Runs the commands of a branch. `lent` is `true` if the branch has a task of its own, so that other tasks may run
    /// before it begins.
    async fn branch(
        self,
        (stage, branch): (usize, usize),
        unawaited: Vec<(CommandId, oneshot::Sender<()>)>,
        lent: bool,
    ) {
        let mut unawaited = unawaited.into_iter().peekable();
        for (nth, id) in self.book.plan.stages[stage][branch].iter().enumerate() {
            match unawaited.next_if(|(next, _)| next == id) {
                // The receiver may be gone already, if everything is being aborted.
                Some((_, begin)) => drop(begin.send(())),
                None => {
                    let first = lent && nth == 0;
                    if !first && (lent || self.book.plan.has_timeouts()) {
                        seam::YieldPoint::new(&BEGIN, here()).await;
                    }
                    self.command(*id).await;
                    if !lent {
                        self.hooks.invariant().await;
                    }
                }
            }
        }
    }

    /// Runs one command, with its faults.
    async fn command(self, id: CommandId) {
        let Actors { book, history, run, .. } = self;
        let slot = book.slot(id);
        if let Fate::Tombstone(points) = slot.fate {
            book.begins(id);
            for _ in 0..points {
                yield_now().await;
            }
            return book.ended(id);
        }
        let Some(op) = book.resolve(id) else { return };
        let op = P::guess(&op, history);
        book.begins(id);
        let faults = slot.faults;
        let ret = match faults.crash {
            None => Some(history.command(op.clone(), run(op.clone())).await),
            Some(point) if !faults.again => {
                up_to(point, history.command(op.clone(), run(op.clone()))).await
            }
            // A client without a reply sends the command again, and the second result counts for both attempts.
            Some(point) => {
                let until_heard = async {
                    match up_to(point, run(op.clone())).await {
                        Some(ret) => ret,
                        None => run(op.clone()).await,
                    }
                };
                Some(history.command(op.clone(), until_heard).await)
            }
        };
        if let Some(ret) = &ret {
            self.hooks.returned(&op, ret).await;
        }
        if !faults.timeout {
            book.pages().returned[id.index()] = ret;
        }
        if faults.again && faults.crash.is_none() {
            match P::again(&op) {
                Some(again) => drop(history.command(again, run(op)).await),
                None => drop(run(op).await),
            }
        }
        book.ended(id);
    }
}

/// Ends the lasting faults when these branches have ended. Also ends them if the branches take so long that they may
/// wait for the end of a fault.
async fn outlast(
    faults: &Branch,
    branches: &mut std::vec::IntoIter<Handle<()>>,
    here: Here,
) -> Result<(), seam::JoinError> {
    if let Some(patience) = faults.patience() {
        let mut late = pin!(crate::time::sleep(patience));
        while let Some(task) = branches.as_mut_slice().first_mut() {
            let mut poll = |cx: &mut Context<'_>| match task.poll_join(cx, here) {
                Poll::Ready(joined) => Poll::Ready(Some(joined)),
                Poll::Pending => late.as_mut().poll(cx).map(|()| None),
            };
            match std::future::poll_fn(|cx| poll(cx)).await {
                Some(joined) => ended(joined)?,
                None => break,
            }
            branches.next();
        }
    }
    faults.end();
    Ok(())
}

/// Waits for a lent task.
async fn join(mut task: Handle<()>, here: Here) -> Result<(), seam::JoinError> {
    ended(std::future::poll_fn(|cx| task.poll_join(cx, here)).await)
}

/// Converts the result of a lent task. An aborted task counts as ended, because lent tasks return no result.
fn ended(joined: Result<(), seam::JoinError>) -> Result<(), seam::JoinError> {
    joined.or_else(|error| if error.is_panic() { Err(error) } else { Ok(()) })
}

/// Returns the result of `work`; `None` if `work` is dropped at this point, counted from 1, before it has a result.
async fn up_to<T>(point: u32, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    let mut points = 0;
    let mut poll = |cx: &mut Context<'_>| {
        let (polled, passed) = seam::up_to(point - points, || work.as_mut().poll(cx));
        points += passed;
        match polled {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending => {
                points += 1;
                if points == point { Poll::Ready(None) } else { Poll::Pending }
            }
        }
    };
    std::future::poll_fn(|cx| poll(cx)).await
}
