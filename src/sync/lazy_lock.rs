//! The value that its first use makes.

use std::fmt;
use std::future::Future;
use std::panic::Location;

use ::futures::future::BoxFuture;

use super::once::{Reentry, making};
use crate::seam::{OnceOps, OnceValue, here};

const FORCE: OnceOps = OnceOps::making("force");

/// A value that its first use makes: std's `LazyLock`, for tasks.
///
/// [`force`](Self::force) is a point, and takes the place of std's `Deref`, which cannot await. The initialisation is a
/// `Fn`, because in a run each `static` is made anew (in the real build it is made once), and because an initialisation
/// that is dropped begins again. An initialisation that panics poisons the value, as in std.
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
/// Two values that need each other wait for ever if their uses cross, and a run shows it:
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
    /// A value that the future of `init` makes when it is used first.
    #[track_caller]
    pub const fn new(init: F) -> LazyLock<T, F> {
        LazyLock { value: OnceValue::new("lazylock", here()), init }
    }

    /// Like [`new`](Self::new), for a `static`: each [node](crate::node()) of a run has its own.
    #[track_caller]
    pub const fn const_new(init: F) -> LazyLock<T, F> {
        LazyLock { value: OnceValue::of_static("lazylock", here()), init }
    }

    /// The same value with a name, which reports use in the place of `lazylock#3`. Costs nothing in the real build.
    #[must_use]
    pub const fn named(mut self, name: &'static str) -> LazyLock<T, F> {
        self.value.object = self.value.object.named(name);
        self
    }

    /// The same for all nodes of a run; see [`Atomic::shared`](crate::Atomic::shared).
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
    /// The value, made now if no task has made it.
    ///
    /// # Panics
    /// If an initialisation has panicked, or if it is polled by the initialisation of the same value, which would wait
    /// for itself. The latter is a misuse in a run, which fails the run.
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
    /// Shows no value, because a look at it would be an access.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LazyLock").finish_non_exhaustive()
    }
}
