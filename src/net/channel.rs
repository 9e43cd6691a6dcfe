//! Typed links: values from one node to another, for code that sends no bytes.

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;

use super::datagrams::Datagrams;
use super::fabric::{Fabric, Host};
use super::inbox::Inbox;
use super::ops::{RECV, ROOM, SEND_DATAGRAM, TRY_RECV};
use super::shows::Shows;
use super::stream::Stream;
use crate::node::Node;
use crate::run::op::{Access, Op, net};
use crate::seam::{CallOps, Came, Group, GuardedCall, Here, Turn, here};

const SEND: CallOps = CallOps::acting(
    ("send", "send"),
    [net::SEND, net::SEND, net::SEND, net::SEND],
    CallOps::stop_waiting(net::LOOK),
)
.quiet();
const DROP_SENDER: Op = Op::of_kind("drop_sender", Access::Tell, net::SEND);
const DROP_RECEIVER: Op = Op::of_kind("drop_receiver", Access::Tell, net::CLOSE);

/// A link from one node to another, for values: each arrives once, in the order of sending.
///
/// To send is a point, and a message arrives at any moment after, or later as [`faults`](super::faults()) say. While
/// the link is [cut](super::cut()) messages wait. When the receiver is dropped or its node dies, messages on the way
/// are lost. When the sending node is [killed](Node::kill) the receiver finds the end after what was sent; when it is
/// [switched off](Node::power_off) nobody tells it.
///
/// A link is not a failure detector. If the receiver is gone, its machine answers the first message
/// that arrives there with a reset. The reset crosses the link back like a message. From its
/// arrival on, to send is an error. A cut of the way back holds it, and a machine that is switched
/// off answers nothing before it is on again.
///
/// ```
/// # let report = sim::Runner::new().hermetic().run(async || {
/// let [a, b] = ["a", "b"].map(sim::node);
/// let (sender, mut receiver) = sim::net::link(&a, &b);
/// a.spawn(async move { sender.send(1).await.unwrap() }).detach();
/// assert_eq!(b.spawn(async move { receiver.recv().await }).await.unwrap(), Some(1));
/// # });
/// # assert!(report.passed());
/// ```
#[track_caller]
pub fn link<M: Send + 'static>(from: &Node, to: &Node) -> (Sender<M>, Receiver<M>) {
    let here = here();
    let stream = Stream::new(Host::of(from), Host::of(to), "link", here);
    let way = Line::Stream(stream);
    let sides = Arc::new(Sides { way: way.clone(), here });
    (Sender { sides }, Receiver { way, recv: GuardedCall::new(&RECV, here), here })
}

/// Like [`link`], for datagrams: they overtake each other, are lost while the link is cut, and get
/// lost or arrive twice as [`faults`](super::faults()) say. A receiver with 64 of them drops
/// others. The sender learns nothing of all that.
///
/// ```
/// use sim::net::{self, Faults};
///
/// # let report = sim::Runner::new().hermetic().run(async || {
/// net::faults(Faults::none().loss(1));
/// let [a, b] = ["a", "b"].map(sim::node);
/// let (sender, mut receiver) = net::datagrams(&a, &b);
/// let mut answered = false;
/// for _ in 0..2 {
///     sender.send("ping").await.unwrap();
///     let wait = std::time::Duration::from_secs(1);
///     answered |= sim::time::timeout(wait, receiver.recv()).await.is_ok();
/// }
/// assert!(answered, "one of two arrives");
/// # });
/// # assert!(report.passed());
/// ```
#[track_caller]
pub fn datagrams<M: Clone + Send + 'static>(from: &Node, to: &Node) -> (Sender<M>, Receiver<M>) {
    let here = here();
    let (from, to) = (Host::of(from), Host::of(to));
    let link = Fabric::of_run().link(from, to, here);
    let inbox = Datagrams::over(link, ROOM, here);
    let send = {
        let inbox = inbox.clone();
        Arc::new(move |message, here| inbox.send(message, here))
    };
    let way = Line::Datagrams { inbox, send };
    let sides = Arc::new(Sides { way: way.clone(), here });
    (Sender { sides }, Receiver { way, recv: GuardedCall::new(&RECV, here), here })
}

/// The way of the messages.
enum Line<M: Send + 'static> {
    Stream(Arc<Stream<M>>),
    Datagrams { inbox: Arc<Datagrams<M>>, send: Arc<dyn Fn(M, Here) + Send + Sync> },
}

impl<M: Send + 'static> Clone for Line<M> {
    fn clone(&self) -> Self {
        match self {
            Line::Stream(stream) => Line::Stream(stream.clone()),
            Line::Datagrams { inbox, send } => {
                Line::Datagrams { inbox: inbox.clone(), send: send.clone() }
            }
        }
    }
}

impl<M: Send + 'static> Line<M> {
    fn inbox(&self) -> &Inbox<M> {
        match self {
            Line::Stream(stream) => &stream.inbox,
            Line::Datagrams { inbox, .. } => &inbox.inbox,
        }
    }

    fn shows(&self) -> &Shows<M> {
        match self {
            Line::Stream(stream) => &stream.shows,
            Line::Datagrams { inbox, .. } => &inbox.shows,
        }
    }

    fn send(&self, message: M, here: Here) -> Result<(), M> {
        match self {
            Line::Stream(stream) => stream.send(message, here),
            Line::Datagrams { send, .. } => {
                send(message, here);
                Ok(())
            }
        }
    }

    /// The operations of a send: the order of datagrams does not count.
    fn ops(&self) -> &'static CallOps {
        match self {
            Line::Stream(_) => &SEND,
            Line::Datagrams { .. } => &SEND_DATAGRAM,
        }
    }
}

