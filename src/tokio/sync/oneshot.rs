//! The channel for one value.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use ::tokio::sync::oneshot as real;

use crate::run::op::of_tokio::whole;
use crate::run::op::{Access, Op};
use crate::seam::{self, CallOps, Came, Here, Turn, Wrapped, here};

/// The errors of the channel.
pub mod error {
    pub use ::tokio::sync::oneshot::error::{RecvError, TryRecvError};
}

use self::error::{RecvError, TryRecvError};

const RECV: CallOps = CallOps::acting(
    ("recv", "wait_to_recv"),
    [whole::CHANGE, whole::LOOK, whole::LOOK, whole::HEAR],
    CallOps::stop_waiting(whole::LOOK),
);
const CLOSED: CallOps =
    CallOps::seeing(("see_the_end", "wait_for_the_end"), [whole::LOOK, whole::HEAR_ALONE]);
const SEND: [&Op; 2] = [
    &Op::of_kind("send", Access::Tell, whole::CHANGE),
    &Op::of_kind("send", Access::Peek, whole::LOOK),
];
const TRY_RECV: [&Op; 2] = [
    &Op::of_kind("try_recv", Access::Tell, whole::CHANGE),
    &Op::of_kind("try_recv", Access::Peek, whole::LOOK),
];
const CLOSE: Op = Op::of_kind("close", Access::Tell, whole::CHANGE);
const IS_CLOSED: Op = Op::of_kind("is_closed", Access::Peek, whole::LOOK);
const IS_EMPTY: Op = Op::of_kind("is_empty", Access::Peek, whole::LOOK);
const DROP_SENDER: Op = Op::of_kind("drop_sender", Access::Tell, whole::CHANGE);
const DROP_RECEIVER: Op = Op::of_kind("drop_receiver", Access::Tell, whole::CHANGE);

/// tokio's [`oneshot::channel`](::tokio::sync::oneshot::channel): a channel for one value.
///
/// Receiving is a point; sending is not.
///
/// ```
/// use sim::tokio::sync::oneshot;
/// # sim::block_on(async {
/// let (sender, receiver) = oneshot::channel();
/// sim::spawn(async move { sender.send(7).unwrap() });
/// assert_eq!(receiver.await, Ok(7));
/// # });
/// ```
#[track_caller]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let here = here();
    let wrapped = Arc::new(Wrapped::new("oneshot", here));
    let (sender, receiver) = real::channel();
    let closed = Turn::new(&CLOSED, here);
    let recv = Turn::new(&RECV, here);
    (
        Sender { wrapped: wrapped.clone(), real: Some(sender), closed, here },
        Receiver { wrapped, real: receiver, recv, here },
    )
}

/// Sends the value.
///
/// ```
/// use sim::tokio::sync::oneshot;
/// # sim::block_on(async {
/// let (sender, receiver) = oneshot::channel::<u8>();
/// drop(sender);
/// assert!(receiver.await.is_err());
/// # });
/// ```
pub struct Sender<T> {
    wrapped: Arc<Wrapped>,
    /// `None` once the sender has sent its value.
    real: Option<real::Sender<T>>,
    closed: Turn,
    here: Here,
}

const UNSENT: &str = "a sender that has sent is gone";

impl<T> Sender<T> {
    /// Sends the value. This call is not a point.
    ///
    /// # Errors
    /// Returns the value if the receiver is closed or dropped.
    ///
    /// ```
    /// use sim::tokio::sync::oneshot;
    ///
    /// let (sender, receiver) = oneshot::channel();
    /// drop(receiver);
    /// assert_eq!(sender.send(7), Err(7));
    /// ```
    #[track_caller]
    pub fn send(mut self, value: T) -> Result<(), T> {
        let real = self.real.take().expect(UNSENT);
        self.wrapped.attempt(SEND, here(), || real.send(value))
    }

    /// Waits until the receiver is closed or dropped. Cancel safe.
    ///
    /// ```
    /// use sim::tokio::sync::oneshot;
    /// # sim::block_on(async {
    /// let (mut sender, receiver) = oneshot::channel::<u8>();
    /// sim::spawn(async move { drop(receiver) }).detach();
    /// sender.closed().await;
    /// assert!(sender.is_closed());
    /// # });
    /// ```
    #[track_caller]
    pub fn closed(&mut self) -> impl Future<Output = ()> + use<'_, T> {
        self.closed.renew(here());
        let closed = Closed(self);
        std::future::poll_fn(move |cx| closed.0.poll_closed(cx))
    }

    /// Returns `true` if the receiver is closed or dropped. This call is not a point.
    #[track_caller]
    pub fn is_closed(&self) -> bool {
        let real = self.real.as_ref().expect(UNSENT);
        self.wrapped.check(&IS_CLOSED, here(), || real.is_closed())
    }

    /// Ready when the receiver is closed or dropped.
    pub fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let real = self.real.as_mut().expect(UNSENT);
        if !seam::in_run() {
            return real.poll_closed(cx);
        }
        self.closed.poll(&self.wrapped, cx, |cx| real.poll_closed(cx), |()| Came::Done)
    }
}

