//! Sets of tasks, joined in the order in which they end.

use std::fmt;
use std::future::{Future, poll_fn};
use std::task::{Context, Poll};

use sim::__private::in_run;

use super::{AbortHandle, Id, JoinError, LocalSet};
use crate::runtime::Handle;

/// Tasks that are joined in the order in which they end: tokio's [`JoinSet`](real::task::JoinSet).
///
/// The tasks belong to the run or the runtime in which the first task of the set is spawned. Dropping the set aborts
/// its tasks.
///
/// ```
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let mut tasks = tokio::task::JoinSet::new();
/// for n in 1..=3u32 {
///     tasks.spawn(async move { n * n });
/// }
/// assert_eq!(tasks.join_all().await.into_iter().sum::<u32>(), 14);
/// # });
/// ```
pub struct JoinSet<T>(Inner<T>);

enum Inner<T> {
    /// The set has never had a task.
    Empty,
    Run(sim::task::JoinSet<T>),
    Runtime(real::task::JoinSet<T>),
}

/// The result of a task, with its id.
type Joined<T> = Result<(Id, T), JoinError>;

impl<T> JoinSet<T> {
    /// Creates a set without tasks.
    pub fn new() -> JoinSet<T> {
        JoinSet(Inner::Empty)
    }

    /// Returns the number of tasks not yet joined, ended or not.
    pub fn len(&self) -> usize {
        match &self.0 {
            Inner::Empty => 0,
            Inner::Run(set) => set.len(),
            Inner::Runtime(set) => set.len(),
        }
    }

    /// Returns `true` if all tasks were joined.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Writes the spawn functions. Each calls the function of a run's set or of tokio's set.
macro_rules! spawns {
    ($($(#[$attribute:meta])* $name:ident[$($bounds:tt)*]($task:ident$(, $on:ident: $type:ty)?)
        $run:ident($($here:expr),*), $real:ident($($given:expr),*);)*) => {$(
        $(#[$attribute])*
        #[track_caller]
        pub fn $name<F>(&mut self, $task: F $(, $on: $type)?) -> AbortHandle
        where
            F: $($bounds)* + 'static,
        {
            match self.here() {
                Here::Run(set) => {
                    let task = set.$run($($here),*);
                    sim::__private::give_panic(&task);
                    AbortHandle::of_run(task)
                }
                Here::Runtime(set) => AbortHandle::of_runtime(set.$real($($given),*)),
            }
        }
    )*};
}

impl<T: Send + 'static> JoinSet<T> {
    spawns! {
        /// Spawns a task in the set: see [`spawn`](super::spawn).
        ///
        /// # Panics
        /// Outside of runs, if the thread has no runtime.
        spawn[Future<Output = T> + Send](task) spawn(task), spawn(task);
        /// Spawns a task in the set on a runtime. In a run, the task is spawned into the run.
        spawn_on[Future<Output = T> + Send](task, handle: &Handle)
            spawn(task), spawn_on(task, handle.real());
        /// Calls a function that may block its thread: see [`spawn_blocking`](super::spawn_blocking).
        ///
        /// # Panics
        /// Outside of runs, if the thread has no runtime.
        spawn_blocking[FnOnce() -> T + Send](f) spawn_blocking(f), spawn_blocking(f);
        /// Like [`spawn_blocking`](Self::spawn_blocking), on a runtime. In a run, the task is spawned into the run.
        spawn_blocking_on[FnOnce() -> T + Send](f, handle: &Handle)
            spawn_blocking(f), spawn_blocking_on(f, handle.real());
    }
}

impl<T: 'static> JoinSet<T> {
    spawns! {
        /// Spawns a task that need not be `Send`: see [`spawn_local`](super::spawn_local).
        ///
        /// # Panics
        /// Outside of a [`LocalSet`] and of a local runtime.
        spawn_local[Future<Output = T>](task) spawn_local(task), spawn_local(task);
        /// Spawns a task in the set on a [`LocalSet`].
        spawn_local_on[Future<Output = T>](task, local: &LocalSet)
            spawn_local_on(task, local.of_run()), spawn_local_on(task, local.of_runtime());
    }

    /// Returns the inner set for a task spawned here. An empty set may change from one kind to the other.
    fn here(&mut self) -> Here<'_, T> {
        let in_run = in_run();
        if self.is_empty() {
            let fits = match &self.0 {
                Inner::Empty => false,
                Inner::Run(_) => in_run,
                Inner::Runtime(_) => !in_run,
            };
            if !fits {
                self.0 = match in_run {
                    true => Inner::Run(sim::task::JoinSet::new()),
                    false => Inner::Runtime(real::task::JoinSet::new()),
                };
            }
        }
        match &mut self.0 {
            Inner::Run(set) => Here::Run(set),
            Inner::Runtime(set) => Here::Runtime(set),
            Inner::Empty => unreachable!("an empty set was replaced"),
        }
    }

