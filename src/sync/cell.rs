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
/// Each operation is one access and an await point, so `get` then `set` is a race, as it would be on
/// plain memory. A cell made in a run holds its initial value and belongs to that run; its use in another
/// run fails that run, as for a [`Mutex`](crate::Mutex). A cell made outside of runs has a value of its own in each
/// run, a clone of the value outside; a cell in a `static`, made with [`const_new`](Self::const_new), a clone of the
/// initial value (in the real build only with debug assertions). Outside a run and in the real
/// build the value is behind a std mutex, held for one access: plain memory cannot be shared in safe Rust.
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
    /// A cell that holds `value`.
    #[track_caller]
    pub fn new(value: T) -> Cell<T>
    where
        T: 'static,
    {
        Cell { slot: Slot::new(value, here()) }
    }

    /// A cell that holds `value`, for a `static`. Elsewhere, use [`new`](Self::new).
    ///
    /// ```
    /// static LAST: sim::Cell<Option<u32>> = sim::Cell::const_new(None);
    /// ```
    #[track_caller]
    pub const fn const_new(value: T) -> Cell<T> {
        Cell { slot: Slot::of_static(value, here()) }
    }

    /// The same cell with a name: reports call it that, in the place of `cell#3`. Several with one name are
    /// numbered. Costs nothing in the real build.
    ///
    /// ```
    /// static LAST: sim::Cell<Option<u32>> = sim::Cell::const_new(None).named("last");
    /// ```
    #[must_use]
    pub const fn named(mut self, name: &'static str) -> Cell<T> {
        self.slot.object = self.slot.object.named(name);
        self
    }

    /// The same for all nodes of a run; see [`Atomic::shared`](crate::Atomic::shared).
    #[must_use]
    pub const fn shared(mut self) -> Cell<T> {
        self.slot.object = self.slot.object.shared();
        self
    }

    /// The value. `&mut` shows that no other task uses it, so this is not a point.
    pub fn get_mut(&mut self) -> &mut T {
        self.slot.get_mut()
    }

    /// The value. Owning the cell shows that no other task uses it, so this is not a point.
    pub fn into_inner(self) -> T {
        self.slot.into_inner()
    }
}

impl<T: Clone + Send + 'static> Cell<T> {
    /// A clone of the value, without a point: as [`Atomic::peek`](crate::Atomic::peek).
    #[track_caller]
    pub fn peek(&self) -> T {
        self.slot.peek(here(), |value| value.clone())
    }

    /// Reads the value: a clone of it.
    #[track_caller]
    pub fn get(&self) -> impl Future<Output = T> + Send + use<'_, T> {
        self.slot.point(&GET, here(), move |backend| {
            self.slot.access(backend, |value| value.clone(), |value, _| read(value))
        })
    }

    /// Writes `value`.
    #[track_caller]
    pub fn set(&self, value: T) -> impl Future<Output = ()> + Send + use<'_, T> {
        self.slot.point(&SET, here(), move |backend| {
            // The old value is dropped after all locks are released.
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

    /// Writes the default and returns the previous value, in one access.
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
    /// Shows no value, because reading it would be an access.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cell").finish_non_exhaustive()
    }
}
