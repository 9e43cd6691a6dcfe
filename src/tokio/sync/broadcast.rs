//! The broadcast channel: many senders, many receivers, and each receiver gets every message.

mod receiver;
mod sender;

/// The errors of the channel.
pub mod error {
    pub use ::tokio::sync::broadcast::error::{RecvError, SendError, TryRecvError};
}

use std::sync::Arc;

use ::tokio::sync::broadcast as real;

pub use self::receiver::Receiver;
pub use self::sender::{Sender, WeakSender};
use super::numbers::Numbers;
use crate::run::op::of_tokio::ring;
use crate::run::op::{Access, Op};
use crate::seam::{Here, here};

/// An end of a broadcast channel.
type End = super::ends::End<Numbers>;

const SUBSCRIBE: Op = Op::of_kind("subscribe", Access::Tell, ring::SUBSCRIBE);
const STRONG_COUNT: Op = Op::of_kind("strong_count", Access::Peek, ring::LOOK);
const WEAK_COUNT: Op = Op::of_kind("weak_count", Access::Peek, ring::LOOK);
const LEN: Op = Op::of_kind("len", Access::Peek, ring::LOOK);
const IS_EMPTY: Op = Op::of_kind("is_empty", Access::Peek, ring::LOOK);

const DROP_SENDER: Op = Op::of_kind("drop_sender", Access::Tell, ring::DROP);
const DROP_WEAK_SENDER: Op = Op::of_kind("drop_weak_sender", Access::Tell, ring::COUNT);
const DROP_RECEIVER: Op = Op::of_kind("drop_receiver", Access::Tell, ring::DROP_RECEIVER);

/// tokio's [`broadcast::channel`](::tokio::sync::broadcast::channel): a channel that keeps the last messages for all
/// receivers, at least `capacity` of them.
///
/// Receiving is a point; sending is not. A receiver that is too slow gets an error with the number of missed messages,
/// and continues with the oldest kept message. Panics if `capacity` is 0 or more than half of the largest `usize`.
///
/// ```
/// use sim::tokio::sync::broadcast::{self, error::RecvError};
/// # sim::block_on(async {
/// let (sender, mut receiver) = broadcast::channel(2);
/// for n in 0..3 {
///     sender.send(n).unwrap();
/// }
/// assert_eq!(receiver.recv().await, Err(RecvError::Lagged(1)));
/// assert_eq!(receiver.recv().await, Ok(1));
/// # });
/// ```
#[track_caller]
pub fn channel<T: Clone>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let here = here();
    let (sender, receiver) = real::channel(capacity);
    let channel = made(capacity, here);
    (Sender::with(sender, &channel, here), Receiver::with(receiver, &channel, here))
}

/// Creates the object of a channel. tokio rounds the capacity up to a power of two.
fn made(capacity: usize, here: Here) -> Arc<Numbers> {
    Arc::new(Numbers::new("broadcast", Some(capacity.next_power_of_two()), here))
}
