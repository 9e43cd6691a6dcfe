//! The cell that is written once, by an initialisation that may await.

use std::fmt;
use std::future::Future;
use std::sync::OnceLock;

use ::tokio::sync::{Semaphore, SemaphorePermit, SetError, TryAcquireError};

use super::held_guards::Held;
use crate::run::event::Values;
use crate::run::op::of_tokio::permits;
use crate::run::op::{Access, Op};
use crate::seam::{Call, CallOps, Came, Here, Wrapped, here};

const INIT: CallOps = CallOps {
    refuse: Op::of_kind("get_or_init", Access::Read, permits::FIND_CLOSED),
    ..CallOps::acting(
        ("get_or_init", "wait_for_the_initialisation"),
        [permits::TAKE, permits::FIND_CLOSED, permits::QUEUE, permits::HEAR],
        Op::of_kind("stop_waiting", Access::Tell, permits::LEAVE),
    )
};
const GIVE_UP: Op = Op::of_kind("end_of_get_or_init", Access::Tell, permits::GIVE);
const PUBLISH: Op = Op::of_kind("initialise", Access::Tell, permits::SETTLE);
const SET: [&Op; 2] = [
    &Op::of_kind("set", Access::Tell, permits::SETTLE),
    &Op::of_kind("set", Access::Peek, permits::FAIL),
];
const GET: Op = Op::of_kind("get", Access::Peek, permits::COUNT);

/// tokio's [`OnceCell`](::tokio::sync::OnceCell): a value written once, by the first initialisation that succeeds.
///
/// [`get_or_init`](Self::get_or_init) is a point; `get` and `set` are not. An initialisation that is dropped or fails
/// leaves the cell empty, and the next one begins.
///
/// ```
/// use sim::tokio::sync::OnceCell;
/// # sim::block_on(async {
/// let cell = OnceCell::new();
/// assert_eq!(*cell.get_or_init(|| async { 7 }).await, 7);
/// assert_eq!(*cell.get_or_init(|| async { 8 }).await, 7);
/// # });
/// ```
pub struct OnceCell<T> {
    wrapped: Wrapped,
    // A semaphore with one permit, which the initialising task holds. The semaphore is closed once the value is set.
    turns: Semaphore,
    /// The value that the cell was created with, if any.
    given: Option<T>,
    value: OnceLock<T>,
}

impl<T> OnceCell<T> {
    /// Creates an empty cell.
    #[track_caller]
    pub fn new() -> OnceCell<T> {
        OnceCell {
            wrapped: Wrapped::new("oncecell", here()),
            turns: Semaphore::new(1),
            given: None,
            value: OnceLock::new(),
        }
    }

    /// Like [`new`](Self::new), for a constant. Only one run can use such a cell.
    ///
    /// ```
    /// use sim::tokio::sync::OnceCell;
    ///
    /// static NAME: OnceCell<String> = OnceCell::const_new();
    ///
    /// # sim::block_on(async {
    /// let name = NAME.get_or_init(async || "a".to_owned()).await;
    /// assert_eq!(name, "a");
    /// # });
    /// ```
    #[track_caller]
    pub const fn const_new() -> OnceCell<T> {
        OnceCell {
            wrapped: Wrapped::of_static("oncecell", here()),
            turns: Semaphore::const_new(1),
            given: None,
            value: OnceLock::new(),
        }
    }

    /// Creates a cell with this value, for a constant. Only one run can use such a cell.
    #[track_caller]
    pub const fn const_new_with(value: T) -> OnceCell<T> {
        OnceCell {
            wrapped: Wrapped::of_static("oncecell", here()),
            turns: Semaphore::const_new(0),
            given: Some(value),
            value: OnceLock::new(),
        }
    }

    /// Creates a cell with this value, if any.
    #[track_caller]
    pub fn new_with(value: Option<T>) -> OnceCell<T> {
        OnceCell { given: value, ..OnceCell::new() }
    }

    /// Returns `true` if the cell has a value. This call is not a point.
    #[track_caller]
    pub fn initialized(&self) -> bool {
        self.get_at(here()).is_some()
    }

