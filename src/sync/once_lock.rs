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
/// Each operation is a point. The first [`get_or_init`](Self::get_or_init) computes the value, and the other calls wait
/// for it. If an initialisation panics or is dropped, the cell stays empty, and the initialisation of a waiting or
/// later call begins. An initialisation that requests its own value panics and fails the run; in std it would wait for
/// itself.
///
/// [`new`](Self::new) is `const`, so that a cell may be a `static`. In a run every cell starts empty, including a
/// `static`. A `static` also keeps the values of earlier runs in memory, because references to them may still exist. In
/// the real build a `static` has one value for all runs.
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
/// A check followed by a write is a race, although each operation is safe by itself:
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
    /// Creates an empty cell.
    #[track_caller]
    pub const fn new() -> OnceLock<T> {
        OnceLock { value: OnceValue::new("oncelock", here()) }
    }

    /// Creates an empty cell, for a `static`: each [node](crate::node()) of a run has its own cell. Elsewhere, use
    /// [`new`](Self::new). There are two functions because a `const` constructor cannot know where the cell will be.
    ///
    /// ```
    /// static ID: sim::OnceLock<u32> = sim::OnceLock::const_new();
    /// ```
    #[track_caller]
    pub const fn const_new() -> OnceLock<T> {
        OnceLock { value: OnceValue::of_static("oncelock", here()) }
    }

    /// Gives the cell a name, which reports show in place of `oncelock#3`. Costs nothing in the real build.
    #[must_use]
    pub const fn named(mut self, name: &'static str) -> OnceLock<T> {
        self.value.object = self.value.object.named(name);
        self
    }

    /// Shares the cell between all nodes of a run; see [`Atomic::shared`](crate::Atomic::shared).
    #[must_use]
    pub const fn shared(mut self) -> OnceLock<T> {
        self.value.object = self.value.object.shared();
        self
    }

    /// Returns the value, if any.
    #[track_caller]
    pub fn get(&self) -> impl Future<Output = Option<&T>> {
        self.value.get(&GET, here())
    }

    /// Returns the value. If the cell is empty, the future that `init` returns computes the value, and concurrent calls
    /// wait for it.
    ///
    /// # Panics
    /// If an initialisation of the same cell polls this future, which would wait for itself. In a run this is a misuse,
    /// which fails the run.
    ///
    /// ```
    /// use sim::OnceLock;
    ///
    /// # sim::block_on(async {
    /// let cell = OnceLock::new();
    /// let one = cell.get_or_init(async || 1);
    /// let two = cell.get_or_init(async || 2);
    /// let (one, two) = sim::join!(one, two);
    /// assert_eq!(one, two);
    /// # });
    /// ```
    #[track_caller]
    pub fn get_or_init<F, Fut>(&self, init: F) -> impl Future<Output = &T>
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = T>,
    {
        let reentry = Reentry::of("OnceLock", self, Location::caller());
        self.make_at(&GET_OR_INIT, here(), reentry, init)
    }

    /// Writes the value, after waiting for any initialisation in progress.
    ///
    /// # Errors
    /// Returns `value` if the cell already has a value.
    ///
    /// ```
    /// # sim::block_on(async {
    /// let cell = sim::OnceLock::new();
    /// assert_eq!(cell.set(1).await, Ok(()));
    /// assert_eq!(cell.set(2).await, Err(2));
    /// # });
    /// ```
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

    /// Waits until another task has set the value.
    ///
    /// ```
    /// # sim::block_on(async {
    /// let cell = sim::OnceLock::new();
    /// let (value, set) = sim::join!(cell.wait(), cell.set(7));
    /// assert_eq!((value, set), (&7, Ok(())));
    /// # });
    /// ```
    #[track_caller]
    pub fn wait(&self) -> impl Future<Output = &T> {
        self.value.wait(&WAIT, here())
    }

    /// Returns the value, if any. `&mut` proves that no other task uses the cell, so this is not a point.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.value.get_mut()
    }

    /// Returns the value, if any. Ownership proves that no other task uses the cell, so this is not a point.
    pub fn into_inner(self) -> Option<T> {
        self.value.into_inner()
    }

    /// Takes the value out and leaves the cell empty. `&mut` proves that no other task uses the cell, so this is not a
    /// point.
    ///
    /// ```
    /// # sim::block_on(async {
    /// let mut cell = sim::OnceLock::new();
    /// cell.set(1).await.unwrap();
    /// assert_eq!(cell.take(), Some(1));
    /// assert_eq!(cell.set(2).await, Ok(()));
    /// # });
    /// ```
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
    /// Shows no value, because reading the value would be an access.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnceLock").finish_non_exhaustive()
    }
}
