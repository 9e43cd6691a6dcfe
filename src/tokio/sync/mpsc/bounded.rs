//! The bounded channel.

use std::fmt;
use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use ::tokio::runtime::Handle;
use ::tokio::sync::mpsc as real;

use super::error::{SendError, SendTimeoutError, TryRecvError, TrySendError};
use super::receiver::receiver;
use super::sender::sender;
use super::*;
use crate::seam::{Call, Came, Here, Owner, Turn, here, in_run};

const SEND: CallOps = CallOps::acting(
    ("send", "queue_to_send"),
    [mail::PUSH, mail::SEE_CLOSED, mail::ASK, mail::GO_AND_PUSH],
    CallOps::leave_the_queue(mail::LEAVE),
);
/// A send that failed after a wait. The send acquired nothing, because a sender of one message cannot hold a part of
/// its room.
const SEND_FAILED: Op = Op::of_kind("send", Access::Wait, mail::LEAVE);
const RESERVE: CallOps = CallOps::acting(
    ("reserve", "queue_to_reserve"),
    [mail::ASK, mail::SEE_CLOSED, mail::ASK, mail::GO],
    CallOps::leave_the_queue(mail::LEAVE),
);
/// In the queue, the call may have acquired room for some of the messages.
const RESERVE_FAILED: Op = Op::of_kind("reserve", Access::Wait, mail::LEAVE);
const TRY_SEND: [&Op; 2] = [
    &Op::of_kind("try_send", Access::Tell, mail::PUSH),
    &Op::of_kind("try_send", Access::Peek, mail::LOOK),
];
const TRY_RESERVE: [&Op; 2] = [
    &Op::of_kind("try_reserve", Access::Tell, mail::ASK),
    &Op::of_kind("try_reserve", Access::Peek, mail::LOOK),
];
const CAPACITY: Op = Op::of_kind("capacity", Access::Peek, mail::LOOK);

/// tokio's [`mpsc::channel`](::tokio::sync::mpsc::channel): a channel with room for `buffer` messages.
///
/// Sending is a point and waits for room, in the order of the requests. Receiving is a point. Panics if `buffer` is 0.
///
/// ```
/// use sim::tokio::sync::mpsc;
///
/// // The sender is never more than two messages ahead.
/// let report = sim::Runner::new().strategy("exhaustive").run(async || {
///     let (sender, mut receiver) = mpsc::channel(2);
///     let sending = sim::spawn(async move {
///         for n in 0..3 {
///             sender.send(n).await.unwrap();
///         }
///     });
///     for n in 0..3 {
///         assert!(receiver.len() <= 2);
///         assert_eq!(receiver.recv().await, Some(n));
///     }
///     assert_eq!(receiver.recv().await, None);
///     sending.await.unwrap();
/// });
/// assert!(report.passed());
/// ```
#[track_caller]
pub fn channel<T>(buffer: usize) -> (Sender<T>, Receiver<T>) {
    let here = here();
    let (sender, receiver) = real::channel(buffer);
    let channel = Arc::new(Numbers::new("mpsc", Some(buffer), here));
    (Sender::new(sender, &channel, here), Receiver::new(receiver, &channel, here))
}

sender! {
    /// Sends to a bounded channel; created by [`channel`].
    ///
    /// ```
    /// use sim::tokio::sync::mpsc;
    /// # sim::block_on(async {
    /// let (sender, mut receiver) = mpsc::channel(1);
    /// sender.send(1).await.unwrap();
    /// assert!(sender.try_send(2).is_err());
    /// assert_eq!(receiver.recv().await, Some(1));
    /// assert!(sender.try_send(3).is_ok());
    /// # });
    /// ```
    Sender,
    /// A weak sender of a bounded channel, which does not keep the channel open.
    ///
    /// ```
    /// use sim::tokio::sync::mpsc;
    /// # sim::block_on(async {
    /// let (sender, mut receiver) = mpsc::channel::<u8>(1);
    /// let weak = sender.downgrade();
    /// assert!(weak.upgrade().is_some());
    /// drop(sender);
    /// assert!(weak.upgrade().is_none());
    /// assert_eq!(receiver.recv().await, None);
    /// # });
    /// ```
    WeakSender
}

receiver! {
    /// Receives from a bounded channel; created by [`channel`].
    ///
    /// ```
    /// use sim::tokio::sync::mpsc;
    /// # sim::block_on(async {
    /// let (sender, mut receiver) = mpsc::channel(4);
    /// let permit = sender.reserve().await.unwrap();
    /// receiver.close();
    /// // The message for which there is room already still comes.
    /// permit.send(7);
    /// assert_eq!(receiver.recv().await, Some(7));
    /// assert_eq!(receiver.recv().await, None);
    /// # });
    /// ```
    Receiver
}

