//! The sender of a watch channel.

use std::fmt;
use std::future::Future;

use super::error::SendError;
use super::*;
use crate::run::event::Values;
use crate::seam::{Call, CallOps, Came, Here};

const CLOSED: CallOps =
    CallOps::seeing(("closed", "wait_for_the_end"), [version::SEE_CLOSED, version::SEE_CLOSED]);
const SEND: Op = Op::of_kind("send", Access::Tell, version::SEND);
const SEND_FAILED: Op = Op::of_kind("send", Access::Peek, version::SEE_CLOSED);
const SEND_MODIFY: Op = Op::of_kind("send_modify", Access::Tell, version::SEND);
// Even a call that does not notify receivers may have changed the value.
const SEND_IF_MODIFIED: Op = Op::of_kind("send_if_modified", Access::Tell, version::SEND);
const SEND_REPLACE: Op = Op::of_kind("send_replace", Access::Tell, version::SEND);
const CLONE: Op = Op::of_kind("clone_sender", Access::Tell, version::COUNT);
const SUBSCRIBE: Op = Op::of_kind("subscribe", Access::Tell, version::SUBSCRIBE);
const IS_CLOSED: Op = Op::of_kind("is_closed", Access::Peek, version::SEE_CLOSED);
const RECEIVER_COUNT: Op = Op::of_kind("receiver_count", Access::Peek, version::TALLY);
const SENDER_COUNT: Op = Op::of_kind("sender_count", Access::Peek, version::TALLY);

/// Sends values to a watch channel; created by [`channel`].
///
/// ```
/// use sim::tokio::sync::watch;
/// # sim::block_on(async {
/// let (sender, receiver) = watch::channel(vec![1]);
/// sender.send_modify(|values| values.push(2));
/// assert_eq!(*receiver.borrow(), [1, 2]);
/// assert_eq!(sender.send_replace(Vec::new()), [1, 2]);
/// drop(receiver);
/// assert!(sender.send(vec![3]).is_err());
/// # });
/// ```
pub struct Sender<T> {
    real: real::Sender<T>,
    value: Arc<Value>,
    // This field is declared below tokio's object, so it is dropped after that object.
    end: End,
}

impl<T> Sender<T> {
    pub(super) fn with(
        real: real::Sender<T>,
        channel: &Arc<Wrapped>,
        value: &Arc<Value>,
        here: Here,
    ) -> Self {
        Sender { real, value: value.clone(), end: End::new(channel, &DROP_SENDER, here) }
    }

    /// Creates a channel without receivers, and returns its sender.
    #[track_caller]
    pub fn new(init: T) -> Self {
        let here = here();
        let channel = Arc::new(Wrapped::new("watch", here));
        Sender::with(real::Sender::new(init), &channel, &Value::new(), here)
    }

