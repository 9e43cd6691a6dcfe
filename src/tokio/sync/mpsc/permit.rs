//! Room in a bounded channel that a sender has reserved.

use std::fmt;

use ::tokio::sync::mpsc as real;

use super::{End, Numbers, Sender};
use crate::run::event::Values;
use crate::run::op::of_tokio::mail;
use crate::run::op::{Access, Op};
use crate::seam::{Here, Owner, here};

const SEND: Op = Op::of_kind("send", Access::Tell, mail::PUSH);
const RELEASE: Op = Op::of_kind("release", Access::Tell, mail::GIVE);

/// Room for one message, given back when the permit is dropped; created by [`Sender::reserve`].
///
/// ```
/// use sim::tokio::sync::mpsc;
/// # sim::block_on(async {
/// let (sender, mut receiver) = mpsc::channel(1);
/// let permit = sender.reserve().await.unwrap();
/// assert_eq!(sender.capacity(), 0);
/// permit.send(1);
/// assert_eq!(receiver.recv().await, Some(1));
/// # });
/// ```
#[must_use = "the room is given back when it is dropped"]
pub struct Permit<'a, T> {
    /// `None` once the permit has sent a message.
    real: Option<real::Permit<'a, T>>,
    channel: &'a Numbers,
    here: Here,
}

const UNSENT: &str = "a permit that has sent is gone";

/// Records that room was given back, in a destructor.
fn release(channel: &Numbers, here: Here) {
    channel.gave();
    channel.wrapped().last(&RELEASE, here);
}

impl<'a, T> Permit<'a, T> {
    pub(super) fn new(real: real::Permit<'a, T>, channel: &'a Numbers, here: Here) -> Self {
        Permit { real: Some(real), channel, here }
    }

    /// Sends a message. This call is not a point. The message arrives even if the receiver was closed in the meantime.
    #[track_caller]
    pub fn send(mut self, value: T) {
        let real = self.real.take().expect(UNSENT);
        let channel = self.channel;
        channel.wrapped().now(here(), || real.send(value), |()| (&SEND, channel.sent()));
    }
}

impl<T> Drop for Permit<'_, T> {
    fn drop(&mut self) {
        if let Some(real) = self.real.take() {
            drop(real);
            release(self.channel, self.here);
        }
    }
}

impl<T> fmt::Debug for Permit<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.real.as_ref().expect(UNSENT).fmt(f)
    }
}

/// Room for several messages, one permit each; created by [`Sender::reserve_many`]. Dropping it gives the remaining
/// room back.
///
/// ```
/// use sim::tokio::sync::mpsc;
/// # sim::block_on(async {
/// let (sender, mut receiver) = mpsc::channel(3);
/// for (n, permit) in sender.reserve_many(2).await.unwrap().enumerate() {
///     permit.send(n);
/// }
/// assert_eq!(receiver.recv().await, Some(0));
/// assert_eq!(receiver.recv().await, Some(1));
/// # });
/// ```
#[must_use = "the room is given back when it is dropped"]
pub struct PermitIterator<'a, T> {
    /// `None` once the permits are dropped.
    real: Option<real::PermitIterator<'a, T>>,
    channel: &'a Numbers,
    here: Here,
}

const UNDROPPED: &str = "it is there until it is dropped";

impl<'a, T> PermitIterator<'a, T> {
    pub(super) fn new(real: real::PermitIterator<'a, T>, channel: &'a Numbers, here: Here) -> Self {
        PermitIterator { real: Some(real), channel, here }
    }
}

impl<'a, T> Iterator for PermitIterator<'a, T> {
    type Item = Permit<'a, T>;

    fn next(&mut self) -> Option<Permit<'a, T>> {
        let real = self.real.as_mut().expect(UNDROPPED).next()?;
        Some(Permit::new(real, self.channel, self.here))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.real.as_ref().expect(UNDROPPED).size_hint()
    }
}

impl<T> ExactSizeIterator for PermitIterator<'_, T> {}
impl<T> std::iter::FusedIterator for PermitIterator<'_, T> {}

impl<T> Drop for PermitIterator<'_, T> {
    fn drop(&mut self) {
        match self.real.take() {
            Some(real) if real.len() > 0 => {
                drop(real);
                release(self.channel, self.here);
            }
            _ => {}
        }
    }
}

impl<T> fmt::Debug for PermitIterator<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.real.as_ref().expect(UNDROPPED).fmt(f)
    }
}

/// Room for one message, together with the sender. Dropping it gives the room back. Created by
/// [`Sender::reserve_owned`].
///
/// ```
/// use sim::tokio::sync::mpsc;
/// # sim::block_on(async {
/// let (sender, mut receiver) = mpsc::channel(1);
/// let permit = sender.reserve_owned().await.unwrap();
/// let sender = permit.send(1);
/// assert_eq!(receiver.recv().await, Some(1));
/// let sender = sender.reserve_owned().await.unwrap().release();
/// assert_eq!(sender.capacity(), 1);
/// # });
/// ```
#[must_use = "the room is given back when it is dropped"]
pub struct OwnedPermit<T> {
    /// `None` once the permit has sent a message.
    real: Option<real::OwnedPermit<T>>,
    /// The permit's end of the channel, which is taken together with `real`. This field is declared below tokio's
    /// object, so it is dropped after that object.
    end: Option<End>,
    here: Here,
}

impl<T> OwnedPermit<T> {
    pub(super) fn new(real: real::OwnedPermit<T>, end: End, here: Here) -> Self {
        OwnedPermit { real: Some(real), end: Some(end), here }
    }

    /// Sends a message. This call is not a point. The message arrives even if the receiver was closed in the meantime.
    #[track_caller]
    pub fn send(self, value: T) -> Sender<T> {
        self.leave(&SEND, here(), |real| real.send(value), Numbers::sent)
    }

    /// Gives the room back. This call is not a point.
    #[track_caller]
    pub fn release(self) -> Sender<T> {
        let gave = |channel: &Numbers| {
            channel.gave();
            Values::None
        };
        self.leave(&RELEASE, here(), real::OwnedPermit::release, gave)
    }

    /// Returns `true` if both permits belong to the same channel.
    pub fn same_channel(&self, other: &Self) -> bool {
        self.real().same_channel(other.real())
    }

    /// Returns `true` if the permit and `sender` belong to the same channel.
    pub fn same_channel_as_sender(&self, sender: &Sender<T>) -> bool {
        self.real().same_channel_as_sender(&sender.real)
    }

    fn real(&self) -> &real::OwnedPermit<T> {
        self.real.as_ref().expect(UNSENT)
    }

    fn leave(
        mut self,
        op: &'static Op,
        here: Here,
        act: impl FnOnce(real::OwnedPermit<T>) -> real::Sender<T>,
        count: fn(&Numbers) -> Values,
    ) -> Sender<T> {
        let (real, end) = (self.real.take().expect(UNSENT), self.end.take().expect(UNSENT));
        let real = end.wrapped().now(here, || act(real), |_| (op, count(&end.channel)));
        Sender { real, end }
    }
}

impl<T> Drop for OwnedPermit<T> {
    fn drop(&mut self) {
        if let (Some(real), Some(end)) = (self.real.take(), &self.end) {
            drop(real);
            release(&end.channel, self.here);
        }
    }
}

impl<T> fmt::Debug for OwnedPermit<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.real().fmt(f)
    }
}
