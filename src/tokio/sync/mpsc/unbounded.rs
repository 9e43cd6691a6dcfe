//! The unbounded channel.

use std::fmt;
use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::{Context, Poll};

use ::tokio::sync::mpsc as real;

use super::error::{SendError, TryRecvError};
use super::receiver::receiver;
use super::sender::sender;
use super::*;
use crate::seam::{Call, Came, Here, Turn, here, in_run};

const SEND: Op = Op::of_kind("send", Access::Tell, mail::PUSH);
const SEND_FAILED: Op = Op::of_kind("send", Access::Peek, mail::SEE_CLOSED);

/// tokio's [`mpsc::unbounded_channel`](::tokio::sync::mpsc::unbounded_channel): a channel for any number of messages.
///
/// Receiving is a point; sending is not.
///
/// ```
/// use sim::tokio::sync::mpsc;
/// # sim::block_on(async {
/// let (sender, mut receiver) = mpsc::unbounded_channel();
/// sender.send(1).unwrap();
/// sender.send(2).unwrap();
/// drop(sender);
/// assert_eq!(receiver.recv().await, Some(1));
/// assert_eq!(receiver.recv().await, Some(2));
/// assert_eq!(receiver.recv().await, None);
/// # });
/// ```
#[track_caller]
pub fn unbounded_channel<T>() -> (UnboundedSender<T>, UnboundedReceiver<T>) {
    let here = here();
    let channel = Arc::new(Numbers::new("mpsc", None, here));
    let (sender, receiver) = real::unbounded_channel();
    (UnboundedSender::new(sender, &channel, here), UnboundedReceiver::new(receiver, &channel, here))
}

sender! {
    /// Sends to an unbounded channel; created by [`unbounded_channel`].
    ///
    /// ```
    /// use sim::tokio::sync::mpsc;
    /// # sim::block_on(async {
    /// let (sender, mut receiver) = mpsc::unbounded_channel();
    /// let other = sender.clone();
    /// sim::spawn(async move { other.send("from a task").unwrap() });
    /// assert_eq!(receiver.recv().await, Some("from a task"));
    /// drop(receiver);
    /// assert!(sender.send("too late").is_err());
    /// # });
    /// ```
    UnboundedSender,
    /// A weak sender of an unbounded channel, which does not keep the channel open.
    ///
    /// ```
    /// use sim::tokio::sync::mpsc;
    /// # sim::block_on(async {
    /// let (sender, mut receiver) = mpsc::unbounded_channel::<u8>();
    /// let weak = sender.downgrade();
    /// assert!(weak.upgrade().is_some());
    /// drop(sender);
    /// assert!(weak.upgrade().is_none());
    /// assert_eq!(receiver.recv().await, None);
    /// # });
    /// ```
    WeakUnboundedSender
}

receiver! {
    /// Receives from an unbounded channel; created by [`unbounded_channel`].
    ///
    /// ```
    /// use sim::tokio::sync::mpsc;
    /// # sim::block_on(async {
    /// let (sender, mut receiver) = mpsc::unbounded_channel();
    /// for n in 0..3 {
    ///     sender.send(n).unwrap();
    /// }
    /// let mut received = Vec::new();
    /// assert_eq!(receiver.recv_many(&mut received, 10).await, 3);
    /// assert_eq!(received, [0, 1, 2]);
    /// # });
    /// ```
    UnboundedReceiver
}

impl<T> UnboundedSender<T> {
    /// Sends a message. This call is not a point.
    ///
    /// # Errors
    /// Returns the message if the receiver is closed or dropped.
    ///
    /// ```
    /// use sim::tokio::sync::mpsc;
    ///
    /// let (sender, receiver) = mpsc::unbounded_channel();
    /// drop(receiver);
    /// assert_eq!(sender.send(7).unwrap_err().0, 7);
    /// ```
    #[track_caller]
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        let op = |sent: &Result<(), _>| match sent {
            Ok(()) => (&SEND, self.end.channel.sent()),
            Err(_) => (&SEND_FAILED, Values::Failed),
        };
        self.end.wrapped().now(here(), || self.real.send(message), op)
    }
}
