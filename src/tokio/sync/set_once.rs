//! The cell that is written once, and for whose value tasks wait.

use std::fmt;
use std::future::Future;

use ::tokio::sync::{SetOnce as Real, SetOnceError};

use crate::run::event::Values;
use crate::run::op::of_tokio::whole;
use crate::run::op::{Access, Op};
use crate::seam::{Call, CallOps, Came, Here, Wrapped, here};

const WAIT: CallOps =
    CallOps::seeing(("get", "wait_for_the_value"), [whole::LOOK, whole::HEAR_ALONE]);
const SET: [&Op; 2] = [
    &Op::of_kind("set", Access::Tell, whole::CHANGE),
    &Op::of_kind("set", Access::Peek, whole::LOOK),
];
const GET: Op = Op::of_kind("get", Access::Peek, whole::LOOK);

/// tokio's [`SetOnce`](::tokio::sync::SetOnce): a value that is written once, and for which tasks wait.
///
/// Waiting is a point; getting and setting are not. Cancel safe.
///
/// ```
/// use sim::tokio::sync::SetOnce;
/// # sim::block_on(async {
/// let once = SetOnce::new();
/// once.set(7).unwrap();
/// assert_eq!(*once.wait().await, 7);
/// # });
/// ```
pub struct SetOnce<T> {
    wrapped: Wrapped,
    real: Real<T>,
}

impl<T> SetOnce<T> {
    /// Creates an empty cell.
    #[track_caller]
    pub fn new() -> SetOnce<T> {
        SetOnce { wrapped: Wrapped::new("setonce", here()), real: Real::new() }
    }

    /// Like [`new`](Self::new), for a constant. Only one run can use such a cell.
    #[track_caller]
    pub const fn const_new() -> SetOnce<T> {
        SetOnce { wrapped: Wrapped::of_static("setonce", here()), real: Real::const_new() }
    }

    /// Creates a cell with this value, if any.
    #[track_caller]
    pub fn new_with(value: Option<T>) -> SetOnce<T> {
        SetOnce { wrapped: Wrapped::new("setonce", here()), real: Real::new_with(value) }
    }

    /// Like [`new_with`](Self::new_with) with a value, for a constant.
    #[track_caller]
    pub const fn const_new_with(value: T) -> SetOnce<T> {
        let real = Real::const_new_with(value);
        SetOnce { wrapped: Wrapped::of_static("setonce", here()), real }
    }

    /// Returns `true` if the cell has a value. This call is not a point.
    #[track_caller]
    pub fn initialized(&self) -> bool {
        self.wrapped.check(&GET, here(), || self.real.initialized())
    }

    /// Returns the value, if any. This call is not a point.
    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        let got = |value: &Option<&T>| (&GET, Values::Read(u64::from(value.is_some())));
        self.wrapped.now(here(), || self.real.get(), got)
    }

    /// Writes the value, and wakes all waiting tasks. This call is not a point.
    ///
    /// # Errors
    /// Returns `value` if the cell already has a value.
    ///
    /// ```
    /// use sim::tokio::sync::SetOnce;
    ///
    /// let once = SetOnce::new();
    /// assert!(once.set(1).is_ok());
    /// assert_eq!(once.set(2).unwrap_err().0, 2);
    /// assert_eq!(once.get(), Some(&1));
    /// ```
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), SetOnceError<T>> {
        self.wrapped.attempt(SET, here(), || self.real.set(value))
    }

    /// Waits for the value.
    ///
    /// ```
    /// use sim::tokio::sync::SetOnce;
    /// # sim::block_on(async {
    /// let once = SetOnce::new();
    /// let (value, set) = sim::join!(once.wait(), async { once.set(7) });
    /// assert_eq!((value, set), (&7, Ok(())));
    /// # });
    /// ```
    #[track_caller]
    pub fn wait(&self) -> impl Future<Output = &T> + use<'_, T> {
        self.wait_at(here())
    }

    async fn wait_at(&self, here: Here) -> &T {
        Call::new(&self.wrapped, &WAIT, here, self.real.wait(), |_| Came::Done).await
    }

    /// Returns the value, if any. Ownership proves that no task uses the cell.
    pub fn into_inner(self) -> Option<T> {
        self.real.into_inner()
    }
}

impl<T: fmt::Debug> fmt::Debug for SetOnce<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.real.fmt(f)
    }
}

impl<T> Default for SetOnce<T> {
    #[track_caller]
    fn default() -> SetOnce<T> {
        SetOnce::new()
    }
}

impl<T> From<T> for SetOnce<T> {
    #[track_caller]
    fn from(value: T) -> SetOnce<T> {
        SetOnce::new_with(Some(value))
    }
}

impl<T: Clone> Clone for SetOnce<T> {
    #[track_caller]
    fn clone(&self) -> SetOnce<T> {
        SetOnce::new_with(self.get().cloned())
    }
}

impl<T: PartialEq> PartialEq for SetOnce<T> {
    fn eq(&self, other: &SetOnce<T>) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for SetOnce<T> {}
