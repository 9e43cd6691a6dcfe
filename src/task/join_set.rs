//! Sets of tasks, joined in the order in which they end.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use futures::Stream;
use futures::stream::FuturesUnordered;

use super::{AbortHandle, Id, JoinError, JoinHandle, LocalSet, spawn_at};
use crate::seam::here;

/// Tasks that are joined in the order in which they end: tokio's `JoinSet`.
///
/// Joining the next task is a point. Tasks that end while the set waits are joined in the order in which they end.
/// Tasks that ended earlier are joined in the order of their spawns (with tokio, in the order of their ends).
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
    /// The number of tasks not yet joined.
    len: usize,
}

/// The id and the result of a task that has ended.
type Joined<T> = (Id, Result<T, JoinError>);

fn with_id<T>(joined: Option<Joined<T>>) -> Option<Result<(Id, T), JoinError>> {
    joined.map(|(id, result)| result.map(|value| (id, value)))
}

/// A task of a set, until its result is taken.
struct Member<T>(Option<JoinHandle<T>>);

impl<T: 'static> Future for Member<T> {
    /// `None` if the result was already taken.
    type Output = Option<(Id, Result<T, JoinError>)>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(handle) = &mut self.0 else { return Poll::Ready(None) };
        let id = handle.id();
        let result = ready!(Pin::new(handle).poll(cx));
        self.0 = None;
        Poll::Ready(Some((id, result)))
    }
}

impl<T> JoinSet<T> {
    /// Creates a set without tasks.
    pub fn new() -> JoinSet<T> {
        JoinSet { members: FuturesUnordered::new(), len: 0 }
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
            if let Some(handle) = &member.0 {
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
            if let Some(handle) = member.0.take() {
                handle.detach();
            }
        }
        self.members.clear();
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
        self.add(spawn_at(None, task, here()))
    }

    /// Spawns a task in the set that calls a function once; see [`spawn_blocking`](super::spawn_blocking).
    #[track_caller]
    pub fn spawn_blocking(&mut self, work: impl FnOnce() -> T + Send + 'static) -> AbortHandle
    where
        T: Send,
    {
        self.add(super::spawn_blocking(work))
    }

    /// Spawns a task in the set on the current [`LocalSet`]; see [`spawn_local`](super::spawn_local).
    ///
    /// # Panics
    /// If there is no current set.
    #[track_caller]
    pub fn spawn_local(&mut self, task: impl Future<Output = T> + 'static) -> AbortHandle {
        self.add(super::spawn_local(task))
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
        self.add(local.spawn_local(task))
    }

    fn add(&mut self, handle: JoinHandle<T>) -> AbortHandle {
        let abort = handle.abort_handle();
        self.members.push(Member(Some(handle)));
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
            let Some(joined) = ready!(Pin::new(&mut self.members).poll_next(cx)) else {
                return Poll::Ready(None);
            };
            if joined.is_some() {
                self.len -= 1;
                return Poll::Ready(joined);
            }
        }
    }

    /// Returns the result of a task that has ended, if any. This call is not a point.
    ///
    /// If several tasks have ended, this is the result of the task that was spawned first. In tokio, it is the result
    /// of the task that ended first.
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
        let ended =
            |member: &&mut Member<T>| member.0.as_ref().is_some_and(|handle| handle.is_finished());
        // The iterator begins with the member that was added last.
        let members: Vec<_> = self.members.iter_mut().collect();
        let mut handle = members.into_iter().rev().find(ended)?.0.take()?;
        self.len -= 1;
        match Pin::new(&mut handle).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => Some((handle.id(), result)),
            // On real threads, a task counts as ended slightly before its result is available.
            Poll::Pending => {
                self.members.push(Member(Some(handle)));
                self.len += 1;
                None
            }
        }
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
            if let Some(handle) = member.0.as_ref().filter(|handle| !handle.is_finished()) {
                handle.abort();
            }
        }
    }
}

impl<T> Default for JoinSet<T> {
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
        let handle = tasks.members.iter_mut().next().and_then(|member| member.0.take());
        tasks.len -= 1;
        assert!(matches!(tasks.poll_join_next(cx), Poll::Ready(None)));
        handle.unwrap().abort();
    }
}
