//! Typed links. The links carry values from one node to another, for code that does not send bytes.

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

/// Creates a link for values from one node to another. Each value arrives once, in send order.
///
/// Sending is a point. A message arrives at any later moment, or with the additional delay that
/// [`faults`](super::faults()) set. Messages wait while the link is [cut](super::cut()). When the receiver is dropped
/// or its node dies, messages in flight are lost. When the sending node is [killed](Node::kill), the receiver gets the
/// sent messages and then the end of the stream. When the sending node is [switched off](Node::power_off), the receiver
/// gets no notification.
///
/// A link is not a failure detector. If the receiver is gone, its machine replies to the first arriving message with a
/// reset. The reset crosses the link back like a message. After the reset has arrived, sending fails. A cut in the
/// reverse direction holds the reset, and a machine that is switched off sends no reset until it is on again.
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
    let way = Medium::Stream(stream);
    let sides = Arc::new(Sides { way: way.clone(), here });
    (Sender { sides }, Receiver { way, recv: GuardedCall::new(&RECV, here), here })
}

/// Like [`link`], but for datagrams. Datagrams overtake each other, are lost while the link is cut, and may be lost or
/// duplicated as [`faults`](super::faults()) set. A receiver that already holds 64 datagrams drops new ones. The sender
/// is not notified of any of this.
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
    let way = Medium::Datagrams { inbox, send };
    let sides = Arc::new(Sides { way: way.clone(), here });
    (Sender { sides }, Receiver { way, recv: GuardedCall::new(&RECV, here), here })
}

/// The transport of the messages.
enum Medium<M: Send + 'static> {
    Stream(Arc<Stream<M>>),
    Datagrams { inbox: Arc<Datagrams<M>>, send: Arc<dyn Fn(M, Here) + Send + Sync> },
}

impl<M: Send + 'static> Clone for Medium<M> {
    fn clone(&self) -> Self {
        match self {
            Medium::Stream(stream) => Medium::Stream(stream.clone()),
            Medium::Datagrams { inbox, send } => {
                Medium::Datagrams { inbox: inbox.clone(), send: send.clone() }
            }
        }
    }
}

impl<M: Send + 'static> Medium<M> {
    fn inbox(&self) -> &Inbox<M> {
        match self {
            Medium::Stream(stream) => &stream.inbox,
            Medium::Datagrams { inbox, .. } => &inbox.inbox,
        }
    }

    fn shows(&self) -> &Shows<M> {
        match self {
            Medium::Stream(stream) => &stream.shows,
            Medium::Datagrams { inbox, .. } => &inbox.shows,
        }
    }

    fn send(&self, message: M, here: Here) -> Result<(), M> {
        match self {
            Medium::Stream(stream) => stream.send(message, here),
            Medium::Datagrams { send, .. } => {
                send(message, here);
                Ok(())
            }
        }
    }

    /// Returns the operations of a send. For datagrams, the send order does not matter.
    fn ops(&self) -> &'static CallOps {
        match self {
            Medium::Stream(_) => &SEND,
            Medium::Datagrams { .. } => &SEND_DATAGRAM,
        }
    }
}

/// The sending end of a [`link`]. Copies send to the same receiver.
///
/// ```
/// use sim::net;
///
/// # let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
/// let [a, b] = ["a", "b"].map(sim::node);
/// let (sender, mut receiver) = net::link(&a, &b);
/// for (n, sender) in [sender.clone(), sender].into_iter().enumerate() {
///     a.spawn(async move { sender.send(n).await.unwrap() }).detach();
/// }
/// let sum = receiver.recv().await.unwrap() + receiver.recv().await.unwrap();
/// assert_eq!((sum, receiver.recv().await), (1, None), "the link ends with its last sender");
/// # });
/// # assert!(report.passed());
/// ```
pub struct Sender<M: Send + 'static> {
    sides: Arc<Sides<M>>,
}

/// The sending side; dropped with the last sender.
struct Sides<M: Send + 'static> {
    way: Medium<M>,
    here: Here,
}

