//! Sets of tasks, joined in the order in which they end.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use futures::Stream;
use futures::stream::FuturesUnordered;

use super::{AbortHandle, Id, JoinError, JoinHandle, LocalSet, spawn_at};
use crate::run::op::of_tokio::whole;
use crate::run::op::{Access, Op};
use crate::seam::{Here, Wrapped, here};

/// A task of a set has ended.
const END: Op = Op::of_kind("end_in_set", Access::Tell, whole::CHANGE).quiet();
/// The set took the result of the task that ended first.
const TAKE: Op = Op::of_kind("take_from_set", Access::Tell, whole::CHANGE).quiet();
/// The set found no task that had ended, or a task whose result it has not yet.
const LOOK: Op = Op::of_kind("look_at_set", Access::Peek, whole::LOOK).quiet();

/// Tasks that are joined in the order in which they end: tokio's `JoinSet`.
///
/// Joining the next task is a point. Tasks that end before the set waits are joined in the order of their ends, too.
/// Cancel safe: a dropped [`join_next`](Self::join_next) loses no result. Dropping the set aborts all of its tasks.
///
/// ```
/// # sim::block_on(async {
/// let mut tasks = sim::task::JoinSet::new();
/// for n in 1..=3u32 {
///     tasks.spawn(async move { n * n });
/// }
/// let mut sum = 0;
/// while let Some(square) = tasks.join_next().await {
///     sum += square.unwrap();
/// }
/// assert_eq!(sum, 14);
/// # });
/// ```
pub struct JoinSet<T> {
    members: FuturesUnordered<Member<T>>,
    /// The results that the members have given, and that the set has not returned. A task that ended before these tasks
    /// is still a member.
    joined: Vec<(u64, Joined<T>)>,
    ends: Arc<Ends>,
    /// The number of spawned tasks.
    spawned: u64,
    /// The number of tasks not yet joined.
    len: usize,
}

/// The id and the result of a task that has ended.
type Joined<T> = (Id, Result<T, JoinError>);

fn with_id<T>(joined: Option<Joined<T>>) -> Option<Result<(Id, T), JoinError>> {
    joined.map(|(id, result)| result.map(|value| (id, value)))
}

/// The ends of the tasks of a set.
struct Ends {
    wrapped: Wrapped,
    here: Here,
    /// The numbers of the ended tasks that the set has not joined, in the order of their ends.
    ended: Mutex<VecDeque<u64>>,
}

impl Ends {
    #[track_caller]
    fn new() -> Arc<Ends> {
        let here = here();
        Arc::new(Ends { wrapped: Wrapped::outside("joinset", here), here, ended: Mutex::default() })
    }

    fn first(&self) -> Option<u64> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).front().copied()
    }

    fn remove_first(&self) {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    }
}

/// A part of a task: its drop records that the task has ended.
struct End(Arc<Ends>, u64);

impl Drop for End {
    fn drop(&mut self) {
        let End(ends, number) = self;
        ends.ended.lock().unwrap_or_else(PoisonError::into_inner).push_back(*number);
        ends.wrapped.last(&END, ends.here);
    }
}

impl End {
    async fn after<F: Future>(self, task: F) -> F::Output {
        let _end = self;
        task.await
    }
}

/// A task of a set, until its result is taken.
struct Member<T> {
    number: u64,
    handle: Option<JoinHandle<T>>,
}

impl<T: 'static> Future for Member<T> {
    /// `None` if the result was already taken.
    type Output = Option<(u64, Joined<T>)>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(handle) = &mut self.handle else { return Poll::Ready(None) };
        let id = handle.id();
        let result = std::task::ready!(Pin::new(handle).poll(cx));
        self.handle = None;
        Poll::Ready(Some((self.number, (id, result))))
    }
}

impl<T> JoinSet<T> {
    /// Creates a set without tasks.
    #[track_caller]
    pub fn new() -> JoinSet<T> {
        let (members, joined, ends) = (FuturesUnordered::new(), Vec::new(), Ends::new());
        JoinSet { members, joined, ends, spawned: 0, len: 0 }
    }

