//! The receiver of a watch channel.

use std::fmt;
use std::future::Future;

use super::error::RecvError;
use super::*;
use crate::run::event::Values;
use crate::seam::{Call, CallOps, Came, Here};

const CHANGED: CallOps =
    CallOps::seeing(("changed", "wait_for_a_change"), [version::LOOK, version::HEAR]);
const WAIT_FOR: CallOps =
    CallOps::seeing(("wait_for", "wait_for_a_value"), [version::LOOK, version::HEAR]);
const BORROW_AND_UPDATE: Op = Op::of_kind("borrow_and_update", Access::Peek, version::LOOK);
const HAS_CHANGED: Op = Op::of_kind("has_changed", Access::Peek, version::LOOK);
const IS_CLOSED: Op = Op::of_kind("is_closed", Access::Peek, version::LOOK);
const MARK_UNCHANGED: Op = Op::of_kind("mark_unchanged", Access::Peek, version::LOOK);
const CLONE: Op = Op::of_kind("clone_receiver", Access::Tell, version::COUNT);

/// Reads the value of a watch channel, and waits for new versions; created by [`channel`] and [`Sender::subscribe`].
///
/// ```
/// use sim::tokio::sync::watch;
/// # sim::block_on(async {
/// let (sender, mut receiver) = watch::channel(0);
/// sim::spawn(async move { sender.send(7).unwrap() });
/// receiver.changed().await.unwrap();
/// assert_eq!(*receiver.borrow_and_update(), 7);
/// # });
/// ```
pub struct Receiver<T> {
    real: real::Receiver<T>,
    value: Arc<Value>,
    // This field is declared below tokio's object, so it is dropped after that object.
    end: End,
}

impl<T> Receiver<T> {
    pub(super) fn with(
        real: real::Receiver<T>,
        channel: Arc<Wrapped>,
        value: Arc<Value>,
        here: Here,
    ) -> Self {
        Receiver { real, value, end: End::new(&channel, &DROP_RECEIVER, here) }
    }

