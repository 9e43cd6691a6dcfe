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

/// Sees the value of a watch channel, and waits for a new version; made by [`channel`] and [`Sender::subscribe`].
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
    // Below tokio's: dropped after it.
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

    /// The value. It counts as seen only if it did before. Not a point.
    #[track_caller]
    pub fn borrow(&self) -> Ref<'_, T> {
        let (wrapped, here) = (self.end.wrapped(), here());
        self.value.may_borrow("borrow", wrapped, here);
        let real = wrapped.act(&BORROW, here, || self.real.borrow());
        Ref::new(real, &self.value)
    }

    /// The value, which counts as seen from now on. Not a point.
    #[track_caller]
    pub fn borrow_and_update(&mut self) -> Ref<'_, T> {
        let (wrapped, here) = (self.end.wrapped(), here());
        self.value.may_borrow("borrow_and_update", wrapped, here);
        let real = &mut self.real;
        let real = wrapped.act(&BORROW_AND_UPDATE, here, || real.borrow_and_update());
        Ref::new(real, &self.value)
    }

    /// Returns `true` if there is a version that it has not seen. Not a point.
    ///
    /// # Errors
    /// If all senders are gone.
    #[track_caller]
    pub fn has_changed(&self) -> Result<bool, RecvError> {
        let seen = |changed: &Result<bool, _>| match changed {
            Ok(changed) => (&HAS_CHANGED, Values::Read(u64::from(*changed))),
            Err(_) => (&HAS_CHANGED, Values::Failed),
        };
        self.end.wrapped().now(here(), || self.real.has_changed(), seen)
    }

    /// Returns `true` if all senders are gone. Not a point.
    #[track_caller]
    pub fn is_closed(&self) -> bool {
        self.end.wrapped().check(&IS_CLOSED, here(), || self.real.is_closed())
    }

    /// Marks the value as not seen. Affects no other end.
    pub fn mark_changed(&mut self) {
        self.real.mark_changed();
    }

    /// Marks the value as seen. Not a point.
    #[track_caller]
    pub fn mark_unchanged(&mut self) {
        let real = &mut self.real;
        self.end.wrapped().act(&MARK_UNCHANGED, here(), || real.mark_unchanged());
    }

    /// Waits for a version that it has not seen, which counts as seen then. A point. Cancel safe: a dropped call has
    /// seen none.
    ///
    /// # Errors
    /// If there is none and all senders are gone.
    #[track_caller]
    pub fn changed(&mut self) -> impl Future<Output = Result<(), RecvError>> + use<'_, T> {
        let came = |changed: &Result<(), _>| match changed {
            Ok(()) => Came::Done,
            Err(_) => Came::ToNothing,
        };
        Call::new(self.end.wrapped(), &CHANGED, here(), self.real.changed(), came)
    }

    /// Waits for a value that `f` accepts; the last value passed to `f` counts as seen. A point,
    /// and a step for each version. Cancel safe.
    ///
    /// # Errors
    /// If the value is not accepted and all senders are gone.
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

    /// Returns `true` if both receive from the same channel.
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