    /// Returns the number of tasks not yet joined, ended or not.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns `true` if all tasks were joined.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Aborts all tasks before their next steps. The tasks must still be joined. This call is not a point.
    ///
    /// ```
    /// # sim::block_on(async {
    /// let mut tasks = sim::task::JoinSet::new();
    /// tasks.spawn(std::future::pending::<()>());
    /// tasks.abort_all();
    /// let joined = tasks.join_next().await.unwrap();
    /// assert!(joined.unwrap_err().is_cancelled());
    /// # });
    /// ```
    #[track_caller]
    pub fn abort_all(&mut self) {
        for member in self.members.iter() {
            if let Some(handle) = &member.handle {
                handle.abort();
            }
        }
    }

    /// Removes all tasks. The tasks continue to run.
    ///
    /// ```
    /// # sim::block_on(async {
    /// let mut tasks = sim::task::JoinSet::new();
    /// tasks.spawn(async { 7 });
    /// tasks.detach_all();
    /// assert!(tasks.join_next().await.is_none());
    /// # });
    /// ```
    pub fn detach_all(&mut self) {
        for member in self.members.iter_mut() {
            if let Some(handle) = member.handle.take() {
                handle.detach();
            }
        }
        self.members.clear();
        self.joined.clear();
        // The detached tasks keep the old queue of ends.
        self.ends = Ends::new();
        self.len = 0;
    }
}

