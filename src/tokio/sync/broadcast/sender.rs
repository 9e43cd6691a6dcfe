//! The senders of a broadcast channel.

use std::fmt;
use std::future::Future;

use super::error::SendError;
use super::*;
use crate::run::event::Values;
use crate::seam::{Call, CallOps, Came, Here};

const CLOSED: CallOps = CallOps {
    begin: Op::of_kind("closed", Access::Act, ring::SEE_CLOSED),
    refuse: Op::of_kind("closed", Access::Act, ring::SEE_CLOSED),
    queue: Op::of_kind("wait_for_the_end", Access::Act, ring::SEE_CLOSED),
    hear: Op::of_kind("closed", Access::Wait, ring::SEE_CLOSED),
    leave: Op::of_kind("stop_waiting", Access::Peek, ring::SEE_CLOSED),
};
const SEND: Op = Op::of_kind("send", Access::Tell, ring::SEND);
const SEND_FAILED: Op = Op::of_kind("send", Access::Peek, ring::SEE_CLOSED);
const CLONE: Op = Op::of_kind("clone_sender", Access::Tell, ring::COUNT);
const DOWNGRADE: Op = Op::of_kind("downgrade", Access::Tell, ring::COUNT);
const UPGRADE: Op = Op::of_kind("upgrade", Access::Tell, ring::UPGRADE);
const UPGRADE_FAILED: Op = Op::of_kind("upgrade", Access::Peek, ring::LOOK);
const RECEIVER_COUNT: Op = Op::of_kind("receiver_count", Access::Peek, ring::LOOK);

/// Sends to all receivers; made by [`channel`].
///
/// ```
/// use sim::tokio::sync::broadcast;
/// # sim::block_on(async {
/// let (sender, mut first) = broadcast::channel(4);
/// let mut second = sender.subscribe();
/// assert_eq!(sender.send("all").unwrap(), 2);
/// assert_eq!(first.recv().await, Ok("all"));
/// assert_eq!(second.recv().await, Ok("all"));
/// # });
/// ```
pub struct Sender<T> {
    real: real::Sender<T>,
    // Below tokio's: dropped after it.
    end: End,
}

impl<T> Sender<T> {
    pub(super) fn with(real: real::Sender<T>, channel: &Arc<Wrapped>, here: Here) -> Self {
        Sender { real, end: End::new(channel, &DROP_SENDER, here) }
    }

    /// The sender of a channel without receivers, as [`channel`].
    #[track_caller]
    pub fn new(capacity: usize) -> Self {
        let here = here();
        Sender::with(real::Sender::new(capacity), &Arc::new(Wrapped::new("broadcast", here)), here)
    }

    /// Sends a message to all receivers. Returns their number. Not a point.
    ///
    /// # Errors
    /// The message, if there is no receiver.
    #[track_caller]
    pub fn send(&self, value: T) -> Result<usize, SendError<T>> {
        let op = |sent: &Result<usize, _>| match sent {
            Ok(receivers) => (&SEND, Values::Read(*receivers as u64)),
            Err(_) => (&SEND_FAILED, Values::Failed),
        };
        self.end.wrapped().now(here(), || self.real.send(value), op)
    }

    /// A receiver of the messages that are sent from now on. Not a point.
    #[track_caller]
    pub fn subscribe(&self) -> Receiver<T> {
        let here = here();
        let made = || self.real.subscribe();
        let real = self.end.wrapped().now(here, made, |_| (&SUBSCRIBE, Values::None));
        Receiver::with(real, &self.end.channel, here)
    }

    /// A sender that does not keep receivers from finding the end. Not a point.
    #[must_use = "the sender is left as it is"]
    #[track_caller]
    pub fn downgrade(&self) -> WeakSender<T> {
        let here = here();
        let made = || self.real.downgrade();
        let real = self.end.wrapped().now(here, made, |_| (&DOWNGRADE, Values::None));
        WeakSender { real, end: End::new(&self.end.channel, &DROP_WEAK_SENDER, here) }
    }

    /// The number of messages that some receiver has not received. Not a point.
    #[track_caller]
    pub fn len(&self) -> usize {
        let seen = |len: &usize| (&LEN, Values::Read(*len as u64));
        self.end.wrapped().now(here(), || self.real.len(), seen)
    }