    /// Returns the value, without marking it as seen. This call is not a point.
    #[track_caller]
    pub fn borrow(&self) -> Ref<'_, T> {
        let (wrapped, here) = (self.end.wrapped(), here());
        self.value.may_borrow("borrow", wrapped, here);
        let real = wrapped.act(&BORROW, here, || self.real.borrow());
        Ref::new(real, &self.value)
    }

    /// Returns the value, and marks it as seen. This call is not a point.
    ///
    /// ```
    /// use sim::tokio::sync::watch;
    ///
    /// let (sender, mut receiver) = watch::channel(0);
    /// sender.send(1).unwrap();
    /// assert_eq!(*receiver.borrow(), 1);
    /// assert!(receiver.has_changed().unwrap());
    /// assert_eq!(*receiver.borrow_and_update(), 1);
    /// assert!(!receiver.has_changed().unwrap());
    /// ```
    #[track_caller]
    pub fn borrow_and_update(&mut self) -> Ref<'_, T> {
        let (wrapped, here) = (self.end.wrapped(), here());
        self.value.may_borrow("borrow_and_update", wrapped, here);
        let real = &mut self.real;
        let real = wrapped.act(&BORROW_AND_UPDATE, here, || real.borrow_and_update());
        Ref::new(real, &self.value)
    }

    /// Returns `true` if there is a version that this receiver has not seen. This call is not a point.
    ///
    /// # Errors
    /// If all senders have been dropped.
    #[track_caller]
    pub fn has_changed(&self) -> Result<bool, RecvError> {
        let seen = |changed: &Result<bool, _>| match changed {
            Ok(changed) => (&HAS_CHANGED, Values::Read(u64::from(*changed))),
            Err(_) => (&HAS_CHANGED, Values::Failed),
        };
        self.end.wrapped().now(here(), || self.real.has_changed(), seen)
    }

    /// Returns `true` if all senders have been dropped. This call is not a point.
    #[track_caller]
    pub fn is_closed(&self) -> bool {
        self.end.wrapped().check(&IS_CLOSED, here(), || self.real.is_closed())
    }

    /// Marks the value as not seen. Does not affect other receivers or senders.
    ///
    /// ```
    /// use sim::tokio::sync::watch;
    /// # sim::block_on(async {
    /// let (_sender, mut receiver) = watch::channel(7);
    /// // The first turn of the loop handles the initial value.
    /// receiver.mark_changed();
    /// receiver.changed().await.unwrap();
    /// assert_eq!(*receiver.borrow_and_update(), 7);
    /// # });
    /// ```
    pub fn mark_changed(&mut self) {
        self.real.mark_changed();
    }

    /// Marks the value as seen. This call is not a point.
    #[track_caller]
    pub fn mark_unchanged(&mut self) {
        let real = &mut self.real;
        self.end.wrapped().act(&MARK_UNCHANGED, here(), || real.mark_unchanged());
    }

    /// Waits for a version that this receiver has not seen, and marks it as seen. This call is a point. Cancel safe: a
    /// dropped call marks no version as seen.
    ///
    /// # Errors
    /// If there is no unseen version and all senders have been dropped.
    ///
    /// ```
    /// use sim::tokio::sync::watch;
    /// # sim::block_on(async {
    /// let (sender, mut receiver) = watch::channel(0);
    /// sender.send(1).unwrap();
    /// drop(sender);
    /// assert!(receiver.changed().await.is_ok());
    /// assert!(receiver.changed().await.is_err());
    /// # });
    /// ```
    #[track_caller]
    pub fn changed(&mut self) -> impl Future<Output = Result<(), RecvError>> + use<'_, T> {
        let came = |changed: &Result<(), _>| match changed {
            Ok(()) => Came::Done,
            Err(_) => Came::ToNothing,
        };
        Call::new(self.end.wrapped(), &CHANGED, here(), self.real.changed(), came)
    }

    /// Waits for a value that `f` accepts; the last value passed to `f` counts as seen. The call is a point, and takes
    /// one more step for each version. Cancel safe.
    ///
    /// # Errors
    /// If `f` does not accept the value and all senders have been dropped.
    ///
    /// ```
    /// use sim::tokio::sync::watch;
    /// # sim::block_on(async {
    /// let (sender, mut receiver) = watch::channel(0);
    /// sender.send(5).unwrap();
    /// assert_eq!(*receiver.wait_for(|value| *value > 3).await.unwrap(), 5);
    /// drop(sender);
    /// assert!(receiver.wait_for(|value| *value > 9).await.is_err());
    /// # });
    /// ```
    #[track_caller]
    pub fn wait_for<F>(
        &mut self,
        f: F,
    ) -> impl Future<Output = Result<Ref<'_, T>, RecvError>> + use<'_, T, F>
    where
        F: FnMut(&T) -> bool,
    {
        self.wait_for_at(f, here())
    }

    async fn wait_for_at(
        &mut self,
        mut f: impl FnMut(&T) -> bool,
        here: Here,
    ) -> Result<Ref<'_, T>, RecvError> {
        let value = &self.value;
        let accepted = self.real.wait_for(|it| {
            let _borrow = value.borrow();
            f(it)
        });
        let came = |accepted: &Result<real::Ref<'_, T>, _>| match accepted {
            Ok(_) => Came::Done,
            Err(_) => Came::ToNothing,
        };
        let real = Call::new(self.end.wrapped(), &WAIT_FOR, here, accepted, came).await?;
        Ok(Ref::new(real, value))
    }

    /// Returns `true` if both receivers receive from the same channel.
    pub fn same_channel(&self, other: &Self) -> bool {
        self.real.same_channel(&other.real)
    }
}

impl<T> Clone for Receiver<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        let here = here();
        let real = self.end.wrapped().act(&CLONE, here, || self.real.clone());
        Receiver::with(real, self.end.channel.clone(), self.value.clone(), here)
    }
}

impl<T: fmt::Debug> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.real.fmt(f)
    }
}
