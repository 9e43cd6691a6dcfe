//! The network between [nodes](mod@crate::node). Links lose, delay, cut and reorder messages as the scheduler chooses.
//!
//! A message in flight is a task of the run whose only step is its arrival. So messages may overtake each other, a
//! trace contains each arrival as a step, and a search tries all orders. Shrinking keeps only the reordering that a
//! failure needs.
//!
//! [`cut`] and [`isolate`] cut links between nodes, in one direction or both. While a link is cut, datagrams are lost
//! at their arrival, and stream messages wait until [`heal`]. [`faults()`] sets random loss, duplication and delay for
//! all links, and [`faults_on`] for a single link. [`clog`] makes a link slow for a while.
//!
//! ```
//! use sim::net;
//!
//! # if !sim::SIMULATED { return }
//! # let report = sim::Runner::new().hermetic().run(async || {
//! let [a, b] = ["a", "b"].map(sim::node);
//! let (sender, mut receiver) = net::link(&a, &b);
//! net::isolate(&a);
//! a.spawn(async move { sender.send("late").await.unwrap() }).detach();
//! sim::time::sleep(sim::time::Duration::from_secs(9)).await;
//! assert_eq!(receiver.try_recv(), None);
//! net::heal();
//! assert_eq!(receiver.recv().await, Some("late"));
//! # });
//! # assert!(report.passed());
//! ```
//!
//! # Sockets
//!
//! The feature `tokio` adds `TcpListener`, `TcpSocket`, `TcpStream` with its halves, and `UdpSocket`. These types have
//! the names of tokio and implement the traits of tokio and futures. A socket belongs to the node of the code that
//! binds or connects it; the test, outside all nodes, is a host of its own, and can reach all nodes.
//!
//! - A name is the name of a node, an `alias`, or `localhost`. An address is [`Node::addr`] or an address of the
//!   loopback device. Port 0 selects a free port from 49152. Ports in use, unknown names and addresses of other hosts
//!   give the same error kinds as std.
//! - Connections have buffers of 64 KiB, and survive cuts that hold bytes for up to 924 s. When a node is
//!   [killed](Node::kill), its kernel closes its connections and refuses new ones. When a node is
//!   [switched off](Node::power_off), it neither closes connections nor responds.
//! - Datagrams are independent messages: each may be lost, duplicated, delayed or reordered.
//!
//! Outside of runs, sockets are tokio's sockets, which need the tokio runtime.
//!
//! # Outside of runs
//!
//! Outside of runs and in the real build, links are never cut, and no message is lost or delayed by this module.

mod by_host;
#[cfg_attr(not(feature = "tokio"), allow(dead_code))]
mod bytes;
mod channel;
mod datagrams;
#[cfg_attr(not(feature = "tokio"), allow(dead_code))]
mod fabric;
#[cfg_attr(not(feature = "tokio"), allow(dead_code))]
mod faults;
#[cfg_attr(not(feature = "tokio"), allow(dead_code))]
mod inbox;
mod keys;
mod ops;
#[cfg_attr(not(feature = "tokio"), allow(dead_code))]
mod queue;
mod refusal;
mod settings;
mod shows;
mod slots;
#[cfg(feature = "tokio")]
mod sockets;
#[cfg_attr(not(feature = "tokio"), allow(dead_code))]
mod stream;

pub use self::channel::{Closed, Receiver, Sender, datagrams, link};
use self::fabric::{Fabric, Host};
pub use self::faults::{Faults, Latency};
#[cfg(feature = "tokio")]
pub use self::sockets::{
    TcpListener, TcpSocket, TcpStream, ToSocketAddrs, UdpSocket, alias, lookup_host, tcp,
};
use crate::node::{Cluster, Node};
use crate::seam::{self, Here, here};