    /// Replaces the value and notifies all receivers. This call is not a point.
    ///
    /// # Errors
    /// Returns the value if there is no receiver.
    ///
    /// ```
    /// use sim::tokio::sync::watch;
    ///
    /// let (sender, receiver) = watch::channel(0);
    /// drop(receiver);
    /// assert_eq!(sender.send(1).unwrap_err().0, 1);
    /// assert_eq!(*sender.borrow(), 0);
    /// ```
    #[track_caller]
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        let here = here();
        // Without receivers, tokio does not lock the value.
        if self.real.receiver_count() == 0 {
            let failed = || Err(SendError(value));
            return self.end.wrapped().now(here, failed, |_| (&SEND_FAILED, Values::Failed));
        }
        let replaced = || self.real.send_replace(value);
        // Like in tokio, the old value is dropped after the lock is released: its destructor may use the channel.
        drop(self.replace("send", here, replaced, |_| (&SEND, Values::None)));
        Ok(())
    }

    /// Changes the value in place and notifies all receivers, if any. This call is not a point.
    #[track_caller]
    pub fn send_modify<F>(&self, modify: F)
    where
        F: FnOnce(&mut T),
    {
        let modified = || self.real.send_modify(modify);
        self.replace("send_modify", here(), modified, |()| (&SEND_MODIFY, Values::None));
    }

    /// Like [`send_modify`](Self::send_modify), but notifies receivers only if `modify` returns `true`. Returns the
    /// result of `modify`. This call is not a point.
    ///
    /// ```
    /// use sim::tokio::sync::watch;
    ///
    /// let (sender, receiver) = watch::channel(3);
    /// let raise_to = |new: i32| {
    ///     sender.send_if_modified(|value| {
    ///         let is_higher = new > *value;
    ///         *value = new.max(*value);
    ///         is_higher
    ///     })
    /// };
    /// assert!(!raise_to(2) && !receiver.has_changed().unwrap());
    /// assert!(raise_to(5) && receiver.has_changed().unwrap());
    /// ```
    #[track_caller]
    pub fn send_if_modified<F>(&self, modify: F) -> bool
    where
        F: FnOnce(&mut T) -> bool,
    {
        let op = |told: &bool| (&SEND_IF_MODIFIED, Values::Read(u64::from(*told)));
        self.replace("send_if_modified", here(), || self.real.send_if_modified(modify), op)
    }

    /// Replaces the value and notifies all receivers, if any. Returns the old value. This call is not a point.
    ///
    /// ```
    /// use sim::tokio::sync::watch;
    ///
    /// let sender = watch::Sender::new(1);
    /// // There is no receiver.
    /// assert_eq!(sender.send_replace(2), 1);
    /// assert_eq!(*sender.subscribe().borrow(), 2);
    /// ```
    #[track_caller]
    pub fn send_replace(&self, value: T) -> T {
        let replaced = || self.real.send_replace(value);
        self.replace("send_replace", here(), replaced, |_| (&SEND_REPLACE, Values::None))
    }

    fn replace<R>(
        &self,
        name: &str,
        here: Here,
        act: impl FnOnce() -> R,
        op: impl FnOnce(&R) -> (&'static Op, Values),
    ) -> R {
        let wrapped = self.end.wrapped();
        self.value.may_replace(name, wrapped, here);
        let replace = || {
            let _replace = self.value.replace();
            act()
        };
        wrapped.now(here, replace, op)
    }

    /// Returns the value. This call is not a point.
    #[track_caller]
    pub fn borrow(&self) -> Ref<'_, T> {
        let (wrapped, here) = (self.end.wrapped(), here());
        self.value.may_borrow("borrow", wrapped, here);
        let real = wrapped.act(&BORROW, here, || self.real.borrow());
        Ref::new(real, &self.value)
    }

    /// Returns `true` if there is no receiver. This call is not a point.
    #[track_caller]
    pub fn is_closed(&self) -> bool {
        self.end.wrapped().check(&IS_CLOSED, here(), || self.real.is_closed())
    }

    /// Waits until there is no receiver. This call is a point. Cancel safe.
    ///
    /// ```
    /// use sim::tokio::sync::watch;
    /// # sim::block_on(async {
    /// let (sender, receiver) = watch::channel(0);
    /// sim::spawn(async move { drop(receiver) }).detach();
    /// sender.closed().await;
    /// assert_eq!(sender.receiver_count(), 0);
    /// # });
    /// ```
    #[track_caller]
    pub fn closed(&self) -> impl Future<Output = ()> + use<'_, T> {
        Call::new(self.end.wrapped(), &CLOSED, here(), self.real.closed(), |()| Came::Done)
    }

    /// Creates a receiver that has already seen the current value. This call is not a point.
    ///
    /// ```
    /// use sim::tokio::sync::watch;
    ///
    /// let sender = watch::Sender::new(1);
    /// let receiver = sender.subscribe();
    /// assert!(!receiver.has_changed().unwrap());
    /// sender.send(2).unwrap();
    /// assert!(receiver.has_changed().unwrap());
    /// ```
    #[track_caller]
    pub fn subscribe(&self) -> Receiver<T> {
        let here = here();
        let real = self.end.wrapped().act(&SUBSCRIBE, here, || self.real.subscribe());
        Receiver::with(real, self.end.channel.clone(), self.value.clone(), here)
    }

    /// Returns the number of receivers. This call is not a point.
    #[track_caller]
    pub fn receiver_count(&self) -> usize {
        self.end.wrapped().count(&RECEIVER_COUNT, here(), || self.real.receiver_count())
    }

    /// Returns the number of senders. This call is not a point.
    #[track_caller]
    pub fn sender_count(&self) -> usize {
        self.end.wrapped().count(&SENDER_COUNT, here(), || self.real.sender_count())
    }

    /// Returns `true` if both senders send to the same channel.
    pub fn same_channel(&self, other: &Self) -> bool {
        self.real.same_channel(&other.real)
    }
}

impl<T> Clone for Sender<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        let here = here();
        let real = self.end.wrapped().act(&CLONE, here, || self.real.clone());
        Sender::with(real, &self.end.channel, &self.value, here)
    }
}

impl<T: Default> Default for Sender<T> {
    #[track_caller]
    fn default() -> Self {
        Sender::new(T::default())
    }
}

impl<T: fmt::Debug> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.real.fmt(f)
    }
}