/// A call that waits until the receiver is closed or dropped. Dropping the call ends its announcement.
struct Closed<'a, T>(&'a mut Sender<T>);

impl<T> Drop for Closed<'_, T> {
    fn drop(&mut self) {
        self.0.closed.leave(&self.0.wrapped);
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        if let Some(real) = self.real.take() {
            drop(real);
            self.wrapped.last(&DROP_SENDER, self.here);
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.real.as_ref().expect(UNSENT).fmt(f)
    }
}

/// Receives the value. This future returns the value, or an error if no value can arrive any more. Cancel safe.
///
/// ```
/// use sim::time::{Duration, timeout};
/// use sim::tokio::sync::oneshot;
/// # sim::block_on(async {
/// let (sender, mut receiver) = oneshot::channel();
/// // A dropped wait loses nothing.
/// assert!(timeout(Duration::from_millis(1), &mut receiver).await.is_err());
/// sender.send(7).unwrap();
/// assert_eq!(receiver.await, Ok(7));
/// # });
/// ```
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub struct Receiver<T> {
    wrapped: Arc<Wrapped>,
    real: real::Receiver<T>,
    recv: Turn,
    here: Here,
}

impl<T> Receiver<T> {
    /// Refuses further values. A value already sent can still be received. This call is not a point.
    ///
    /// ```
    /// use sim::tokio::sync::oneshot;
    /// # sim::block_on(async {
    /// let (sender, mut receiver) = oneshot::channel();
    /// receiver.close();
    /// assert_eq!(sender.send(7), Err(7));
    /// assert!(receiver.await.is_err());
    /// # });
    /// ```
    #[track_caller]
    pub fn close(&mut self) {
        // Closing would not wake a pending poll. The next poll announces its operation again.
        self.recv.leave(&self.wrapped);
        let real = &mut self.real;
        self.wrapped.act(&CLOSE, here(), || real.close());
    }

    /// Receives the value if it has been sent. This call is not a point.
    ///
    /// # Errors
    /// If the value has not been sent yet, or no value can arrive any more.
    ///
    /// ```
    /// use sim::tokio::sync::oneshot::{self, error::TryRecvError};
    ///
    /// let (sender, mut receiver) = oneshot::channel();
    /// assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    /// sender.send(7).unwrap();
    /// assert_eq!(receiver.try_recv(), Ok(7));
    /// assert_eq!(receiver.try_recv(), Err(TryRecvError::Closed));
    /// ```
    #[track_caller]
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        let real = &mut self.real;
        self.wrapped.attempt(TRY_RECV, here(), || real.try_recv())
    }

    /// Returns `true` if the value or the error has been received.
    pub fn is_terminated(&self) -> bool {
        self.real.is_terminated()
    }

    /// Returns `true` if there is no value to receive. This call is not a point.
    #[track_caller]
    pub fn is_empty(&self) -> bool {
        self.wrapped.check(&IS_EMPTY, here(), || self.real.is_empty())
    }

    /// Outside of runs, blocks the thread until the value arrives. In a run, this call fails the run: await the
    /// receiver instead.
    ///
    /// # Errors
    /// If no value can arrive any more.
    ///
    /// ```
    /// use sim::tokio::sync::oneshot;
    ///
    /// let (sender, receiver) = oneshot::channel();
    /// std::thread::spawn(move || sender.send(7));
    /// assert_eq!(receiver.blocking_recv(), Ok(7));
    /// ```
    #[track_caller]
    pub fn blocking_recv(mut self) -> Result<T, RecvError> {
        self.wrapped.blocks("blocking_recv", "receiver.await", here());
        // The receiver of another channel takes its place, because `self` has a destructor.
        let (_, other) = real::channel();
        std::mem::replace(&mut self.real, other).blocking_recv()
    }
}

impl<T: fmt::Debug> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.real.fmt(f)
    }
}

impl<T> Future for Receiver<T> {
    type Output = Result<T, RecvError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<T, RecvError>> {
        let this = self.get_mut();
        let real = &mut this.real;
        if !seam::in_run() {
            return Pin::new(real).poll(cx);
        }
        let came = |received: &Result<T, _>| match received {
            Ok(_) => Came::Done,
            Err(_) => Came::ToNothing,
        };
        this.recv.poll(&this.wrapped, cx, |cx| Pin::new(real).poll(cx), came)
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        if !self.real.is_terminated() {
            // Records the effect of the drop on the sender. The value itself is dropped later, with the real receiver.
            self.real.close();
            self.wrapped.last(&DROP_RECEIVER, self.here);
        }
    }
}