/// Sets the faults of all messages in the run. Call it before the first use of the network.
///
/// ```
/// use sim::net::{self, Faults, Latency};
/// use sim::time::{Duration, Instant};
///
/// # if !sim::SIMULATED { return }
/// # let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
/// net::faults(Faults::none().latency(Latency::exact(Duration::from_millis(5))));
/// let [a, b] = ["a", "b"].map(sim::node);
/// let (sender, mut receiver) = net::link(&a, &b);
/// let begin = Instant::now();
/// sender.send("late").await.unwrap();
/// assert_eq!(receiver.recv().await, Some("late"));
/// assert_eq!(begin.elapsed(), Duration::from_millis(5));
/// # });
/// # assert!(report.passed());
/// ```
#[track_caller]
pub fn faults(faults: Faults) {
    Fabric::of_run().set_faults(faults, here());
}

/// Cuts the link from one node to another. Does not cut the other direction. This call is not a point.
///
/// ```
/// use sim::net;
///
/// # if !sim::SIMULATED { return }
/// # let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
/// let [a, b] = ["a", "b"].map(sim::node);
/// net::cut(&a, &b);
/// let (question, mut at_b) = net::link(&a, &b);
/// let (answer, mut at_a) = net::link(&b, &a);
/// question.send("question").await.unwrap();
/// answer.send("answer").await.unwrap();
/// assert_eq!(at_a.recv().await, Some("answer"));
/// assert_eq!(at_b.try_recv(), None);
/// # });
/// # assert!(report.passed());
/// ```
#[track_caller]
pub fn cut(from: &Node, to: &Node) {
    Fabric::of_run().set_cut(Host::of(from), Host::of(to), true, here());
}

/// Heals the link from one node to another. This call is not a point.
///
/// ```
/// use sim::net;
///
/// # if !sim::SIMULATED { return }
/// # let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
/// let [a, b] = ["a", "b"].map(sim::node);
/// net::isolate(&a);
/// net::mend(&a, &b);
/// let (question, mut at_b) = net::link(&a, &b);
/// let (answer, mut at_a) = net::link(&b, &a);
/// question.send("question").await.unwrap();
/// answer.send("answer").await.unwrap();
/// assert_eq!(at_b.recv().await, Some("question"));
/// assert_eq!(at_a.try_recv(), None, "the other direction is still cut");
/// # });
/// # assert!(report.passed());
/// ```
#[track_caller]
pub fn mend(from: &Node, to: &Node) {
    Fabric::of_run().set_cut(Host::of(from), Host::of(to), false, here());
}

/// Cuts or heals the link from one node to another, on behalf of the caller at `here`.
pub(crate) fn set_cut(from: &Node, to: &Node, is_cut: bool, here: Here) {
    Fabric::of_run().set_cut(Host::of(from), Host::of(to), is_cut, here);
}

/// Heals all links, on behalf of the caller at `here`.
pub(crate) fn heal_all(here: Here) {
    Fabric::of_run().heal(here);
}

/// Delays messages sent from now on from one node to another, by `by`, until [`unclog`] or [`heal`]. Messages already
/// in flight are not delayed. This call is not a point.
///
/// Late messages expose code that relies on message order. Examples are a late append of an old leader, or a lease
/// renewal after the lease has expired.
///
/// ```
/// use sim::net::{self, Latency};
/// use sim::time::{Duration, Instant};
///
/// # if !sim::SIMULATED { return }
/// # let report = sim::Runner::new().hermetic().run(async || {
/// let [a, b] = ["a", "b"].map(sim::node);
/// let (sender, mut receiver) = net::datagrams(&a, &b);
/// let begin = Instant::now();
/// net::clog(&a, &b, Latency::exact(Duration::from_millis(500)));
/// sender.send("first").await.unwrap();
/// net::unclog(&a, &b);
/// sender.send("second").await.unwrap();
/// assert_eq!(receiver.recv().await, Some("second"));
/// assert_eq!(receiver.recv().await, Some("first"));
/// assert_eq!(begin.elapsed(), Duration::from_millis(500));
/// # });
/// # assert!(report.passed());
/// ```
#[track_caller]
pub fn clog(from: &Node, to: &Node, by: Latency) {
    clog_at(from, to, Some(by), here());
}

