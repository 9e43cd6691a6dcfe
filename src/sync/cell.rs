//! The cell: plain shared memory for a value of any type.

use std::fmt;
use std::future::Future;

use crate::run::event::Values;
use crate::run::op::{Access, Op};
use crate::seam::value::bits_of;
use crate::seam::{Slot, here};

const GET: Op = Op::new("get", Access::Read);
const SET: Op = Op::new("set", Access::Write);
const REPLACE: Op = Op::new("replace", Access::ReadModifyWrite);
const TAKE: Op = Op::new("take", Access::ReadModifyWrite);

/// Plain shared memory: a value that tasks read and write as a whole.
///
/// Each operation is one access and an await point, so `get` then `set` is a race, as it would be on plain memory. A
/// cell created in a run holds its initial value and belongs to that run. Another run fails if it uses the cell, as
/// with a [`Mutex`](crate::Mutex). A cell created outside of runs has its own value in each run, which starts as a
/// clone of the value outside. A cell in a `static`, created with [`const_new`](Self::const_new), starts each run with
/// a clone of the initial value (in the real build only with debug assertions). Outside a run and in the real build, a
/// std mutex protects the value during each access, because safe Rust cannot share plain memory.
///
/// ```
/// # sim::block_on(async {
/// let name = sim::Cell::new("a".to_owned());
/// name.set("b".to_owned()).await;
/// assert_eq!(name.replace("c".to_owned()).await, "b");
/// assert_eq!(name.get().await, "c");
/// # });
/// ```
pub struct Cell<T> {
    slot: Slot<T>,
}

impl<T> Cell<T> {
    /// Creates a cell that holds `value`.
    #[track_caller]
    pub fn new(value: T) -> Cell<T>
    where
        T: 'static,
    {
        Cell { slot: Slot::new(value, here()) }
    }

    /// Creates a cell that holds `value`, for a `static`. Elsewhere, use [`new`](Self::new).
    ///
    /// ```
    /// static LAST: sim::Cell<Option<u32>> = sim::Cell::const_new(None);
    /// ```
    #[track_caller]
    pub const fn const_new(value: T) -> Cell<T> {
        Cell { slot: Slot::of_static(value, here()) }
    }

    /// Gives the cell a name, which reports show in place of `cell#3`. Objects with the same name are numbered. Costs
    /// nothing in the real build.
    ///
    /// ```
    /// static LAST: sim::Cell<Option<u32>> = sim::Cell::const_new(None).named("last");
    /// ```
    #[must_use]
    pub const fn named(mut self, name: &'static str) -> Cell<T> {
        self.slot.object = self.slot.object.named(name);
        self
    }

    /// Shares the cell between all nodes of a run; see [`Atomic::shared`](crate::Atomic::shared).
    #[must_use]
    pub const fn shared(mut self) -> Cell<T> {
        self.slot.object = self.slot.object.shared();
        self
    }

    /// Returns the value. `&mut` proves that no other task uses the cell, so this is not a point.
    pub fn get_mut(&mut self) -> &mut T {
        self.slot.get_mut()
    }

    /// Returns the value. Ownership proves that no other task uses the cell, so this is not a point.
    pub fn into_inner(self) -> T {
        self.slot.into_inner()
    }
}

impl<T: Clone + Send + 'static> Cell<T> {
    /// Returns a clone of the value, without a point, like [`Atomic::peek`](crate::Atomic::peek).
    ///
    /// ```
    /// let state = sim::Cell::new("idle");
    /// assert_eq!(state.peek(), "idle");
    /// ```
    #[track_caller]
    pub fn peek(&self) -> T {
        self.slot.peek(here(), |value| value.clone())
    }

    /// Reads the value and returns a clone.
    #[track_caller]
    pub fn get(&self) -> impl Future<Output = T> + Send + use<'_, T> {
        self.slot.point(&GET, here(), move |backend| {
            self.slot.access(backend, |value| value.clone(), |value, _| read(value))
        })
    }

    /// Writes `value`.
    ///
    /// ```
    /// use sim::{Cell, Runner};
    /// use std::sync::Arc;
    ///
    /// let report = Runner::new().hermetic().run(async || {
    ///     let count = Arc::new(Cell::new(0u32));
    ///     sim::map_concurrently([count.clone(), count.clone()], |count| async move {
    ///         count.set(count.get().await + 1).await;
    ///     })
    ///     .await;
    ///     assert_eq!(count.get().await, 2, "an update is lost");
    /// });
    /// assert!(!sim::SIMULATED || !report.passed());
    /// ```
    #[track_caller]
    pub fn set(&self, value: T) -> impl Future<Output = ()> + Send + use<'_, T> {
        self.slot.point(&SET, here(), move |backend| {
            // The old value is dropped only after all locks are released.
            let show = |_: &T, new: &T| bits_of(new).map_or(Values::None, Values::Wrote);
            drop(self.slot.access(backend, |place| std::mem::replace(place, value), show));
        })
    }

    /// Writes `value` and returns the previous value, in one access.
    #[track_caller]
    pub fn replace(&self, value: T) -> impl Future<Output = T> + Send + use<'_, T> {
        self.slot.point(&REPLACE, here(), move |backend| {
            self.slot.access(backend, |place| std::mem::replace(place, value), changed)
        })
    }

    /// Writes the default value and returns the previous value, in one access.
    ///
    /// ```
    /// # sim::block_on(async {
    /// let queue = sim::Cell::new(vec![1, 2]);
    /// assert_eq!(queue.take().await, [1, 2]);
    /// assert!(queue.get().await.is_empty());
    /// # });
    /// ```
    #[track_caller]
    pub fn take(&self) -> impl Future<Output = T> + Send + use<'_, T>
    where
        T: Default,
    {
        self.slot
            .point(&TAKE, here(), move |backend| self.slot.access(backend, std::mem::take, changed))
    }
}

fn read<T: 'static>(value: &T) -> Values {
    bits_of(value).map_or(Values::None, Values::Read)
}

fn changed<T: 'static>(old: &T, new: &T) -> Values {
    match (bits_of(old), bits_of(new)) {
        (Some(old), Some(new)) => Values::Changed(old, new),
        _ => Values::None,
    }
}

impl<T: Default + 'static> Default for Cell<T> {
    #[track_caller]
    fn default() -> Cell<T> {
        Cell::new(T::default())
    }
}

impl<T: 'static> From<T> for Cell<T> {
    #[track_caller]
    fn from(value: T) -> Cell<T> {
        Cell::new(value)
    }
}

impl<T> fmt::Debug for Cell<T> {
    /// Shows no value, because reading the value would be an access.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cell").finish_non_exhaustive()
    }
}