impl<T> Receiver<T> {
    /// Returns the number of messages for which there is room now. This call is not a point.
    #[track_caller]
    pub fn capacity(&self) -> usize {
        self.end.wrapped().count(&CAPACITY, here(), || self.real.capacity())
    }

    /// Returns the number of messages for which there is room in an empty channel.
    pub fn max_capacity(&self) -> usize {
        self.real.max_capacity()
    }
}

impl<T> Sender<T> {
    /// Waits for room and sends a message. The call is a point, and takes one more step if it waits.
    ///
    /// A dropped call loses its place in the queue and the message. Use [`reserve`](Self::reserve) to keep the message.
    ///
    /// # Errors
    /// Returns the message if the receiver is or becomes closed.
    ///
    /// ```
    /// use sim::tokio::sync::mpsc;
    /// # sim::block_on(async {
    /// let (sender, receiver) = mpsc::channel(1);
    /// drop(receiver);
    /// assert_eq!(sender.send(7).await.unwrap_err().0, 7);
    /// # });
    /// ```
    #[track_caller]
    pub fn send(&self, value: T) -> impl Future<Output = Result<(), SendError<T>>> + use<'_, T> {
        self.send_at(value, here())
    }

    async fn send_at(&self, value: T, here: Here) -> Result<(), SendError<T>> {
        let room = Room::new(&self.end.channel, 1);
        let came = |sent: &Result<(), _>| match sent {
            Ok(()) => Came::With(room.sent()),
            Err(_) => given_up(&room, &SEND_FAILED),
        };
        Call::new(&room, &SEND, here, self.real.send(value), came).await
    }

    /// Sends a message if there is room. This call is not a point.
    ///
    /// # Errors
    /// Returns the message if there is no room or the receiver is closed.
    ///
    /// ```
    /// use sim::tokio::sync::mpsc::{self, error::TrySendError};
    ///
    /// let (sender, receiver) = mpsc::channel(1);
    /// assert_eq!(sender.try_send(1), Ok(()));
    /// assert_eq!(sender.try_send(2), Err(TrySendError::Full(2)));
    /// drop(receiver);
    /// assert_eq!(sender.try_send(3), Err(TrySendError::Closed(3)));
    /// ```
    #[track_caller]
    pub fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        let room = Room::new(&self.end.channel, 1);
        attempt(&room, TRY_SEND, here(), || self.real.try_send(message), Room::sent)
    }

    /// Waits for room for at most `timeout`, and sends a message. The call is a point, and takes one more step if it
    /// waits. Outside of runs, in a runtime of tokio, it uses a timer of the runtime.
    ///
    /// A dropped call loses its place in the queue and the message.
    ///
    /// # Errors
    /// Returns the message if there was no room in time, or the receiver is or becomes closed.
    ///
    /// ```
    /// use sim::time::Duration;
    /// use sim::tokio::sync::mpsc::{self, error::SendTimeoutError};
    ///
    /// let report = sim::Runner::new().hermetic().run(async || {
    ///     let (sender, mut receiver) = mpsc::channel(1);
    ///     let soon = Duration::from_millis(5);
    ///     sender.send_timeout(1, soon).await.unwrap();
    ///     assert_eq!(sender.send_timeout(2, soon).await, Err(SendTimeoutError::Timeout(2)));
    ///     assert_eq!(receiver.recv().await, Some(1));
    ///     sender.send_timeout(3, soon).await.unwrap();
    /// });
    /// # if sim::SIMULATED { assert!(report.passed()) }
    /// ```
    #[track_caller]
    pub fn send_timeout(
        &self,
        value: T,
        timeout: Duration,
    ) -> impl Future<Output = Result<(), SendTimeoutError<T>>> + use<'_, T> {
        self.send_timeout_at(value, timeout, here())
    }

    async fn send_timeout_at(
        &self,
        value: T,
        timeout: Duration,
        here: Here,
    ) -> Result<(), SendTimeoutError<T>> {
        // The clock of a runtime may be paused.
        if !in_run() && Handle::try_current().is_ok() {
            return self.real.send_timeout(value, timeout).await;
        }
        match crate::time::timeout(timeout, self.reserve_at(here)).await {
            Ok(Ok(permit)) => {
                permit.send(value);
                Ok(())
            }
            Ok(Err(_)) => Err(SendTimeoutError::Closed(value)),
            Err(_) => Err(SendTimeoutError::Timeout(value)),
        }
    }

    /// Outside of runs, blocks the thread until the message is sent. In a run, this call fails the run: await
    /// [`send`](Self::send) instead.
    ///
    /// # Errors
    /// Returns the message if the receiver is or becomes closed.
    ///
    /// ```
    /// use sim::tokio::sync::mpsc;
    ///
    /// let (sender, mut receiver) = mpsc::channel(1);
    /// let thread = std::thread::spawn(move || sender.blocking_send(7));
    /// assert_eq!(receiver.blocking_recv(), Some(7));
    /// assert!(thread.join().unwrap().is_ok());
    /// ```
    #[track_caller]
    pub fn blocking_send(&self, value: T) -> Result<(), SendError<T>> {
        self.end.wrapped().blocks("blocking_send", "send(value).await", here());
        self.real.blocking_send(value)
    }

    /// Waits for room for one message. The call is a point, and takes one more step if it waits. Cancel safe: a dropped
    /// call loses its place in the queue.
    ///
    /// # Errors
    /// If the receiver is or becomes closed.
    ///
    /// ```
    /// use sim::tokio::sync::mpsc;
    /// # sim::block_on(async {
    /// let (sender, _receiver) = mpsc::channel::<u8>(1);
    /// let permit = sender.reserve().await.unwrap();
    /// assert_eq!(sender.capacity(), 0);
    /// drop(permit);
    /// assert_eq!(sender.capacity(), 1);
    /// # });
    /// ```
    #[track_caller]
    pub fn reserve(
        &self,
    ) -> impl Future<Output = Result<Permit<'_, T>, SendError<()>>> + use<'_, T> {
        self.reserve_at(here())
    }

    async fn reserve_at(&self, here: Here) -> Result<Permit<'_, T>, SendError<()>> {
        let room = Room::new(&self.end.channel, 1);
        let came = |reserved: &Result<_, _>| reserves(&room, reserved);
        let real = Call::new(&room, &RESERVE, here, self.real.reserve(), came).await?;
        Ok(Permit::new(real, &self.end.channel, here))
    }

    /// Like [`reserve`](Self::reserve), for `n` messages.
    ///
    /// # Errors
    /// If the receiver is or becomes closed, or `n` is more than [`max_capacity`](Self::max_capacity).
    ///
    /// ```
    /// use sim::tokio::sync::mpsc;
    /// # sim::block_on(async {
    /// let (sender, _receiver) = mpsc::channel(2);
    /// let mut permits = sender.reserve_many(2).await.unwrap();
    /// permits.next().unwrap().send(1);
    /// drop(permits);
    /// assert_eq!(sender.capacity(), 1);
    /// assert!(sender.reserve_many(3).await.is_err());
    /// # });
    /// ```
    #[track_caller]
    pub fn reserve_many(
        &self,
        n: usize,
    ) -> impl Future<Output = Result<PermitIterator<'_, T>, SendError<()>>> + use<'_, T> {
        self.reserve_many_at(n, here())
    }

    async fn reserve_many_at(
        &self,
        n: usize,
        here: Here,
    ) -> Result<PermitIterator<'_, T>, SendError<()>> {
        let room = Room::new(&self.end.channel, n);
        let came = |reserved: &Result<_, _>| reserves(&room, reserved);
        let real = Call::new(&room, &RESERVE, here, self.real.reserve_many(n), came).await?;
        Ok(PermitIterator::new(real, &self.end.channel, here))
    }

    /// Like [`reserve`](Self::reserve); the permit owns the sender.
    ///
    /// # Errors
    /// If the receiver is or becomes closed. The call then drops the sender.
    ///
    /// ```
    /// use sim::tokio::sync::mpsc;
    /// # sim::block_on(async {
    /// let (sender, mut receiver) = mpsc::channel(1);
    /// let permit = sender.reserve_owned().await.unwrap();
    /// sim::spawn(async move { drop(permit.send(7)) }).detach();
    /// assert_eq!(receiver.recv().await, Some(7));
    /// # });
    /// ```
    #[track_caller]
    pub fn reserve_owned(
        self,
    ) -> impl Future<Output = Result<OwnedPermit<T>, SendError<()>>> + use<T> {
        self.reserve_owned_at(here())
    }

    async fn reserve_owned_at(self, here: Here) -> Result<OwnedPermit<T>, SendError<()>> {
        // The end is dropped last: tokio's future drops its sender if it fails or is dropped.
        let Sender { real, end } = self;
        let real = {
            let room = Room::new(&end.channel, 1);
            let came = |reserved: &Result<_, _>| reserves(&room, reserved);
            Call::new(&room, &RESERVE, here, real.reserve_owned(), came).await?
        };
        Ok(OwnedPermit::new(real, end, here))
    }

    /// Reserves room for one message, if there is room. This call is not a point.
    ///
    /// # Errors
    /// If there is no room, or the receiver is closed.
    ///
    /// ```
    /// use sim::tokio::sync::mpsc::{self, error::TrySendError};
    ///
    /// let (sender, mut receiver) = mpsc::channel(1);
    /// let permit = sender.try_reserve().unwrap();
    /// assert_eq!(sender.try_reserve().unwrap_err(), TrySendError::Full(()));
    /// permit.send(7);
    /// assert_eq!(receiver.try_recv(), Ok(7));
    /// ```
    #[track_caller]
    pub fn try_reserve(&self) -> Result<Permit<'_, T>, TrySendError<()>> {
        let here = here();
        let room = Room::new(&self.end.channel, 1);
        let real = attempt(&room, TRY_RESERVE, here, || self.real.try_reserve(), Room::took)?;
        Ok(Permit::new(real, &self.end.channel, here))
    }

    /// Like [`try_reserve`](Self::try_reserve), for `n` messages.
    ///
    /// # Errors
    /// If there is room for fewer messages, or the receiver is closed.
    #[track_caller]
    pub fn try_reserve_many(&self, n: usize) -> Result<PermitIterator<'_, T>, TrySendError<()>> {
        let here = here();
        let room = Room::new(&self.end.channel, n);
        let act = || self.real.try_reserve_many(n);
        let real = attempt(&room, TRY_RESERVE, here, act, Room::took)?;
        Ok(PermitIterator::new(real, &self.end.channel, here))
    }

    /// Like [`try_reserve`](Self::try_reserve); the permit owns the sender.
    ///
    /// # Errors
    /// Returns the sender if there is no room or the receiver is closed.
    ///
    /// ```
    /// use sim::tokio::sync::mpsc::{self, error::TrySendError};
    ///
    /// let (sender, _receiver) = mpsc::channel::<u8>(1);
    /// let permit = sender.clone().try_reserve_owned().unwrap();
    /// let failed = sender.try_reserve_owned();
    /// let Err(TrySendError::Full(sender)) = failed else { panic!("there is room") };
    /// drop(permit);
    /// assert_eq!(sender.capacity(), 1);
    /// ```
    #[track_caller]
    pub fn try_reserve_owned(self) -> Result<OwnedPermit<T>, TrySendError<Self>> {
        let here = here();
        let Sender { real, end } = self;
        let room = Room::new(&end.channel, 1);
        match attempt(&room, TRY_RESERVE, here, || real.try_reserve_owned(), Room::took) {
            Ok(real) => Ok(OwnedPermit::new(real, end, here)),
            Err(TrySendError::Full(real)) => Err(TrySendError::Full(Sender { real, end })),
            Err(TrySendError::Closed(real)) => Err(TrySendError::Closed(Sender { real, end })),
        }
    }

    /// Returns the number of messages for which there is room now. This call is not a point.
    #[track_caller]
    pub fn capacity(&self) -> usize {
        self.end.wrapped().count(&CAPACITY, here(), || self.real.capacity())
    }

    /// Returns the number of messages for which there is room in an empty channel.
    pub fn max_capacity(&self) -> usize {
        self.real.max_capacity()
    }
}

fn reserves<P>(room: &Room<'_>, reserved: &Result<P, SendError<()>>) -> Came {
    match reserved {
        Ok(_) => Came::With(room.took()),
        Err(_) => given_up(room, &RESERVE_FAILED),
    }
}

/// Returns the result of a call that found the channel closed. After a wait, the call gives its acquired room back, as
/// `op`.
fn given_up(room: &Room<'_>, op: &'static Op) -> Came {
    room.left();
    Came::GivesBack(op)
}

/// Reserves room without a point. `took` counts the reserved room.
fn attempt<'a, R, E>(
    room: &Room<'a>,
    [done, failed]: [&'static Op; 2],
    here: Here,
    act: impl FnOnce() -> Result<R, E>,
    took: fn(&Room<'a>) -> Values,
) -> Result<R, E> {
    room.wrapped().now(here, act, |result| match result {
        Ok(_) => (done, took(room)),
        Err(_) => (failed, Values::Failed),
    })
}
