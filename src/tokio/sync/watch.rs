//! The watch channel: it keeps one value, and receivers see its latest version.

mod borrow;
mod receiver;
mod sender;

/// The errors of the channel.
pub mod error {
    pub use ::tokio::sync::watch::error::{RecvError, SendError};
}

use std::sync::Arc;

use ::tokio::sync::watch as real;

pub use self::borrow::Ref;
use self::borrow::Value;
pub use self::receiver::Receiver;
pub use self::sender::Sender;
use super::ends::End;
use crate::run::op::of_tokio::version;
use crate::run::op::{Access, Op};
use crate::seam::{Wrapped, here};

const BORROW: Op = Op::of_kind("borrow", Access::Peek, version::LOOK);

const DROP_SENDER: Op = Op::of_kind("drop_sender", Access::Tell, version::DROP);
const DROP_RECEIVER: Op = Op::of_kind("drop_receiver", Access::Tell, version::DROP_RECEIVER);

/// tokio's [`watch::channel`](::tokio::sync::watch::channel): a channel that keeps the last value sent.
///
/// Waiting for a new version is a point; sending and reading the value are not. A receiver misses versions that are
/// replaced between two of its reads.
///
/// ```
/// use sim::tokio::sync::watch;
///
/// let report = sim::Runner::new().strategy("exhaustive").run(async || {
///     let (sender, mut receiver) = watch::channel(0);
///     let sending = sim::spawn(async move {
///         sender.send(1).unwrap();
///         sim::task::yield_now().await;
///         sender.send(2).unwrap();
///     });
///     let mut last = 0;
///     while receiver.changed().await.is_ok() {
///         let seen = *receiver.borrow_and_update();
///         assert!(seen > last);
///         last = seen;
///     }
///     // The last version is never missed.
///     assert_eq!(last, 2);
///     sending.await.unwrap();
/// });
/// assert!(report.passed());
/// ```
#[track_caller]
pub fn channel<T>(init: T) -> (Sender<T>, Receiver<T>) {
    let here = here();
    let (sender, receiver) = real::channel(init);
    let channel = Arc::new(Wrapped::new("watch", here));
    let value = Value::new();
    (Sender::with(sender, &channel, &value, here), Receiver::with(receiver, channel, value, here))
}
