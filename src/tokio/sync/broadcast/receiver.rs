//! The receiver of a broadcast channel.

use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::error::{RecvError, TryRecvError};
use super::*;
use crate::run::event::Values;
use crate::seam::{Call, CallOps, Came, Here};

const RECV: CallOps = CallOps::acting(
    ("recv", "wait_to_recv"),
    [ring::READ, ring::MISS, ring::MISS, ring::HEAR],
    CallOps::stop_waiting(ring::MISS),
);
const TRY_RECV: Op = Op::of_kind("try_recv", Access::Tell, ring::READ);
const TRY_RECV_FAILED: Op = Op::of_kind("try_recv", Access::Peek, ring::MISS);
const RESUBSCRIBE: Op = Op::of_kind("resubscribe", Access::Tell, ring::SUBSCRIBE);
const IS_CLOSED: Op = Op::of_kind("is_closed", Access::Peek, ring::LOOK);

/// Receives every message that is sent while it exists; created by [`channel`] and [`Sender::subscribe`].
///
/// ```
/// use sim::tokio::sync::broadcast::{self, error::RecvError};
/// # sim::block_on(async {
/// let (sender, mut receiver) = broadcast::channel(4);
/// let sending = sim::spawn(async move {
///     sender.send(1).unwrap();
///     sender.send(2).unwrap();
/// });
/// assert_eq!(receiver.recv().await, Ok(1));
/// assert_eq!(receiver.recv().await, Ok(2));
/// assert_eq!(receiver.recv().await, Err(RecvError::Closed));
/// # sending.await.unwrap();
/// # });
/// ```
pub struct Receiver<T> {
    real: real::Receiver<T>,
    /// The number of the next message to receive.
    next: AtomicU32,
    // This field is declared below tokio's object, so it is dropped after that object.
    end: End,
}

impl<T> Receiver<T> {
    pub(super) fn with(real: real::Receiver<T>, channel: &Arc<Numbers>, here: Here) -> Self {
        let next = AtomicU32::new(channel.next());
        Receiver { real, next, end: End::new(channel, &DROP_RECEIVER, here) }
    }

    /// Returns the number of messages not yet received, including missed messages. This call is not a point.
    ///
    /// ```
    /// use sim::tokio::sync::broadcast::{self, error::RecvError};
    /// # sim::block_on(async {
    /// let (sender, mut receiver) = broadcast::channel(2);
    /// for n in 0..5 {
    ///     sender.send(n).unwrap();
    /// }
    /// assert_eq!(receiver.len(), 5);
    /// assert_eq!(receiver.recv().await, Err(RecvError::Lagged(3)));
    /// assert_eq!(receiver.len(), 2);
    /// # });
    /// ```
    #[track_caller]
    pub fn len(&self) -> usize {
        self.end.wrapped().count(&LEN, here(), || self.real.len())
    }

    /// Returns `true` if this receiver has received all messages. This call is not a point.
    #[track_caller]
    pub fn is_empty(&self) -> bool {
        self.end.wrapped().check(&IS_EMPTY, here(), || self.real.is_empty())
    }

    /// Returns `true` if both receivers receive from the same channel.
    pub fn same_channel(&self, other: &Self) -> bool {
        self.real.same_channel(&other.real)
    }

    /// Returns the number of senders. This call is not a point.
    #[track_caller]
    pub fn sender_strong_count(&self) -> usize {
        self.end.wrapped().count(&STRONG_COUNT, here(), || self.real.sender_strong_count())
    }

    /// Returns the number of weak senders. This call is not a point.
    #[track_caller]
    pub fn sender_weak_count(&self) -> usize {
        self.end.wrapped().count(&WEAK_COUNT, here(), || self.real.sender_weak_count())
    }

    /// Returns `true` if all senders have been dropped. This call is not a point.
    #[track_caller]
    pub fn is_closed(&self) -> bool {
        self.end.wrapped().check(&IS_CLOSED, here(), || self.real.is_closed())
    }
}

impl<T: Clone> Receiver<T> {
    /// Creates a receiver for messages sent from now on. This call is not a point.
    ///
    /// ```
    /// use sim::tokio::sync::broadcast;
    /// # sim::block_on(async {
    /// let (sender, mut receiver) = broadcast::channel(4);
    /// sender.send(1).unwrap();
    /// let mut late = receiver.resubscribe();
    /// sender.send(2).unwrap();
    /// assert_eq!(receiver.recv().await, Ok(1));
    /// assert_eq!(late.recv().await, Ok(2));
    /// # });
    /// ```
    #[track_caller]
    pub fn resubscribe(&self) -> Self {
        let here = here();
        let real = self.end.wrapped().act(&RESUBSCRIBE, here, || self.real.resubscribe());
        Receiver::with(real, &self.end.channel, here)
    }

    /// Receives the next message. This call is a point. Cancel safe: a dropped call loses no message.
    ///
    /// # Errors
    /// If messages were missed: the error has their number, and the next call continues with the oldest kept message.
    /// Also if all senders have been dropped and all messages are received.
    #[track_caller]
    pub fn recv(&mut self) -> impl Future<Output = Result<T, RecvError>> + use<'_, T> {
        let Receiver { real, next, end } = self;
        let came = |received: &Result<T, RecvError>| match received {
            Ok(_) => Came::With(passes(end, next, 1)),
            Err(RecvError::Lagged(missed)) => {
                passes(end, next, *missed);
                Came::Done
            }
            Err(RecvError::Closed) => Came::ToNothing,
        };
        Call::new(end.wrapped(), &RECV, here(), real.recv(), came)
    }

    /// Receives the next message if it is available. This call is not a point.
    ///
    /// # Errors
    /// Like [`recv`](Self::recv), and also if there is no message yet.
    ///
    /// ```
    /// use sim::tokio::sync::broadcast::{self, error::TryRecvError};
    ///
    /// let (sender, mut receiver) = broadcast::channel(4);
    /// assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    /// sender.send(1).unwrap();
    /// drop(sender);
    /// assert_eq!(receiver.try_recv(), Ok(1));
    /// assert_eq!(receiver.try_recv(), Err(TryRecvError::Closed));
    /// ```
    #[track_caller]
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        let Receiver { real, next, end } = self;
        let op = |received: &Result<T, TryRecvError>| match received {
            Ok(_) => (&TRY_RECV, passes(end, next, 1)),
            Err(TryRecvError::Lagged(missed)) => {
                passes(end, next, *missed);
                (&TRY_RECV, Values::Failed)
            }
            Err(_) => (&TRY_RECV_FAILED, Values::Failed),
        };
        end.wrapped().now(here(), || real.try_recv(), op)
    }

    /// Outside of runs, blocks the thread until a message arrives. In a run, this call fails the run: await
    /// [`recv`](Self::recv) instead.
    ///
    /// # Errors
    /// In the same cases as [`recv`](Self::recv).
    #[track_caller]
    pub fn blocking_recv(&mut self) -> Result<T, RecvError> {
        self.end.wrapped().blocks("blocking_recv", "recv().await", here());
        self.real.blocking_recv()
    }
}

/// Advances a receiver by `count` messages, which it has received or missed.
fn passes(end: &End, next: &AtomicU32, count: u64) -> Values {
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    end.channel.received_at(next.fetch_add(count, Relaxed))
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.real.fmt(f)
    }
}