/// The sending end of a [`link`]. Copies send to the same receiver.
pub struct Sender<M: Send + 'static> {
    sides: Arc<Sides<M>>,
}

/// Dropped with the last sender.
struct Sides<M: Send + 'static> {
    way: Line<M>,
    here: Here,
}

/// The receiving end of a [`link`].
pub struct Receiver<M: Send + 'static> {
    way: Line<M>,
    recv: GuardedCall,
    here: Here,
}

impl<M: Send + 'static> Sender<M> {
    /// Has reports show the messages of the link in the words that `text` returns, where they are sent and where they
    /// arrive. Called for runs that are shown only. The first function counts.
    ///
    /// ```
    /// # if !sim::SIMULATED { return }
    /// let report = sim::Runner::new().hermetic().run(async || {
    ///     let [a, b] = ["a", "b"].map(sim::node);
    ///     let (sender, mut receiver) = sim::net::link(&a, &b);
    ///     sender.show(|value| format!("add {value}"));
    ///     a.spawn(async move { sender.send(1).await.unwrap() }).detach();
    ///     assert_eq!(receiver.recv().await, None);
    /// });
    /// assert!(sim::report::text(&report, &sim::report::Style::default()).contains("add 1"));
    /// ```
    pub fn show(&self, text: fn(&M) -> String) {
        self.sides.way.shows().set(text);
    }

    /// Sends a value. A point; does not wait for its arrival.
    ///
    /// # Errors
    /// If a reset has come back because the receiver is gone, or the node of the sender is down. The value is in the
    /// error.
    ///
    /// ```
    /// # if !sim::SIMULATED { return }
    /// use sim::time::{Duration, sleep};
    ///
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// let [a, b] = ["a", "b"].map(sim::node);
    /// let (sender, _receiver) = sim::net::link(&a, &b);
    /// b.kill();
    /// assert!(sender.send(1).await.is_ok(), "nobody has told the sender");
    /// sleep(Duration::from_secs(1)).await;
    /// assert!(sender.send(2).await.is_err(), "the kernel of b has answered");
    /// # });
    /// # assert!(report.passed());
    /// ```
    #[track_caller]
    pub fn send(
        &self,
        value: M,
    ) -> impl Future<Output = Result<(), Closed<M>>> + Send + use<'_, M> {
        let (here, way) = (here(), &self.sides.way);
        let mut turn = Turn::new(way.ops(), here);
        let mut value = Some(value);
        poll_fn(move |cx| {
            let send = || way.send(value.take().expect(crate::seam::SPENT), here);
            let came =
                |sent: &Result<(), M>| if sent.is_ok() { Came::Done } else { Came::ToNothing };
            turn.poll_at_once(&way.inbox().mark, cx, send, came).map_err(Closed)
        })
    }
}

impl<M: Send + 'static> Clone for Sender<M> {
    fn clone(&self) -> Self {
        Sender { sides: self.sides.clone() }
    }
}

impl<M: Send + 'static> Drop for Sides<M> {
    fn drop(&mut self) {
        // The dead tell nobody: their kernel does.
        if Group::current().lives() {
            if let Line::Stream(stream) = &self.way {
                stream.inbox.mark.last(&DROP_SENDER, self.here);
                stream.end(self.here);
            }
        }
    }
}

impl<M: Send + 'static> Receiver<M> {
    /// Receives the next value. A point. `None` if there will be none: the senders are gone, or their node was killed.
    ///
    /// Cancel safe: a dropped call has received nothing.
    #[track_caller]
    pub fn recv(&mut self) -> impl Future<Output = Option<M>> + Send + use<'_, M> {
        self.recv.leave(self.way.inbox(), here());
        let call = Receiving(self);
        poll_fn(move |cx| {
            let Receiver { way, recv, .. } = &mut *call.0;
            let inbox = way.inbox();
            recv.poll(inbox, cx, |cx| inbox.poll_take(cx), || inbox.try_take())
        })
    }

    /// Receives the next value if it has arrived. Not a point.
    #[track_caller]
    pub fn try_recv(&mut self) -> Option<M> {
        let inbox = self.way.inbox();
        inbox.mark.attempt(TRY_RECV, here(), || inbox.try_take().ok_or(())).ok()
    }
}

/// A call that receives. Its announcement ends with it.
struct Receiving<'a, M: Send + 'static>(&'a mut Receiver<M>);

impl<M: Send + 'static> Drop for Receiving<'_, M> {
    fn drop(&mut self) {
        let here = self.0.here;
        let Receiver { way, recv, .. } = &mut *self.0;
        recv.leave(way.inbox(), here);
    }
}

impl<M: Send + 'static> Drop for Receiver<M> {
    fn drop(&mut self) {
        if Group::current().lives() {
            self.way.inbox().mark.last(&DROP_RECEIVER, self.here);
            self.way.inbox().close(true);
        }
    }
}

/// The error of a [`Sender`] whose receiver is gone, with the value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Closed<M>(pub M);

impl<M> fmt::Debug for Closed<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Closed").finish_non_exhaustive()
    }
}

impl<M> fmt::Display for Closed<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nobody receives from the link: a reset has come back")
    }
}

impl<M> std::error::Error for Closed<M> {}

impl<M: Send + 'static> fmt::Debug for Sender<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

impl<M: Send + 'static> fmt::Debug for Receiver<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}