impl<T: 'static> JoinSet<T> {
    /// Spawns a task in the set; see [`spawn`](super::spawn).
    ///
    /// ```
    /// # sim::block_on(async {
    /// let mut tasks = sim::task::JoinSet::new();
    /// let handle = tasks.spawn(std::future::pending::<u8>());
    /// tasks.spawn(async { 7 });
    /// handle.abort();
    /// let results = [tasks.join_next().await.unwrap(), tasks.join_next().await.unwrap()];
    /// let [one, two] = results.map(Result::ok);
    /// assert_eq!(one.xor(two), Some(7));
    /// # });
    /// ```
    #[track_caller]
    pub fn spawn<F>(&mut self, task: F) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        let end = self.end_of_next();
        self.add(spawn_at(None, end.after(task), here()))
    }

    /// Spawns a task in the set that calls a function once; see [`spawn_blocking`](super::spawn_blocking).
    #[track_caller]
    pub fn spawn_blocking(&mut self, work: impl FnOnce() -> T + Send + 'static) -> AbortHandle
    where
        T: Send,
    {
        let end = self.end_of_next();
        self.add(super::spawn_blocking(move || {
            let _end = end;
            work()
        }))
    }

    /// Spawns a task in the set on the current [`LocalSet`]; see [`spawn_local`](super::spawn_local).
    ///
    /// # Panics
    /// If there is no current set.
    #[track_caller]
    pub fn spawn_local(&mut self, task: impl Future<Output = T> + 'static) -> AbortHandle {
        let end = self.end_of_next();
        self.add(super::spawn_local(end.after(task)))
    }

    /// Spawns a task in the set on `local`.
    ///
    /// ```
    /// use sim::task::{JoinSet, LocalSet};
    /// use std::rc::Rc;
    ///
    /// # sim::block_on(async {
    /// let (local, mut tasks) = (LocalSet::new(), JoinSet::new());
    /// let value = Rc::new(7);
    /// tasks.spawn_local_on(async move { *value }, &local);
    /// let joined = local.run_until(tasks.join_next()).await;
    /// assert_eq!(joined.unwrap().unwrap(), 7);
    /// # });
    /// ```
    #[track_caller]
    pub fn spawn_local_on(
        &mut self,
        task: impl Future<Output = T> + 'static,
        local: &LocalSet,
    ) -> AbortHandle {
        let end = self.end_of_next();
        self.add(local.spawn_local(end.after(task)))
    }

    /// Returns the part of the next task that records its end.
    fn end_of_next(&self) -> End {
        End(self.ends.clone(), self.spawned)
    }

    fn add(&mut self, handle: JoinHandle<T>) -> AbortHandle {
        let abort = handle.abort_handle();
        self.members.push(Member { number: self.spawned, handle: Some(handle) });
        self.spawned += 1;
        self.len += 1;
        abort
    }

    /// Waits for the next task to end, and returns its result; `None` if the set is empty.
    ///
    /// ```
    /// # sim::block_on(async {
    /// let mut tasks = sim::task::JoinSet::new();
    /// tasks.spawn(async { 7 });
    /// assert_eq!(tasks.join_next().await.unwrap().unwrap(), 7);
    /// assert!(tasks.join_next().await.is_none());
    /// # });
    /// ```
    pub async fn join_next(&mut self) -> Option<Result<T, JoinError>> {
        std::future::poll_fn(|cx| self.poll_join_next(cx)).await
    }

    /// Like [`join_next`](Self::join_next), with the task id, which a [`JoinError`] contains anyway.
    ///
    /// ```
    /// # sim::block_on(async {
    /// let mut tasks = sim::task::JoinSet::new();
    /// let id = tasks.spawn(async { 7 }).id();
    /// assert_eq!(tasks.join_next_with_id().await.unwrap().unwrap(), (id, 7));
    /// # });
    /// ```
    pub async fn join_next_with_id(&mut self) -> Option<Result<(Id, T), JoinError>> {
        std::future::poll_fn(|cx| self.poll_join_next_with_id(cx)).await
    }

    /// Like [`join_next`](Self::join_next), for hand-written futures.
    pub fn poll_join_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T, JoinError>>> {
        self.poll_next(cx).map(|joined| joined.map(|(_, result)| result))
    }

    /// Like [`join_next_with_id`](Self::join_next_with_id), for hand-written futures.
    pub fn poll_join_next_with_id(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<(Id, T), JoinError>>> {
        self.poll_next(cx).map(with_id)
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Joined<T>>> {
        loop {
            // The task of a remaining member may have been joined by `try_join_next`; nothing wakes such a member.
            if self.len == 0 {
                self.members.clear();
                return Poll::Ready(None);
            }
            match Pin::new(&mut self.members).poll_next(cx) {
                Poll::Ready(Some(joined)) => self.joined.extend(joined),
                // All members that have ended gave their results. A task that ended before them may still have its
                // point ahead.
                Poll::Ready(None) | Poll::Pending if self.joined.is_empty() => {
                    return Poll::Pending;
                }
                Poll::Ready(None) | Poll::Pending => {
                    return self
                        .take_first()
                        .map_or(Poll::Pending, |joined| Poll::Ready(Some(joined)));
                }
            }
        }
    }

    /// Returns the result of the task that ended first, if it is one of the joined tasks.
    fn take_first(&mut self) -> Option<Joined<T>> {
        let JoinSet { joined, ends, len, .. } = self;
        let take = || {
            let first = ends.first().ok_or(())?;
            let at = joined.iter().position(|(number, _)| *number == first).ok_or(())?;
            ends.remove_first();
            Ok::<_, ()>(joined.swap_remove(at).1)
        };
        let taken = ends.wrapped.attempt([&TAKE, &LOOK], ends.here, take).ok();
        *len -= usize::from(taken.is_some());
        taken
    }

    /// Returns the result of a task that has ended, if any. This call is not a point.
    ///
    /// If several tasks have ended, this is the result of the task that ended first.
    ///
    /// ```
    /// # sim::block_on(async {
    /// let mut tasks = sim::task::JoinSet::new();
    /// tasks.spawn(std::future::pending::<()>());
    /// // The task has not ended, and stays in the set.
    /// assert!(tasks.try_join_next().is_none());
    /// assert_eq!(tasks.len(), 1);
    /// # });
    /// ```
    pub fn try_join_next(&mut self) -> Option<Result<T, JoinError>> {
        self.try_next().map(|(_, result)| result)
    }

    /// Like [`try_join_next`](Self::try_join_next), with the task id.
    pub fn try_join_next_with_id(&mut self) -> Option<Result<(Id, T), JoinError>> {
        with_id(self.try_next())
    }

    fn try_next(&mut self) -> Option<Joined<T>> {
        let first = self.ends.first();
        let is_first =
            |member: &&mut Member<T>| Some(member.number) == first && member.handle.is_some();
        if let Some(member) = self.members.iter_mut().find(is_first) {
            match Pin::new(&mut *member).poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(joined) => self.joined.extend(joined),
                // On real threads, a task has ended slightly before its result is available. This poll has replaced the
                // waker of the member. As a new member, the task gets a waker again.
                Poll::Pending => {
                    let member = Member { number: member.number, handle: member.handle.take() };
                    self.members.push(member);
                }
            }
        }
        self.take_first()
    }

    /// Aborts all tasks and waits until they have ended.
    ///
    /// ```
    /// # sim::block_on(async {
    /// let mut tasks = sim::task::JoinSet::new();
    /// let task = tasks.spawn(std::future::pending::<()>());
    /// tasks.shutdown().await;
    /// assert!(tasks.is_empty() && task.is_finished());
    /// # });
    /// ```
    pub async fn shutdown(&mut self) {
        self.abort_all();
        while self.join_next().await.is_some() {}
    }

    /// Waits for all tasks, and returns their results in the order in which they ended.
    ///
    /// # Panics
    /// If a task panicked or was aborted.
    ///
    /// ```
    /// # sim::block_on(async {
    /// let mut tasks = sim::task::JoinSet::new();
    /// for n in [1, 2, 3] {
    ///     tasks.spawn(async move { n });
    /// }
    /// let mut results = tasks.join_all().await;
    /// results.sort();
    /// assert_eq!(results, [1, 2, 3]);
    /// # });
    /// ```
    pub async fn join_all(mut self) -> Vec<T> {
        let mut results = Vec::with_capacity(self.len);
        while let Some(result) = self.join_next().await {
            match result {
                Ok(result) => results.push(result),
                Err(error) => match error.try_into_panic() {
                    Ok(payload) => std::panic::resume_unwind(payload),
                    Err(error) => panic!("join_all: {error}"),
                },
            }
        }
        results
    }
}

impl<T> Drop for JoinSet<T> {
    fn drop(&mut self) {
        for member in self.members.iter() {
            if let Some(handle) = member.handle.as_ref().filter(|handle| !handle.is_finished()) {
                handle.abort();
            }
        }
    }
}

impl<T> Default for JoinSet<T> {
    #[track_caller]
    fn default() -> JoinSet<T> {
        JoinSet::new()
    }
}

impl<T, F> Extend<F> for JoinSet<T>
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    /// Spawns a task for each item.
    #[track_caller]
    fn extend<I: IntoIterator<Item = F>>(&mut self, tasks: I) {
        for task in tasks {
            self.spawn(task);
        }
    }
}

impl<T, F> FromIterator<F> for JoinSet<T>
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    /// Creates a set with a task for each item.
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = F>>(tasks: I) -> JoinSet<T> {
        let mut set = JoinSet::new();
        set.extend(tasks);
        set
    }
}

impl<T> fmt::Debug for JoinSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinSet").field("len", &self.len).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_without_tasks_to_join_waits_for_nothing() {
        let cx = &mut Context::from_waker(Waker::noop());
        let mut tasks = JoinSet::new();
        tasks.spawn(std::future::pending::<()>());
        assert!(tasks.poll_join_next(cx).is_pending());
        // `try_join_next` takes the handle of an ended task even before its waker was called, and so does this test.
        let handle = tasks.members.iter_mut().next().and_then(|member| member.handle.take());
        tasks.len -= 1;
        assert!(matches!(tasks.poll_join_next(cx), Poll::Ready(None)));
        handle.unwrap().abort();
    }
}
