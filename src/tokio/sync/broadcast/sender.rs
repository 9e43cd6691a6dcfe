//! The senders of a broadcast channel.

use std::future::Future;

use super::error::SendError;
use super::*;
use crate::run::event::Values;
use crate::seam::{Call, CallOps, Came, Here};
use crate::tokio::sync::ends::weak_senders;

const CLOSED: CallOps =
    CallOps::seeing(("closed", "wait_for_the_end"), [ring::SEE_CLOSED, ring::SEE_CLOSED]);
const SEND: Op = Op::of_kind("send", Access::Tell, ring::SEND);
const SEND_FAILED: Op = Op::of_kind("send", Access::Peek, ring::SEE_CLOSED);
const CLONE: Op = Op::of_kind("clone_sender", Access::Tell, ring::COUNT);
const DOWNGRADE: Op = Op::of_kind("downgrade", Access::Tell, ring::COUNT);
const UPGRADE: [&Op; 2] = [
    &Op::of_kind("upgrade", Access::Tell, ring::UPGRADE),
    &Op::of_kind("upgrade", Access::Peek, ring::LOOK),
];
const RECEIVER_COUNT: Op = Op::of_kind("receiver_count", Access::Peek, ring::LOOK);

/// Sends to all receivers; created by [`channel`].
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
    // This field is declared below tokio's object, so it is dropped after that object.
    end: End,
}

impl<T> Sender<T> {
    pub(super) fn with(real: real::Sender<T>, channel: &Arc<Numbers>, here: Here) -> Self {
        Sender { real, end: End::new(channel, &DROP_SENDER, here) }
    }

    /// Creates a channel like [`channel`], without receivers, and returns its sender.
    #[track_caller]
    pub fn new(capacity: usize) -> Self {
        let here = here();
        Sender::with(real::Sender::new(capacity), &made(capacity, here), here)
    }

    /// Sends a message to all receivers. Returns the number of receivers. This call is not a point.
    ///
    /// # Errors
    /// Returns the message if there is no receiver.
    ///
    /// ```
    /// use sim::tokio::sync::broadcast;
    ///
    /// let (sender, receiver) = broadcast::channel(4);
    /// assert_eq!(sender.send(1).unwrap(), 1);
    /// drop(receiver);
    /// assert_eq!(sender.send(2).unwrap_err().0, 2);
    /// ```
    #[track_caller]
    pub fn send(&self, value: T) -> Result<usize, SendError<T>> {
        let op = |sent: &Result<usize, _>| match sent {
            Ok(receivers) => (&SEND, self.end.channel.sent_to_all(*receivers)),
            Err(_) => (&SEND_FAILED, Values::Failed),
        };
        self.end.wrapped().now(here(), || self.real.send(value), op)
    }

    /// Creates a receiver for messages sent from now on. This call is not a point.
    ///
    /// ```
    /// use sim::tokio::sync::broadcast;
    /// # sim::block_on(async {
    /// let (sender, _first) = broadcast::channel(4);
    /// sender.send(1).unwrap();
    /// let mut second = sender.subscribe();
    /// sender.send(2).unwrap();
    /// assert_eq!(second.recv().await, Ok(2));
    /// # });
    /// ```
    #[track_caller]
    pub fn subscribe(&self) -> Receiver<T> {
        let here = here();
        let real = self.end.wrapped().act(&SUBSCRIBE, here, || self.real.subscribe());
        Receiver::with(real, &self.end.channel, here)
    }

    /// Returns the number of messages that at least one receiver has not received. This call is not a point.
    ///
    /// ```
    /// use sim::tokio::sync::broadcast;
    /// # sim::block_on(async {
    /// let (sender, mut fast) = broadcast::channel(4);
    /// let _slow = sender.subscribe();
    /// sender.send(1).unwrap();
    /// fast.recv().await.unwrap();
    /// assert_eq!((fast.len(), sender.len()), (0, 1));
    /// # });
    /// ```
    #[track_caller]
    pub fn len(&self) -> usize {
        self.end.wrapped().count(&LEN, here(), || self.real.len())
    }

    /// Returns `true` if all receivers have received all messages. This call is not a point.
    #[track_caller]
    pub fn is_empty(&self) -> bool {
        self.end.wrapped().check(&IS_EMPTY, here(), || self.real.is_empty())
    }

    /// Returns the number of receivers. This call is not a point.
    #[track_caller]
    pub fn receiver_count(&self) -> usize {
        self.end.wrapped().count(&RECEIVER_COUNT, here(), || self.real.receiver_count())
    }

    /// Returns `true` if both senders send to the same channel.
    pub fn same_channel(&self, other: &Self) -> bool {
        self.real.same_channel(&other.real)
    }

    /// Waits until there is no receiver. This call is a point. Cancel safe.
    ///
    /// ```
    /// use sim::tokio::sync::broadcast;
    /// # sim::block_on(async {
    /// let (sender, receiver) = broadcast::channel::<u8>(4);
    /// sim::spawn(async move { drop(receiver) }).detach();
    /// sender.closed().await;
    /// assert_eq!(sender.receiver_count(), 0);
    /// # });
    /// ```
    #[track_caller]
    pub fn closed(&self) -> impl Future<Output = ()> + use<'_, T> {
        Call::new(self.end.wrapped(), &CLOSED, here(), self.real.closed(), |()| Came::Done)
    }
}

/// A weak sender, which does not keep the channel open; created by [`Sender::downgrade`].
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
    // This field is declared below tokio's object, so it is dropped after that object.
    end: End,
}

weak_senders!(Sender, WeakSender);