/// Like [`clog`], but in both directions.
///
/// ```
/// use sim::net::{self, Latency};
/// use sim::time::{Duration, Instant};
///
/// # if !sim::SIMULATED { return }
/// # let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
/// let [a, b] = ["a", "b"].map(sim::node);
/// net::clog_pair(&a, &b, Latency::exact(Duration::from_millis(30)));
/// let (question, mut at_b) = net::link(&a, &b);
/// let (answer, mut at_a) = net::link(&b, &a);
/// let begin = Instant::now();
/// question.send("question").await.unwrap();
/// assert_eq!(at_b.recv().await, Some("question"));
/// answer.send("answer").await.unwrap();
/// assert_eq!(at_a.recv().await, Some("answer"));
/// assert_eq!(begin.elapsed(), Duration::from_millis(60));
/// # });
/// # assert!(report.passed());
/// ```
#[track_caller]
pub fn clog_pair(one: &Node, other: &Node, by: Latency) {
    let here = here();
    clog_at(one, other, Some(by.clone()), here);
    clog_at(other, one, Some(by), here);
}

/// Ends a [`clog`] of the link from one node to another. This call is not a point.
#[track_caller]
pub fn unclog(from: &Node, to: &Node) {
    clog_at(from, to, None, here());
}

/// Clogs the link from one node to another on behalf of the caller at `here`; `None` ends the clog.
pub(crate) fn clog_at(from: &Node, to: &Node, by: Option<Latency>, here: Here) {
    Fabric::of_run().link_to_change(Host::of(from), Host::of(to), here).clog(by, here);
}

/// Sets the faults of messages that are sent from now on from one node to another. Replaces the settings of
/// [`faults()`] for this link. [`heal`] does not reset them. This call is not a point.
///
/// ```
/// use sim::net::{self, Faults, Latency};
/// use sim::time::Duration;
///
/// # let report = sim::Runner::new().hermetic().run(async || {
/// net::faults(Faults::none().latency(Latency::lan()));
/// let [near, far] = ["near", "far"].map(sim::node);
/// let way = Latency::within(Duration::from_millis(80), Duration::from_millis(120));
/// net::faults_on(&near, &far, Faults::none().latency(way).loss(3).rate(100_000));
/// # });
/// # assert!(report.passed());
/// ```
#[track_caller]
pub fn faults_on(from: &Node, to: &Node, faults: Faults) {
    let here = here();
    Fabric::of_run().link(Host::of(from), Host::of(to), here).set_faults(faults, here);
}

/// Cuts a node off from all other nodes, in both directions. The test, which is outside all nodes, still reaches it.
/// This call is not a point.
///
/// ```
/// use sim::net;
///
/// # if !sim::SIMULATED { return }
/// # let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
/// let [a, b, c] = ["a", "b", "c"].map(sim::node);
/// net::isolate(&a);
/// let (to_a, mut at_a) = net::link(&b, &a);
/// let (to_c, mut at_c) = net::link(&b, &c);
/// to_a.send(1).await.unwrap();
/// to_c.send(2).await.unwrap();
/// assert_eq!(at_c.recv().await, Some(2));
/// assert_eq!(at_a.try_recv(), None);
/// # });
/// # assert!(report.passed());
/// ```
#[track_caller]
pub fn isolate(node: &Node) {
    isolate_at(node, here());
}

/// Cuts a node off from all other nodes, on behalf of the caller at `here`.
pub(crate) fn isolate_at(node: &Node, here: Here) {
    for other in seam::kept::<Cluster>().list(here) {
        if other != *node {
            let (one, other) = (Host::of(node), Host::of(&other));
            Fabric::of_run().set_cut(one, other, true, here);
            Fabric::of_run().set_cut(other, one, true, here);
        }
    }
}

