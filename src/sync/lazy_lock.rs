//! A value computed at its first use.

use std::fmt;
use std::future::Future;
use std::panic::Location;

use ::futures::future::BoxFuture;

use super::once::{Reentry, making};
use crate::seam::{OnceOps, OnceValue, here};

const FORCE: OnceOps = OnceOps::making("force");

/// A value computed at its first use: std's `LazyLock`, for tasks.
///
/// [`force`](Self::force) is a point, and replaces std's `Deref`, which cannot await. The initialisation is a `Fn` for
/// two reasons. Each run initialises a `static` again (the real build does so once), and a dropped initialisation
/// starts again. An initialisation that panics poisons the value, as in std.
///
/// ```
/// use sim::LazyLock;
///
/// static TABLE: LazyLock<Vec<u32>> = LazyLock::new(|| Box::pin(async { vec![1, 2, 3] }));
///
/// # sim::block_on(async {
/// assert_eq!(LazyLock::force(&TABLE).await.len(), 3);
/// # });
/// ```
///
/// Two values that need each other can wait for each other forever. A run shows such a deadlock:
///
/// ```
/// use sim::{LazyLock, Runner};
///
/// static USERS: LazyLock<usize> = LazyLock::new(|| Box::pin(async {
///     1 + if sim::rand::below(2) == 0 { *LazyLock::force(&GROUPS).await } else { 0 }
/// }));
/// static GROUPS: LazyLock<usize> = LazyLock::new(|| Box::pin(async {
///     sim::task::yield_now().await;
///     1 + if sim::rand::below(2) == 0 { *LazyLock::force(&USERS).await } else { 0 }
/// }));
///
/// # if sim::SIMULATED {
/// let report = Runner::new().hermetic().run(async || {
///     let users = sim::spawn(async { *LazyLock::force(&USERS).await });
///     let groups = sim::spawn(async { *LazyLock::force(&GROUPS).await });
///     (users.await.unwrap(), groups.await.unwrap());
/// });
/// assert!(!report.passed());
/// # }
/// ```
pub struct LazyLock<T, F = fn() -> BoxFuture<'static, T>> {
    value: OnceValue<T>,
    init: F,
}

impl<T, F> LazyLock<T, F> {
    /// Creates a value that the future of `init` computes at the first use.
    ///
    /// ```
    /// # sim::block_on(async {
    /// let base = 20;
    /// let sum = sim::LazyLock::new(move || async move { base + 1 });
    /// assert_eq!(*sim::LazyLock::force(&sum).await, 21);
    /// # });
    /// ```
    #[track_caller]
    pub const fn new(init: F) -> LazyLock<T, F> {
        LazyLock { value: OnceValue::new("lazylock", here()), init }
    }

    /// Like [`new`](Self::new), for a `static`: each [node](crate::node()) of a run has its own value.
    #[track_caller]
    pub const fn const_new(init: F) -> LazyLock<T, F> {
        LazyLock { value: OnceValue::of_static("lazylock", here()), init }
    }

    /// Gives the value a name, which reports show in place of `lazylock#3`. Costs nothing in the real build.
    #[must_use]
    pub const fn named(mut self, name: &'static str) -> LazyLock<T, F> {
        self.value.object = self.value.object.named(name);
        self
    }

    /// Shares the value between all nodes of a run; see [`Atomic::shared`](crate::Atomic::shared).
    #[must_use]
    pub const fn shared(mut self) -> LazyLock<T, F> {
        self.value.object = self.value.object.shared();
        self
    }
}

impl<T, F, Fut> LazyLock<T, F>
where
    F: Fn() -> Fut,
    Fut: Future<Output = T>,
{
    /// Returns the value, and computes it first if no task has done so.
    ///
    /// # Panics
    /// If an initialisation has panicked, or if the initialisation of the same value polls this future, which would
    /// wait for itself. In a run, the second case is a misuse, which fails the run.
    ///
    /// ```
    /// use sim::{Atomic, LazyLock, Ordering::SeqCst};
    ///
    /// # sim::block_on(async {
    /// let calls = Atomic::new(0);
    /// let value = LazyLock::new(|| calls.fetch_add(1, SeqCst));
    /// let (one, two) = sim::join!(LazyLock::force(&value), LazyLock::force(&value));
    /// assert_eq!((*one, *two, calls.load(SeqCst).await), (0, 0, 1));
    /// # });
    /// ```
    #[track_caller]
    pub fn force(this: &LazyLock<T, F>) -> impl Future<Output = &T> {
        let reentry = Reentry::of("LazyLock", this, Location::caller());
        let here = here();
        async move {
            reentry.refuse();
            let make = |is_poisoned: bool| {
                making(reentry, move || {
                    assert!(!is_poisoned, "the LazyLock is poisoned: its initialisation panicked");
                    (this.init)()
                })
            };
            this.value.get_or_make(&FORCE, here, make).await
        }
    }
}

impl<T, F> fmt::Debug for LazyLock<T, F> {
    /// Shows no value, because reading the value would be an access.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LazyLock").finish_non_exhaustive()
    }
}