    /// Waits for the next task to end, and returns its result; `None` if the set is empty. Cancel safe.
    pub async fn join_next(&mut self) -> Option<Result<T, JoinError>> {
        poll_fn(|cx| self.poll_join_next(cx)).await
    }

    /// Like [`join_next`](Self::join_next), with the task id.
    pub async fn join_next_with_id(&mut self) -> Option<Result<(Id, T), JoinError>> {
        poll_fn(|cx| self.poll_join_next_with_id(cx)).await
    }

    /// Polls for the end of the next task.
    pub fn poll_join_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T, JoinError>>> {
        self.poll_join_next_with_id(cx).map(|next| next.map(without_id))
    }

    /// Like [`poll_join_next`](Self::poll_join_next), with the task id.
    pub fn poll_join_next_with_id(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<(Id, T), JoinError>>> {
        match &mut self.0 {
            Inner::Empty => Poll::Ready(None),
            Inner::Run(set) => set.poll_join_next_with_id(cx).map(|next| next.map(of_run)),
            Inner::Runtime(set) => set.poll_join_next_with_id(cx).map(|next| next.map(of_runtime)),
        }
    }

    /// Returns the result of a task that has ended, if any. This call is not a point.
    pub fn try_join_next(&mut self) -> Option<Result<T, JoinError>> {
        self.try_join_next_with_id().map(without_id)
    }

    /// Like [`try_join_next`](Self::try_join_next), with the task id.
    pub fn try_join_next_with_id(&mut self) -> Option<Result<(Id, T), JoinError>> {
        match &mut self.0 {
            Inner::Empty => None,
            Inner::Run(set) => set.try_join_next_with_id().map(of_run),
            Inner::Runtime(set) => set.try_join_next_with_id().map(of_runtime),
        }
    }

    /// Aborts all tasks and waits until they have ended.
    pub async fn shutdown(&mut self) {
        self.abort_all();
        while self.join_next().await.is_some() {}
    }

    /// Waits for all tasks, and returns their results in the order in which they ended.
    ///
    /// # Panics
    /// If a task panicked or was aborted.
    pub async fn join_all(mut self) -> Vec<T> {
        let mut results = Vec::with_capacity(self.len());
        while let Some(result) = self.join_next().await {
            match result {
                Ok(result) => results.push(result),
                Err(error) => match error.try_into_panic() {
                    Ok(payload) => std::panic::resume_unwind(payload),
                    Err(error) => panic!("{error}"),
                },
            }
        }
        results
    }

    /// Aborts all tasks before their next steps. The tasks must still be joined. This call is not a point.
    #[track_caller]
    pub fn abort_all(&mut self) {
        match &mut self.0 {
            Inner::Empty => {}
            Inner::Run(set) => set.abort_all(),
            Inner::Runtime(set) => set.abort_all(),
        }
    }

    /// Removes all tasks. The tasks continue to run.
    pub fn detach_all(&mut self) {
        match &mut self.0 {
            Inner::Empty => {}
            Inner::Run(set) => set.detach_all(),
            Inner::Runtime(set) => set.detach_all(),
        }
    }
}

fn of_run<T>(joined: Result<(sim::task::Id, T), sim::JoinError>) -> Joined<T> {
    joined.map(|(id, output)| (Id::of_run(id), output)).map_err(JoinError::of_run)
}

fn of_runtime<T>(joined: Result<(real::task::Id, T), real::task::JoinError>) -> Joined<T> {
    joined.map(|(id, output)| (Id::of_runtime(id), output)).map_err(JoinError::of_runtime)
}

fn without_id<T>(joined: Joined<T>) -> Result<T, JoinError> {
    joined.map(|(_, output)| output)
}

/// An inner set to which a task can be added.
enum Here<'a, T> {
    Run(&'a mut sim::task::JoinSet<T>),
    Runtime(&'a mut real::task::JoinSet<T>),
}

impl<T> Default for JoinSet<T> {
    fn default() -> JoinSet<T> {
        JoinSet::new()
    }
}

impl<T> fmt::Debug for JoinSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinSet").field("len", &self.len()).finish()
    }
}

/// Creates a set with a task for each item.
impl<T, F> FromIterator<F> for JoinSet<T>
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = F>>(iter: I) -> JoinSet<T> {
        let mut set = JoinSet::new();
        set.extend(iter);
        set
    }
}

/// Spawns a task for each item.
impl<T, F> Extend<F> for JoinSet<T>
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    #[track_caller]
    fn extend<I: IntoIterator<Item = F>>(&mut self, iter: I) {
        for task in iter {
            self.spawn(task);
        }
    }
}
