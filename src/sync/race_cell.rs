//! The cell for data that other means must protect.

use std::fmt;

use crate::seam::{Unguarded, here};

/// Plain memory of tasks that other means must protect, like std's `UnsafeCell`, but safe.
///
/// An access is neither an await nor a point. In a run, two accesses by different tasks are a data race if at least one
/// of them writes, and nothing orders them: no lock, no join, and no `Release` store that an `Acquire` load has read.
/// The run then fails, and its report names both places. The order is happens-before, by the memory orders in the
/// source, also with the default memory `sc`. A [search](mod@crate::strategy) that is a proof shows that no
/// interleaving has a race.
///
/// Only synchronisation by this library, by wakers and by joins is seen. So a run with data behind std's locks, std's
/// atomics or the count of a std `Arc` may report a false race: use the types of this library, and
/// [`get_mut`](Self::get_mut) in destructors. Plain threads do not need this type:
/// `cargo unpause test --races` finds the races of all their memory.
///
/// A cell created in a run belongs to that run. A cell in a `static`, created with [`const_new`](Self::const_new),
/// starts each run with a clone of the initial value (in the real build only with debug assertions). Outside of runs
/// and in the real build, a std `RwLock` protects the value, because safe Rust cannot share plain memory. The lock
/// never blocks: an access panics if it overlaps with another access, unless both accesses only read.
///
/// ```
/// use sim::{Atomic, Ordering::{Acquire, Relaxed, Release}, RaceCell, Runner};
/// use std::sync::Arc;
///
/// let publishes = |order| {
///     Runner::new().hermetic().seeds(0..50).run(async move || {
///         let shared = Arc::new((RaceCell::new(0), Atomic::new(false)));
///         let other = shared.clone();
///         let writer = sim::spawn(async move {
///             other.0.set(7);
///             other.1.store(true, order).await;
///         });
///         if shared.1.load(Acquire).await {
///             assert_eq!(shared.0.get(), 7);
///         }
///         writer.await.unwrap();
///     })
/// };
/// assert!(publishes(Release).passed());
/// assert!(!sim::SIMULATED || !publishes(Relaxed).passed());
/// ```
pub struct RaceCell<T> {
    value: Unguarded<T>,
}

impl<T> RaceCell<T> {
    /// Creates a cell that holds `value`. In a run, this is the first write.
    #[track_caller]
    pub fn new(value: T) -> RaceCell<T> {
        RaceCell { value: Unguarded::new(value, here()) }
    }

    /// Creates a cell that holds `value`, for a `static`. Elsewhere, use [`new`](Self::new).
    ///
    /// ```
    /// static LAST: sim::RaceCell<Option<u32>> = sim::RaceCell::const_new(None);
    /// ```
    #[track_caller]
    pub const fn const_new(value: T) -> RaceCell<T>
    where
        T: Clone,
    {
        RaceCell { value: Unguarded::of_static(value, T::clone, here()) }
    }

    /// Gives the cell a name, which reports show. Costs nothing in the real build.
    ///
    /// ```
    /// static LAST: sim::RaceCell<u32> = sim::RaceCell::const_new(0).named("last");
    /// ```
    #[must_use]
    pub const fn named(mut self, name: &'static str) -> RaceCell<T> {
        self.value.object = self.value.object.named(name);
        self
    }

    /// Shares the cell between all nodes of a run; see [`Atomic::shared`](crate::Atomic::shared).
    #[must_use]
    pub const fn shared(mut self) -> RaceCell<T> {
        self.value.object = self.value.object.shared();
        self
    }

    /// Passes the value to `read`, and returns the result. The call is a read.
    ///
    /// # Panics
    /// Within [`with_mut`](Self::with_mut) of the same cell. Outside of runs, also if a write is in progress.
    ///
    /// ```
    /// let names = sim::RaceCell::new(vec!["a", "b"]);
    /// assert_eq!(names.with(|names| names.len()), 2);
    /// ```
    #[track_caller]
    pub fn with<R>(&self, read: impl FnOnce(&T) -> R) -> R {
        self.value.read(here(), read)
    }

    /// Passes the value to `write`, and returns the result. The call is a write.
    ///
    /// # Panics
    /// Within another access to the same cell. Outside of runs, also if another access is in progress.
    ///
    /// ```
    /// let names = sim::RaceCell::new(vec!["a"]);
    /// names.with_mut(|names| names.push("b"));
    /// assert_eq!(names.into_inner(), ["a", "b"]);
    /// ```
    #[track_caller]
    pub fn with_mut<R>(&self, write: impl FnOnce(&mut T) -> R) -> R {
        self.value.write(here(), write)
    }

    /// Returns a clone of the value. The call is a read.
    ///
    /// # Panics
    /// Like [`with`](Self::with).
    #[track_caller]
    pub fn get(&self) -> T
    where
        T: Clone,
    {
        self.value.read(here(), T::clone)
    }

    /// Writes `value`.
    ///
    /// # Panics
    /// Like [`with_mut`](Self::with_mut).
    #[track_caller]
    pub fn set(&self, value: T) {
        drop(self.replace(value));
    }

    /// Writes `value` and returns the previous value.
    ///
    /// # Panics
    /// Like [`with_mut`](Self::with_mut).
    #[track_caller]
    pub fn replace(&self, value: T) -> T {
        self.value.write(here(), |place| std::mem::replace(place, value))
    }

    /// Returns the value. `&mut` proves that no other task uses the cell, so this is not an access.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// Returns the value. Ownership proves that no other task uses the cell, so this is not an access.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: Default> Default for RaceCell<T> {
    #[track_caller]
    fn default() -> RaceCell<T> {
        RaceCell::new(T::default())
    }
}

impl<T> From<T> for RaceCell<T> {
    #[track_caller]
    fn from(value: T) -> RaceCell<T> {
        RaceCell::new(value)
    }
}

impl<T> fmt::Debug for RaceCell<T> {
    /// Shows no value, because reading the value would be an access.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RaceCell").finish_non_exhaustive()
    }
}