    /// Returns `true` if all receivers have received all messages. Not a point.
    #[track_caller]
    pub fn is_empty(&self) -> bool {
        let seen = |empty: &bool| (&IS_EMPTY, Values::Read(u64::from(*empty)));
        self.end.wrapped().now(here(), || self.real.is_empty(), seen)
    }

    /// The number of receivers. Not a point.
    #[track_caller]
    pub fn receiver_count(&self) -> usize {
        let seen = |count: &usize| (&RECEIVER_COUNT, Values::Read(*count as u64));
        self.end.wrapped().now(here(), || self.real.receiver_count(), seen)
    }

    /// Returns `true` if both send to the same channel.
    pub fn same_channel(&self, other: &Self) -> bool {
        self.real.same_channel(&other.real)
    }

    /// Waits until there is no receiver. A point. Cancel safe.
    #[track_caller]
    pub fn closed(&self) -> impl Future<Output = ()> + use<'_, T> {
        Call::new(self.end.wrapped(), &CLOSED, here(), self.real.closed(), |()| Came::Done)
    }

    /// The number of senders. Not a point.
    #[track_caller]
    pub fn strong_count(&self) -> usize {
        let seen = |count: &usize| (&STRONG_COUNT, Values::Read(*count as u64));
        self.end.wrapped().now(here(), || self.real.strong_count(), seen)
    }

    /// The number of weak senders. Not a point.
    #[track_caller]
    pub fn weak_count(&self) -> usize {
        let seen = |count: &usize| (&WEAK_COUNT, Values::Read(*count as u64));
        self.end.wrapped().now(here(), || self.real.weak_count(), seen)
    }
}

impl<T> Clone for Sender<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        let here = here();
        let made = || self.real.clone();
        let real = self.end.wrapped().now(here, made, |_| (&CLONE, Values::None));
        Sender::with(real, &self.end.channel, here)
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.real.fmt(f)
    }
}

/// A sender that does not keep receivers from finding the end; made by [`Sender::downgrade`].
///
/// ```
/// use sim::tokio::sync::broadcast::{self, error::RecvError};
/// # sim::block_on(async {
/// let (sender, mut receiver) = broadcast::channel::<u8>(4);
/// let weak = sender.downgrade();
/// weak.upgrade().unwrap().send(1).unwrap();
/// drop(sender);
/// assert!(weak.upgrade().is_none());
/// assert_eq!(receiver.recv().await, Ok(1));
/// assert_eq!(receiver.recv().await, Err(RecvError::Closed));
/// # });
/// ```
pub struct WeakSender<T> {
    real: real::WeakSender<T>,
    // Below tokio's: dropped after it.
    end: End,
}

impl<T> WeakSender<T> {
    /// A sender, unless all are gone. Not a point.
    #[must_use]
    #[track_caller]
    pub fn upgrade(&self) -> Option<Sender<T>> {
        let here = here();
        let op = |made: &Option<_>| match made {
            Some(_) => (&UPGRADE, Values::None),
            None => (&UPGRADE_FAILED, Values::Failed),
        };
        let real = self.end.wrapped().now(here, || self.real.upgrade(), op)?;
        Some(Sender::with(real, &self.end.channel, here))
    }

    /// The number of senders. Not a point.
    #[track_caller]
    pub fn strong_count(&self) -> usize {
        let seen = |count: &usize| (&STRONG_COUNT, Values::Read(*count as u64));
        self.end.wrapped().now(here(), || self.real.strong_count(), seen)
    }

    /// The number of weak senders. Not a point.
    #[track_caller]
    pub fn weak_count(&self) -> usize {
        let seen = |count: &usize| (&WEAK_COUNT, Values::Read(*count as u64));
        self.end.wrapped().now(here(), || self.real.weak_count(), seen)
    }
}

impl<T> Clone for WeakSender<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        let here = here();
        let made = || self.real.clone();
        let real = self.end.wrapped().now(here, made, |_| (&DOWNGRADE, Values::None));
        WeakSender { real, end: End::new(&self.end.channel, &DROP_WEAK_SENDER, here) }
    }
}

impl<T> fmt::Debug for WeakSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.real.fmt(f)
    }
}
