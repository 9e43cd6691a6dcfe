//! The cell that is written once.

use std::fmt;
use std::future::Future;
use std::panic::Location;

use super::once::{Reentry, making};
use crate::run::op::{Access, Op, once};
use crate::seam::{Here, OnceOps, OnceValue, here};

const GET_OR_INIT: OnceOps = OnceOps::making("get_or_init");
const SET: OnceOps = OnceOps::making("set");
const WAIT: OnceOps = OnceOps::waiting("wait");
const GET: Op = Op::of_kind("get", Access::Read, once::LOOK);

/// A cell that is written once: std's `OnceLock`, for tasks.
///
/// Each operation is a point. The first [`get_or_init`](Self::get_or_init) makes the value, and the others wait for it.
/// An initialisation that panics or is dropped leaves the cell empty: the next one begins, of any task that waits or
/// comes then. An initialisation that asks for its own value panics, and fails a run, where std's would wait for
/// itself.
///
/// [`new`](Self::new) is `const`, so that a cell may be a `static`. In a run every cell begins empty, also a `static`,
/// which keeps the values of earlier runs because references to them may be left. In the real build a `static` has one
/// value for all runs.
///
/// ```
/// use sim::OnceLock;
///
/// static LIMIT: OnceLock<u32> = OnceLock::new();
///
/// # sim::block_on(async {
/// assert_eq!(*LIMIT.get_or_init(|| async { 7 }).await, 7);
/// assert_eq!(LIMIT.set(8).await, Err(8));
/// # });
/// ```
///
/// A look that is followed by a write is a race, although each of the two is safe:
///
/// ```
/// use sim::{OnceLock, Runner};
/// use std::sync::Arc;
///
/// async fn connect(cell: &OnceLock<u32>) {
///     if cell.get().await.is_none() {
///         cell.set(7).await.expect("connected twice");
///     }
/// }
///
/// let report = Runner::new().hermetic().run(async || {
///     let cell = Arc::new(OnceLock::new());
///     sim::map_concurrently([cell.clone(), cell], |cell| async move { connect(&cell).await }).await;
/// });
/// assert!(!sim::SIMULATED || !report.passed());
/// ```
pub struct OnceLock<T> {
    value: OnceValue<T>,
}

impl<T> OnceLock<T> {
    /// An empty cell.
    #[track_caller]
    pub const fn new() -> OnceLock<T> {
        OnceLock { value: OnceValue::new("oncelock", here()) }
    }

    /// An empty cell, for a `static`: each [node](crate::node()) of a run has its own. Elsewhere, use
    /// [`new`](Self::new): a constructor that is `const` cannot know where the cell will be.
    ///
    /// ```
    /// static ID: sim::OnceLock<u32> = sim::OnceLock::const_new();
    /// ```
    #[track_caller]
    pub const fn const_new() -> OnceLock<T> {
        OnceLock { value: OnceValue::of_static("oncelock", here()) }
    }

    /// The same cell with a name, which reports use in the place of `oncelock#3`. Costs nothing in the real build.
    #[must_use]
    pub const fn named(mut self, name: &'static str) -> OnceLock<T> {
        self.value.object = self.value.object.named(name);
        self
    }

    /// The same for all nodes of a run; see [`Atomic::shared`](crate::Atomic::shared).
    #[must_use]
    pub const fn shared(mut self) -> OnceLock<T> {
        self.value.object = self.value.object.shared();
        self
    }

    /// The value, if any.
    #[track_caller]
    pub fn get(&self) -> impl Future<Output = Option<&T>> {
        self.value.get(&GET, here())
    }

    /// The value. If there is none, the future that `init` returns makes it; calls that come in the meantime wait.
    ///
    /// # Panics
    /// If it is polled by an initialisation of the same cell, which would wait for itself. In a run that is a misuse,
    /// which fails the run.
    #[track_caller]
    pub fn get_or_init<F, Fut>(&self, init: F) -> impl Future<Output = &T>
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = T>,
    {
        let reentry = Reentry::of("OnceLock", self, Location::caller());
        self.make_at(&GET_OR_INIT, here(), reentry, init)
    }

    /// Writes the value, after an initialisation that is under way.
    ///
    /// # Errors
    /// If there is a value: then `value` comes back.
    #[track_caller]
    pub fn set(&self, value: T) -> impl Future<Output = Result<(), T>> {
        let reentry = Reentry::of("OnceLock", self, Location::caller());
        let here = here();
        async move {
            let mut value = Some(value);
            let take = async || value.take().expect("it is taken once");
            self.make_at(&SET, here, reentry, take).await;
            value.map_or(Ok(()), Err)
        }
    }

    /// Waits until there is a value, which another task makes.
    #[track_caller]
    pub fn wait(&self) -> impl Future<Output = &T> {
        self.value.wait(&WAIT, here())
    }

    /// The value, if any. `&mut` shows that no other task uses the cell, so this is not a point.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.value.get_mut()
    }

    /// The value, if any. Owning the cell shows that no other task uses it, so this is not a point.
    pub fn into_inner(self) -> Option<T> {
        self.value.into_inner()
    }

    /// Takes the value out: the cell is empty then. `&mut` shows that no other task uses it, so this is not a point.
    pub fn take(&mut self) -> Option<T> {
        self.value.take()
    }

    async fn make_at<F, Fut>(
        &self,
        ops: &'static OnceOps,
        here: Here,
        reentry: Reentry,
        init: F,
    ) -> &T
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = T>,
    {
        reentry.refuse();
        self.value.get_or_make(ops, here, |_| making(reentry, init)).await
    }
}

impl<T> Default for OnceLock<T> {
    #[track_caller]
    fn default() -> OnceLock<T> {
        OnceLock::new()
    }
}

impl<T> fmt::Debug for OnceLock<T> {
    /// Shows no value, because a look at it would be an access.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnceLock").finish_non_exhaustive()
    }
}
