//! Sets of tasks, joined in the order in which they end.

use std::fmt;
use std::future::{Future, poll_fn};
use std::task::{Context, Poll};

use sim::__private::in_run;

use super::{AbortHandle, JoinError};
use crate::runtime::Handle;

/// Tasks that are joined in the order in which they end: tokio's [`JoinSet`](real::task::JoinSet).
///
/// The tasks are those of the run or of the runtime in which the first of them is spawned. Dropping the set aborts
/// them.
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
    /// It never had a task.
    Empty,
    Run(sim::task::JoinSet<T>),
    Runtime(real::task::JoinSet<T>),
}

impl<T> JoinSet<T> {
    /// A set without tasks.
    pub fn new() -> JoinSet<T> {
        JoinSet(Inner::Empty)
    }

    /// The number of tasks that were not joined, ended or not.
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

impl<T: 'static> JoinSet<T> {
    /// Spawns a task of the set: see [`spawn`](super::spawn).
    ///
    /// # Panics
    /// Outside of runs, if the thread has no runtime.
    #[track_caller]
    pub fn spawn<F>(&mut self, task: F) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        match self.here() {
            Here::Run(set) => AbortHandle::of_run(set.spawn(task)),
            Here::Runtime(set) => AbortHandle::of_runtime(set.spawn(task)),
        }
    }

    /// Spawns a task of the set on a runtime; in a run, into the run.
    #[track_caller]
    pub fn spawn_on<F>(&mut self, task: F, handle: &Handle) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        match self.here() {
            Here::Run(set) => AbortHandle::of_run(set.spawn(task)),
            Here::Runtime(set) => AbortHandle::of_runtime(set.spawn_on(task, handle.real())),
        }
    }

    /// Calls a function that may block its thread: see [`spawn_blocking`](super::spawn_blocking).
    ///
    /// # Panics
    /// Outside of runs, if the thread has no runtime.
    #[track_caller]
    pub fn spawn_blocking<F>(&mut self, f: F) -> AbortHandle
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        match self.here() {
            Here::Run(set) => AbortHandle::of_run(set.spawn(async move { f() })),
            Here::Runtime(set) => AbortHandle::of_runtime(set.spawn_blocking(f)),
        }
    }

    /// As [`spawn_blocking`](Self::spawn_blocking), on a runtime; in a run, in the run.
    #[track_caller]
    pub fn spawn_blocking_on<F>(&mut self, f: F, handle: &Handle) -> AbortHandle
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        match self.here() {
            Here::Run(set) => AbortHandle::of_run(set.spawn(async move { f() })),
            Here::Runtime(set) => AbortHandle::of_runtime(set.spawn_blocking_on(f, handle.real())),
        }
    }

    /// The set for a task that is spawned here. One that is empty may change from one kind to the other.
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

    /// Waits for the next task that ends, and gives its result; `None` if there is none. Cancel safe.
    pub async fn join_next(&mut self) -> Option<Result<T, JoinError>> {
        poll_fn(|cx| self.poll_join_next(cx)).await
    }

    /// Polls for the next task that ends.
    pub fn poll_join_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T, JoinError>>> {
        match &mut self.0 {
            Inner::Empty => Poll::Ready(None),
            Inner::Run(set) => {
                set.poll_join_next(cx).map(|next| next.map(|it| it.map_err(JoinError::of_run)))
            }
            Inner::Runtime(set) => {
                set.poll_join_next(cx).map(|next| next.map(|it| it.map_err(JoinError::of_runtime)))
            }
        }
    }

    /// The result of a task that has ended, if there is one. Not a point.
    pub fn try_join_next(&mut self) -> Option<Result<T, JoinError>> {
        match &mut self.0 {
            Inner::Empty => None,
            Inner::Run(set) => set.try_join_next().map(|it| it.map_err(JoinError::of_run)),
            Inner::Runtime(set) => set.try_join_next().map(|it| it.map_err(JoinError::of_runtime)),
        }
    }

    /// Aborts all tasks and waits until they have ended.
    pub async fn shutdown(&mut self) {
        self.abort_all();
        while self.join_next().await.is_some() {}
    }

    /// Waits for all tasks, and gives their results in the order in which they ended.
    ///
    /// # Panics
    /// If a task panicked or was aborted.
    pub async fn join_all(self) -> Vec<T> {
        match self.0 {
            Inner::Empty => Vec::new(),
            Inner::Run(set) => set.join_all().await,
            Inner::Runtime(set) => set.join_all().await,
        }
    }

    /// Ends all tasks before their next steps. They are still to be joined. Not a point.
    #[track_caller]
    pub fn abort_all(&mut self) {
        match &mut self.0 {
            Inner::Empty => {}
            Inner::Run(set) => set.abort_all(),
            Inner::Runtime(set) => set.abort_all(),
        }
    }

    /// Removes all tasks, which go on by themselves.
    pub fn detach_all(&mut self) {
        match &mut self.0 {
            Inner::Empty => {}
            Inner::Run(set) => set.detach_all(),
            Inner::Runtime(set) => set.detach_all(),
        }
    }
}

/// A set that has tasks.
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

/// A set with a task for each item.
impl<T, F> FromIterator<F> for JoinSet<T>
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = F>>(iter: I) -> JoinSet<T> {
        let mut set = JoinSet::new();
        for task in iter {
            set.spawn(task);
        }
        set
    }
}