/// Partitions the nodes into groups: cuts the links between nodes of different groups, in both directions. Nodes in no
/// group stay connected to all nodes. This call is not a point.
///
/// ```
/// use sim::net;
///
/// # if !sim::SIMULATED { return }
/// # let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
/// let [a, b, c] = ["a", "b", "c"].map(sim::node);
/// net::partition(&[&[&a, &b], &[&c]]);
/// let (to_b, mut at_b) = net::link(&a, &b);
/// let (to_c, mut at_c) = net::link(&a, &c);
/// to_b.send(1).await.unwrap();
/// to_c.send(2).await.unwrap();
/// assert_eq!(at_b.recv().await, Some(1));
/// assert_eq!(at_c.try_recv(), None);
/// # });
/// # assert!(report.passed());
/// ```
#[track_caller]
pub fn partition(groups: &[&[&Node]]) {
    let here = here();
    for (at, group) in groups.iter().enumerate() {
        let others = groups.iter().enumerate().filter(|(other, _)| *other != at);
        for other in others.flat_map(|(_, other)| other.iter()) {
            for node in *group {
                Fabric::of_run().set_cut(Host::of(node), Host::of(other), true, here);
            }
        }
    }
}

/// Heals all links, and ends all clogs. This call is not a point.
///
/// ```
/// use sim::net;
/// use sim::time::{Duration, sleep};
///
/// # if !sim::SIMULATED { return }
/// # let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
/// let [a, b] = ["a", "b"].map(sim::node);
/// let (datagram, mut datagrams) = net::datagrams(&a, &b);
/// let (value, mut values) = net::link(&a, &b);
/// net::cut(&a, &b);
/// datagram.send("lost").await.unwrap();
/// value.send("held").await.unwrap();
/// sleep(Duration::from_secs(1)).await;
/// net::heal();
/// assert_eq!(values.recv().await, Some("held"));
/// assert_eq!(datagrams.try_recv(), None);
/// # });
/// # assert!(report.passed());
/// ```
#[track_caller]
pub fn heal() {
    Fabric::of_run().heal(here());
}

/// Returns the number of messages that clogs have delayed in the run so far. This call is not a point.
///
/// If a test calls this function or [`met`], a search distinguishes runs by these numbers, and so explores more runs.
///
/// ```
/// use sim::net::{self, Latency};
/// use sim::time::Duration;
///
/// # if !sim::SIMULATED { return }
/// # let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
/// let [a, b] = ["a", "b"].map(sim::node);
/// let (sender, _receiver) = net::link(&a, &b);
/// net::clog(&a, &b, Latency::exact(Duration::from_millis(50)));
/// sender.send("late").await.unwrap();
/// net::unclog(&a, &b);
/// sender.send("not clogged").await.unwrap();
/// assert_eq!(net::delayed(), 1);
/// # });
/// # assert!(report.passed());
/// ```
#[track_caller]
pub fn delayed() -> u64 {
    let fabric = Fabric::of_run();
    fabric.counts(here());
    fabric.delayed()
}

/// Returns the number of messages that cuts have lost or held in the run so far. A held message counts once for each
/// cut that holds it. This call is not a point.
///
/// ```
/// use sim::net;
/// use sim::time::{Duration, sleep};
///
/// # if !sim::SIMULATED { return }
/// # let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
/// let [a, b] = ["a", "b"].map(sim::node);
/// let (sender, _receiver) = net::datagrams(&a, &b);
/// net::cut(&a, &b);
/// sender.send("lost").await.unwrap();
/// sleep(Duration::from_secs(1)).await;
/// assert_eq!(net::met(), 1);
/// # });
/// # assert!(report.passed());
/// ```
#[track_caller]
pub fn met() -> u64 {
    let fabric = Fabric::of_run();
    fabric.counts(here());
    fabric.met()
}

/// Like [`delayed`], for reports.
pub(crate) fn delayed_so_far() -> u64 {
    Fabric::of_run().delayed()
}

/// Like [`met`], for reports.
pub(crate) fn met_so_far() -> u64 {
    Fabric::of_run().met()
}
