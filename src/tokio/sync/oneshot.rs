//! The channel for one value.

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
/// To receive is a point; to send is not.
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
#[derive(Debug)]
pub struct Sender<T> {
    wrapped: Arc<Wrapped>,
    /// Taken when it has sent.
    real: Option<real::Sender<T>>,
    closed: Turn,
    here: Here,
}

const UNSENT: &str = "a sender that has sent is gone";

impl<T> Sender<T> {
    /// Sends the value. Not a point.
    ///
    /// # Errors
    /// The value, if the receiver is closed or dropped.
    #[track_caller]
    pub fn send(mut self, value: T) -> Result<(), T> {
        let real = self.real.take().expect(UNSENT);
        self.wrapped.attempt(SEND, here(), || real.send(value))
    }

    /// Waits until the receiver is closed or dropped. Cancel safe.
    #[track_caller]
    pub fn closed(&mut self) -> impl Future<Output = ()> + Send + use<'_, T>
    where
        T: Send,
    {
        self.closed.renew(here());
        let closed = Closed(self);
        std::future::poll_fn(move |cx| closed.0.poll_closed(cx))
    }

    /// Returns `true` if the receiver is closed or dropped. Not a point.
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

/// Waits for the end of the receiver. Its announcement ends with it.
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

/// Receives the value: a future, which is ready with it or with the error that it will never come. Cancel safe.
#[derive(Debug)]
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub struct Receiver<T> {
    wrapped: Arc<Wrapped>,
    real: real::Receiver<T>,
    recv: Turn,
    here: Here,
}

impl<T> Receiver<T> {
    /// Refuses further values. A value that was sent can still be received. Not a point.
    #[track_caller]
    pub fn close(&mut self) {
        // A poll that waits would not be woken by it. The next one asks anew.
        self.recv.leave(&self.wrapped);
        let real = &mut self.real;
        self.wrapped.act(&CLOSE, here(), || real.close());
    }

    /// Receives the value if it was sent. Not a point.
    ///
    /// # Errors
    /// If it was not sent yet, or never will be.
    #[track_caller]
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        let real = &mut self.real;
        self.wrapped.attempt(TRY_RECV, here(), || real.try_recv())
    }

    /// Returns `true` if the value, or the error, was received.
    pub fn is_terminated(&self) -> bool {
        self.real.is_terminated()
    }

    /// Returns `true` if there is no value to receive. Not a point.
    #[track_caller]
    pub fn is_empty(&self) -> bool {
        self.wrapped.check(&IS_EMPTY, here(), || self.real.is_empty())
    }

    /// Blocks the thread until the value comes, outside of runs. In a run it fails the run: await the receiver.
    ///
    /// # Errors
    /// If it never will.
    #[track_caller]
    pub fn blocking_recv(self) -> Result<T, RecvError> {
        self.wrapped.blocks("blocking_recv", "receiver.await", here());
        futures::executor::block_on(self)
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
            // The effect of its drop on the sender. The value goes with the receiver, after.
            self.real.close();
            self.wrapped.last(&DROP_RECEIVER, self.here);
        }
    }
}
