//! Task identities for the program: the same type in both builds.

use std::cell::Cell;
use std::fmt;
use std::future::Future;
use std::num::NonZeroU64;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

/// The identity of a task. The identity is unique in the run or, outside of runs, in the program.
///
/// In a run, the identity depends only on the path of the task: the first task that the body spawns has 1, whatever
/// other tasks do before. So it is the same in all runs of a seed.
///
/// ```
/// # sim::block_on(async {
/// let task = sim::spawn(async { sim::task::id() });
/// let id = task.id();
/// assert_eq!(task.await.unwrap(), id);
/// # });
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Id(NonZeroU64);

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

thread_local! {
    /// The task that this thread polls outside of runs.
    static CURRENT: Cell<Option<Id>> = const { Cell::new(None) };
}

static IDS: AtomicU64 = AtomicU64::new(1);

impl Id {
    /// Returns a new identity, which no task had before.
    pub(crate) fn fresh() -> Id {
        let number = IDS.fetch_add(1, Ordering::Relaxed);
        Id::of(number).expect("fewer than 2^64 tasks")
    }

    /// Returns the identity with this number; `None` for 0.
    pub(crate) fn of(number: u64) -> Option<Id> {
        NonZeroU64::new(number).map(Id)
    }

    /// Returns the task that this thread polls outside of runs.
    pub(crate) fn of_thread() -> Option<Id> {
        CURRENT.try_with(Cell::get).ok().flatten()
    }

    /// Calls `work` with this task as the current one.
    pub(super) fn during<R>(self, work: impl FnOnce() -> R) -> R {
        struct Restore(Option<Id>);

        impl Drop for Restore {
            fn drop(&mut self) {
                let _ = CURRENT.try_with(|current| current.set(self.0));
            }
        }

        let _restore =
            Restore(CURRENT.try_with(|current| current.replace(Some(self))).ok().flatten());
        work()
    }
}

pin_project! {
    /// The future of a task outside of runs. The task is the current one while the future is polled or dropped.
    pub(crate) struct Identified<F> {
        id: Id,
        #[pin]
        future: Option<F>,
    }

    impl<F> PinnedDrop for Identified<F> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            if this.future.is_some() {
                this.id.during(|| this.future.set(None));
            }
        }
    }
}

impl<F> Identified<F> {
    pub(crate) fn new(id: Id, future: F) -> Identified<F> {
        Identified { id, future: Some(future) }
    }
}

impl<F: Future> Future for Identified<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let future = this.future.as_pin_mut().expect("it is there until the drop");
        this.id.during(|| future.poll(cx))
    }
}