/// The receiving end of a [`link`].
///
/// ```
/// # let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
/// let [a, b] = ["a", "b"].map(sim::node);
/// let (sender, mut receiver) = sim::net::link(&a, &b);
/// a.spawn(async move {
///     for n in 0..3 {
///         sender.send(n).await.unwrap();
///     }
/// })
/// .detach();
/// let mut all = Vec::new();
/// while let Some(n) = receiver.recv().await {
///     all.push(n);
/// }
/// assert_eq!(all, [0, 1, 2]);
/// # });
/// # assert!(report.passed());
/// ```
pub struct Receiver<M: Send + 'static> {
    way: Medium<M>,
    recv: GuardedCall,
    here: Here,
}

impl<M: Send + 'static> Sender<M> {
    /// Makes reports show the messages of the link as the text that `text` returns, at each send and receive. The
    /// function is called only for runs that are shown. Only the first function that is set has an effect.
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

    /// Sends a value. This call is a point. Does not wait for the arrival of the value.
    ///
    /// # Errors
    /// If a reset has arrived because the receiver is gone, or if the node of the sender is down. The error contains
    /// the value.
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
        // After the death of the node, its kernel ends the stream instead.
        if Group::current().lives() {
            if let Medium::Stream(stream) = &self.way {
                stream.inbox.mark.last(&DROP_SENDER, self.here);
                stream.end(self.here);
            }
        }
    }
}

impl<M: Send + 'static> Receiver<M> {
    /// Receives the next value. This call is a point. Returns `None` if no more values can arrive, because the senders
    /// are gone or their node was killed.
    ///
    /// Cancel safe: a call that is dropped before completion has received nothing.
    ///
    /// ```
    /// use sim::time::{Duration, sleep, timeout};
    ///
    /// # let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
    /// let [a, b] = ["a", "b"].map(sim::node);
    /// let (sender, mut receiver) = sim::net::link(&a, &b);
    /// a.spawn(async move {
    ///     sleep(Duration::from_millis(20)).await;
    ///     sender.send(7).await.unwrap();
    /// })
    /// .detach();
    /// let received = loop {
    ///     if let Ok(received) = timeout(Duration::from_millis(3), receiver.recv()).await {
    ///         break received;
    ///     }
    /// };
    /// assert_eq!(received, Some(7));
    /// # });
    /// # assert!(report.passed());
    /// ```
    #[track_caller]
    pub fn recv(&mut self) -> impl Future<Output = Option<M>> + Send + use<'_, M> {
        self.recv.leave(self.way.inbox(), here());
        let call = ReceivingMessage(self);
        poll_fn(move |cx| {
            let Receiver { way, recv, .. } = &mut *call.0;
            let inbox = way.inbox();
            recv.poll(inbox, cx, |cx| inbox.poll_take(cx), || inbox.try_take())
        })
    }

    /// Receives the next value if it has arrived. This call is not a point.
    ///
    /// ```
    /// use sim::time::{Duration, sleep};
    ///
    /// # if !sim::SIMULATED { return }
    /// # let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
    /// let [a, b] = ["a", "b"].map(sim::node);
    /// let (sender, mut receiver) = sim::net::link(&a, &b);
    /// sim::net::cut(&a, &b);
    /// sender.send(1).await.unwrap();
    /// assert_eq!(receiver.try_recv(), None, "the value is in flight");
    /// sim::net::heal();
    /// sleep(Duration::from_secs(1)).await;
    /// assert_eq!(receiver.try_recv(), Some(1));
    /// # });
    /// # assert!(report.passed());
    /// ```
    #[track_caller]
    pub fn try_recv(&mut self) -> Option<M> {
        let inbox = self.way.inbox();
        inbox.mark.attempt(TRY_RECV, here(), || inbox.try_take().ok_or(())).ok()
    }
}

/// A call that receives. When the call is dropped, its announcement ends.
struct ReceivingMessage<'a, M: Send + 'static>(&'a mut Receiver<M>);

impl<M: Send + 'static> Drop for ReceivingMessage<'_, M> {
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

/// The error of a [`Sender`] when its receiver is gone. Contains the value.
///
/// ```
/// use sim::net::{self, Closed};
/// use sim::time::{Duration, sleep};
///
/// # if !sim::SIMULATED { return }
/// # let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
/// let [a, b] = ["a", "b"].map(sim::node);
/// let (sender, receiver) = net::link(&a, &b);
/// drop(receiver);
/// sender.send("first").await.unwrap();
/// sleep(Duration::from_secs(1)).await;
/// assert_eq!(sender.send("second").await, Err(Closed("second")));
/// # });
/// # assert!(report.passed());
/// ```
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