    /// Returns the value, if any. This call is not a point.
    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        self.get_at(here())
    }

    /// Returns the value, if any. `&mut` proves that no task uses the cell.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.given.as_mut().or(self.value.get_mut())
    }

    /// Writes the value. This call is not a point.
    ///
    /// # Errors
    /// If the cell has a value, or an initialisation is in progress.
    ///
    /// ```
    /// use sim::tokio::sync::{OnceCell, SetError};
    ///
    /// let cell = OnceCell::new();
    /// assert_eq!(cell.set(1), Ok(()));
    /// assert_eq!(cell.set(2), Err(SetError::AlreadyInitializedError(2)));
    /// assert_eq!(cell.get(), Some(&1));
    /// ```
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), SetError<T>> {
        let set = || match self.turns.try_acquire() {
            _ if self.given.is_some() => Err(SetError::AlreadyInitializedError(value)),
            Ok(permit) => {
                permit.forget();
                self.publish(value);
                Ok(())
            }
            Err(TryAcquireError::NoPermits) => Err(SetError::InitializingError(value)),
            Err(TryAcquireError::Closed) => Err(SetError::AlreadyInitializedError(value)),
        };
        self.wrapped.attempt(SET, here(), set)
    }

    /// Returns the value. If the cell is empty, the first caller's `init` computes the value, and other callers wait
    /// for it.
    ///
    /// ```
    /// use sim::tokio::sync::OnceCell;
    /// # sim::block_on(async {
    /// let cell = OnceCell::new();
    /// assert_eq!(cell.get_or_init(async || 1).await, &1);
    /// assert_eq!(cell.get_or_init(async || 2).await, &1);
    /// # });
    /// ```
    #[track_caller]
    pub fn get_or_init<F, Fut>(&self, init: F) -> impl Future<Output = &T> + use<'_, T, F, Fut>
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = T>,
    {
        let here = here();
        async move {
            let init = async || Ok::<T, std::convert::Infallible>(init().await);
            match self.init_at(init, here).await {
                Ok(value) => value,
                Err(never) => match never {},
            }
        }
    }

    /// Like [`get_or_init`](Self::get_or_init), for an initialisation that may fail.
    ///
    /// # Errors
    /// Returns the error of `init`; the cell stays empty.
    ///
    /// ```
    /// use sim::tokio::sync::OnceCell;
    /// # sim::block_on(async {
    /// let cell = OnceCell::<u8>::new();
    /// assert_eq!(cell.get_or_try_init(async || Err("no")).await, Err("no"));
    /// assert_eq!(cell.get_or_try_init(async || Ok::<_, &str>(7)).await, Ok(&7));
    /// # });
    /// ```
    #[track_caller]
    pub fn get_or_try_init<E, F, Fut>(
        &self,
        init: F,
    ) -> impl Future<Output = Result<&T, E>> + use<'_, T, E, F, Fut>
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        let here = here();
        async move { self.init_at(init, here).await }
    }

    async fn init_at<E, F, Fut>(&self, init: F, here: Here) -> Result<&T, E>
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        let turn = async {
            let turn = self.turns.acquire();
            self.given.is_none() && turn.await.map(SemaphorePermit::forget).is_ok()
        };
        let came = |is_first: &bool| if *is_first { Came::Holds } else { Came::ToNothing };
        if Call::new(&self.wrapped, &INIT, here, turn, came).await {
            // Gives the permit back if the initialisation is dropped or fails.
            let given = Given(&self.turns);
            let held = Held::new(&self.wrapped, &GIVE_UP, here);
            let value = init().await?;
            std::mem::forget(given);
            self.publish(value);
            drop(held.releasing(&PUBLISH));
        }
        Ok(self.stored().expect("it was initialised"))
    }

    /// Returns the value, if any. Ownership proves that no task uses the cell.
    pub fn into_inner(self) -> Option<T> {
        self.given.or(self.value.into_inner())
    }

    /// Takes the value out and leaves the cell empty. `&mut` proves that no task uses the cell.
    ///
    /// ```
    /// use sim::tokio::sync::OnceCell;
    ///
    /// let mut cell = OnceCell::new_with(Some(7));
    /// assert_eq!(cell.take(), Some(7));
    /// assert!(!cell.initialized());
    /// ```
    #[track_caller]
    pub fn take(&mut self) -> Option<T> {
        std::mem::take(self).into_inner()
    }

    fn get_at(&self, here: Here) -> Option<&T> {
        let got = |value: &Option<&T>| (&GET, Values::Read(u64::from(value.is_some())));
        self.wrapped.now(here, || self.stored(), got)
    }

    fn stored(&self) -> Option<&T> {
        self.given.as_ref().or(self.value.get())
    }

    fn publish(&self, value: T) {
        // Only the holder of the permit sets the value, so this cannot fail.
        let _ = self.value.set(value);
        self.turns.close();
    }
}

/// The permit of the initialising task, given back on drop.
struct Given<'a>(&'a Semaphore);

impl Drop for Given<'_> {
    fn drop(&mut self) {
        self.0.add_permits(1);
    }
}

impl<T> Default for OnceCell<T> {
    #[track_caller]
    fn default() -> OnceCell<T> {
        OnceCell::new()
    }
}

impl<T> From<T> for OnceCell<T> {
    #[track_caller]
    fn from(value: T) -> OnceCell<T> {
        OnceCell::new_with(Some(value))
    }
}

impl<T: Clone> Clone for OnceCell<T> {
    #[track_caller]
    fn clone(&self) -> OnceCell<T> {
        OnceCell::new_with(self.get().cloned())
    }
}

impl<T: PartialEq> PartialEq for OnceCell<T> {
    fn eq(&self, other: &OnceCell<T>) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for OnceCell<T> {}

impl<T: fmt::Debug> fmt::Debug for OnceCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnceCell").field("value", &self.stored()).finish()
    }
}
